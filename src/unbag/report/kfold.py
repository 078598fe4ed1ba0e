"""Cross-validation on SICCK as a table: Table 9 of Akoju et al. (2023) beside Table 8, and Tables 18-24 below."""

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from unbag.challenge_sets.views.tables import titled
from unbag.scoring.natural_logic import MEASURES

_PROTOCOLS: Final = {
    "authors": "the authors' protocol",
    "spread": "pairs of each seed spread",
    "whole_seeds": "whole seeds",
}
_SPARED: Final = "none"  # the pairs without modifier: the paper has no table of these
_NAMES: Final = {"adjective/adverb": "adj./adverb", "seen": "seen seed", "unseen": "unseen seed"}  # for 80 columns


def table(done: Mapping[str, Any]) -> Table:
    """Return two lines for each group of pairs: the model as it is, and fine-tuned, mean ± standard deviation."""
    seeds, folds = len(done["seeds"]), done["config"]["folds"]
    grid = titled(
        f"{done['model']['name']} · sicck · {folds} folds, {_PROTOCOLS[done['config']['protocol']]}",
        *("", "F1", "precision", "recall", "accuracy", "pairs"),
        caption=f"{_mean_of(seeds)}, each pair by a model that was not trained on it",
    )
    for column in grid.columns[1:]:
        column.no_wrap = True
    summary = done["summary"]
    _add(grid, "all", summary["all"])
    for name in ("modifier_type", "part", "seed"):
        grid.add_section()
        for value, group in summary[name].items():
            if value != _SPARED:
                _add(grid, _NAMES.get(value, value), group)
    return grid


def _add(grid: Table, name: str, measures: Mapping[str, Any]) -> None:
    grid.add_row(name, *(f"{measures[each]['zero_shot']:.3f}" for each in MEASURES), f"{measures['pairs']:,}")
    grid.add_row("  fine-tuned", *(_spread(measures[each]) for each in MEASURES), style="bold")


def _spread(statistics: Mapping[str, Any]) -> str:
    deviation = statistics["standard_deviation"]
    return f"{statistics['mean']:.3f}" + ("" if deviation is None else f" ±{deviation:.3f}".replace("±0.", "±."))


def _mean_of(seeds: int) -> str:
    return "one training seed" if seeds == 1 else f"mean ± standard deviation over {seeds} training seeds"
