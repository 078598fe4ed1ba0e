"""Notebook view of a run: an HTML fragment with inline styles for light and dark themes, without scripts."""

from collections.abc import Sequence
from html import escape
from typing import Final

from unbag import challenge_sets
from unbag.challenge_sets.results import Result, SkippedSet, group_skipped_sets
from unbag.challenge_sets.views.tables import format_count, format_interval
from unbag.evaluation import metrics, verdict
from unbag.evaluation.verdict import SetVerdict, Standing
from unbag.reports import terminal

# These colors contrast with both white and black, because the theme of the notebook is unknown.
_GREY: Final = "#7d868e"
_COLOURS: Final[dict[Standing, str]] = {
    "better": "#2a8a4a",
    "no better": _GREY,
    "worse": "#cf4a26",
    "inconclusive": _GREY,
}
_WIDTH, _HEIGHT, _MARGIN = 180, 18, 6  # pixels
# Inline, because the style sheet of the notebook also applies to tables in its outputs.
_CELL: Final = "padding:.2em 1em .2em 0;border:0;background:none"
_NUMBER: Final = f"{_CELL};text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_WORDS: Final = f"{_CELL};text-align:left"
_BETTER: Final = {True: "higher is better", False: "lower is better", None: ""}
_QUIET: Final = "opacity:.7;font-size:.9em;margin:.3em 0"


def build_notebook_view(results: Sequence[Result], skipped: Sequence[SkippedSet] = ()) -> str:
    """Build the notebook view, an HTML fragment: verdict, skill scores, and all metrics in collapsed sections."""
    standings = verdict.compute_model_verdict(results)
    parts = ['<div style="font-family:system-ui,sans-serif;line-height:1.4;max-width:52em">']
    if results:
        name = escape(str(results[0].model["name"]))
        parts += [
            f'<p style="margin:.3em 0"><b>{name}</b>: {escape(verdict.format_verdict(standings))}</p>',
            _table(standings, results),
            f'<p style="{_QUIET}">{escape(verdict.describe_skill_scale(standings))}</p>',
            *(_numbers(result, results) for result in results),
        ]
    for reason, sets in group_skipped_sets(skipped).items():
        names = ", ".join(dict.fromkeys(each.set for each in sets))
        parts.append(f'<p style="{_QUIET}">Skipped: {escape(names)} ({escape(reason)})</p>')
    return "\n".join([*parts, "</div>"])


def _table(standings: Sequence[SetVerdict], results: Sequence[Result]) -> str:
    bounds = [bound for each in standings for bound in each.score[:3] if bound is not None]
    low, high = min([0.0, *bounds]), max([1.0, *bounds])
    heads = "".join(
        f'<th scope="col" style="{style};font-weight:600">{head}</th>'
        for head, style in (
            ("set", _WORDS),
            ("skill score [95 %]", _NUMBER),
            ("", _WORDS),
            ("rows", _NUMBER),
            ("standing", _WORDS),
        )
    )
    rows = "".join(
        f'<tr style="background:none"><th scope="row" style="{_WORDS};font-weight:400">'
        f"{escape(terminal.format_row_name(each.result, results))}</th>"
        f'<td style="{_NUMBER}">{format_interval(each.score)}</td>'
        f'<td style="{_WORDS}">{_bar(each, low, high)}</td>'
        f'<td style="{_NUMBER}">{format_count(each.score)}</td><td style="{_WORDS}">{escape(str(each))}</td></tr>'
        for each in standings
    )
    return (
        '<table style="border-collapse:collapse;margin:.3em 0;border:0">'
        f'<thead><tr style="background:none;border-bottom:1px solid {_GREY}">{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _bar(standing: SetVerdict, low: float, high: float) -> str:
    """Draw a score and its interval on an axis from `low` to `high`, with ticks at 0 and 1."""
    score, middle = standing.score, _HEIGHT / 2
    if score.value is None:
        return ""

    def x(value: float) -> str:
        return f"{_MARGIN + (value - low) / (high - low) * (_WIDTH - 2 * _MARGIN):.1f}"

    colour = _COLOURS[standing.standing]
    shapes = [f'<line x1="{x(at)}" x2="{x(at)}" y1="1" y2="{_HEIGHT - 1}" stroke="{_GREY}"/>' for at in (0, 1)]
    if score.low is not None and score.high is not None:
        shapes.append(
            f'<line x1="{x(score.low)}" x2="{x(score.high)}" y1="{middle}" y2="{middle}" stroke="{colour}" '
            'stroke-width="3" stroke-linecap="round"/>'
        )
    shapes.append(f'<circle cx="{x(score.value)}" cy="{middle}" r="5" fill="{colour}"/>')
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(format_interval(score))}" style="vertical-align:middle">{"".join(shapes)}</svg>'
    )


def _numbers(result: Result, results: Sequence[Result]) -> str:
    """Build the collapsed section with all metrics of a set."""
    rows = "".join(
        f'<tr style="background:none"><td style="{_WORDS}">{escape(number.label)}</td>'
        f'<td style="{_NUMBER}">{format_interval(number.estimate)}</td>'
        f'<td style="{_NUMBER}">n = {number.estimate.n:,}</td>'
        f'<td style="{_WORDS}">{_BETTER[number.higher_is_better]}</td></tr>'
        for number in metrics.collect_metrics(result).values()
    )
    title = escape(
        f"{terminal.format_row_name(result, results)}: {challenge_sets.get_challenge_set(result.set).question}"
    )
    return (
        f'<details style="margin:.1em 0"><summary style="cursor:pointer">{title}</summary>'
        '<table style="border-collapse:collapse;border:0;margin:.2em 0 .5em 1em">'
        f"<tbody>{rows}</tbody></table></details>"
    )
