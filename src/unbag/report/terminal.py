"""Results as tables that fit a terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.files import whole
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy": ("A", "right in order"),
    "omega_max": ("Ω_max", "accepted in some order"),
    "omega_rand": ("Ω_rand", "… in more than by chance"),
    "omega_all": ("Ω_1.0", "… in every order"),
    "p_c": ("P^c", "orders accepted if right"),
    "p_f": ("P^f", "orders accepted if flipped"),
    "entropy_c": ("H^c", "their entropy if right"),
    "entropy_f": ("H^f", "their entropy if flipped"),
}
_ENOUGH: Final = 50  # examples right in order: the share's standard error is then a few hundredths
_COUNTS_WORDS, _READS_SOME = 0.95, 0.6  # of P^c; a model that only counts words has 1, one that guesses a third


def view(result: Result) -> RenderableType:
    """Return one result as a table with its verdict."""
    scores, data, config = result.scores, result.data, result.config
    confident: Mapping[str, Any] = scores.get("confident", {})
    table = Table(
        *("", "", "value [95 %]", *(f"p ≥ {tau}" for tau in confident)),
        title=f"{result.model['name']} · {result.set} · {data['name']} {data['split'] or ''}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for column in table.columns[2:]:
        column.justify = "right"
    for name, (symbol, meaning) in _MEANINGS.items():
        if name in scores:
            cells = [confident[tau].get(name) for tau in confident]
            table.add_row(symbol, meaning, _interval(scores[name]), *(_value(cell) for cell in cells))
    made = f"{scores['n_examples']:,} examples × {scores['q']} orders (mode {config['mode']}), of {left_out(data)}"
    return Group(table, Text(made, style="dim"), Text(verdict(scores), style="bold"))


def verdict(scores: Mapping[str, Any]) -> str:
    """Return what Permutation Acceptance says of a model, in a sentence."""
    share, _, _, n = scores["p_c"]
    if share is None:
        return "Verdict: it gets no pair right in the first place, so its permutations say nothing."
    if n < _ENOUGH:
        return f"Verdict: none yet; it gets {n} examples right, and {_ENOUGH} are needed to judge by."
    kept = f"{share:.0%} of the orders of what it gets right keep their label (a bag of words: 100%)"
    if share >= _COUNTS_WORDS:
        return f"Verdict: it counts words at best: {kept}."  # a constant answer has P^c = 1 too
    if share >= _READS_SOME:
        return f"Verdict: it reads words, little of their order: {kept}."
    return f"Verdict: word order matters to it: {kept}."


def left_out(data: Mapping[str, Any]) -> str:
    """Return how many rows of the source were not used, and why."""
    reasons = {"unlabelled": "unlabelled", "empty": "empty", "unfit": "too short to permute", "not_drawn": "not drawn"}
    parts = [f"{data['left_out'][key]:,} {words}" for key, words in reasons.items() if data["left_out"].get(key)]
    return f"{data['rows']:,} rows" + (f"; left out {', '.join(parts)}" if parts else "")


def write(results: Sequence[Result], path: Path) -> None:
    """Write what `show` prints as a text file, 80 columns wide."""
    with whole(path) as beside, beside.open("w", encoding="utf-8") as file:
        show(results, Console(file=file, width=80, highlight=False))


def show(results: Sequence[Result], console: Console) -> None:
    """Print results."""
    for result in results:
        console.print(view(result))


def _interval(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _value(estimate: Estimate | None) -> str:
    return "" if estimate is None else "–" if estimate.value is None else f"{estimate.value:.3f}"
