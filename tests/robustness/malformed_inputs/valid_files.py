"""Valid files, runs and models, created once. Each input gets copies of some of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

from tests.fork_server import ForkServer

LABELS = ("entailment", "neutral", "contradiction")
PAIRS = [
    (f"The {age} {who} number {n} runs fast and sees a dog.", f"A {who} is {n} or so.", LABELS[n % 3])
    for n in range(8)
    for age, who in (("old", "man"), ("young", "woman with the red and the old dog"), ("red", "cat"))
]
WORDS = "a the man woman boy dog cat is are not no sleeps runs reads sees old young red and or so fast number".split()

# The commands that create the files, in this order. The light ones need no torch.
LIGHT = {
    "set.parquet": ("build", "plain", "--data", "pairs.csv"),
    "run": ("evaluate", "majority", "--train-data", "pairs.csv", "--sets", "plain,swapped", "--data", "pairs.csv"),
    "other": ("score", "answers.csv", "--set", "set.parquet"),
    "lexical": ("lexical", "fit", "--train-data", "pairs.csv", "--pipeline", "all", "--l2", "1"),
}
HEAVY = {
    "dan": ("models", "init", "dan", "--corpus", "pairs.csv", "--dimensions", "8"),
    "trained": (
        *("train", "finetune", "--model", "dan", "--corpus", "pairs.csv", "--validation", "pairs.csv"),
        *("--max-steps", "4", "--save-steps", "2", "--batch-size", "8"),
    ),
}

Run = Callable[[tuple[str, ...]], object]
"""What runs a command in the folder."""


def environment(home: Path, base: dict[str, str]) -> dict[str, str]:
    """Return the environment of all inputs: separate caches, no network, no colors, a wide terminal."""
    return base | {
        "HOME": str(home),
        "HF_HOME": str(home / "hf"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "UNBAG_LEXICAL_BASELINE": "0",
        "COLUMNS": "200",
        "TERM": "dumb",
        "OMP_NUM_THREADS": "1",
        "GIT_DIR": "none",  # records contain the commit of the checkout, which can change during the attack
    }


def write_pairs(path: Path) -> None:
    """Write the pairs as csv."""
    rows = [f"{premise},{hypothesis},{label}" for premise, hypothesis, label in PAIRS]
    path.write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")


def create_files(folder: Path, server: ForkServer, env: dict[str, str]) -> None:
    """Create all files in a folder."""

    def run(arguments: tuple[str, ...]) -> None:
        server.run("-m", "unbag", *arguments, env=env, cwd=folder, check=True)

    create_light_files(folder, run)
    for name, arguments in HEAVY.items():
        run((*arguments, "--output-dir", name))
    _make_bert(folder / "bert", server, env)


def create_light_files(folder: Path, run: Run) -> None:
    """Create the files that need no torch."""
    folder.mkdir()
    write_pairs(folder / "pairs.csv")
    for name, arguments in LIGHT.items():
        if name == "other":
            _write_answers(folder)
        run((*arguments, "--output" if arguments[0] == "build" else "--output-dir", name))
    (folder / "lexical" / "checksums.json").unlink()  # as for a model from another user
    (folder / "vectors.txt").write_text("".join(f"{word} {n} .5 {-n}e-1\n" for n, word in enumerate(WORDS)))
    people = folder / "people"
    people.mkdir()
    key = [f"{n},id{n},{LABELS[n % 3]},{('D^c', 'D^f')[n % 2]},shorter" for n in range(8)]
    (people / "key.csv").write_text("\n".join(["number,id,label,drawn_from,length", *key]) + "\n")
    sheet = [f"{n},A dog runs.,A dog.,{LABELS[n % 3]}" for n in range(8)]
    (people / "sheet.csv").write_text("\n".join(["number,premise,hypothesis,label", *sheet]) + "\n")


def _write_answers(folder: Path) -> None:
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "set.parquet", columns=["id"])["id"].to_pylist()
    with (folder / "answers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "prediction"), *((each, LABELS[i % 3]) for i, each in enumerate(rows))])


def ids(folder: Path) -> list[str]:
    """Return the ids of the rows of the set."""
    return [line.partition(",")[0] for line in (folder / "answers.csv").read_text().splitlines()[1:]]


def _make_bert(folder: Path, server: ForkServer, env: dict[str, str]) -> None:
    """Save a tiny random BERT, in a process forked from one that has imported torch."""
    server.run(
        "-m", "tests.robustness.malformed_inputs.tiny_bert", folder, env=env, cwd=Path(__file__).parents[3], check=True
    )
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"
