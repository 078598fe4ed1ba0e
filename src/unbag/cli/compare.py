"""The command `unbag compare`."""

from pathlib import Path
from typing import Annotated

import typer

from unbag.cli.output import TableOptions
from unbag.cli.typer_utils import list_option


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Two or more output folders of evaluate or train, or results.json files."),
    ],
    across_data: Annotated[
        bool,
        typer.Option("--across-data", help="Allow results with different data or options, without significance tests."),
    ] = False,
    metric: Annotated[
        list[str] | None, list_option(help="Metrics: names or paths in results.json, such as auroc,'by_category.*'.")
    ] = None,
    significance_level: Annotated[
        float, typer.Option(min=0, max=1, help="Significance level for corrected p-values.")
    ] = 0.05,
    *,
    output: TableOptions,
) -> None:
    """Compare models with significance tests.

    The tests are paired: they use the same examples for each model. P-values
    are corrected for multiple tests. Intervals are 95 % intervals. Results
    with different data or options are rejected.

    Runs whose names differ only in the training seed (a/seed-1, a/seed-2)
    count as one model, with mean, standard deviation and a test over seeds.

      unbag compare runs/a/suite-snli-validation runs/b/suite-snli-validation
      unbag compare runs/baseline runs/hex    (folders with seed-1, seed-2 …)
      unbag compare a/results.json b/results.json --metric p_c,'confident.*'
      unbag compare runs/a runs/b --format latex > table.tex
    """
    from unbag.evaluation import comparison
    from unbag.reports.comparison import build_comparison_view, export_comparison

    compared = comparison.compare(*paths, across_data=across_data, metrics=metric or (), level=significance_level)
    output.print(build_comparison_view(compared), export_comparison(compared))
