"""Invalid options: numbers, choices, bounds and output paths."""

from __future__ import annotations

import random

from tests.robustness.malformed_inputs.inputs import Input, Special

_PAIRS = ("--data", "pairs.csv")
_EVALUATE = ("evaluate", "majority", "--train-data", "pairs.csv", "--sets", "plain", *_PAIRS, "--output-dir", "out")
_TRAIN = (
    "train",
    "finetune",
    "--model",
    "dan",
    "--corpus",
    "pairs.csv",
    "--validation",
    "pairs.csv",
    "--output-dir",
    "out",
)
_MAKE = ("models", "init", "dan", "--corpus", "pairs.csv", "--output-dir", "out")
_FIT = ("lexical", "fit", "--train-data", "pairs.csv", "--pipeline", "all", "--output-dir", "out")
_BUILD = ("build", "permuted", *_PAIRS, "--output", "out")

COUNTS = (
    *((_BUILD, option) for option in ("--max-examples",)),
    *((_BUILD, f"-o {name}=") for name in ("q", "min_words")),
    *((_EVALUATE, option) for option in ("--max-examples",)),
    *((_FIT, option) for option in ("--max-train-pairs",)),
    *((_MAKE, option) for option in ("--dimensions", "--min-count")),
    *(
        (_TRAIN, f"--{name}")
        for name in ("num-train-epochs", "max-steps", "batch-size", "gradient-accumulation-steps", "max-length")
    ),
    *((_TRAIN, f"--{name}") for name in ("eval-steps", "early-stopping-patience", "save-steps", "logging-steps")),
    *((_TRAIN, f"--{name}") for name in ("max-examples", "max-validation-examples", "augment-pairs")),
    (("human-study", "sample", "bert", *_PAIRS, "--output-dir", "out"), "--num-pairs"),
)
REALS = (
    (_FIT, "--l2"),
    *((_TRAIN, f"--{name}") for name in ("learning-rate", "warmup-ratio", "weight-decay", "max-grad-norm")),
    (("compare", "run", "other"), "--significance-level"),
    (
        ("build", "cs_lambda", *_PAIRS, "--output", "out", "-o", "train_data=pairs.csv", "-o", "pipeline=all"),
        "-o min_lms=",
    ),
)
CHOICES = (
    *((_BUILD, option) for option in ("--language", "--columns", "--labels", "--corpus")),
    *((_EVALUATE, option) for option in ("--dtype", "--head", "--language", "--set-option")),
    *((_FIT, option) for option in ("--tags", "--train-data")),
    *((_TRAIN, f"--{name}") for name in ("word-order", "precision", "report-to", "augment", "language", "evaluate")),
    *((_TRAIN, f"--{name}") for name in ("seeds", "resume-from-checkpoint", "corpus", "validation", "label-map")),
    *((_MAKE, option) for option in ("--vectors", "--encoder", "--corpus", "-o")),
    (("report", "run", "--output", "report.html"), "--format"),
    (("compare", "run", "other"), "--format"),
    (("compare", "run", "other"), "--metric"),
    (("export", "lm-eval", "--sets", "plain", *_PAIRS, "--output-dir", "out"), "--hub"),
    (("export", "lm-eval", "--sets", "plain", *_PAIRS, "--output-dir", "out"), "--num-fewshot"),
    (("score", "answers.csv", "--output-dir", "out"), "--set"),
)
_NO_COUNT = ("", "x", "1.5", "-1", "-99999999999999999999", "nan", "0x10", "9" * 30, "1e9", "inf", "١x", "1 2", "--1")
_NO_REAL = ("", "x", "nan", "inf", "-inf", "-1", "1e999", "0,5", "--1", "1 2", "\x1b[31m")
_NO_CHOICE = ("nonsense", "\x1b[31mred", "[red]x", "../x", "a\nb", "{}", "*", "xx,yy", "é", "x" * 3000, "=", ",")
_BOUNDS = (
    *("", "plain", "plain:score", "plain:=1", ":score=1", "plain:score=x", "plain:score=nan", "plain:score=inf", "=1"),
    *(
        "plain:score=1e10",
        "plain:score=0.1=0.2",
        "plain:nonsense=.1",
        "nonsense:score=.1",
        "PLAIN:score=.1",
        ",",
        "*:*=1",
    ),
    *("plain:score>.1", "permuted:score=.1", "plain:score=.1,nonsense", "\x1b[31m:score=1", "[red]:x=1"),
)


def counts(rng: random.Random) -> Input:
    """Sample an invalid count."""
    command, option = rng.choice(COUNTS)
    return _build_input(command, option, rng.choice(_NO_COUNT), "counts")


def reals(rng: random.Random) -> Input:
    """Sample an invalid number."""
    command, option = rng.choice(REALS)
    return _build_input(command, option, rng.choice(_NO_REAL), "numbers")


def choices(rng: random.Random) -> Input:
    """Sample an invalid choice."""
    command, option = rng.choice(CHOICES)
    # as a pattern, it would match all metrics
    values = [value for value in _NO_CHOICE if (option, value) != ("--metric", "*")]
    return _build_input(command, option, rng.choice(values), "choices")


def bounds(rng: random.Random) -> Input:
    """Sample an invalid bound."""
    return _build_input(("check", "run"), rng.choice(("--min", "--max")), rng.choice(_BOUNDS), "bounds")


def _build_input(command: tuple[str, ...], option: str, value: str, kind: str) -> Input:
    if option.startswith("-o "):
        arguments = (*command, "-o", option.removeprefix("-o ") + value)
    elif option in ("-o", "--set-option"):
        arguments = (*command, option, value)
    elif option in command:  # remove the existing value
        place = command.index(option)
        arguments = (*command[:place], f"{option}={value}", *command[place + 2 :])
    else:
        arguments = (*command, f"{option}={value}")
    uses = tuple(
        name
        for name in ("pairs.csv", "dan", "bert", "run", "other", "answers.csv")
        if any(name in p for p in arguments)
    )
    return Input(kind, arguments, {}, uses, "refuse", f"{option} {value[:20]!r}")


_WRITES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("a folder", _EVALUATE, "--output-dir"),
    ("a folder", (*_TRAIN, "--max-steps", "1"), "--output-dir"),
    ("a folder", _MAKE, "--output-dir"),
    ("a folder", (*_FIT, "--l2", "1"), "--output-dir"),
    ("a folder", (*_BUILD, "-o", "q=2", "-o", "min_words=3"), "--output"),
    ("a folder", ("export", "lm-eval", "--sets", "plain", *_PAIRS, "--output-dir", "out"), "--output-dir"),
    ("a folder", ("score", "answers.csv", "--set", "set.parquet", "--output-dir", "out"), "--output-dir"),
    ("a file", ("build", "plain", *_PAIRS, "--output", "out"), "--output"),
    ("a file", ("report", "run", "--output", "out"), "--output"),
    ("a file", ("report", "run", "--output", "report.html", "--badge", "out"), "--badge"),
    ("a file", ("check", "run", "--min", "plain:score=-1", "--badge", "out"), "--badge"),
)


def outputs(rng: random.Random) -> Input:
    """Sample a path that cannot be written: of another type, inside a file, or with a name that is too long."""
    what, command, option = rng.choice(_WRITES)
    ending = ".parquet" if command[0] == "build" and what == "a file" else ".svg" if option == "--badge" else ""
    files: dict[str, bytes | Special] = {}
    how = rng.randrange(5)
    if how == 0:
        place, about = (
            f"there{ending}",
            "a folder in a file's place" if what == "a file" else "a file in a folder's place",
        )
        files[place] = "folder" if what == "a file" else b"of the user"
    elif how == 1:
        place, about = f"there/below/it{ending}", "below a file"
        files["there"] = b"of the user"
    elif how == 2:
        place, about = f"{'x' * 300}{ending}", "too long a name"
    elif how == 3:
        place, about = f"there{ending}", "a named pipe"
        files[place] = "fifo"
    else:
        place, about = f"there/it{ending}", "below a symlink to itself"
        files["there"] = "loop"
    at = command.index(option) + 1
    arguments = (*command[:at], place, *command[at + 1 :])
    uses = tuple(name for name in ("pairs.csv", "dan", "run", "answers.csv", "set.parquet") if name in arguments)
    return Input("places to write", arguments, files, uses, "refuse", f"{what}: {about}")
