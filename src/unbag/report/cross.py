"""The cross-domain table: the accuracy of each model on each corpus (ReSNLI paper, Table 2)."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import interval
from unbag.report.remarks import remarks


def view(results: Sequence[Result]) -> RenderableType:
    """Return the table of results on the plain set: by corpus, each model."""
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
            table.add_row(corpus if first else "", model, interval(accuracy), f"{accuracy.n:,}", end_section=last)
    majorities = ", ".join(f"{corpus} {scores[models[0], corpus]['majority']:.3f}" for corpus in corpora)
    said = [Text(f"{result.corpus}: {each}") for result in results for each in remarks(result)]
    return Group(table, Text(f"A constant answer at best: {majorities}.", style="dim"), *said)
