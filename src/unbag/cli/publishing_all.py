"""`unbag publish all`."""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from unbag.cli.lists import comma_separated_paths
from unbag.cli.output import echo
from unbag.cli.publishing import PublishingOptions, carry_out
from unbag.cli.publishing_results import read_results
from unbag.cli.publishing_spaces import fitted_by_default
from unbag.cli.request_options import PairOptions
from unbag.cli.shared_options import with_shared_options

if TYPE_CHECKING:
    from unbag.hub.publication import Publication

logger = logging.getLogger(__name__)


@with_shared_options
def everything(
    options: PublishingOptions,
    pairs: PairOptions,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            callback=comma_separated_paths,
            help="Results for the data set of results and the leaderboard, comma-separated or repeated.",
        ),
    ] = None,
    pair_model: Annotated[
        str | None,
        typer.Option(metavar="ORG/NAME", help="Publish the Space to try a pair on too, which names this model first."),
    ] = None,
) -> None:
    """Publish all challenge sets and metrics to one organisation; with --results, a leaderboard too.

    unbag publish all --to my-org
    unbag publish all --to my-org --corpus mnli --results runs/a,runs/b --yes

    Each repository gets one commit, or none where it holds all of it already,
    so after a stop the same command goes on. A set that cannot be made is
    told of at the end and does not cost the others. Trained models are
    published one by one: unbag publish model.
    """
    from unbag import challenge_sets, scripts
    from unbag.failures import Failure
    from unbag.hub import dataset, leaderboard, metric_space, pair_space, results_dataset
    from unbag.schemas import whole

    if "/" in options.to:
        raise typer.BadParameter(f"expected --to ORG, since there are many repositories; found {options.to!r}")
    if results:
        with whole(*results):
            found = read_results(results)  # which costs nothing, before sets are built
    failures: list[Failure] = []
    publications: list[Publication] = []
    with TemporaryDirectory(prefix="unbag-") as folder:
        # A corpus as it is, its authors publish.
        names = [name for name in challenge_sets.names() if not challenge_sets.get(name).is_control]
        for request in pairs.requests(names, on_failure=failures.append):
            try:
                repo = options.repo(request.name)
                publications.append(dataset.publication([request], repo, Path(folder) / request.name))
            except Exception as error:
                logger.debug("%s", request.name, exc_info=error)
                failures.append(Failure(request.name, error))
        publications += [metric_space.metric_space(name, options.repo(name)) for name in scripts.names("metrics")]
        if pair_model:
            try:
                repo = options.repo(pair_space.NAME)
                publications.append(pair_space.pair_space(repo, pair_model, fitted_by_default()))
            except Exception as error:
                logger.debug("%s", pair_space.NAME, exc_info=error)
                failures.append(Failure(pair_space.NAME, error))
        if results:
            rows = options.repo(results_dataset.NAME)
            with whole(*results):
                publications.append(results_dataset.publication(rows, found))
            publications.append(leaderboard.leaderboard_space(options.repo(leaderboard.NAME), rows))
        carry_out(publications, options)
    for failure in failures:
        echo(f"{failure.set}: not published: {failure.reason}", err=True, fg="yellow")
    if failures:
        raise typer.Exit(1)
