"""Which challenge sets a command is about: those that are named, or else all of them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from unbag.cli.request_options import PairOptions

if TYPE_CHECKING:
    from unbag.failures import Failure
    from unbag.request import Request

Sets = Annotated[
    list[str] | None,
    typer.Option(
        help="A challenge set, all of it (unbag sets lists them); give the option again for another. Without it, a "
        "sample of every set."
    ),
]
Full = Annotated[bool, typer.Option("--full", help="All examples of every set instead of a sample.")]


def selected(
    pairs: PairOptions,
    sets: Sequence[str] | None,
    *,
    full: bool,
    on_failure: "Callable[[Failure], None]",
) -> "list[Request]":
    """Return what is asked for; of the suite, sets that cannot be made of these pairs are told of and left out.

    Args:
        pairs: which pairs.
        sets: those that are named.
        full: whether to take all of each, where none is named.
        on_failure: told of what is left out.
    """
    from unbag import suite

    if sets:
        return pairs.requests(sets)
    requests = pairs.requests(suite.names(), on_failure=on_failure)
    return requests if full else [suite.sampled(request) for request in requests]
