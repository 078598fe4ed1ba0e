"""Terminal tables: one table per set, the summary with the verdict, and the cross-domain table.

The cross-domain table shows the accuracy of each model on each corpus (ReSNLI paper, Table 2).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views import verifier
from unbag.challenge_sets.views.figures import TextTable
from unbag.challenge_sets.views.tables import format_interval, format_value
from unbag.evaluation.metrics import compute_verdicts
from unbag.evaluation.prompt_spread import compute_prompt_spreads
from unbag.evaluation.verdict import (
    MARKS,
    TOO_FEW_ROWS,
    SetVerdict,
    describe_skill_scale,
    format_verdict,
    get_report_position,
)
from unbag.reports.reproduce import list_remarks
from unbag.utils.files import atomic_write
from unbag.utils.terminal import create_console

_ACROSS: Final = 5  # maximum number of model columns in 80 characters
_LEGEND: Final = ", ".join(f"{mark} {standing}" for standing, mark in MARKS.items())


def build_summary_table(results: Sequence[Result]) -> RenderableType:
    """Build the table of skill scores, with one row per set in the order of the HTML report, and the verdicts.

    For a single model, the table has intervals and baselines. For several models, it has their values side by side.
    """
    # The models keep their order: only the rows of each model are sorted.
    results = _sort_results(results)
    by_model = compute_verdicts(results)
    names = list(by_model)
    sentences = [
        Text(f"Verdict{f' on {name}' if len(names) > 1 else ''}: {format_verdict(each)}", style="bold")
        for name, each in by_model.items()
    ]
    every = [each for of_one in by_model.values() for each in of_one]
    if len(names) > 1:
        return Group(
            _several(by_model, results), Text(f"{describe_skill_scale(every)} {_LEGEND}.", style="dim"), *sentences
        )
    if len(every) == 1:
        [one] = every
        if one.score.value is None:
            line = f"No skill score: {TOO_FEW_ROWS}."
        else:
            line = f"Skill score {format_interval(one.score)}, {one.score.n:,} rows. {describe_skill_scale(every)}"
        return Group(Text(line), *sentences)
    table = _empty("set", "model", "shuffled", "lexical", "skill [95 %]", "")
    few = next((each.reason for each in every if each.reason), "")
    for each in every:
        parts = ("" if share is None else f"{share:.3f}" for share in (each.model, each.shuffled, each.lexical))
        mark = "*" if each.reason else ""
        table.add_row(
            format_row_name(each.result, results), *parts, format_interval(each.score), f"{each.standing}{mark}"
        )
    if all(each.score.value is None for each in every):
        note = f"No skill score: {TOO_FEW_ROWS}."
    else:
        note = f"In the first three columns 0 is chance. Skill score: {describe_skill_scale(every)}"
        note += f" * Inconclusive regardless of the interval: {few}." if few else ""
    return Group(Text(names[0], style="italic"), table, Text(note, style="dim"), *sentences)


def _several(by_model: Mapping[str, Sequence[SetVerdict]], results: Sequence[Result]) -> RenderableType:
    letters = {model: chr(ord("A") + index) if index < 26 else str(index + 1) for index, model in enumerate(by_model)}
    parts: list[RenderableType] = [Text("\n".join(f"{letter}  {model}" for model, letter in letters.items()))]
    names = list(letters)
    for start in range(0, len(names), _ACROSS):
        columns = names[start : start + _ACROSS]
        rows: dict[str, dict[str, SetVerdict]] = {}
        verdicts = [each for model in columns for each in by_model[model]]
        for each in sorted(verdicts, key=lambda each: get_report_position(each.result)):
            rows.setdefault(format_row_name(each.result, results), {})[each.result.model["name"]] = each
        table = _empty("set", *(letters[model] for model in columns), "rows")
        for name, row in rows.items():
            cells = {model: f"{format_value(each.score)} {MARKS[each.standing]}" for model, each in row.items()}
            counts = [each.score.n for each in row.values() if each.score.value is not None]
            # Published predictions may cover different rows.
            ends = sorted({min(counts), max(counts)}) if counts else []
            n = " to ".join(f"{count:,}" for count in ends) or "–"
            table.add_row(name, *(cells.get(model, "") for model in columns), n)
        parts.append(table)
    return Group(*parts, Text("Skill scores; `unbag compare` tests differences between models.", style="dim"))


def _empty(*columns: str) -> Table:
    table = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    return table


def format_row_name(result: Result, results: Sequence[Result]) -> str:
    """Format the row name of a result: the display name of the set, and the corpus if the set has several corpora."""
    several = {other.corpus for other in results if other.set == result.set}
    title = challenge_sets.get_display_name(result.set)
    return f"{title} {result.corpus}" if len(several) > 1 else title


def build_cross_domain_table(results: Sequence[Result]) -> RenderableType:
    """Build the cross-domain table from results on the set `plain`, with one row per corpus and model."""
    models = list(dict.fromkeys(result.model["name"] for result in results))
    corpora = list(dict.fromkeys(result.corpus for result in results))
    scores = {(result.model["name"], result.corpus): result.scores for result in results}
    table = Table("tested on", "model", "accuracy [95 %]", "n", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for corpus in corpora:
        for model in models:
            accuracy = scores[model, corpus]["accuracy"]
            first, last = model == models[0], model == models[-1]
            table.add_row(
                corpus if first else "", model, format_interval(accuracy), f"{accuracy.n:,}", end_section=last
            )
    majorities = ", ".join(f"{corpus} {scores[models[0], corpus]['majority']:.3f}" for corpus in corpora)
    notes = [Text(f"{result.corpus}: {each}") for result in results for each in list_remarks(result)]
    return Group(table, Text(f"Best constant prediction: {majorities}.", style="dim"), *notes)


FILE: Final = "table.txt"


def format_summary(result: Result) -> str:
    """Format the main metrics of a result as a sentence."""
    text = challenge_sets.get_challenge_set(result.set).summarize_result(result)
    return text[0].upper() + text[1:]


def build_result_view(result: Result) -> RenderableType:
    """Build the terminal view of one result: its table, a summary sentence, and warnings."""
    described = challenge_sets.get_challenge_set(result.set)
    warning = result.model.get("label_probe_warning")
    warnings = [Text(f"{result.model['name']} {warning}.")] if warning else []
    warnings += [Text(each) for each in list_remarks(result)]
    parts = [described.build_table(result), Text(format_summary(result))]
    # Verification metrics only on unchanged pairs. The HTML report shows them for every set.
    if described.is_control and (table := verifier.build_verifier_table(result)) is not None:
        parts += [Text(), table, *map(Text, verifier.describe_thresholds(result))]
    return Group(*parts, *warnings)


def build_remark_views(results: Sequence[Result]) -> list[RenderableType]:
    """Build the lines with the remarks on each model, without those that are equal for all of its sets."""
    return [Text(each) for each in dict.fromkeys(line for result in results for line in list_remarks(result))]


def build_result_views(results: Sequence[Result], *, cross_domain: bool = False) -> list[RenderableType]:
    """Build the terminal view of each result, by model and in the order of the HTML report.

    With `cross_domain`, build a single cross-domain table instead.
    """
    if cross_domain:
        return [build_cross_domain_table(results)]
    return [build_result_view(result) for result in _sort_results(results)]


def _sort_results(results: Sequence[Result]) -> list[Result]:
    """Sort results by model in the given order, and each model's results in the order of the HTML report."""
    models = [result.model["name"] for result in results]
    return sorted(results, key=lambda each: (models.index(each.model["name"]), get_report_position(each)))


def build_summary_views(results: Sequence[Result]) -> list[RenderableType]:
    """Build the table of skill scores and verdicts, and tables of several verifiers and of several prompts."""
    controls = [each.result for of_model in compute_verdicts(results).values() for each in of_model if each.is_control]
    verifiers = verifier.build_verifier_comparison(controls)
    views = [build_summary_table(results), *([verifiers] if verifiers else [])]
    if prompts := build_prompt_table(results):
        table = _empty(*prompts.columns)
        for row in prompts.rows:
            table.add_row(*row)
        views.append(table)
    return views


def build_prompt_table(results: Sequence[Result]) -> TextTable | None:
    """Build the table that shows how metrics vary over several prompts. Return None if each model has one prompt."""
    spreads = compute_prompt_spreads(results)
    models, corpora = ({getattr(each, name) for each in spreads} for name in ("model", "data"))
    rows = []
    for each in spreads:
        title = f"{challenge_sets.get_display_name(each.set)}: {each.label}"
        about = [title, *([each.model] if len(models) > 1 else []), *([each.data] if len(corpora) > 1 else [])]
        ends = (f"{each.values[prompt]:.3f} ({prompt})" for prompt in (each.lowest, each.highest))
        rows.append((", ".join(about), f"{each.mean:.3f}", f"{each.deviation:.3f}", *ends))
    caption = "Metrics over several prompts, with the standard deviation over prompts (SD)"
    return TextTable(caption, ("metric", "mean", "SD", "lowest", "highest"), tuple(rows)) if rows else None


def write_views(renderables: Sequence[RenderableType], path: Path) -> None:
    """Write views to a text file with a width of 80 columns."""
    # A fixed width, so that the file does not depend on the terminal.
    with atomic_write(path) as tmp, tmp.open("w", encoding="utf-8") as file:
        print_views(renderables, create_console(file=file, width=80))


def print_views(renderables: Sequence[RenderableType], console: Console) -> None:
    """Print views, each followed by an empty line."""
    for renderable in renderables:
        console.print(renderable)
        console.print()
