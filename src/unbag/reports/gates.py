"""Gate results as a terminal table and as tables for export."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag import challenge_sets
from unbag.challenge_sets.views.tables import format_count, format_interval
from unbag.evaluation.gates import GateReport, GateResult
from unbag.reports.comparison import format_difference, format_p_value
from unbag.reports.formats import ExportedTable, GroupedTable
from unbag.scoring.bootstrap import to_json

_STYLES = {"passes": "green", "fails": "bold red", "inconclusive": "yellow", "not computed": "bold red"}


def build_gate_view(report: GateReport) -> RenderableType:
    """Build the terminal view of gate results: a table with one row per gate, and the overall verdict."""
    results = report.gates
    tested = any(each.p is not None for each in results)
    columns = ("metric", "bound", "value [95 %]", "n", *(["p"] if tested else []), "")
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))  # fits 80 columns
    table.columns[0].overflow = "fold"
    table.columns[1].no_wrap = True
    for column in table.columns[2:]:
        column.justify, column.no_wrap = "right", True
    for each in results:
        same = sum((other.set, other.number, other.asked) == (each.set, each.number, each.asked) for other in results)
        name = f"{each.set}:{each.number}" + (f" · {each.data}" if same > 1 else "")
        *cells, p, outcome = _cells(each)
        table.add_row(name, *cells, *([p] if tested else []), Text(outcome, style=_STYLES[outcome]))
    return Group(
        table,
        *(Text(line, style="dim") for line in _remarks(report)),
        Text(format_gate_verdict(results, strict=report.strict), style="bold"),
    )


def format_gate_verdict(results: Sequence[GateResult], *, strict: bool) -> str:
    """Format the overall verdict on all gates as a sentence.

    >>> from dataclasses import replace
    >>> from unbag.scoring.bootstrap import Estimate
    >>> undecided = GateResult("plain", "snli", "score", "", "≥ 0.2", Estimate(0.2, 0.1, 0.3, 90), "inconclusive")
    >>> format_gate_verdict([undecided], strict=False)
    'Passed: no gate fails; 1 of 1 inconclusive.'
    >>> format_gate_verdict([undecided], strict=True)
    'Failed (strict): 1 of 1 inconclusive.'
    >>> format_gate_verdict([undecided, replace(undecided, outcome="not computed")], strict=False)
    'Failed: 1 of 2 gates not computed; 1 of 2 inconclusive.'
    """
    total = len(results)
    gates = f"gate{'' if total == 1 else 's'}"
    failed, missing, unknown = (
        sum(each.outcome == outcome for each in results) for outcome in ("fails", "not computed", "inconclusive")
    )
    inconclusive = f"{unknown} of {total} inconclusive"
    if failed or missing:
        parts = [f"{failed} of {total} {gates}"] if failed else []
        parts += [f"{missing} of {total} {'' if failed else f'{gates} '}not computed"] if missing else []
        return f"Failed: {'; '.join([*parts, *([inconclusive] if unknown else [])])}."
    if unknown:
        return f"Failed (strict): {inconclusive}." if strict else f"Passed: no gate fails; {inconclusive}."
    return f"Passed: {'the only gate' if total == 1 else f'all {total} gates'}."


def export_gates(report: GateReport) -> ExportedTable:
    """Build the tables of gate results for export."""
    rows = [
        (" · ".join(filter(None, (challenge_sets.get_display_name(each.set), each.data))), each.label, *_cells(each))
        for each in report.gates
    ]
    sentence = format_gate_verdict(report.gates, strict=report.strict)
    records = [to_json(vars(each)) for each in report.gates]
    flat = [
        {name: value for name, value in record.items() if name != "estimate"} | record["estimate"] for record in records
    ]
    sentences = (*_remarks(report), sentence)
    columns = ("set", "metric", "bound", "value [95 %]", "n", "p (Holm)", "verdict")
    table = GroupedTable(
        "Gates", columns, [rows], n_text_columns=3, n_last_text_columns=1, names=frozenset({0}), notes=sentences
    )
    as_json = {
        "passed": not report.is_failure,
        "strict": report.strict,
        "gates": records,
        "changed_labels": [to_json(each._asdict()) for each in report.changed_labels],
        "notes": report.notes,
        "verdict": sentence,
    }
    return ExportedTable([table], flat, as_json)


def _cells(each: GateResult) -> tuple[str, ...]:
    """Format the bound, the value of the metric or its difference from the reference run, n, p and the outcome."""
    value = format_difference(each.estimate) if each.against else format_interval(each.estimate)
    p = format_p_value(each.p) if each.against else ""
    return each.asked, value, format_count(each.estimate), p, each.outcome


def _remarks(report: GateReport) -> list[str]:
    """List the models that gates compare with, the changed labels, the reasons without a verdict, and the notes."""
    names = dict.fromkeys(each.against for each in report.gates if each.against)
    against = [f"No worse than {name} (A): values are paired differences from {name}." for name in names]
    against += [
        f"{challenge_sets.get_display_name(each.set)} · {each.data}: {each.changed:,} of {each.estimate.n:,} labels "
        f"differ from {each.against}, {format_interval(each.estimate)}."
        for each in report.changed_labels
    ]
    reasons = [f"{each.set}:{each.number}: {each.why}." for each in report.gates if each.why]
    # A note that gives the reason of a gate is printed once.
    explained = {each.why for each in report.gates}
    return [*against, *reasons, *(f"{note}." for note in report.notes if note not in explained)]
