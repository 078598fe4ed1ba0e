"""`unbag publish all`."""

import logging
from collections.abc import Sequence
from dataclasses import replace
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
from unbag.cli.set_selection import ALL
from unbag.cli.shared_options import with_shared_options
from unbag.data.corpora import OF_PAPERS

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request
    from unbag.hub.push import Publication

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
    unbag publish all --to my-org --corpus snli,mnli

    With several corpora, or all, each set has a config for every one. Each
    repository gets one commit, or none where it holds all of it already, so
    after a stop the same command goes on. A set that cannot be made is told of
    at the end and does not cost the others. Trained models are published one by
    one: unbag publish model.
    """
    from unbag import challenge_sets, scripts
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.results import whole
    from unbag.hub import leaderboard, metric_space, pair_space, results_dataset

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
        for name, requests in _of_corpora(pairs, names, failures).items():
            publications += _of_set(requests, options.repo(name), Path(folder) / name, failures)
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


def _of_corpora(pairs: PairOptions, names: Sequence[str], failures: "list[Failure]") -> "dict[str, list[Request]]":
    """Return the requests for each set by its name, one per corpus; one for sets that are the same of every corpus.

    Args:
        pairs: which pairs; of several corpora where `--corpus` names them, or all.
        names: the sets.
        failures: gets the sets that cannot be made from a corpus.
    """
    corpora = list(OF_PAPERS) if pairs.corpus == [ALL] else list(dict.fromkeys(pairs.corpus or ()))
    each = [replace(pairs, corpus=[corpus]) for corpus in corpora] or [pairs]
    found: dict[str, list[Request]] = {}
    for one in each:
        unfit: list[Failure] = []
        for request in one.requests(names, on_failure=unfit.append):
            same_set = found.setdefault(request.name, [])
            if request not in same_set:
                same_set.append(request)
        where = f" of {corpora[each.index(one)]}" if len(each) > 1 else ""
        failures += [replace(failure, set=f"{failure.set}{where}") for failure in unfit]
    return found


def _of_set(requests: "Sequence[Request]", repo: str, folder: Path, failures: "list[Failure]") -> "list[Publication]":
    """Return the publication of a set with the configs that can be made; none where none can.

    Args:
        requests: the configs.
        repo: where they go.
        folder: for their files.
        failures: gets the configs that cannot be made.
    """
    from unbag.challenge_sets.failures import Failure
    from unbag.hub.dataset import publication

    try:
        return [publication(requests, repo, folder)]
    except Exception as error:
        [name] = {request.name for request in requests}
        logger.debug("%s", name, exc_info=error)
        if len(requests) == 1:
            failures.append(Failure(name, error))
            return []
    usable: list[Request] = []
    for request in requests:  # what is built is in the cache
        try:
            publication([request], repo, folder)
            usable.append(request)
        except Exception as error:
            failures.append(Failure(f"{name} of {request.config}", error))
    return [publication(usable, repo, folder)] if usable else []
