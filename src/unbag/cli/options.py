"""Options that several commands share, as dataclasses: which pairs, which sets, which backend, how many processes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import click
import typer

from unbag.cli import typer_utils
from unbag.cli.output import echo
from unbag.cli.typer_utils import comma_separated, comma_separated_names
from unbag.data.corpora import PAPER_CORPORA, corpus

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that the fields of its dataclass parameters declare, behind its own.

    It is handed each dataclass, made of what was given:

        @dataclass(frozen=True)
        class Place:
            to: Annotated[str, typer.Option(help="Where to.")]

        @with_shared_options
        def send(place: Place, name: str) -> None: ...  # send NAME --to …
    """
    declared = signature(command).parameters.values()
    kinds: dict[str, Any] = {p.name: p.annotation for p in declared if is_dataclass(p.annotation)}
    shared = {name: signature(kind).parameters for name, kind in kinds.items()}

    @wraps(command)
    def run(**arguments: Any) -> None:
        groups = {name: kind(**{field: arguments.pop(field) for field in shared[name]}) for name, kind in kinds.items()}
        command(**groups, **arguments)

    # typer reads a command's options off its signature and its annotations.
    options = [p for p in declared if p.name not in kinds] + [p for each in shared.values() for p in each.values()]
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _go_offline(offline: bool) -> bool:
    if offline:
        from unbag.utils.offline import go_offline

        go_offline()
    return offline


# Eager: the clients read the setting when they are imported, and other options import them.
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        callback=_go_offline,
        is_eager=True,
        help="Use no network; what is missing is named at once (`unbag prefetch` gets it beforehand).",
    ),
]


FILE: Final = "file"
"""The option of sets that names the authors' own pairs, which the config `official` holds."""

_WHICH: Final = "Which pairs"


def _complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the options of the sets that are named before, or of all sets, as a shell completes them."""
    from unbag import challenge_sets
    from unbag.challenge_sets import loading

    # What is being typed cuts click's reading short: arguments may still be among the words it has left.
    named = {*(ctx.params.get("sets") or ()), ctx.params.get("name"), *ctx.args}.intersection(challenge_sets.names())
    options = [option for name in named or challenge_sets.names() for option in loading.described_options(name)]
    meanings = {f"{option.name}=": option.meaning for option in options}
    return [(option, meaning) for option, meaning in sorted(meanings.items()) if option.startswith(incomplete)]


@dataclass(frozen=True)
class PairOptions:
    """Which pairs the sets of a command are made from, and how; see `options.with_shared_options`."""

    corpus: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_WHICH,
            callback=comma_separated_names,
            autocompletion=typer_utils.corpora,
            help="Base corpus: snli (default), mnli, anli, sick, ocnli, fever, rte, qnli, scitail, paws or "
            "xnli_en, xnli_de, … (15 languages); evaluate and publish all also take several, or all: the first five.",
        ),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            autocompletion=typer_utils.splits,
            help="Its split (default: the one the papers evaluate on).",
        ),
    ] = None
    data: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Pairs of your own instead: a csv, tsv, jsonl or parquet file, or a data set id on the Hub.",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_WHICH,
            callback=comma_separated,
            help="Its columns where their names are not the usual ones, such as premise=text,label=gold (also "
            "hypothesis, id); comma-separated or repeated.",
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_WHICH,
            callback=comma_separated,
            help="Names of its labels 0, 1, … in order (not_entailment,entailment for two labels), or the meaning of "
            "each: E=entailment,N=neutral,…",
        ),
    ] = None
    language: Annotated[
        str | None,
        typer.Option(rich_help_panel=_WHICH, help="Its language: en (default), zh, or another of XNLI's by its code."),
    ] = None
    max_examples: Annotated[
        int | None, typer.Option(rich_help_panel=_WHICH, help="Maximum number of source examples (default: all).")
    ] = None
    seed: Annotated[
        int | None, typer.Option(rich_help_panel=_WHICH, help="Decides all that is drawn (default: 13).")
    ] = None
    file: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="The authors' file of breaking_nli or sicck, or a folder with both somewhere in it; downloaded else.",
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="[SET.]NAME=VALUE",
            rich_help_panel=_WHICH,
            autocompletion=_complete,
            help="An option of each set that has it, or of one: -o q=10, -o permuted.seed=1 (`unbag sets NAME` lists "
            "them). Repeat it for another.",
        ),
    ] = None

    def requests(
        self, names: Sequence[str], *, on_failure: "Callable[[Failure], None] | None" = None
    ) -> "list[Request]":
        """Return a request for each of these sets.

        Args:
            names: the sets.
            on_failure: told of a set that cannot be made from these pairs, which is then left out.

        Raises:
            typer.BadParameter: if an option is none of any of the sets, or what is given cannot be read.
            ValueError: if there is no such set, corpus or split.
        """
        from unbag.challenge_sets import loading
        from unbag.challenge_sets.selection import OptionError, Pairs
        from unbag.utils.options import COLUMNS_GIVEN

        columns = _by_name(self.columns or (), COLUMNS_GIVEN)
        pairs = Pairs(
            corpus=self._corpus(),
            split=self.split,
            data=self.data,
            columns=columns,
            labels=self.labels or None,
            language=self.language,
            max_examples=self.max_examples,
            seed=self.seed,
            options=self._texts(_lists(names)),
            read=_value,
        )
        try:
            found = pairs.requests(names, on_failure=on_failure)
        except OptionError as error:
            raise typer.BadParameter(str(error)) from None
        for option, takers in pairs.shared_options(names).items():
            _say(f"-o {option} is set on {', '.join(takers)}; -o {takers[0]}.{option}=VALUE sets it on one")
        for request in found:
            if pairs.corpus and loading.official_config(request.name) not in (None, request.config):
                _say(f"{request.name}: generated from {pairs.corpus}; without --corpus it is the authors' own pairs")
        return found

    def _corpus(self) -> str | None:
        if self.corpus is not None and len(self.corpus) != 1:
            raise typer.BadParameter(f"expected one --corpus, found {', '.join(self.corpus) or 'none'}")
        return None if self.corpus is None else self.corpus[0]

    def _texts(self, lists: frozenset[str]) -> dict[str, str]:
        """Return the sets' options by name, as they were written; those that are lists may be given again."""
        texts = _by_name(self.option or (), "--option NAME=VALUE", lists)
        if self.file is not None:
            if FILE in texts:
                raise typer.BadParameter("file: given twice, as --file and as -o")
            texts[FILE] = self.file
        return texts

    def without_file(self) -> "PairOptions":
        """Return the same options without the authors' file, as for sets that are made from a corpus."""
        option = [part for part in self.option or () if _bare(part.partition("=")[0]) != FILE]
        return replace(self, file=None, option=option or None)


def _lists(names: Sequence[str]) -> frozenset[str]:
    """Return the options of some sets that are lists."""
    from unbag.challenge_sets import loading
    from unbag.utils.options import LIST

    described = (option for name in names for option in loading.described_options(name))
    return frozenset(option.name for option in described if option.expected == LIST)


def _say(line: str) -> None:
    """Print a line on standard error, once in a command."""
    context = click.get_current_context(silent=True)
    lines = [] if context is None else context.meta.setdefault(__name__, [])
    if line not in lines:
        lines.append(line)
        echo(line, err=True, fg="yellow")


def _bare(name: str) -> str:
    """Return the name of an option without its set's.

    >>> _bare("permuted.seed"), _bare("seed")
    ('seed', 'seed')
    """
    return name.rpartition(".")[2].strip()


def _by_name(parts: Sequence[str], expected: str, lists: frozenset[str] = frozenset()) -> dict[str, str]:
    from unbag.utils.options import parse_name_values

    try:
        return parse_name_values(parts, expected, lists)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _value(name: str, option: str, text: str) -> Any:
    from unbag.challenge_sets import loading

    try:
        return loading.option_value(name, option, text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


ALL: Final = "all"
"""What stands for the corpora of the papers, where a command takes several (`data.corpora.PAPER_CORPORA`)."""

Sets = Annotated[
    list[str] | None,
    typer.Option(
        callback=comma_separated,
        autocompletion=typer_utils.sets,
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
    """Return the requests of a command; of the suite, sets that do not fit these pairs are reported and skipped.

    Args:
        pairs: which pairs.
        sets: those that are named.
        full: whether to take all of each, where none is named.
        on_failure: told of what is left out.
    """
    from unbag.challenge_sets import suite

    if len(corpora_of(pairs)) > 1:
        names = list(sets or suite.names())
        requests = of_each_corpus(pairs, names, on_failure=lambda failure, _: on_failure(failure))
    elif sets:
        return pairs.requests(sets)
    else:
        requests = pairs.requests(suite.names(), on_failure=on_failure)
    return requests if full or sets else [suite.sampled(request) for request in requests]


def corpora_of(pairs: PairOptions) -> Sequence[str]:
    """Return the corpora that `--corpus` names, of a command that takes several."""
    return PAPER_CORPORA if pairs.corpus == [ALL] else pairs.corpus or ()


def of_each_corpus(
    pairs: PairOptions, sets: Sequence[str], *, on_failure: "Callable[[Failure, str], None]"
) -> "list[Request]":
    """Return the requests for sets of several corpora, equal ones once.

    A file of the authors adds their own pairs once; without one, sets are made of corpora alone.

    Args:
        pairs: which pairs.
        sets: the names of the sets.
        on_failure: called with each set that does not fit, and the corpus that it does not fit.

    Raises:
        typer.BadParameter: if a split is named too.
        ValueError: if there is no such set or corpus.
    """
    corpora = corpora_of(pairs)
    if pairs.split:
        raise typer.BadParameter(f"--split: expected one --corpus with it, got {len(corpora)}; leave --split out")
    for name in corpora:
        corpus(name)
    without_file = pairs.without_file()
    found = []
    for name in corpora:
        unfit: list[Failure] = []
        found += replace(without_file, corpus=[name]).requests(sets, on_failure=unfit.append)
        for failure in unfit:
            on_failure(failure, name)
    if pairs != without_file:  # the authors' own pairs are of no corpus
        official = replace(pairs, corpus=None).requests(sets, on_failure=lambda failure: None)
        found += [request for request in official if FILE in request.options]
    # A set of official pairs is the same whatever the corpus.
    return [request for place, request in enumerate(found) if request not in found[:place]]


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
        typer.BadParameter: as `evaluation.backends.validate_backend` says it.
    """
    from unbag.evaluation.backends import validate_backend

    try:
        validate_backend(engine, num_gpus, shard)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


NumProc = Annotated[
    int,
    typer.Option(
        "--num-proc",
        min=1,
        help="Processes that make rows and tag sentences, one a core at most; what comes out does not depend on it.",
    ),
]
