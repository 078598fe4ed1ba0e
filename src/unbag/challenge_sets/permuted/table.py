"""Permutation Acceptance as a table."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.permuted import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import exclusions, headed, interval, points, share, value

MEANINGS: Final = {
    "accuracy": ("A", "right in order"),
    "omega_max": ("Ω_max", "accepted in some order"),
    "omega_rand": ("Ω_rand", "… in more than by chance"),
    "omega_all": ("Ω_1.0", "… in every order"),
    "acceptance": ("P", "orders accepted"),
    "p_c": ("P^c", "orders accepted if right"),
    "p_c_accepted": ("P^c′", "if right and ever accepted"),
    "p_f": ("P^f", "orders accepted if flipped"),
    "entropy_c": ("H^c", "their entropy if right"),
    "entropy_f": ("H^f", "their entropy if flipped"),
}
_ENOUGH: Final = 50  # orders in a bin: the standard error of their share is below a tenth


def table(result: Result) -> RenderableType:
    """Return each quantity with its interval, and at higher confidence."""
    scores = result.scores
    confident: Mapping[str, Any] = scores.get("confident", {})
    grid = headed(SET.title, result, "", "", "value [95 %]", *(f"p ≥ {tau}" for tau in confident), words=2)
    for name, (symbol, meaning) in MEANINGS.items():
        if name in scores:
            cells = [confident[tau].get(name) for tau in confident]
            grid.add_row(symbol, meaning, interval(scores[name]), *map(value, cells))
    notes = []
    if bins := [row for row in scores.get("by_minitree", ()) if row["n"] >= _ENOUGH]:
        ratios = ", ".join(f"{row['low']:g} {row['acceptance']:.3f}" for row in bins)
        notes.append(f"accepted by POS mini-tree ratio, from: {ratios}")
    orders = f"{scores['n_examples']:,} examples × {scores['q']} orders (mode {result.config['mode']})"
    notes.append(f"{orders}, of {exclusions(result.data)}")
    return Group(grid, *(Text(note, style="dim") for note in notes))


def reading(result: Result) -> str:
    """Return what Permutation Acceptance is, beside what it is for a bag of words and for a guess."""
    scores = result.scores
    if scores["p_c"].value is None:
        return "it gets no pair right in order, so that P^c has no value."
    return (
        f"of the {scores['n_c']:,} pairs that it gets right in order, {share(scores['p_c'])} of the orders keep their "
        f"label (a bag of words or one answer for all: 100 %; a guess: {points(1 / scores['n_labels'])} %)."
    )
