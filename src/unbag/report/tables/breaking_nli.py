"""Category accuracy as a table: the rows of Glockner et al. 2018, Table 4, for one model."""

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.report.cells import headed, interval, left_out
from unbag.results import Result

_ENOUGH: Final = 50


def table(result: Result) -> RenderableType:
    """Return accuracy overall, by gold label, by category, and by similarity and frequency where they are known."""
    scores = result.scores
    shown = headed(result, "", "n", "accuracy [95 %]")
    shown.add_row("all", f"{scores['n_examples']:,}", interval(scores["accuracy"]), end_section=True)
    names = scores["labels"]
    views: list[tuple[str, Any]] = [
        ("by_label", lambda row: names[row["label"]]),
        ("by_category", lambda row: row["category"]),
        ("by_similarity", lambda row: f"cosine {row['low']:g} to {row['high']:g}"),
        ("by_frequency", _times),
    ]
    for view, name in views:
        rows = [row for row in scores.get(view, []) if row["accuracy"].n]
        for number, row in enumerate(rows, start=1):
            cells = f"{row['accuracy'].n:,}", interval(row["accuracy"])
            shown.add_row(name(row), *cells, end_section=number == len(rows))
    unanswered = f"; no answer to {scores['unanswered']:,}" if scores["unanswered"] else ""
    return Group(shown, Text(f"{left_out(result.data)}{unanswered}", style="dim"))


def verdict(result: Result) -> str:
    """Return how much the model knows of words, and where least."""
    scores = result.scores
    accuracy, share = scores["accuracy"], scores["majority"]
    if accuracy.n < _ENOUGH:
        return f"none yet; {accuracy.n} pairs, and {_ENOUGH} are needed to judge by."
    constant = f"one label for all would get {share:.0%}"
    known = [row for row in scores["by_category"] if row["accuracy"].n >= _ENOUGH]
    weakest = min(known, key=lambda row: row["accuracy"].value, default=None)
    where = f"; it knows {weakest['category']} least ({weakest['accuracy'].value:.0%})" if weakest else ""
    said = f"of pairs that differ in a word it gets {accuracy.value:.0%} ({constant}){where}."
    if accuracy.low is not None and accuracy.low <= share:
        return f"no sign that it knows words: {said}"
    return f"it knows some words: {said}"


def _times(row: dict[str, Any]) -> str:
    least, most = row["least"], row["most"]
    if most is None:
        return f"pair seen {least}+ times"
    return f"pair seen {least} times" if least == most else f"pair seen {least}-{most} times"
