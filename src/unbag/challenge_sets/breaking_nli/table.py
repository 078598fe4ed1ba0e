"""Category accuracy as a table: the rows of Glockner et al. 2018, Table 4, for one model."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.labels import CONTRADICTION, ENTAILMENT
from unbag.results import Result
from unbag.views.cells import headed, interval, left_out, value

_ENOUGH: Final = 50  # pairs: the standard error of an accuracy is then below a tenth
_CONSTANT: Final = 0.55  # mean of the two shares; one answer for all has 0.5
_SEES: Final = 0.5  # of the contradictions


def table(result: Result) -> RenderableType:
    """Return accuracy overall, by gold label, by category, and by similarity and frequency where they are known.

    Beside it is what one annotator scores, where the pairs have annotators' labels.
    """
    scores = result.scores
    people = "human" in scores
    grid = headed(result, "", "n", "accuracy [95 %]", *(["human"] if people else []))
    grid.add_row("all", *_cells(scores["n_examples"], scores), end_section=True)
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
            grid.add_row(name(row), *_cells(row["accuracy"].n, row), end_section=number == len(rows))
    unanswered = f"; no answer to {scores['unanswered']:,}" if scores["unanswered"] else ""
    return Group(grid, Text(f"{left_out(result.data)}{unanswered}{_kappa(scores)}", style="dim"))


def verdict(result: Result) -> str:
    """Return whether the model knows words, or goes by what the sentences share."""
    names = result.scores["labels"]
    rows = [row for row in result.scores["by_label"] if row["accuracy"].n >= _ENOUGH]
    shares = {names[row["label"]]: row["accuracy"].value for row in rows}
    true = shares.pop(ENTAILMENT, None)
    if true is None or not shares:
        return f"none yet; {_ENOUGH} pairs each that entail and that do not are needed to judge by."
    false = shares.get(CONTRADICTION, min(shares.values()))
    figures = f"{true:.0%} of the entailments right and {false:.0%} of the contradictions"
    if (true + false) / 2 <= _CONSTANT:
        return f"no sign that it knows words: {figures}, hardly more than one answer for all."
    if false < _SEES:
        return f"it goes by the words that both sentences share: {figures}."
    known = [row for row in result.scores["by_category"] if row["accuracy"].n >= _ENOUGH]
    least = min(known, key=lambda row: row["accuracy"].value, default=None)
    where = f"; of {least['category']} {least['accuracy'].value:.0%}" if least else ""
    return f"it knows words: {figures}{where}."


def _cells(n: int, row: Mapping[str, Any]) -> list[str]:
    return [f"{n:,}", interval(row["accuracy"]), *([value(row["human"])] if "human" in row else [])]


def _kappa(scores: Mapping[str, Any]) -> str:
    """Return Fleiss' κ of the annotators, where there are some."""
    if "kappa" not in scores:
        return ""
    kappa, names = scores["kappa"], scores["labels"]
    by_label = ", ".join(f"{names[row['label']]} {value(row['kappa'])}" for row in kappa["by_label"])
    return f". Fleiss' κ of {kappa['annotators']} annotators: {value(kappa['overall'])} ({by_label})"


def _times(row: dict[str, Any]) -> str:
    least, most = row["least"], row["most"]
    if most is None:
        return f"pair seen {least}+ times"
    return f"pair seen {least} times" if least == most else f"pair seen {least}-{most} times"
