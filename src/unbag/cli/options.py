"""Options that several commands share: source pairs, challenge sets, engine, processes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass, make_dataclass, replace
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import typer
from typer.core import TyperCommand

from unbag.cli import typer_utils
from unbag.cli.output import echo, set_log_level
from unbag.cli.typer_utils import (
    Command,
    build_declared_option,
    sets_option,
    split_commas,
    split_paths,
)
from unbag.data.corpora import OFFICIAL, PAPER_CORPORA, get_corpus
from unbag.data.pair_options import PAIR_OPTIONS
from unbag.utils.options import COLUMNS_GIVEN, LIST, OptionError, format_flag, parse_name_values
from unbag.utils.redaction import redact
from unbag.utils.terminal import escape_control_chars

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import EvaluationFailure
    from unbag.challenge_sets.request import SetRequest


_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Verbosity:
    """Options of all commands that choose which messages are printed."""

    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only results and errors, without progress and warnings."),
    ] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print debug messages and error tracebacks.")] = False


class App(typer.Typer):
    """Typer app whose commands accept dataclasses of options (see `expand_options`)."""

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any
    ) -> Callable[[_Function], _Function]:
        """Register a function as a command."""
        register = super().command(name, cls=cls or Command, **settings)

        def add(function: _Function) -> _Function:
            register(expand_options(function))
            return function

        return add


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Convert the dataclass parameters of a command to CLI options, which follow its other options.

    The command receives one instance of each dataclass, filled from the command line. All commands have `Verbosity`.

        @dataclass(frozen=True)
        class Target:
            repo_id: Annotated[str, typer.Option(help="Hub repository.")]

        @app.command()
        def send(target: Target, name: str) -> None: ...  # send NAME --repo-id … --quiet
    """
    declared = dict(signature(command).parameters)
    kinds: dict[str, Any] = {name: p.annotation for name, p in declared.items() if is_dataclass(p.annotation)}
    kinds["verbosity"] = Verbosity
    shared = {name: signature(kind).parameters for name, kind in kinds.items()}

    @wraps(command)
    def run(**arguments: Any) -> None:
        groups = {name: kind(**{field: arguments.pop(field) for field in shared[name]}) for name, kind in kinds.items()}
        verbosity = groups.pop("verbosity")
        if verbosity.quiet and verbosity.verbose:
            raise typer.BadParameter("expected one of --quiet and --verbose, got both; remove one")
        try:
            with set_log_level(quiet=verbosity.quiet, verbose=verbosity.verbose):
                command(**groups, **arguments)
        except OptionError as error:
            raise typer.BadParameter(escape_control_chars(redact(str(error)))) from None

    # Typer reads the options of a command from its signature and its annotations.
    options = [option for name, option in declared.items() if name not in kinds]
    options += [option for each in shared.values() for option in each.values()]
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _go_offline(offline: bool) -> bool:
    if offline:
        from unbag.utils.offline import enable_offline_mode

        enable_offline_mode()
    return offline


# Eager, because the Hub clients read the setting at import, and callbacks of other options import them.
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        callback=_go_offline,
        is_eager=True,
        help="Do not access the network; fails if files are missing (see `unbag prefetch`).",
    ),
]


OFFICIAL_FILE_OPTION: Final = "file"
"""Set option for the file with the authors' original pairs, the source of the config `official`."""

_PANEL: Final = "Source pairs"
_option = partial(typer.Option, rich_help_panel=_PANEL)


def _complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Complete set options with their descriptions, for the sets on the command line or for all sets."""
    from unbag import challenge_sets
    from unbag.challenge_sets import loading

    every = challenge_sets.list_set_names()
    # Click stops parsing at the incomplete word: arguments may still be among the remaining words.
    names = {*(ctx.params.get("sets") or ()), ctx.params.get("name"), *ctx.args}.intersection(every) or every
    meanings = {f"{option.name}=": option.meaning for name in names for option in loading.describe_set_options(name)}
    return [(option, meaning) for option, meaning in sorted(meanings.items()) if option.startswith(incomplete)]


# What the command line has in addition to the declarations. A single corpus of Python is a list on the command line,
# since some commands take several.
_CLI_SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "corpus": {"callback": split_commas, "autocompletion": typer_utils.complete_corpora},
    "split": {"autocompletion": typer_utils.complete_splits},
    "text": {"callback": split_paths},
}
_DECLARED: Final = {**PAIR_OPTIONS, "corpus": (Sequence[str] | None, PAIR_OPTIONS["corpus"][1])}
_PairOptions: Any = make_dataclass(
    "_PairOptions",
    [
        (name, build_declared_option(_DECLARED, name, rich_help_panel=_PANEL, **_CLI_SETTINGS.get(name, {})), None)
        for name in PAIR_OPTIONS
        if name != "options"
    ],
    frozen=True,
)


@dataclass(frozen=True)
class PairOptions(_PairOptions):
    """Options that select the source pairs and configure the challenge sets: those of `data.pair_options`, as lists."""

    official_file: Annotated[
        str | None, _option(help="Original data file of breaking_nli or sicck, or its folder (default: download).")
    ] = None
    set_option: Annotated[
        list[str] | None,
        _option(
            "--set-option",
            "-o",
            metavar="[SET.]NAME=VALUE",
            autocompletion=_complete,
            help="Set option, repeatable: -o q=10, -o permuted.seed=1 (see `unbag sets SET`).",
        ),
    ] = None

    def build_requests(
        self, names: Sequence[str], *, on_failure: "Callable[[EvaluationFailure], None] | None" = None
    ) -> "list[SetRequest]":
        """Build one request per set. Sets that cannot be built from these pairs are passed to `on_failure`."""
        from unbag.challenge_sets import get_challenge_set
        from unbag.challenge_sets.selection import PairSelection

        if self.corpus is not None and len(self.corpus) != 1:
            raise typer.BadParameter(
                f"--corpus: expected one corpus, got {', '.join(self.corpus) or 'none'}; use a single name"
            )
        corpus = self.corpus[0] if self.corpus else None
        given = {name: getattr(self, name) for name in PAIR_OPTIONS if name != "options"}
        given |= {"corpus": corpus, "columns": parse_columns(self.columns), "options": self._parse_set_options(names)}
        requests = PairSelection(format_flag, **given).build_requests(names, on_failure=on_failure)
        for request in requests:
            if corpus and request.config != OFFICIAL and get_challenge_set(request.name).official:
                line = f"{request.name}: generated from {corpus}; remove --corpus to use the authors' original pairs"
                echo(line, err=True, fg="yellow")
        return requests

    def _parse_set_options(self, names: Sequence[str]) -> dict[str, str]:
        """Parse `--set-option` into option texts by name. Only options whose value is a list may be repeated."""
        from unbag.challenge_sets import loading

        described = [option for name in names for option in loading.describe_set_options(name)]
        lists = frozenset(option.name for option in described if option.expected == LIST)
        texts = parse_name_values(self.set_option or (), "-o NAME=VALUE", lists)
        if self.official_file is not None:
            if OFFICIAL_FILE_OPTION in texts:
                raise typer.BadParameter("expected one of --official-file and -o file=…, got both; remove one")
            texts[OFFICIAL_FILE_OPTION] = self.official_file
        return texts

    def replace(self, **values: Any) -> "PairOptions":
        """Copy the options with other values of some fields."""
        return replace(self, **values)


def parse_columns(parts: Sequence[str] | None) -> dict[str, str]:
    """Parse the value of `--columns`."""
    return parse_name_values(parts or (), COLUMNS_GIVEN)


ALL: Final = "all"
"""Value of `--corpus` for all corpora of the papers (`data.corpora.PAPER_CORPORA`), in commands that accept several."""

Sets = Annotated[
    list[str] | None, sets_option(help="Challenge sets, comma-separated or repeated (default: a sample of each set).")
]
Full = Annotated[bool, typer.Option("--full", help="Use all examples of each set instead of a sample.")]


def build_selected_requests(
    pairs: PairOptions,
    sets: Sequence[str] | None,
    *,
    full: bool,
    on_failure: "Callable[[EvaluationFailure], None]",
) -> "list[SetRequest]":
    """Build the `SetRequest` objects of a command, for the given challenge sets or for the suite of all sets.

    A given set that does not support the pairs is an error. Such sets of the suite are passed to `on_failure`.
    """
    from unbag.challenge_sets import selection

    if len(list_requested_corpora(pairs)) > 1:
        names = list(sets or selection.list_suite_sets())
        requests = build_requests_per_corpus(pairs, names, on_failure=lambda _, failure: on_failure(failure))
    elif sets:
        requests = pairs.build_requests(sets)
    else:
        requests = pairs.build_requests(
            selection.list_suite_sets(from_text=pairs.text is not None), on_failure=on_failure
        )
    return requests if full or sets else [selection.apply_suite_sample(request) for request in requests]


def list_requested_corpora(pairs: PairOptions) -> Sequence[str]:
    """List the corpora given by `--corpus`, with `all` expanded."""
    return PAPER_CORPORA if pairs.corpus == [ALL] else pairs.corpus or ()


def build_requests_per_corpus(
    pairs: PairOptions, sets: Sequence[str], *, on_failure: "Callable[[str, EvaluationFailure], None]"
) -> "list[SetRequest]":
    """Build one request for each combination of challenge set and corpus, without duplicates.

    With an authors' file, the authors' original pairs are added once. Otherwise sets come only from the corpora. Sets
    that do not support a corpus are passed to `on_failure`, after the corpus.
    """
    corpora = list_requested_corpora(pairs)
    if pairs.split:
        raise typer.BadParameter(f"--split: expected one --corpus, got {len(corpora)}; remove --split")
    for name in corpora:
        get_corpus(name)  # an unknown name fails before anything is built
    # `-o file=…` or `-o SET.file=…`
    names = {part: part.partition("=")[0].rpartition(".")[2].strip() for part in pairs.set_option or ()}
    without_file = [part for part, name in names.items() if name != OFFICIAL_FILE_OPTION]
    requests = []
    for name in corpora:
        of_corpus = pairs.replace(corpus=[name], official_file=None, set_option=without_file)
        requests += of_corpus.build_requests(sets, on_failure=partial(on_failure, name))
    if pairs.official_file or OFFICIAL_FILE_OPTION in names.values():
        # The authors' original pairs do not come from a corpus.
        official = pairs.replace(corpus=None).build_requests(sets, on_failure=lambda failure: None)
        requests += [request for request in official if OFFICIAL_FILE_OPTION in request.options]
    # A set of official pairs does not depend on the corpus. A set() would fail, because requests are not hashable.
    return [request for place, request in enumerate(requests) if request not in requests[:place]]


Engine = Annotated[
    Literal["ray"] | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Engine: ray uses a Ray cluster and requires the extra ray (default: no engine).",
    ),
]
NumGpus = Annotated[
    float | None,
    typer.Option(
        "--num-gpus",
        min=0,
        max=1,  # a copy of a model uses at most one GPU
        help="Number of GPUs per model copy with --engine ray (default: 1 if available).",
    ),
]


NumProc = Annotated[
    int,
    typer.Option(
        "--num-proc",
        min=1,
        help="Number of processes for building and tagging sets, at most one per core.",
    ),
]
