"""The options of commands that may leave their work to an engine."""

from typing import Annotated, Literal

import typer

Engine = Annotated[
    Literal["ray"] | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="ray: leave the work to Ray Data, on the cluster that RAY_ADDRESS names or that is on this machine, else "
        "on this machine alone (pip install 'unbag[ray]'); what comes out does not depend on it.",
    ),
]
NumGpus = Annotated[
    float | None,
    typer.Option(
        "--num-gpus",
        min=0,
        max=1,  # a model is loaded on one
        help="--engine ray: the share of a GPU that each copy of the model takes; .5 puts two on one (default: 1 if "
        "there are any).",
    ),
]


def require(engine: str | None, num_gpus: float | None, shard: str | None) -> None:
    """Refuse an engine that does not go with what else is asked for.

    Raises:
        typer.BadParameter: as `engine.require_engine` says it.
    """
    from unbag.evaluation.backends import require_engine

    try:
        require_engine(engine, num_gpus, shard)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
