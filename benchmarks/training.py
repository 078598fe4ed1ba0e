"""How fast is a training step? Side by side with transformers' Trainer, and each recipe beside plain fine-tuning.

    python benchmarks/training.py --model MODEL --data snli [--precision bf16]

Each system trains the same model from the same weights on the same pairs, in the same batches and the same order, in
a process of its own. They take turns: in each round every system, in an order drawn anew, takes its next few steps
while the others wait. So what else the machine does, and whoever goes first, falls on all alike; read the ratios, which
are of steps on the same batches: their median over rounds, with its 95 % bootstrap interval. The first round is not
timed, nor is a round's first step; evaluation, checkpoints and tokenization are not part of a step. A table goes to
stderr, one line of JSON to stdout.

Recipes are those in `trainers/` with an objective of their own. What one trains first (a teacher, a weak learner) is
trained in its first turn, which is not timed. Peak memory is the process's resident set on a CPU, what torch allocated
on a GPU.
"""

import argparse
import json
import multiprocessing
import platform
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unbag.training.config import TrainConfig
from unbag.training.recipes import Recipe
from unbag.training.recipes import recipes as every

PEER = "trainer"
PLAIN = "finetune"


def recipes() -> dict[str, Recipe]:
    """Return the recipes with one objective; a protocol trains several models."""
    return {name: recipe for name, recipe in every().items() if recipe.protocol is None}


def last_step(options: argparse.Namespace) -> int:
    """Return a number of steps that no system comes to, since ours evaluates after the last."""
    steps: int = (options.rounds + 1) * options.steps + 1
    return steps


def config_of(recipe: Recipe, options: argparse.Namespace, out: Path) -> TrainConfig:
    """Return the config of a short run of a recipe."""
    # HEX begins with steps of plain fine-tuning, which would be timed instead of its own.
    own: dict[str, Any] = {"warm_start": 0} if "warm_start" in {each.name for each in fields(recipe.config)} else {}
    return recipe.config(
        model=options.model,
        corpus=(options.data,),
        validation=(options.data,),
        max_validation_examples=1,
        output_dir=out,
        max_steps=last_step(options),
        batch_size=options.batch_size,
        precision=options.precision,
        save_steps=last_step(options) + 1,
        **own,
    )


def ours(name: str, options: argparse.Namespace, after_step: Callable[[], None]) -> None:
    """Train by a recipe."""
    from unbag.training.output import work_folder
    from unbag.training.run import run

    with tempfile.TemporaryDirectory() as folder:
        known = recipes()
        recipe = known[name]
        config = config_of(recipe, options, Path(folder) / "out")
        for first in config.prerequisite_runs(work_folder(config.output_dir)).values():
            run(known[PLAIN], first)  # finished, it is not run again below, where steps are timed
        run(recipe, config, on_step=lambda step, total, said: after_step())


def peer(options: argparse.Namespace, after_step: Callable[[], None]) -> None:
    """Train by transformers' Trainer on the batches that ours are."""
    from transformers import DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments

    from unbag.inference.loading import load_to_train
    from unbag.training.data import gather
    from unbag.training.dataloading import PairEncoder, epoch_batches
    from unbag.utils import rng

    with tempfile.TemporaryDirectory() as folder:
        config = config_of(recipes()[PLAIN], options, Path(folder))
        classifier = load_to_train(config.model, revision=None, label_map=None, seed=int(rng.key(config.seed, "head")))
        data = gather(
            config.corpus,
            validation=config.validation,
            max_validation_examples=config.max_validation_examples,
            language=config.language,
            seed=config.seed,
        )
        examples = data.training[0].examples
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

        class AfterStep(TrainerCallback):
            def on_step_end(self, *_: Any, **__: Any) -> None:
                after_step()

        SameBatches(
            model=classifier.network,
            args=TrainingArguments(
                output_dir=folder,
                max_steps=config.max_steps or -1,
                per_device_train_batch_size=config.batch_size,
                learning_rate=config.learning_rate,
                weight_decay=config.weight_decay,
                warmup_steps=round(config.warmup_ratio * (config.max_steps or 0)),
                max_grad_norm=config.max_grad_norm,
                logging_steps=config.logging_steps,
                bf16=config.precision == "bf16",
                fp16=config.precision == "fp16",
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                use_cpu=not torch.accelerator.is_available(),
            ),
            train_dataset=Rows(),
            callbacks=[AfterStep()],
        ).train()


class Turns:
    """What a system calls after each step: at the end of its turn it tells how long it took, and waits for the next."""

    def __init__(self, parent: Connection, steps: int) -> None:
        self._parent = parent
        self._steps = steps
        self._done: list[float] = []

    def __call__(self) -> None:
        """Note when the step was done."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self._done.append(time.perf_counter())
        if len(self._done) == self._steps:
            # Without the turn's first step, in which caches are another's.
            seconds = (self._done[-1] - self._done[0]) / (self._steps - 1)
            self._parent.send({"seconds": seconds, "peak": peak_bytes()})
            wait(self._parent)
            self._done = []


def wait(parent: Connection) -> None:
    """Wait for this process's turn; where none comes any more, end the process."""
    try:
        parent.recv()
    except EOFError:
        raise SystemExit from None


def peak_bytes() -> int:
    """Return this process's peak memory until now."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def train(name: str, options: argparse.Namespace, parent: Connection) -> None:
    """Train by a system in this process, in turns."""
    sys.stdout = sys.stderr  # where the Trainer logs
    wait(parent)
    after_step = Turns(parent, options.steps)
    peer(options, after_step) if name == PEER else ours(name, options, after_step)


def in_turns(options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Return seconds a step and peak bytes of each system in each round."""
    spawn = multiprocessing.get_context("spawn")
    connections: dict[str, Connection] = {}
    children = []
    for name in options.systems:
        connections[name], theirs = spawn.Pipe()
        children.append(spawn.Process(target=train, args=(name, options, theirs), daemon=True))
        children[-1].start()
        theirs.close()  # so that a child that ends is an EOFError here
    found: dict[str, list[dict[str, float]]] = {name: [] for name in options.systems}
    turn = random.Random(0)
    try:
        for done in range(options.rounds + 1):
            for name in turn.sample(options.systems, len(options.systems)):
                connections[name].send("go")
                try:
                    measured = connections[name].recv()
                except EOFError:
                    raise SystemExit(f"{name} ended before its turn did; what it said is above") from None
                if done:
                    found[name].append(measured)
            print(f"round {done} of {options.rounds}", file=sys.stderr)
    finally:
        for connection in connections.values():
            connection.close()  # which tells the children that no turn comes any more
        for child in children:
            child.join()
    return found


def ratio(ones: list[float], others: list[float]) -> dict[str, float]:
    """Return the median of the ratios of pairs, with its 95 % bootstrap interval."""
    ratios = np.array(ones) / np.array(others)
    medians = np.median(np.random.default_rng(0).choice(ratios, (10_000, len(ratios))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return {"ratio": round(float(np.median(ratios)), 3), "low": round(float(low), 3), "high": round(float(high), 3)}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a Hub id or folder of a pre-trained model")
    parser.add_argument("--data", default="snli", help="a corpus or a file of pairs, as unbag train takes them")
    parser.add_argument("--systems", nargs="+", default=[PEER, *recipes()], help=f"default: {PEER} and every recipe")
    parser.add_argument("--steps", type=int, default=6, help="of a turn, the first of them not timed (default 6)")
    parser.add_argument("--rounds", type=int, default=25, help="in which every system has its turn (default 25)")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", choices=("no", "bf16", "fp16"), default="no")
    options = parser.parse_args()
    if options.steps < 2:
        parser.error(f"expected at least 2 steps a turn, found {options.steps}")
    found = in_turns(options)
    seconds = {name: [each["seconds"] for each in rounds] for name, rounds in found.items()}
    peak = {name: rounds[-1]["peak"] for name, rounds in found.items()}
    result: dict[str, Any] = {
        "benchmark": "training",
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine(),
        "threads": torch.get_num_threads(),
        "precision": options.precision,
        "batch_size": options.batch_size,
        "steps": options.steps,
        "rounds": options.rounds,
        "steps_per_second": {name: round(1 / statistics.median(taken), 3) for name, taken in seconds.items()},
        "peak_mib": {name: round(most / 2**20) for name, most in peak.items()},
        "versions": {name: version(name) for name in ("torch", "transformers", "accelerate", "unbag")},
    }
    if PEER in found:
        result[f"speed_beside_{PEER}"] = {
            name: ratio(seconds[PEER], taken) for name, taken in seconds.items() if name != PEER
        }
    if PLAIN in found:
        result[f"step_time_beside_{PLAIN}"] = {
            name: ratio(taken, seconds[PLAIN]) for name, taken in seconds.items() if name != PLAIN
        }
        result[f"peak_beside_{PLAIN}"] = {name: round(most / peak[PLAIN], 3) for name, most in peak.items()}
    print(f"{'':14}{'steps/s':>10}{'peak MiB':>10}", file=sys.stderr)
    for name in found:
        print(f"{name:14}{result['steps_per_second'][name]:10.3f}{result['peak_mib'][name]:10}", file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
