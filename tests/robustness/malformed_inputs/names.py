"""Unknown names of sets, models, corpora, recipes, configs, repositories and commands."""

from __future__ import annotations

import random

from tests.robustness.malformed_inputs.inputs import Input

_NAMES = (
    *(
        "nonsense",
        "",
        " ",
        "-x",
        "--",
        "*",
        "?",
        "..",
        "../..",
        "/",
        "/etc/passwd",
        ".",
        "a/b/c",
        "a b/c",
        "org/na\nme",
    ),
    *(
        "\x1b[31mred\x1b[0m",
        "[red]x[/b]",
        "\u202ex",
        "a:b",
        "os:system",
        "builtins:eval",
        "x" * 4000,
        "é/ü",
        "😀",
        "$(id)",
    ),
    *(
        "causal:",
        "endpoint:",
        "causal:x",
        "endpoint:x",
        "lexical:",
        ":x",
        "x:",
        "a:b:c",
        "nope.py:f",
        "json:nope",
        "'",
        '"',
    ),
    *(
        "https://example.invalid/x",
        "file:///etc/passwd",
        "a\\b",
        "a%2fb",
        "~",
        "~nobody/x",
        "CON",
        "x.git",
        "{}",
        "=",
        ",",
    ),
)
_WHERE: tuple[tuple[str, ...], ...] = (
    ("build", "NAME", "--data", "pairs.csv", "--output", "out"),
    ("build", "plain", "--corpus", "NAME", "--output", "out"),
    ("build", "plain", "--data", "NAME", "--output", "out"),
    ("build", "plain", "--corpus", "snli", "--split", "NAME", "--output", "out"),
    ("evaluate", "NAME", "--sets", "plain", "--data", "pairs.csv", "--output-dir", "out"),
    ("evaluate", "majority", "--train-data", "NAME", "--sets", "plain", "--data", "pairs.csv", "--output-dir", "out"),
    ("evaluate", "bert", "--sets", "NAME", "--data", "pairs.csv", "--output-dir", "out"),
    ("evaluate", "bert", "--sets", "plain", "--config", "NAME", "--output-dir", "out"),
    ("evaluate", "bert", "--label-map", "NAME", "--sets", "plain", "--data", "pairs.csv", "--output-dir", "out"),
    ("evaluate", "bert", "--device", "NAME", "--sets", "plain", "--data", "pairs.csv", "--output-dir", "out"),
    ("score", "NAME", "--set", "set.parquet", "--output-dir", "out"),
    ("sets", "NAME"),
    ("papers", "NAME"),
    ("report", "NAME", "--output", "report.html"),
    ("compare", "NAME", "other"),
    ("check", "NAME", "--min", "plain:score=.1"),
    ("check", "run", "--no-worse-than", "NAME"),
    ("export", "NAME", "--data", "pairs.csv", "--output-dir", "out"),
    ("export", "lm-eval", "--sets", "NAME", "--data", "pairs.csv", "--output-dir", "out"),
    ("models", "init", "NAME", "--corpus", "pairs.csv", "--output-dir", "out"),
    ("train", "NAME", "--model", "dan", "--corpus", "pairs.csv", "--output-dir", "out"),
    ("train", "finetune", "--model", "NAME", "--corpus", "pairs.csv", "--output-dir", "out"),
    ("lexical", "score", "--premise", "A.", "--hypothesis", "B.", "--model", "NAME"),
    ("lexical", "fit", "--train-data", "pairs.csv", "--pipeline", "NAME", "--output-dir", "out"),
    ("human-study", "sample", "NAME", "--data", "pairs.csv", "--output-dir", "out"),
    ("human-study", "score", "NAME", "pairs.csv"),
    ("prefetch", "NAME", "--sets", "plain", "--data", "pairs.csv"),
    ("prefetch", "bert", "--sets", "NAME"),
    ("publish", "dataset", "NAME", "--repo-id", "org", "--data", "pairs.csv", "--license", "mit"),
    ("publish", "dataset", "plain", "--repo-id", "NAME", "--data", "pairs.csv", "--license", "mit"),
    ("publish", "dataset", "plain", "--repo-id", "org", "--data", "pairs.csv", "--license", "NAME"),
    ("publish", "dataset", "plain", "--repo-id", "org", "--data", "pairs.csv", "--license", "mit", "--config", "NAME"),
    ("publish", "model", "NAME", "--repo-id", "org"),
    ("publish", "model", "trained", "--repo-id", "NAME"),
    ("publish", "results", "NAME", "--sets-org", "org", "--repo-id", "org/x"),
    ("publish", "metric", "NAME", "--repo-id", "org"),
    ("natlog", "label", "--premise", "A.", "--hypothesis", "B.", "--pipeline", "NAME"),
    ("NAME",),
)
# Valid cases: an empty --config is ignored, a dash starts an option, and a comma separates nothing.
_MAY_PASS = {("sets", ""), ("papers", "")}


def names(rng: random.Random) -> Input:
    """Sample an unknown name for an argument."""
    where, name = rng.choice(_WHERE), rng.choice(_NAMES)
    if name.startswith("-") and "NAME" in where:  # otherwise it would be an option
        name = f"x{name}"
    arguments = tuple(name if part == "NAME" else part for part in where)
    uses = tuple(
        each for each in ("pairs.csv", "set.parquet", "run", "other", "dan", "bert", "trained") if each in arguments
    )
    is_none = not name and ("--split" in where or "--config" in where)
    expected = "" if is_none or (where[0], name) in _MAY_PASS else "refuse"
    return Input("names", arguments, {}, uses, expected, repr(name[:30]))  # type: ignore[arg-type]
