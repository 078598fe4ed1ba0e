"""Metrics of runs as tables for export, with one column per model and one row per metric."""

from collections.abc import Callable, Sequence
from pathlib import Path

from unbag import challenge_sets
from unbag.challenge_sets.base import VERIFIER, MetricDefinition
from unbag.challenge_sets.views.figures import ResultGroup
from unbag.challenge_sets.views.tables import add_direction_arrow, format_interval
from unbag.evaluation import metrics
from unbag.evaluation.verdict import SetVerdict, describe_skill_scale
from unbag.reports.comparison import LOWER
from unbag.reports.formats import ExportedTable, GroupedTable
from unbag.reports.html.data import ReportData, compute_verdicts_by_group, load_report_data


def export_runs(folders: Sequence[Path]) -> ExportedTable:
    """Build tables for export that show the models of one or more runs side by side.

    The tables contain the metrics with the role "quoted". The records contain all metrics of each set.
    """
    report_data = load_report_data(folders)
    verdicts = {name: list(of_one.values()) for name, of_one in compute_verdicts_by_group(report_data).items()}
    summary = metrics.summarize_verdicts(verdicts)
    everything = [each for of_one in verdicts.values() for each in of_one]
    notes = (
        f"Values with 95 % intervals. Skill score: {describe_skill_scale(everything)}",
        LOWER,
        *(f"Verdict on {name}: {sentence}" for name, sentence in summary["verdicts"].items()),
    )
    tables = [_table(report_data, "Metrics of", lambda metric: "quoted" in metric.roles, notes)]
    verifiers = _table(report_data, "Verification metrics of", VERIFIER.__contains__, ("Values with 95 % intervals.",))
    if verifiers.groups:
        tables.append(verifiers)
    return ExportedTable(tables, summary["numbers"], summary)


def compute_main_model_verdicts(folders: Sequence[Path]) -> list[SetVerdict]:
    """Compute the verdicts on the main model of one or more runs."""
    report_data = load_report_data(folders)
    return list(compute_verdicts_by_group(report_data)[report_data.main_model.name].values())


def _table(
    report_data: ReportData, title: str, chosen: Callable[[MetricDefinition], bool], notes: tuple[str, ...]
) -> GroupedTable:
    models = report_data.names
    groups = [rows for group in report_data.groups if (rows := _rows(group, models, chosen))]
    return GroupedTable(
        f"{title} {', '.join(models)}",
        ("set", "metric", *models, "n"),
        groups,
        n_text_columns=2,
        names=frozenset({0}),
        notes=notes,
    )


def _rows(
    group: ResultGroup, models: Sequence[str], chosen: Callable[[MetricDefinition], bool]
) -> list[tuple[str, ...]]:
    by_model = {each.model.name: metrics.collect_metrics(each.result) for each in group.scored_models}
    rows: list[tuple[str, ...]] = []
    for name, metric in metrics.describe_metrics(group.set).items():
        if not chosen(metric):
            continue
        numbers = {model: by_model[model][name] for model in models if name in by_model.get(model, {})}
        if any(number.estimate.value is not None for number in numbers.values()):
            title = "" if rows else f"{challenge_sets.get_display_name(group.set)} · {group.title}"
            cells = (format_interval(numbers[model].estimate) if model in numbers else "" for model in models)
            counts = [f"{numbers[model].estimate.n:,}" if model in numbers else "–" for model in models]
            # A single count if it is the same for all models that have the metric, otherwise one per model.
            distinct = [count for count in dict.fromkeys(counts) if count != "–"]
            n = distinct[0] if len(distinct) == 1 else " / ".join(counts)
            rows.append((title, add_direction_arrow(metric.label, metric.higher_is_better), *cells, n))
    return rows
