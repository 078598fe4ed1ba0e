"""SVG figures, rendered offline from Vega-Lite specifications by vl-convert.

Vega-Lite is declarative, so each chart is a short specification. The page embeds the SVG text, which contains no
script. Colors are CSS variables of the page, so that one SVG works with the light, dark and print styles. Up to six
models differ in color, shape and dash, so that color is never the only difference. The seventh model differs in shape
and dash.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, Final

import vl_convert
from markupsafe import Markup

from unbag.challenge_sets.views.figures import Figure, FigureSeries

_COLOURS: Final = 6  # colors in the style sheet; fewer than shapes, so that models with the same color differ in shape
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
BAR: Final = "M-0.17,-1.2h0.34v2.4h-0.34z"
"""Vertical bar, the marker of published reference results."""
HOLLOW_BAR: Final = "M-0.3,-1.1h0.6v2.2h-0.6z"
"""Hollow vertical bar, the marker of reference results on other rows or with other training data."""
DASHES: Final = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 2), (12, 3), (12, 3, 2, 3, 2, 3))
_REFERENCE_DASHES: Final = ((2, 4), (6, 4))
_WIDTH: Final = 350  # pixels including labels: the width of a phone, so that text is not scaled there
_CURVE_HEIGHT: Final = 190
_LANE: Final = 11  # pixels: height of the lane of one model
_LETTER: Final = 6.6  # pixels: mean width in the widest common font; vl-convert measures text in a narrower font
_BREAK: Final = ": "  # line break in a name
_LONGEST: Final = 28  # maximum number of characters per line of a name: half of a phone's width remains for the marks
_LINE: Final = 16  # pixels: line height of a name
_MOST_TICKS: Final = 100  # below 0 on an axis
_FEW: Final = 25  # maximum number of points of a curve that are drawn individually; more points would overlap
_VERSION: Final = "6.1"  # version of Vega-Lite, pinned so that all releases of vl-convert draw the same figures
_CONFIG: Final = {
    "aria": False,  # the page has a table for screen readers
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--quiet)",
        "titleColor": "var(--quiet)",
        "gridColor": "var(--grid)",
        "domainColor": "var(--grid)",
        "tickColor": "var(--grid)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 0,  # names are never truncated
        "labelOverlap": True,
    },
}


def choose_style(series: FigureSeries, models: Sequence[str]) -> tuple[str, str, tuple[int, ...]]:
    """Choose the color, shape and dash pattern of a series. A model's style depends on its position in `models`."""
    if series.is_reference:
        bar = HOLLOW_BAR if series.is_hollow else BAR
        return "var(--reference)", bar, _REFERENCE_DASHES[series.reference_index % len(_REFERENCE_DASHES)]
    index = models.index(series.name)
    return f"var(--model-{index % _COLOURS})", SHAPES[index % len(SHAPES)], DASHES[index % len(DASHES)]


def draw_svg(figure: Figure, models: Sequence[str]) -> Markup:
    """Draw a figure as an SVG element. The order of all models in the report determines their styles."""
    spec = _curve(figure, models) if figure.kind == "curve" else _dots(figure, models)
    picture = vl_convert.vegalite_to_svg({**spec, "width": _WIDTH, "config": _CONFIG}, vl_version=_VERSION)
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


def _values(figure: Figure) -> dict[str, Any]:
    rows = [
        {"x": wrap_name(x) if isinstance(x, str) else x, "y": value, "low": low, "high": high, "name": series.name}
        | ({"hollow": True} if series.is_hollow else {})
        for series in figure.series
        for x, (value, low, high, _), _ in series.points
    ]
    return {"values": rows}


def _scales(figure: Figure, models: Sequence[str]) -> dict[str, Any]:
    """Build the encodings (color, shape, dash) that distinguish the series."""
    styles = {series.name: choose_style(series, models) for series in figure.series}
    encodings = {}
    for channel, part in (("color", 0), ("shape", 1), ("strokeDash", 2)):
        scale = {"domain": list(styles), "range": [each[part] for each in styles.values()]}
        encodings[channel] = {"field": "name", "type": "nominal", "scale": scale, "legend": None}
    return encodings


def _share(channel: str, figure: Figure) -> dict[str, Any]:
    """Build the encoding of values from 0 to 1. With negative values, the axis starts at the next lower quarter."""
    lows = [low if low is not None else value for series in figure.series for _, (value, low, _, _), _ in series.points]
    quarters = math.floor(4 * min([0.0, *(low for low in lows if low is not None)]))
    step = max(1, -quarters // _MOST_TICKS)  # a skill score has no lower limit
    axis: dict[str, Any] = {"values": [number / 4 for number in range(quarters, 5, step)], "title": figure.y}
    if quarters:
        axis |= {"labelExpr": "datum.value % 0.5 ? '' : format(datum.value, '.1f')"}
    else:
        axis |= {"labelExpr": "100 * datum.value", "title": f"{figure.y}, in %"}
    return {channel: {"field": "y", "type": "quantitative", "scale": {"domain": [quarters / 4, 1]}, "axis": axis}}


def _curve(figure: Figure, models: Sequence[str]) -> dict[str, Any]:
    look = _scales(figure, models)
    y = _share("y", figure)
    few = len(figure.positions) <= _FEW
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "area", "opacity": 0.16},
            "encoding": {
                "y": {"field": "low", "type": "quantitative"},
                "y2": {"field": "high"},
                "color": look["color"],
            },
        },
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {**y, "color": look["color"], "strokeDash": look["strokeDash"]},
        },
    ]
    if few:
        layers.append(
            {
                "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
                "encoding": {**y, "color": look["color"], "shape": look["shape"]},
            }
        )
    axis = {"title": figure.x, "tickCount": 6, "grid": False, "labelFlush": False}
    x = {"field": "x", "type": "quantitative", "scale": {"zero": False, "nice": False}, "axis": axis}
    return {
        "autosize": {"type": "fit-x", "contains": "padding"},
        "height": _CURVE_HEIGHT,
        "data": _values(figure),
        "encoding": {"x": x},
        "layer": layers,
    }


def _dots(figure: Figure, models: Sequence[str]) -> dict[str, Any]:
    look = _scales(figure, models)
    ticks, names = [wrap_name(str(tick)) for tick in figure.positions], [series.name for series in figure.series]
    lines = max(tick.count("\n") + 1 for tick in ticks)
    # One lane per series, so that dots do not overlap. Lanes are unnecessary if each place has only one dot.
    lanes = len(names) if len(ticks) < sum(len(series.points) for series in figure.series) else 1
    step = max(lanes * _LANE + 8, lines * _LINE + 8)
    return {
        "autosize": {"type": "fit-x", "contains": "padding"},
        "height": {"step": step, "for": "position"},
        "data": _values(figure),
        "encoding": {
            "y": {
                "field": "x",
                "type": "nominal",
                "scale": {"domain": ticks, "paddingInner": 0.2, "paddingOuter": 0.1},
                "axis": {
                    "title": None,
                    "grid": False,
                    "domain": False,
                    "ticks": False,
                    "labelPadding": 8,
                    "labelExpr": "split(datum.label, '\\n')",
                    "minExtent": _LETTER * max(len(line) for tick in ticks for line in tick.split("\n")) + 8,
                },
            },
            **({"yOffset": {"field": "name", "type": "nominal", "scale": {"domain": names}}} if lanes > 1 else {}),
            "color": look["color"],
        },
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
                "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "size": 60, "opacity": 1},
                "encoding": {
                    **_share("x", figure),
                    "shape": look["shape"],
                    # All marks except hollow ones are filled.
                    "fill": look["color"],
                    "fillOpacity": {"condition": {"test": "isValid(datum.hollow)", "value": 0}, "value": 1},
                    "strokeWidth": {"condition": {"test": "isValid(datum.hollow)", "value": 1.4}, "value": 0},
                },
            },
        ],
    }


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
