"""The cross-domain table: the accuracy of each model on each corpus (ReSNLI paper, Table 2)."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.report.cells import interval
from unbag.results import Result


def view(results: Sequence[Result]) -> RenderableType:
    """Return the table of results on the plain set: corpora down, models across."""
    models = list(dict.fromkeys(result.model["name"] for result in results))
    corpora = list(dict.fromkeys(_corpus(result) for result in results))
    found = {(result.model["name"], _corpus(result)): result.scores for result in results}
    table = Table("accuracy [95 %]", "n", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for model in models:
        table.add_column(model, justify="right", overflow="fold")
    for column in table.columns[1:]:
        column.justify = "right"
    for corpus in corpora:
        scores = [found[model, corpus] for model in models]
        table.add_row(corpus, f"{scores[0]['accuracy'].n:,}", *(interval(score["accuracy"]) for score in scores))
    majorities = ", ".join(f"{corpus} {found[models[0], corpus]['majority']:.3f}" for corpus in corpora)
    return Group(table, Text(f"A constant answer at best: {majorities}.", style="dim"))


def _corpus(result: Result) -> str:
    return f"{result.data['name']} {result.data['split']}".strip()
