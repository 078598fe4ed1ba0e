"""Terminal table of Permutation Acceptance."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.permuted import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_points,
    format_share,
    format_value,
    summarize_exclusions,
)

MEANINGS: Final = {
    "accuracy": ("A", "right in order"),
    "omega_max": ("Ω_max", "accepted in some order"),
    "omega_rand": ("Ω_rand", "… above chance"),
    "omega_all": ("Ω_1.0", "… in every order"),
    "acceptance": ("P", "orders accepted"),
    "p_c": ("P^c", "orders accepted if right"),
    "p_c_accepted": ("P^c′", "if right and ever accepted"),
    "p_f": ("P^f", "orders accepted if flipped"),
    "entropy_c": ("H^c", "their entropy if right"),
    "entropy_f": ("H^f", "their entropy if flipped"),
}
_MIN_ORDERS: Final = 50  # from 50 permutations in a bin the standard error of their share is below 0.1


def build_table(result: Result) -> RenderableType:
    """Build the table of all metrics with intervals, and of their values at higher confidence thresholds."""
    scores = result.scores
    confident: Mapping[str, Any] = scores.get("confident", {})
    grid = create_result_table(
        SET.title, result, "", "", "value [95 %]", *(f"p ≥ {tau}" for tau in confident), n_text_columns=2
    )
    for name, (symbol, meaning) in MEANINGS.items():
        if name in scores:
            cells = [confident[tau].get(name) for tau in confident]
            grid.add_row(symbol, meaning, format_interval(scores[name]), *map(format_value, cells))
    notes = []
    if bins := [row for row in scores.get("by_minitree", ()) if row["n"] >= _MIN_ORDERS]:
        ratios = ", ".join(f"{row['low']:g} {row['acceptance']:.3f}" for row in bins)
        notes.append(f"accepted by POS mini-tree ratio, from: {ratios}")
    orders = f"{scores['n_examples']:,} examples × {scores['q']} orders (mode {result.config['mode']})"
    notes.append(f"{orders}, of {summarize_exclusions(result.data)}")
    return Group(grid, *(Text(note, style="dim") for note in notes))


def summarize_result(result: Result) -> str:
    """Summarize Permutation Acceptance and compare it with a bag of words and with chance."""
    scores = result.scores
    if scores["p_c"].value is None:
        return "no pair is correct in order, so P^c is undefined."
    return (
        f"on the {scores['n_c']:,} pairs that are correct in order, {format_share(scores['p_c'])} of the {scores['q']} "
        "permutations per pair keep their label (a bag of words or a constant prediction: 100 %; chance: "
        f"{format_points(1 / scores['n_labels'])} %)."
    )
