"""SVG figures, rendered offline from Vega-Lite specifications by vl-convert.

Vega-Lite is declarative, so the charts are one template, `figure.json.jinja`. The page embeds the SVG text, which
contains no script. Colors are CSS variables of the page, so that one SVG works with the light, dark and print styles.
Up to six models differ in color, shape and dash, so that color is never the only difference. The seventh model differs
in shape and dash.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Final

import vl_convert
from markupsafe import Markup

from unbag.challenge_sets.views.figures import Figure, FigureSeries
from unbag.utils.templates import render_template

_COLOURS: Final = 6  # colors in the style sheet; fewer than shapes, so that models with the same color differ in shape
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
BAR: Final = "M-0.17,-1.2h0.34v2.4h-0.34z"
"""Vertical bar, the marker of published reference results."""
HOLLOW_BAR: Final = "M-0.3,-1.1h0.6v2.2h-0.6z"
"""Hollow vertical bar, the marker of reference results on other rows or with other training data."""
DASHES: Final = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 2), (12, 3), (12, 3, 2, 3, 2, 3))
_REFERENCE_DASHES: Final = ((2, 4), (6, 4))
_LANE: Final = 11  # pixels: height of the lane of one model
_LETTER: Final = 6.6  # pixels: mean width in the widest common font; vl-convert measures text in a narrower font
_BREAK: Final = ": "  # line break in a name
_LONGEST: Final = 28  # maximum number of characters per line of a name: half of a phone's width remains for the marks
_LINE: Final = 16  # pixels: line height of a name
_MOST_TICKS: Final = 100  # below 0 on an axis
_VERSION: Final = "6.1"  # version of Vega-Lite, pinned so that all releases of vl-convert draw the same figures


def choose_style(series: FigureSeries, models: Sequence[str]) -> tuple[str, str, tuple[int, ...]]:
    """Choose the color, shape and dash pattern of a series. A model's style depends on its position in `models`."""
    if series.is_reference:
        bar = HOLLOW_BAR if series.is_hollow else BAR
        return "var(--reference)", bar, _REFERENCE_DASHES[series.reference_index % len(_REFERENCE_DASHES)]
    index = models.index(series.name)
    return f"var(--model-{index % _COLOURS})", SHAPES[index % len(SHAPES)], DASHES[index % len(DASHES)]


def draw_svg(figure: Figure, models: Sequence[str]) -> Markup:
    """Draw a figure as an SVG element. The order of all models in the report determines their styles."""
    rows = [
        {"x": wrap_name(x) if isinstance(x, str) else x, "y": value, "low": low, "high": high, "name": series.name}
        | ({"hollow": True} if series.is_hollow else {})
        for series in figure.series
        for x, (value, low, high, _), _ in series.points
    ]
    ticks = [wrap_name(str(tick)) for tick in figure.positions]
    # Color, shape and dash distinguish the series.
    styles = {series.name: choose_style(series, models) for series in figure.series}
    encodings: dict[str, Any] = {}
    for part, name in enumerate(("color", "shape", "dash")):
        scale = {"domain": list(styles), "range": [each[part] for each in styles.values()]}
        encodings[name] = {"field": "name", "type": "nominal", "scale": scale, "legend": None}
    # Lanes are unnecessary if each place has only one dot.
    lanes = len(figure.series) if len(ticks) < len(rows) else 1
    spec = render_template(
        __package__,
        "figure.json",
        figure=figure,
        values=rows,
        ticks=ticks,
        lanes=lanes,
        step=max(lanes * _LANE, _LINE * max(tick.count("\n") + 1 for tick in ticks)) + 8,
        extent=_LETTER * max(len(line) for tick in ticks for line in tick.split("\n")) + 8,
        share=_build_share_encoding(figure),
        **encodings,
    )
    picture = vl_convert.vegalite_to_svg(json.loads(spec), vl_version=_VERSION)
    # Screen readers use the table instead of the SVG. Namespaces are removed, because they look like external links.
    picture = re.sub(r' (?:role|aria-[a-z]+|class|xmlns:xlink|version)="[^"]*"', "", picture)
    return Markup(picture.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))


def wrap_name(name: str) -> str:
    r"""Split a name into lines at each colon. Long lines are also split after a space, a slash or a hyphen.

    >>> wrap_name("ynie/roberta-large-snli-mnli-anli"), wrap_name("D^c: right in order")
    ('ynie/roberta-large-snli-\nmnli-anli', 'D^c\nright in order')
    """
    lines = []
    for part in name.split(_BREAK):
        line = ""
        for token in re.findall(r"[^\s/-]*[\s/-]+|[^\s/-]+", part):
            if line and len(line) + len(token.rstrip()) > _LONGEST:
                lines.append(line.rstrip())
                line = ""
            line += token
        lines.append(line)
    return "\n".join(lines)


def _build_share_encoding(figure: Figure) -> dict[str, Any]:
    """Build the encoding of values from 0 to 1. With negative values, the axis starts at the next lower quarter."""
    lows = [low if low is not None else value for series in figure.series for _, (value, low, _, _), _ in series.points]
    quarters = math.floor(4 * min([0.0, *(low for low in lows if low is not None)]))
    step = max(1, -quarters // _MOST_TICKS)  # a skill score has no lower limit
    axis: dict[str, Any] = {"values": [number / 4 for number in range(quarters, 5, step)], "title": figure.y}
    if quarters:
        axis |= {"labelExpr": "datum.value % 0.5 ? '' : format(datum.value, '.1f')"}
    else:
        axis |= {"labelExpr": "100 * datum.value", "title": f"{figure.y}, in %"}
    return {"field": "y", "type": "quantitative", "scale": {"domain": [quarters / 4, 1]}, "axis": axis}


_OUTLINES: Final = {
    "circle": '<circle cx="15" cy="8" r="4.5"/>',
    "square": '<rect x="10.5" y="3.5" width="9" height="9"/>',
    "triangle-up": '<path d="M15 3l5.2 9H9.8z"/>',
    "diamond": '<path d="M15 2.2l4.6 5.8-4.6 5.8-4.6-5.8z"/>',
    "cross": '<path d="M13 3h4v3h3v4h-3v3h-4v-3h-3v-4h3z"/>',
    "triangle-down": '<path d="M15 13l5.2-9H9.8z"/>',
    "triangle-right": '<path d="M20 8l-9-5.2v10.4z"/>',
    BAR: '<path d="M14 2h2v12h-2z"/>',
    HOLLOW_BAR: '<path d="M12.7 2h4.6v12h-4.6z"/>',
}


def draw_swatch(series: FigureSeries, models: Sequence[str], *, line: bool) -> Markup:
    """Draw the legend symbol of a series as an SVG element."""
    colour, shape, dash = choose_style(series, models)
    pattern = "" if dash == (1, 0) else f' stroke-dasharray="{" ".join(map(str, dash))}"'
    curve = f'<path d="M0 8h30" stroke="{colour}" stroke-width="2"{pattern}/>' if line else ""
    look = f'fill="none" stroke="{colour}" stroke-width="1.4"' if series.is_hollow else f'fill="{colour}"'
    mark = f"<g {look}>{_OUTLINES[shape]}</g>"
    return Markup(
        f'<svg width="30" height="16" viewBox="0 0 30 16" aria-hidden="true" focusable="false">{curve}{mark}</svg>'
    )
