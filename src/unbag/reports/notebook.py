"""Notebook view of a run: an HTML fragment with inline styles for light and dark themes, without scripts."""

from collections.abc import Sequence
from typing import Final

from unbag import challenge_sets
from unbag.challenge_sets.results import Result, SkippedSet, group_skipped_sets
from unbag.challenge_sets.views.tables import format_count, format_interval
from unbag.evaluation import metrics, verdict
from unbag.reports import terminal
from unbag.utils.templates import render_template

_WIDTH, _MARGIN = 180, 6  # pixels
_BETTER: Final = {True: "higher is better", False: "lower is better", None: ""}


def build_notebook_view(results: Sequence[Result], skipped: Sequence[SkippedSet] = ()) -> str:
    """Build the notebook view, an HTML fragment: verdict, skill scores, and all metrics in collapsed sections."""
    standings = verdict.compute_model_verdict(results)
    bounds = [bound for each in standings for bound in each.score[:3] if bound is not None]
    low, high = min([0.0, *bounds]), max([1.0, *bounds])

    def place(value: float | None) -> str | None:
        return None if value is None else f"{_MARGIN + (value - low) / (high - low) * (_WIDTH - 2 * _MARGIN):.1f}"

    text = render_template(
        __package__,
        "html/notebook.html",
        autoescape=True,
        model=results[0].model["name"] if results else "",
        verdict=verdict.format_verdict(standings),
        ends=[place(0), place(1)],
        rows=[
            {
                "name": terminal.format_row_name(each.result, results),
                "score": format_interval(each.score),
                **dict(zip(("value", "low", "high"), map(place, each.score[:3]), strict=True)),
                "standing": each.standing,
                "n": format_count(each.score),
                "outcome": str(each),
            }
            for each in standings
        ],
        scale=verdict.describe_skill_scale(standings),
        metrics=[
            (
                f"{terminal.format_row_name(result, results)}: {challenge_sets.get_challenge_set(result.set).question}",
                [
                    (
                        number.label,
                        format_interval(number.estimate),
                        f"{number.estimate.n:,}",
                        _BETTER[number.higher_is_better],
                    )
                    for number in metrics.collect_metrics(result).values()
                ],
            )
            for result in results
        ],
        skipped=[
            (", ".join(dict.fromkeys(each.set for each in sets)), reason)
            for reason, sets in group_skipped_sets(skipped).items()
        ],
    )
    return text.rstrip("\n")
