"""Speed of a model as a terminal table and as an exported table."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.inference.speed import SpeedTiming, select_fastest
from unbag.reports.formats import ExportedTable, GroupedTable

_COLUMNS = ("pairs per call", "pairs/s", "p50 ms", "p99 ms", "calls")
_NOTE = "p50 and p99 are the latency until the prediction of a pair. All times depend on the machine and its load."


def build_speed_view(timings: Sequence[SpeedTiming], title: str) -> RenderableType:
    """Build the terminal view of speed measurements, with one row per batch size (pairs per call)."""
    table = Table(*_COLUMNS, box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        column.justify, column.no_wrap = "right", True
    best = select_fastest(timings)
    for each in timings:
        table.add_row(*_cells(each, best), style="bold" if each is best else "")
    return Group(Text(title), table, Text(_NOTE, style="dim"))


def export_speed(timings: Sequence[SpeedTiming], title: str, record: Mapping[str, Any]) -> ExportedTable:
    """Build the table of speed measurements for export."""
    best = select_fastest(timings)
    rows = [_cells(each, best) for each in timings]
    table = GroupedTable(title, _COLUMNS, [rows], n_text_columns=1, notes=(_NOTE,))
    flat = [each.to_json() for each in timings]
    return ExportedTable([table], flat, {**record, "timings": flat, "best": best.to_json()})


def _cells(each: SpeedTiming, best: SpeedTiming) -> tuple[str, ...]:
    mark = " (best)" if each is best else ""
    return (
        f"{each.pairs_per_call}{mark}",
        f"{each.pairs_per_second:,.1f}",
        f"{each.p50:.1f}",
        f"{each.p99:.1f}",
        f"{each.calls:,}",
    )
