"""Speed of a training step, compared with transformers' Trainer, and of each recipe, compared with plain fine-tuning.

    python benchmarks/training.py --model MODEL --data snli [--precision bf16]

Each system trains the same model from the same weights on the same batches in the same order, in its own process. The
systems take turns: in each round, every system takes its next few steps while the others wait. The order is random in
each round, so that other load on the machine affects all systems equally. The reliable numbers are the ratios of times
on the same batches: their median over rounds, with its 95 % bootstrap interval.

The first round and the first step of a round are not timed. Evaluation, checkpoints and tokenization are not part of a
step. A table goes to stderr, one JSON line to stdout.

The recipes are those in `trainers/` with their own objective. Prerequisite models (a teacher, a weak learner) are
trained in the first turn, which is not timed. Peak memory is the resident set of the process on a CPU, and torch's
allocation on a GPU.
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
from unbag.training.recipes import load_recipes

PEER = "trainer"
PLAIN = "finetune"


def list_single_model_recipes() -> dict[str, type[TrainConfig]]:
    """List the recipes with one objective. A recipe with a procedure trains several models."""
    return {name: recipe for name, recipe in load_recipes().items() if not recipe.procedure}


def last_step(options: argparse.Namespace) -> int:
    """Compute a number of steps that no system reaches, because unbag evaluates after the last step."""
    steps: int = (options.rounds + 1) * options.steps + 1
    return steps


def config_of(recipe: type[TrainConfig], options: argparse.Namespace, out: Path) -> TrainConfig:
    """Build the config of a short run of a recipe."""
    # HEX starts with steps of plain fine-tuning, which would be timed instead of its own steps.
    own: dict[str, Any] = {"warm_start": 0} if "warm_start" in {each.name for each in fields(recipe)} else {}
    return recipe(
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
    """Train with a recipe."""
    from unbag.training.output import get_work_folder
    from unbag.training.run import run

    with tempfile.TemporaryDirectory() as folder:
        known = list_single_model_recipes()
        recipe = known[name]
        config = config_of(recipe, options, Path(folder) / "out")
        for first in config.build_prerequisite_configs(get_work_folder(config.output_dir)).values():
            run(first)  # trained here, because it must not run again below, where steps are timed
        run(config, on_step=lambda step, total, said: after_step())


def peer(options: argparse.Namespace, after_step: Callable[[], None]) -> None:
    """Train with transformers' Trainer on the same batches as unbag."""
    from transformers import DataCollatorWithPadding, Trainer, TrainerCallback, TrainingArguments

    from unbag.inference.loading import load_classifier_for_training
    from unbag.training.batching import build_epoch_batches
    from unbag.training.data import load_training_data
    from unbag.training.dataset import PairEncoder
    from unbag.utils import rng

    with tempfile.TemporaryDirectory() as folder:
        config = config_of(list_single_model_recipes()[PLAIN], options, Path(folder))
        classifier = load_classifier_for_training(
            config.model, revision=None, label_map=None, seed=int(rng.compute_key(config.seed, "head"))
        )
        examples = load_training_data(config).training[0].examples
        encoder = PairEncoder.from_classifier(classifier)
        encoded = encoder.encode([(each.premise, each.hypothesis) for each in examples])
        batches = build_epoch_batches(encoded.lengths, config.batch_size, seed=config.seed, epoch=0)

        class Rows(torch.utils.data.Dataset[dict[str, Any]]):
            def __len__(self) -> int:
                return len(examples)

            def __getitem__(self, row: int) -> dict[str, Any]:
                ids, types = encoded.get_tokens(row)
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
    """A callback after each step. At the end of a turn, it reports the time and waits for the next turn."""

    def __init__(self, parent: Connection, steps: int) -> None:
        self._parent = parent
        self._steps = steps
        self._done: list[float] = []

    def __call__(self) -> None:
        """Record the time at the end of a step."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self._done.append(time.perf_counter())
        if len(self._done) == self._steps:
            # The first step of a turn is excluded, because the caches hold data of another process.
            seconds = (self._done[-1] - self._done[0]) / (self._steps - 1)
            self._parent.send({"seconds": seconds, "peak": peak_bytes()})
            wait(self._parent)
            self._done = []


def wait(parent: Connection) -> None:
    """Wait for the next turn of this process. If there is none, end the process."""
    try:
        parent.recv()
    except EOFError:
        raise SystemExit from None


def peak_bytes() -> int:
    """Read the peak memory of this process."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def train(name: str, options: argparse.Namespace, parent: Connection) -> None:
    """Train with a system in this process, in turns."""
    sys.stdout = sys.stderr  # the Trainer prints to stdout, which is for the JSON line
    wait(parent)
    after_step = Turns(parent, options.steps)
    peer(options, after_step) if name == PEER else ours(name, options, after_step)


def in_turns(options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """Measure seconds per step and peak bytes of each system in each round."""
    spawn = multiprocessing.get_context("spawn")
    connections: dict[str, Connection] = {}
    children = []
    for name in options.systems:
        connections[name], theirs = spawn.Pipe()
        children.append(spawn.Process(target=train, args=(name, options, theirs), daemon=True))
        children[-1].start()
        theirs.close()  # without this, the end of a child would not raise EOFError here
    found: dict[str, list[dict[str, float]]] = {name: [] for name in options.systems}
    turn = random.Random(0)
    try:
        for done in range(options.rounds + 1):
            for name in turn.sample(options.systems, len(options.systems)):
                connections[name].send("go")
                try:
                    measured = connections[name].recv()
                except EOFError:
                    raise SystemExit(f"{name} ended during its turn; its error is above") from None
                if done:
                    found[name].append(measured)
            print(f"round {done} of {options.rounds}", file=sys.stderr)
    finally:
        for connection in connections.values():
            connection.close()  # the children end when their connection is closed
        for child in children:
            child.join()
    return found


def ratio(ones: list[float], others: list[float]) -> dict[str, float]:
    """Compute the median of the ratios of paired times, with its 95 % bootstrap interval."""
    ratios = np.array(ones) / np.array(others)
    medians = np.median(np.random.default_rng(0).choice(ratios, (10_000, len(ratios))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return {"ratio": round(float(np.median(ratios)), 3), "low": round(float(low), 3), "high": round(float(high), 3)}


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a Hub id or folder of a pre-trained model")
    parser.add_argument("--data", default="snli", help="corpus or file of pairs, as for unbag train")
    parser.add_argument(
        "--systems", nargs="+", default=[PEER, *list_single_model_recipes()], help=f"default: {PEER} and every recipe"
    )
    parser.add_argument("--steps", type=int, default=6, help="steps per turn; the first one is not timed (default 6)")
    parser.add_argument("--rounds", type=int, default=25, help="number of rounds (default 25)")
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
