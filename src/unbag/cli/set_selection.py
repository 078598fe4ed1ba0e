"""Which challenge sets a command is about: those that are named, or else all of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from unbag.cli import completion
from unbag.cli.lists import comma_separated
from unbag.cli.request_options import FILE, PairOptions
from unbag.data.corpora import OF_PAPERS, corpus

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request

ALL: Final = "all"
"""What stands for the corpora of the papers, where a command takes several (`corpora.OF_PAPERS`)."""

Sets = Annotated[
    list[str] | None,
    typer.Option(
        callback=comma_separated,
        autocompletion=completion.sets,
        help="Challenge sets, all of each (unbag sets lists them), comma-separated or repeated. Without it, a sample "
        "of every set.",
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

    With several corpora, a file of the authors' adds their own pairs once; without one, sets are made of corpora alone.

    Args:
        pairs: which pairs.
        sets: those that are named.
        full: whether to take all of each, where none is named.
        on_failure: told of what is left out.
    """
    from unbag.challenge_sets import suite

    corpora = OF_PAPERS if pairs.corpus == [ALL] else pairs.corpus or ()
    if len(corpora) > 1:
        if pairs.split:
            raise typer.BadParameter(f"--split: expected one --corpus with it, got {len(corpora)}; leave --split out")
        for name in corpora:
            corpus(name)
        without_file = pairs.without_file()
        each = [replace(without_file, corpus=[name]) for name in corpora]
        names = list(sets or suite.names())
        found = [request for one in each for request in one.requests(names, on_failure=on_failure)]
        if pairs != without_file:  # the authors' own pairs are of no corpus
            official = replace(pairs, corpus=None).requests(names, on_failure=lambda failure: None)
            found += [request for request in official if FILE in request.options]
        # A set of official pairs is the same whatever the corpus.
        found = [request for place, request in enumerate(found) if request not in found[:place]]
        return found if full or sets else [suite.sampled(request) for request in found]
    if sets:
        return pairs.requests(sets)
    requests = pairs.requests(suite.names(), on_failure=on_failure)
    return requests if full else [suite.sampled(request) for request in requests]
