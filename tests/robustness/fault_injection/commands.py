"""The commands of the table: arguments, outputs and caches."""

from __future__ import annotations

from dataclasses import dataclass, field

OUT = "there"
"""The folder that all of them write into."""

_PAIRS = ("--data", "pairs.csv")
_SNLI = ("--corpus", "snli", "--max-examples", "30")
_PERMUTED = ("permuted", "-o", "q=3", "-o", "min_words=3")


@dataclass(frozen=True)
class Command:
    """A command of the table.

    Attributes:
        name: the row of the table.
        told: the arguments. REPO stands for the repository of the cell.
        out: the output path in `OUT`. Empty if the command only prints.
        whole: whether the output folder is created atomically. Otherwise each file is.
        of_hub: the arguments for reading the Hub. Empty if the command does not read it.
        publishes: the type of the repository that it writes to.
        caches: the kinds of caches that it reads, with the arguments for each.
    """

    name: str
    arguments: tuple[str, ...]
    out: str = ""
    whole: bool = True
    of_hub: tuple[str, ...] = ()
    publishes: str = ""
    caches: dict[str, tuple[str, ...]] = field(default_factory=dict)


def _of(arguments: str, *more: str) -> tuple[str, ...]:
    return (*arguments.split(), *more)


_OUT = ("--output-dir", f"{OUT}/out")
_EVALUATE = ("--sets", "plain,swapped", *_OUT)
_LEXICAL = (
    "evaluate",
    "lexical",
    "--train-data",
    "snli",
    "--sets",
    "plain",
    "--corpus",
    "snli",
    "--split",
    "test",
    *_OUT,
)
_SOSWAP = ("build", "soswap_addamod", "--corpus", "snli", *_OUT)
_FIT = _of("lexical fit --l2 1 --pipeline all", *_OUT)
_TRAIN = _of(
    "train finetune --model dan --batch-size 8 --max-steps 24 --save-steps 3 --learning-rate .01",
    "--output-dir",
    f"{OUT}/out",
)
_MAKE = _of("models init dan --dimensions 8", *_OUT)
_DRAW = _of("human-study sample odd:answer --num-pairs 4 -o q=4 -o min_words=3", *_OUT)

COMMANDS = (
    Command(
        "build",
        ("build", *_PERMUTED, *_PAIRS, "--output", f"{OUT}/out.parquet"),
        "out.parquet",
        of_hub=("build", "swapped", "--corpus", "snli", "--output", f"{OUT}/out.parquet"),
        caches={
            "sets": ("build", *_PERMUTED, *_PAIRS, "--output", f"{OUT}/out.parquet"),
            "parses": _SOSWAP,
        },
    ),
    Command(
        "evaluate",
        ("evaluate", "trained", *_PAIRS, *_EVALUATE),
        "out",
        whole=False,
        of_hub=("evaluate", "trained", *_SNLI, *_EVALUATE),
        caches={
            "sets": ("evaluate", "trained", *_PAIRS, *_EVALUATE),
            "lexical": _LEXICAL,
            "store": ("evaluate", "trained", *_PAIRS, *_EVALUATE),
        },
    ),
    Command(
        "score",
        ("score", "answers.csv", "--set", "plain", *_PAIRS, *_OUT),
        "out",
        whole=False,
        caches={"sets": ("score", "answers.csv", "--set", "plain", *_PAIRS, *_OUT)},
    ),
    Command(
        "train",
        (*_TRAIN, "--corpus", "pairs.csv", "--validation", "pairs.csv"),
        "out",
        of_hub=(*_TRAIN, "--corpus", "snli", "--max-examples", "60", "--max-validation-examples", "20"),
        caches={"checkpoints": (*_TRAIN, "--corpus", "pairs.csv", "--validation", "pairs.csv")},
    ),
    Command(
        "lexical fit",
        (*_FIT, "--train-data", "pairs.csv"),
        "out",
        of_hub=(*_FIT, "--train-data", "snli"),
        caches={"tags": _of("lexical fit --l2 1 --train-data snli --max-train-pairs 60", *_OUT)},
    ),
    Command(
        "publish dataset",
        ("publish", "dataset", "plain", *_PAIRS, "--license", "mit", "--repo-id", "REPO", "--yes"),
        of_hub=("publish", "dataset", "plain", *_PAIRS, "--license", "mit", "--repo-id", "REPO", "--yes"),
        publishes="dataset",
        caches={"sets": ("publish", "dataset", "plain", *_PAIRS, "--license", "mit", "--repo-id", "REPO", "--yes")},
    ),
    Command(
        "publish model",
        ("publish", "model", "trained", "--repo-id", "REPO", "--yes"),
        of_hub=("publish", "model", "trained", "--repo-id", "REPO", "--yes"),
        publishes="model",
    ),
    Command(
        "report",
        ("report", "run", "other", "--output", f"{OUT}/report.html"),
        "report.html",
        caches={"records": ("report", "run", "other", "--output", f"{OUT}/report.html")},
    ),
    Command("compare", ("compare", "run", "other"), caches={"records": ("compare", "run", "other")}),
    Command(
        "check",
        ("check", "run", "--min", "swapped:score=-1", "--badge", f"{OUT}/badge.svg"),
        "badge.svg",
        caches={"records": ("check", "run", "--min", "swapped:score=-1", "--badge", f"{OUT}/badge.svg")},
    ),
    Command(
        "export",
        ("export", "lm-eval", "--sets", "plain,swapped", *_PAIRS, "--output-dir", f"{OUT}/out"),
        "out",
        whole=False,
        of_hub=("export", "lm-eval", "--sets", "plain", *_SNLI, "--output-dir", f"{OUT}/out"),
        caches={"sets": ("export", "lm-eval", "--sets", "plain,swapped", *_PAIRS, "--output-dir", f"{OUT}/out")},
    ),
    Command("models init", (*_MAKE, "--corpus", "pairs.csv"), "out", of_hub=(*_MAKE, "--corpus", "snli")),
    Command(
        "prefetch",
        ("prefetch", "trained", "--sets", "plain", *_PAIRS),
        of_hub=("prefetch", "trained", "--sets", "plain", "--corpus", "snli"),
    ),
    Command(
        "people",
        (*_DRAW, *_PAIRS),
        "out",
        whole=False,
        of_hub=(*_DRAW, "--corpus", "snli"),
        caches={"sets": (*_DRAW, *_PAIRS)},
    ),
)

# The location of each kind of cache: in the folder of all caches, or in the output.
WHERE = {
    "sets": "home/hf/datasets/unbag_*/**/*.arrow",
    "lexical": "home/cache/unbag/lexical/*/*",
    "tags": "home/cache/unbag/tagged/*",
    "parses": "home/cache/unbag/pars*/*",
    "store": f"{OUT}/out/predictions/*/*",
    "checkpoints": f"{OUT}/out.unfinished/checkpoints/*/model.safetensors",
    "records": "run/*.json",
}
