"""`unbag publish results` and `unbag publish results-dataset`: results onto a model, and into a data set of results."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbag.cli.publishing import PublishingOptions, carry_out
from unbag.cli.shared_options import with_shared_options

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result

Files = Annotated[
    list[Path], typer.Argument(metavar="RESULTS...", help="A results.json, or the folder that `unbag evaluate` left.")
]


@with_shared_options
def results(
    options: PublishingOptions,
    files: Files,
    sets: Annotated[str, typer.Option(help="Organisation that publishes the challenge sets.")],
) -> None:
    """Add results to a model that is on the Hub: .eval_results and the card's model-index.

    Nothing else in the card changes. With --pull-request it is proposed, for
    a model that is not yours.

    unbag publish results runs/results.json --to ORG/MODEL --sets ORG --pull-request --yes
    """
    from unbag.hub.eval_results import known
    from unbag.hub.model_results import onto_model

    if "/" not in options.to:
        raise typer.BadParameter(f"expected --to ORG/MODEL, the model that the results are of; found {options.to!r}")
    from unbag.challenge_sets.results import whole

    with whole(*files):
        found = read_results(files)
        publication = onto_model(options.to, found, sets, known(found, sets, map(results_file, files)))
    carry_out([publication], options)


@with_shared_options
def results_dataset(
    options: PublishingOptions,
    files: Files,
    model: Annotated[
        str | None, typer.Option(help="Of results evaluated from a folder: the Hub id it is published under.")
    ] = None,
) -> None:
    """Add results to a data set of results, one row a model, set, config and metric.

    What others add at the same time is kept. load_dataset("ORG/unbag-results") reads it.

    unbag publish results-dataset runs/results.json --to ORG --yes
    """
    from unbag.challenge_sets.results import whole
    from unbag.hub.results_dataset import NAME, publication

    with whole(*files):
        made = publication(options.repo(NAME), read_results(files), model=model)
    carry_out([made], options)


def read_results(paths: Iterable[Path]) -> "list[Result]":
    """Return the results in files, or in folders that an evaluation left."""
    from unbag.challenge_sets.results import read

    return [result for path in paths for result in read(results_file(path))]


def results_file(path: Path) -> Path:
    """Return the file of results: the path, or the one in it."""
    from unbag.challenge_sets.results import FILE

    return path / FILE if path.is_dir() else path
