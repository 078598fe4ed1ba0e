"""Permutation Acceptance as a table."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.results import Result
from unbag.views.cells import headed, interval, left_out, value

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
_ENOUGH: Final = 50  # examples right in order: the share's standard error is then a few hundredths
_COUNTS_WORDS, _READS_SOME = 0.95, 0.6  # of P^c; a model that only counts words has 1, one that guesses a third


def table(result: Result) -> RenderableType:
    """Return each quantity with its interval, and at higher confidence."""
    scores = result.scores
    confident: Mapping[str, Any] = scores.get("confident", {})
    grid = headed(result, "", "", "value [95 %]", *(f"p ≥ {tau}" for tau in confident), words=2)
    for name, (symbol, meaning) in MEANINGS.items():
        if name in scores:
            cells = [confident[tau].get(name) for tau in confident]
            grid.add_row(symbol, meaning, interval(scores[name]), *map(value, cells))
    notes = []
    if bins := [row for row in scores.get("by_minitree", ()) if row["n"] >= _ENOUGH]:
        ratios = ", ".join(f"{row['low']:g} {row['acceptance']:.3f}" for row in bins)
        notes.append(f"accepted by POS mini-tree ratio, from: {ratios}")
    orders = f"{scores['n_examples']:,} examples × {scores['q']} orders (mode {result.config['mode']})"
    notes.append(f"{orders}, of {left_out(result.data)}")
    return Group(grid, *(Text(note, style="dim") for note in notes))


def verdict(result: Result) -> str:
    """Return what Permutation Acceptance says of a model."""
    share, _, _, n = result.scores["p_c"]
    if share is None:
        return "it gets no pair right in the first place, so its permutations say nothing."
    if n < _ENOUGH:
        return f"none yet; it gets {n} examples right, and {_ENOUGH} are needed to judge by."
    kept = f"{share:.0%} of the orders of what it gets right keep their label (a bag of words: 100%)"
    if share >= _COUNTS_WORDS:
        return f"it counts words at best: {kept}."  # a constant answer has P^c = 1 too
    if share >= _READS_SOME:
        return f"it reads words, little of their order: {kept}."
    return f"word order matters to it: {kept}."
