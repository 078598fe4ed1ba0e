"""What is shown of a mended model: the comparison with what it was, in a terminal and on its card."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.evaluation.comparison import Comparison
from unbag.report import compared
from unbag.scoring.bootstrap import Estimate

_DOMAIN: Final = "plain"  # the set of a corpus's own pairs


def view(record: Mapping[str, Any], comparison: Comparison | None) -> RenderableType:
    """Return what a terminal shows: the comparison, or why there is none.

    Args:
        record: what `training.mended.mend` returned.
        comparison: of the model with what it was.
    """
    told = [Text(line, style="dim") for line in _remarks(record)]
    if comparison is None:
        return Group(*told)
    return Group(compared.view(comparison), Text(price(comparison)), *told)


def price(comparison: Comparison) -> str:
    """Return in a sentence what mending cost or gained on the corpora's own pairs."""
    own = [each for each in comparison.differences if each.set == _DOMAIN and each.quantity == "accuracy"]
    if not own:
        return "In domain: not asked."
    parts = []
    for each in own:
        points = _points(each.difference)
        sure = {True: "significant", False: "not significant", None: "not tested"}[comparison.significant(each)]
        parts.append(f"{each.data}, accuracy {points} points ({sure})")
    return f"In domain: {'; '.join(parts)}."


def card(record: Mapping[str, Any], comparison: Comparison | None, *, about: str, command: str, name: str) -> str:
    """Return the README of a mended model's folder, in Markdown.

    Args:
        record: what `training.mended.mend` returned.
        comparison: of the model with what it was; None where there is none.
        about: what the recipe does.
        command: what makes the model again.
        name: of the model.
    """
    [trained] = record["runs"]
    parts = [
        f"# {name}",
        f"`{trained['model']['name']}` (revision `{trained['model']['revision']}`), mended by unbag: an ordinary "
        "classifier of transformers, whose labels are named in its config.",
        about,
        f"```\n{command}\n```",
    ]
    if comparison is not None:
        exported = compared.exported(comparison)
        parts += ["## Before and after", exported.text("md"), price(comparison)]
    parts += [" ".join(_remarks(record))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _points(difference: Estimate) -> str:
    """Return a difference of shares in points, with its interval."""
    value, low, high = (None if bound is None else 100 * bound for bound in difference[:3])
    if value is None:
        return "–"
    return f"{value:+.1f}" + ("" if low is None or high is None else f" [{low:+.1f}, {high:+.1f}]")


def _remarks(record: Mapping[str, Any]) -> list[str]:
    lines = [f"Nothing to compare: {record['why_not']}."] if record["why_not"] else []
    lines += [f"Left out: {name} ({why})." for name, why in record["left_out"].items()]
    return lines
