"""The options that say which pairs a set is made from, and how: the same for every command that takes a set."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from unbag.options import listed

if TYPE_CHECKING:
    from unbag.failures import Failure
    from unbag.request import Request

_WHICH: Final = "Which pairs"
_PERMUTED: Final = "For the permuted set"
_CS_LAMBDA: Final = "For the cs_lambda set"
_RESNLI: Final = "For the resnli set"
_BREAKING_NLI: Final = "For the breaking_nli set"
_SICCK: Final = "For the sicck set"

Requests = Callable[..., "list[Request]"]
"""Takes names of sets and returns a request for each; refuses options that none of them has.

With `on_failure` a set that cannot be made from these pairs is told of, and left out.
"""

# As in `unbag.perturb.permutation` and `.modified`, too heavy to import for a help page; a test holds them together.
Mode = Literal["both", "hypothesis", "clumped_25", "clumped_50", "clumped_75"]
Space = Literal["four_way", "seven_way", "three_way"]


def _pairs(
    corpus: Annotated[
        str | None,
        typer.Option(rich_help_panel=_WHICH, help="Base corpus: snli, mnli, anli, sick or ocnli (default: snli)."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(rich_help_panel=_WHICH, help="Its split (default: the one the papers evaluate on).")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Pairs of your own instead: a csv, tsv, jsonl or parquet file, or a data set id on the Hub.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Its columns where unusually named, such as premise=text,label=gold (also hypothesis, id).",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Its labels 0, 1, 2 by name, comma between, where it has numbers only.",
        ),
    ] = None,
    language: Annotated[
        Literal["en", "zh"] | None, typer.Option(rich_help_panel=_WHICH, help="Its language (default: en).")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(rich_help_panel=_WHICH, help="Draw this many examples instead of taking all.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(rich_help_panel=_WHICH, help="Decides all that is drawn (default: 13).")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            rich_help_panel=_WHICH,
            help="Any option of the sets, e.g. -o test_size=1000; `unbag sets NAME` lists them.",
        ),
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option(
            metavar="MODE",
            rich_help_panel=_PERMUTED,
            help="What is permuted: both (default), hypothesis, clumped_25, _50 or _75.",
        ),
    ] = None,
    q: Annotated[
        int | None, typer.Option("--q", rich_help_panel=_PERMUTED, help="Permutations of each pair (default: 100).")
    ] = None,
    min_words: Annotated[
        int | None,
        typer.Option(rich_help_panel=_PERMUTED, help="Words that both sentences must have (default: 8)."),
    ] = None,
    minitrees: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_PERMUTED,
            help="Also acceptance by POS mini-tree: corpora or files to count usual neighbours in, comma between.",
        ),
    ] = None,
    training: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_CS_LAMBDA,
            help="What the lexical model is fitted to: corpora or files, comma between (default: snli,mnli). "
            "Also for the built-in models lexical, hypothesis-only and majority.",
        ),
    ] = None,
    lexical: Annotated[
        str | None,
        typer.Option(rich_help_panel=_CS_LAMBDA, help="A fitted lexical model instead: folder or Hub repository."),
    ] = None,
    least_lms: Annotated[
        float | None,
        typer.Option(rich_help_panel=_CS_LAMBDA, help="λ: keep the pairs that mislead at least so far (default: 0)."),
    ] = None,
    embeddings: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_RESNLI,
            help="Word embeddings: a model of the Hub or a folder, a spaCy pipeline, or a GloVe text file.",
        ),
    ] = None,
    wordnet: Annotated[
        bool | None,
        typer.Option(
            "--wordnet",
            rich_help_panel=_BREAKING_NLI,
            help="Replace by WordNet's antonyms, synonyms and hypernyms too.",
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_BREAKING_NLI,
            help="Your copy of the authors' file, or a folder with it; fetched else. Also for sicck.",
        ),
    ] = None,
    space: Annotated[
        Space | None,
        typer.Option(
            metavar="SPACE",
            rich_help_panel=_SICCK,
            help="Labels of the column target: four_way (default), seven_way or three_way.",
        ),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(rich_help_panel=_SICCK, help="Folds of the authors' pairs (default: 5).")
    ] = None,
    whole_seeds: Annotated[
        bool | None,
        typer.Option("--whole-seeds", rich_help_panel=_SICCK, help="Keep the pairs of a seed in one fold."),
    ] = None,
    combinations: Annotated[
        bool | None,
        typer.Option("--combinations", rich_help_panel=_SICCK, help="Also modify two parts at a time."),
    ] = None,
) -> Requests:
    """Return what makes the requests for some sets from the options that say which pairs."""
    from unbag.failures import Failure
    from unbag.request import Request

    if data is not None and corpus is not None:
        raise typer.BadParameter("name either --corpus or --data")
    where: dict[str, Any] = {}
    if data is not None:
        where = {"data": data, "language": language or "en", "source_split": split}
        if columns:
            expected = "--columns premise=…,hypothesis=…,label=…"
            where["columns"] = dict(_pair(part, expected) for part in columns.split(","))
        if labels:
            where["labels"] = list(listed(labels))
    given = {
        "mode": mode,
        "q": q,
        "min_words": min_words,
        "minitrees": listed(*minitrees) if minitrees else None,
        "training": listed(*training) if training else None,
        "lexical": lexical,
        "least_lms": least_lms,
        "embeddings": embeddings,
        "wordnet": wordnet,
        "file": file,
        "space": space,
        "folds": folds,
        "whole_seeds": whole_seeds,
        "combinations": combinations,
    }
    given = {name: value for name, value in given.items() if value is not None}
    named = dict(_pair(part, "--option NAME=VALUE") for part in option or ())
    if twice := sorted(named.keys() & given.keys()):
        raise typer.BadParameter(f"{', '.join(twice)}: given twice")

    def requests(
        names: list[str],
        *,
        elsewhere: frozenset[str] = frozenset(),
        on_failure: "Callable[[Failure], None] | None" = None,
    ) -> "list[Request]":
        from unbag import corpora, sets

        known = {name: sets.options(name) for name in names}
        used = elsewhere.union(*known.values())
        unused = [f"--{name.replace('_', '-')}" for name in given if name not in used]
        unused += [f"--option {name}" for name in named if name not in frozenset().union(*known.values())]
        if unused:
            raise typer.BadParameter(f"{', '.join(unused)}: not an option of {' or '.join(names)}")
        if data is None and on_failure is not None:
            corpora.corpus(corpus or sets.DEFAULT_CORPUS).split(split)  # what no set can be made from is a mistake
        made = []
        for name in names:
            options = {option: value for option, value in given.items() if option in known[name]}
            options |= {o: sets.option_value(name, o, text) for o, text in named.items() if o in known[name]}
            if seed is not None and "seed" in known[name]:
                options.setdefault("seed", seed)
            config = None
            if data is None:
                # Of all sets, those that have splits take the split.
                chosen = split if on_failure is None or sets.takes_split(name, corpus) else None
                try:
                    config, options = sets.config_name(name, corpus, chosen, options)
                except ValueError as error:
                    if on_failure is None:
                        raise
                    on_failure(Failure(name, sets.UnfitError(str(error))))
                    continue
            drawn = {} if seed is None else {"seed": seed}
            made.append(Request(name, config, options | where, examples, **drawn))
        return made

    return requests


def _pair(part: str, expected: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected {expected}; found {part!r}")
    return name.strip(), value.strip()


def with_pairs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_pairs`; it is handed what `_pairs` returns, as `pairs`.

    A command that has an option of the same name itself is handed its value too.
    """
    own = [parameter for parameter in signature(command).parameters.values() if parameter.name != "pairs"]
    shared = list(signature(_pairs).parameters.values())
    both = {parameter.name for parameter in own} & {parameter.name for parameter in shared}

    @wraps(command)
    def run(**given: Any) -> None:
        for_pairs = {p.name: given[p.name] if p.name in both else given.pop(p.name) for p in shared}
        command(pairs=_pairs(**for_pairs), **given)

    # typer reads a command's options off its signature and its annotations.
    named = {parameter.name: parameter for parameter in (*own, *shared)}
    parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in named.values()]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
