"""Badge for a model card: on how many challenge sets the model is better than its baseline, or how many gates pass."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from unbag.evaluation.verdict import SetVerdict
from unbag.utils.files import atomic_write, write_json
from unbag.utils.templates import render_template

_COLOURS: Final = {True: ("blue", "#0a6ebd"), False: ("lightgrey", "#6b6b6b")}
"""Colors with and without a positive result: a name for shields.io, and a hex color with a contrast of 4.5 to white."""
_SPACE: Final = 12  # pixels
_LETTER: Final = 6.6  # pixels: mean width in Verdana at 11 px; `textLength` scales the text to the exact width


def write_badge(verdicts: Sequence[SetVerdict], path: Path) -> None:
    """Write the badge of one model to an SVG file, or to a JSON file for shields.io.

    The JSON is for the endpoint badge (https://shields.io/badges/endpoint-badge). Verdicts on unchanged pairs of a
    corpus do not count.
    """
    _write(*format_badge_text(verdicts), path, is_positive=bool(_better(verdicts)))


def write_gate_badge(n_passed: int, n_gates: int, path: Path, *, is_failure: bool) -> None:
    """Write the badge of a gated model without results on a challenge set: the number of gates that it passes."""
    message = f"{n_passed} of {n_gates} pass{'es' if n_gates == 1 else ''}"
    _write("gates", message, path, is_positive=n_passed > 0 and not is_failure)


def _write(label: str, message: str, path: Path, *, is_positive: bool) -> None:
    name, colour = _COLOURS[is_positive]
    if path.suffix == ".json":
        write_json({"schemaVersion": 1, "label": label, "message": message, "color": name}, path)
    else:
        left, right = (round(len(text) * _LETTER) + _SPACE for text in (label, message))
        texts = {"label": label, "message": message, "left": left, "right": right, "space": _SPACE, "colour": colour}
        with atomic_write(path) as tmp:
            tmp.write_text(render_template(__package__, "badge.svg", autoescape=True, **texts), encoding="utf-8")


def format_badge_text(verdicts: Sequence[SetVerdict]) -> tuple[str, str]:
    """Format the label and the message of a badge. The message counts the sets on which the model is better."""
    evaluated = [each for each in verdicts if not each.is_control]
    if not evaluated:
        raise ValueError(
            "badge: expected results on at least one challenge set, got none; evaluate the model on a challenge set"
        )
    better = _better(verdicts)
    # Without the shuffled control or the lexical baseline, a badge must not claim that the model uses word order.
    lexical = all(each.lexical is not None for each in (better or evaluated))
    shuffled = all(each.shuffled is not None or not each.needs_control for each in (better or evaluated))
    label = "reads more than words" if lexical and shuffled else "better than chance"
    return label, f"shown on {len(better)} of {len(evaluated)} set{'' if len(evaluated) == 1 else 's'}"


def _better(verdicts: Sequence[SetVerdict]) -> list[SetVerdict]:
    """Select the challenge sets on which the model is better than its baseline."""
    return [each for each in verdicts if each.standing == "better" and not each.is_control]
