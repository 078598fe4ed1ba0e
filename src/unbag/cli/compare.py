"""The command that compares results: `unbag compare`."""

from pathlib import Path
from typing import Annotated

import typer

from unbag.cli.output import AsJson, Shown, show, validate_output_form
from unbag.cli.typer_utils import comma_separated


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="A B...", help="Folders that unbag evaluate or train left, or results.json files."),
    ],
    across_data: Annotated[
        bool, typer.Option("--across-data", help="Compare other data or options too: unpaired, without a test.")
    ] = False,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            callback=comma_separated,
            help="Which numbers, by name or path in results.json, comma-separated or repeated: auroc,'by_category.*'.",
        ),
    ] = None,
    significance_level: Annotated[
        float, typer.Option(min=0, max=1, help="Corrected p value at which a difference is significant.")
    ] = 0.05,
    form: Shown = "table",
    as_json: AsJson = False,
) -> None:
    """Compare models: tell which differences are more than chance.

    Pair by pair on the same examples, with 95 % intervals and p values that
    are corrected for all tests together. Models whose names differ by their
    training seed alone (a/seed-1, a/seed-2) are one: mean, deviation, and a
    test over seeds. Other data or options are refused.

      unbag compare runs/model-a/suite-snli-validation runs/model-b/suite-snli-validation
      unbag compare runs/baseline runs/hex           (folders with seed-1, seed-2 …)
      unbag compare a/results.json b/results.json --metric p_c,'confident.*'
      unbag compare runs/a runs/b --format latex > table.tex
    """
    validate_output_form(form, as_json=as_json)
    from unbag.challenge_sets.results import explain_damaged_records
    from unbag.evaluation import comparison
    from unbag.reports.comparison import exported, view

    with explain_damaged_records(*paths):
        compared = comparison.compare(
            *paths, across_data=across_data, quantities=metric or (), level=significance_level
        )
    show(form, view(compared), exported(compared), as_json=as_json)
