"""`unbag publish dataset`."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from unbag.cli import completion
from unbag.cli.lists import comma_separated
from unbag.cli.processes import NumProc
from unbag.cli.publishing import PublishingOptions, carry_out
from unbag.cli.request_options import PairOptions
from unbag.cli.shared_options import with_shared_options


@with_shared_options
def dataset(
    options: PublishingOptions,
    pairs: PairOptions,
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=completion.sets, help="The challenge set, e.g. permuted; `unbag sets` lists them."
        ),
    ],
    config: Annotated[
        list[str] | None,
        typer.Option(
            callback=comma_separated,
            help="Configs by name, comma-separated or repeated, instead of --corpus and --split: snli-test. With "
            "--data, what to call it (default: the name of the file or data set).",
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--license",
            help="The licence of your own data (--data), by its id on the Hub. A set made from a corpus inherits the "
            "corpus's, and is published under no other.",
        ),
    ] = None,
    benchmark: Annotated[
        bool,
        typer.Option(
            help="Put an eval.yaml beside the rows, by which the Hub can make a benchmark of it, with a leaderboard."
        ),
    ] = True,
    num_proc: NumProc = 1,
) -> None:
    """Publish a challenge set as a data set that plain `load_dataset` reads.

    unbag publish dataset permuted --to my-org --corpus snli
    unbag publish dataset permuted --to my-org --config snli-test,anli-dev_r1 --yes
    unbag publish dataset swapped --to my-org/my-pairs --data pairs.csv --license cc-by-4.0

    The repository gets Parquet files and a card with the features, the sizes,
    the label counts, the licence and how the rows were built. A repository
    may hold many configs: others that are there stay, and the first one that
    was published is the default one. The set is built first, also without
    --yes; it is kept in the cache.
    """
    from unbag.challenge_sets.loading import config_name
    from unbag.hub.dataset import publication
    from unbag.utils import parallel

    [request] = pairs.requests([name])
    requests = [request]
    if config and "data" in request.options:
        if len(config) > 1:
            raise typer.BadParameter("expected one --config with --data: what to call it")
        requests = [replace(request, config=config[0])]
    elif config:
        if request.config != config_name(name, None, None, {})[0]:
            raise typer.BadParameter("name the configs either with --config or with --corpus, --split and -o")
        requests = [replace(request, config=each) for each in config]
    with TemporaryDirectory(prefix="unbag-") as folder:
        repo = options.repo(name)
        with parallel.up_to(num_proc):
            made = publication(requests, repo, Path(folder), licence=licence, benchmark=benchmark)
        carry_out([made], options)
