"""`unbag publish metric` and `unbag publish leaderboard`: Spaces."""

from typing import Annotated

import typer

from unbag.cli.publishing import PublishingOptions, carry_out
from unbag.cli.shared_options import with_shared_options


@with_shared_options
def metric(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Metrics; without one, all of them.", show_default=False),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish metrics as Spaces: `evaluate.load("ORG/NAME")` needs no unbag, and each has a page to try it on."""
    from unbag import scripts
    from unbag.hub.metric_space import metric_space

    carry_out([metric_space(name, options.repo(name)) for name in names or scripts.names("metrics")], options)


@with_shared_options
def leaderboard(
    results: Annotated[
        str | None,
        typer.Option(
            metavar="ORG/NAME", help="The data set of results.", show_default="the organisation's unbag-results"
        ),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish a Space that shows a data set of results (`unbag publish results-dataset`) as tables."""
    from unbag.hub import results_dataset
    from unbag.hub.leaderboard import NAME, leaderboard_space

    organisation = options.to.partition("/")[0]
    carry_out([leaderboard_space(options.repo(NAME), results or f"{organisation}/{results_dataset.NAME}")], options)
