"""How fast is a training step? Side by side with transformers' Trainer, and each recipe beside plain fine-tuning.

    python benchmarks/training.py --model MODEL --data snli [--precision bf16]

Each system trains the same model from the same weights on the same pairs, in the same batches and the same order, in
a process of its own, in turn, round after round: what else the machine does falls on all alike, so read the ratios
(of medians over rounds). The first steps are not timed; evaluation, checkpoints and tokenization are not part of a
step. A table goes to stderr, one line of JSON to stdout.

Recipes are those in `trainers/` with an objective of their own. Peak memory is the process's resident set on a CPU,
what torch allocated on a GPU.
"""

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from unbag import rooms
from unbag.training.config import TrainConfig
from unbag.training.recipe import Recipe

PEER = "trainer"
PLAIN = "finetune"
NOT_TIMED = 5
"""Steps before the clock: the first ones allocate memory and choose kernels."""


def recipes() -> dict[str, Recipe]:
    """Return the recipes that train one model with one objective."""
    found: dict[str, Recipe] = {name: rooms.script("trainers", name).RECIPE for name in rooms.scripts("trainers")}
    return {name: recipe for name, recipe in found.items() if recipe.protocol is None}


def config_of(recipe: Recipe, options: argparse.Namespace, out: Path) -> TrainConfig:
    """Return the config of a short run of a recipe."""
    # HEX begins with steps of plain fine-tuning, which would be timed instead of its own.
    own: dict[str, Any] = {"warm_start": 0} if "warm_start" in {each.name for each in fields(recipe.config)} else {}
    return recipe.config(
        model=options.model,
        corpus=(options.data,),
        validation=(options.data,),
        validation_examples=1,
        out=out,
        max_steps=options.steps,
        batch_size=options.batch_size,
        precision=options.precision,
        checkpoint_every=options.steps + 1,
        **own,
    )


def ours(name: str, options: argparse.Namespace) -> list[float]:
    """Train by a recipe, and return when each step was done."""
    from unbag.training.run import run

    done: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        recipe = recipes()[name]
        run(
            recipe,
            config_of(recipe, options, Path(folder) / "out"),
            on_step=lambda step, total, said: done.append(_now()),
        )
    return done


def peer(options: argparse.Namespace) -> list[float]:
    """Train by transformers' Trainer on the batches that ours are, and return when each step was done."""
    from transformers import DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments

    from unbag.inference.loading import load_to_train
    from unbag.perturb import draws
    from unbag.training.batches import epoch_batches
    from unbag.training.data import gather
    from unbag.training.encoded import PairEncoder

    with tempfile.TemporaryDirectory() as folder:
        config = config_of(recipes()[PLAIN], options, Path(folder))
        classifier = load_to_train(
            config.model, revision=None, label_map=None, seed=int(draws.key(config.seed, "head"))
        )
        examples = gather(config).training[0].examples
        encoder = PairEncoder.of(classifier)
        encoded = encoder.encode_all(examples)
        batches = epoch_batches(encoded.lengths, config.batch_size, seed=config.seed, epoch=0)

        class Rows(torch.utils.data.Dataset[dict[str, Any]]):
            def __len__(self) -> int:
                return len(examples)

            def __getitem__(self, row: int) -> dict[str, Any]:
                ids, types = encoded.tokens(row)
                return {
                    "input_ids": ids,
                    "attention_mask": [1] * len(ids),
                    "labels": classifier.order.index(examples[row].label),
                } | ({"token_type_ids": types} if encoder.padding.takes_types and types is not None else {})

        class InOurOrder:
            def __iter__(self) -> Iterator[list[int]]:
                return (batch.tolist() for batch in batches)

            def __len__(self) -> int:
                return len(batches)

        class SameBatches(Trainer):
            def get_train_dataloader(self) -> Any:
                return torch.utils.data.DataLoader(
                    Rows(), batch_sampler=InOurOrder(), collate_fn=DataCollatorWithPadding(classifier.tokenizer)
                )

        done: list[float] = []

        class Clock(TrainerCallback):
            def on_step_end(self, *_: Any, **__: Any) -> None:
                done.append(_now())

        SameBatches(
            model=classifier.network,
            args=TrainingArguments(
                output_dir=folder,
                max_steps=config.max_steps or -1,
                per_device_train_batch_size=config.batch_size,
                learning_rate=config.learning_rate,
                weight_decay=config.weight_decay,
                warmup_steps=round(config.warmup * (config.max_steps or 0)),
                max_grad_norm=config.clip,
                logging_steps=config.log_every,
                bf16=config.precision == "bf16",
                fp16=config.precision == "fp16",
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                use_cpu=not torch.accelerator.is_available(),
            ),
            train_dataset=Rows(),
            callbacks=[Clock()],
        ).train()
    return done


def measured(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Return seconds a step and peak bytes of one run in this process."""
    done = peer(options) if name == PEER else ours(name, options)
    # Without the last step, after which ours evaluates before it says that it is done.
    taken = (done[-2] - done[NOT_TIMED - 1]) / (len(done) - 1 - NOT_TIMED)
    on_gpu = torch.cuda.is_available()
    peak = torch.cuda.max_memory_allocated() if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": taken, "peak": peak}


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a Hub id or folder of a pre-trained model")
    parser.add_argument("--data", default="snli", help="a corpus or a file of pairs, as unbag train takes them")
    parser.add_argument("--systems", nargs="+", default=[PEER, *recipes()], help=f"default: {PEER} and every recipe")
    parser.add_argument("--steps", type=int, default=45)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", choices=("no", "bf16", "fp16"), default="no")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)  # a system to measure in this process
    options = parser.parse_args()
    if options.steps < NOT_TIMED + 3:
        parser.error(f"expected at least {NOT_TIMED + 3} steps, found {options.steps}")
    if options.one:
        print(json.dumps(measured(options.one, options)))
        return
    found: dict[str, list[dict[str, float]]] = {name: [] for name in options.systems}
    for done in range(options.rounds):
        for name in options.systems:
            child = subprocess.run(
                [sys.executable, *sys.argv, "--one", name], check=True, stdout=subprocess.PIPE, text=True
            )
            found[name].append(json.loads(child.stdout.splitlines()[-1]))
        print(f"round {done + 1} of {options.rounds}", file=sys.stderr)

    def median(name: str, what: str) -> float:
        return statistics.median(each[what] for each in found[name])

    def beside(name: str, other: str, what: str) -> float | None:
        if not {name, other} <= found.keys():
            return None
        rounds = zip(found[name], found[other], strict=True)
        return round(statistics.median(one[what] / another[what] for one, another in rounds), 3)

    result = {
        "benchmark": "training",
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine(),
        "threads": torch.get_num_threads(),
        "precision": options.precision,
        "batch_size": options.batch_size,
        "steps": options.steps,
        "rounds": options.rounds,
        "steps_per_second": {name: round(1 / median(name, "seconds"), 3) for name in found},
        "peak_mib": {name: round(median(name, "peak") / 2**20) for name in found},
        f"speed_beside_{PEER}": {name: beside(PEER, name, "seconds") for name in found if name != PEER},
        f"step_time_beside_{PLAIN}": {name: beside(name, PLAIN, "seconds") for name in found if name != PLAIN},
        f"peak_beside_{PLAIN}": {name: beside(name, PLAIN, "peak") for name in found if name != PLAIN},
        "versions": {name: version(name) for name in ("torch", "transformers", "accelerate", "unbag")},
    }
    print(f"{'':14}{'steps/s':>10}{'peak MiB':>10}", file=sys.stderr)
    for name in found:
        print(f"{name:14}{result['steps_per_second'][name]:10.3f}{result['peak_mib'][name]:10}", file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
