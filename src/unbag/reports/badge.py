"""A badge for a model's card: on how many challenge sets the model is shown to do more than count words."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from unbag.evaluation.verdict import SetVerdict
from unbag.utils.files import atomic_write, write_json

_COLOURS: Final = {True: ("blue", "#0a6ebd"), False: ("lightgrey", "#6b6b6b")}
"""By whether there is any such set: the name that shields.io knows, and what has a contrast of 4.5 with white."""
_SPACE: Final = 12
_LETTER: Final = 6.6  # pixels, of Verdana at 11; what it is exactly, `textLength` makes it

_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{said}">
<title>{said}</title>
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{left_middle}" y="14" textLength="{left_text}">{label}</text>
<text x="{right_middle}" y="14" textLength="{right_text}">{message}</text>
</g>
</svg>
"""


def write(verdicts: Sequence[SetVerdict], path: Path) -> None:
    """Write the badge of one model.

    Args:
        verdicts: how it stands on each set; the corpus itself does not count.
        path: an `.svg`; or a `.json`, as shields.io takes it from an address (https://shields.io/badges/endpoint-badge).

    Raises:
        ValueError: if the file is neither, or no challenge set was asked.
    """
    label, message = words(verdicts)
    name, colour = _COLOURS[bool(_better(verdicts))]
    if path.suffix == ".json":
        write_json({"schemaVersion": 1, "label": label, "message": message, "color": name}, path)
    elif path.suffix == ".svg":
        with atomic_write(path) as tmp:
            tmp.write_text(_svg(label, message, colour), encoding="utf-8")
    else:
        raise ValueError(f"expected a badge as .svg or .json, found {path}")


def words(verdicts: Sequence[SetVerdict]) -> tuple[str, str]:
    """Return what a badge says, on its left and on its right; what cannot be told is not shown.

    Raises:
        ValueError: if no challenge set was asked.
    """
    asked = [each for each in verdicts if not each.is_control]
    if not asked:
        raise ValueError("expected the results of a challenge set for a badge, found none")
    better = _better(verdicts)
    # A model that was not asked with shuffled words is not said to need their order.
    lexical = all(each.lexical is not None for each in (better or asked))
    shuffled = all(each.shuffled is not None or not each.needs_control for each in (better or asked))
    label = "reads more than words" if lexical and shuffled else "better than chance"
    return label, f"shown on {len(better)} of {len(asked)} set{'' if len(asked) == 1 else 's'}"


def _better(verdicts: Sequence[SetVerdict]) -> list[SetVerdict]:
    """Return where it is shown: on the other sets it may be no better, or not be told."""
    return [each for each in verdicts if each.standing == "better" and not each.is_control]


def _svg(label: str, message: str, colour: str) -> str:
    texts = [round(len(text) * _LETTER) for text in (label, message)]
    left, right = (width + _SPACE for width in texts)
    return _SVG.format(
        width=left + right,
        left=left,
        right=right,
        left_middle=left / 2,
        right_middle=left + right / 2,
        left_text=texts[0],
        right_text=texts[1],
        colour=colour,
        label=escape(label),
        message=escape(message),
        said=escape(f"{label}: {message}"),
    )
