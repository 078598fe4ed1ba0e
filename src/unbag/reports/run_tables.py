"""Numbers of runs as exported tables: one column per model, one row per number."""

from collections.abc import Callable, Sequence
from pathlib import Path

from unbag import challenge_sets
from unbag.challenge_sets.base import VERIFIER, Quantity
from unbag.challenge_sets.views.figures import Group
from unbag.challenge_sets.views.tables import interval, with_direction
from unbag.evaluation import quantities
from unbag.evaluation.quantities import MetricValue
from unbag.evaluation.verdict import SetVerdict, describe_scale
from unbag.reports.comparison import LOWER
from unbag.reports.formats import ExportedTable, Table
from unbag.reports.html.data import ReportData, gather, standings


def exported(folders: Sequence[Path]) -> ExportedTable:
    """Build the exported tables of the results in some folders, with models side by side.

    The tables have the numbers with the role "quoted". The records have all numbers that a
    set describes.

    Raises:
        ValueError: For the causes of `html.data.gather`.
    """
    gathered = gather(folders)
    verdicts = {name: list(of_one.values()) for name, of_one in standings(gathered).items()}
    summary = quantities.summarize_verdicts(verdicts)
    everything = [each for of_one in verdicts.values() for each in of_one]
    notes = (
        f"Values with 95 % intervals. Skill score: {describe_scale(everything)}",
        LOWER,
        *(f"Verdict on {name}: {sentence}" for name, sentence in summary["verdicts"].items()),
    )
    tables = [_table(gathered, "Numbers of", _is_quoted, notes)]
    verifiers = _table(gathered, "As verifiers:", _is_of_verifier, ("Values with 95 % intervals.",))
    if verifiers.groups:
        tables.append(verifiers)
    return ExportedTable(tables, summary["numbers"], summary)


def subject(folders: Sequence[Path]) -> list[SetVerdict]:
    """Compute the verdicts on the subject of a report on some folders."""
    gathered = gather(folders)
    return list(standings(gathered)[gathered.subject.name].values())


def _table(gathered: ReportData, title: str, chosen: Callable[[Quantity], bool], notes: tuple[str, ...]) -> Table:
    models = gathered.names
    groups = [rows for group in gathered.groups if (rows := _rows(group, models, chosen))]
    return Table(
        f"{title} {', '.join(models)}",
        ("set", "number", *models, "n"),
        groups,
        words=2,
        names=frozenset({0}),
        notes=notes,
    )


def _rows(group: Group, models: Sequence[str], chosen: Callable[[Quantity], bool]) -> list[tuple[str, ...]]:
    """Build the rows of one group."""
    by_model = {each.model.name: quantities.collect_metrics(each.result) for each in group.scored}
    rows: list[tuple[str, ...]] = []
    for name, quantity in quantities.describe_metrics(group.set).items():
        if not chosen(quantity):
            continue
        numbers = {model: by_model[model][name] for model in models if name in by_model.get(model, {})}
        if any(number.estimate.value is not None for number in numbers.values()):
            title = "" if rows else f"{challenge_sets.display_name(group.set)} · {group.title}"
            cells = (interval(numbers[model].estimate) if model in numbers else "" for model in models)
            rows.append(
                (
                    title,
                    with_direction(quantity.label, quantity.higher_is_better),
                    *cells,
                    _counts(list(numbers.values())),
                )
            )
    return rows


def _is_quoted(quantity: Quantity) -> bool:
    return "quoted" in quantity.roles


def _is_of_verifier(quantity: Quantity) -> bool:
    return quantity in VERIFIER


def _counts(numbers: Sequence[MetricValue]) -> str:
    """Format the number of examples: one count if all models have the same, otherwise one per model."""
    counts = list(dict.fromkeys(f"{number.estimate.n:,}" for number in numbers))
    return counts[0] if len(counts) == 1 else " / ".join(f"{number.estimate.n:,}" for number in numbers)
