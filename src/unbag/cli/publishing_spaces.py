"""`unbag publish metric`, `unbag publish leaderboard` and `unbag publish pair`: Spaces."""

from pathlib import Path
from typing import Annotated

import typer

from unbag.cli import completion
from unbag.cli.publishing import PublishingOptions, carry_out
from unbag.cli.shared_options import with_shared_options


@with_shared_options
def metric(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            autocompletion=completion.metrics,
            help="Metrics; without one, all of them.",
            show_default=False,
        ),
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


@with_shared_options
def pair(
    model: Annotated[
        str, typer.Option(metavar="ORG/NAME", help="The model of the Hub that is named at first; visitors name others.")
    ],
    lexical: Annotated[
        Path | None,
        typer.Option(
            help="A folder that `unbag lexical fit` left, in English (default: fitted to 20,000 pairs of SNLI, once)."
        ),
    ] = None,
    *,
    options: PublishingOptions,
) -> None:
    """Publish a Space to try one pair on: a model's answer and a bag of words', in order and in others."""
    from unbag.hub.pair_space import NAME, pair_space

    carry_out([pair_space(options.repo(NAME), model, lexical or fitted_by_default())], options)


def fitted_by_default() -> Path:
    """Return the folder of the lexical model that scores are held against, in English; it is fitted once."""
    from unbag.baselines.lexical.fitting import Recipe, fitted
    from unbag.evaluation.lexical_baseline import PAIRS

    corpus, pairs, pipeline = PAIRS["en"]
    return fitted(Recipe((corpus,), pairs=pairs, pipeline=pipeline))
