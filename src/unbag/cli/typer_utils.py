"""Option parsing: comma-separated lists, validation of output paths, shell completion, and declared options."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, get_origin

import typer
from typer.core import TyperArgument, TyperCommand

from unbag import scripts
from unbag.data.corpora import CORPORA
from unbag.data.pair_options import PAIR_OPTIONS
from unbag.utils.options import DeclaredOptions, format_flag, list_alternatives, split_names

_Name = TypeVar("_Name", str, Path)

LIST: Final = "LIST"
_GREEDY: Final = (LIST, PAIR_OPTIONS["text"][1].metavar)
"""Forms of the options that accept several values in a `GreedyCommand`."""


def split_commas(values: list[str] | None) -> list[str] | None:
    """Split the values of a list option at commas (Typer callback).

    >>> split_commas(["permuted, swapped", "plain"])
    ['permuted', 'swapped', 'plain']
    """
    # Commas alone must not count as an absent option.
    names = list(split_names(*values)) if values else values
    if values and not names:
        raise typer.BadParameter(f"expected comma-separated names, got {','.join(values)!r}; add a name")
    return names


def split_paths(values: list[_Name] | None) -> list[_Name] | None:
    """Split a list of paths or Hub ids at commas, except within existing paths (option callback)."""
    # The name of an existing file may contain a comma.
    return [
        type(value)(name)
        for value in values or ()
        for name in ([value] if Path(value).exists() else split_commas([str(value)]) or ())
    ] or None


class Command(TyperCommand):
    """Command that explains how to pass an argument that is given as an option, such as `--model` for MODEL."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with click, after a check for arguments given as options."""
        metavars = [each.metavar or "" for each in self.params if isinstance(each, TyperArgument)]
        arguments = {f"--{word.lower()}": word for word in re.findall("[A-Z]{2,}", " ".join(metavars))}
        given = {arg.partition("=")[0] for arg in args} - {name for each in self.params for name in each.opts}
        for option in given if not ctx.resilient_parsing else ():  # the shell completion ignores errors
            if word := arguments.get(option) or arguments.get(option.removesuffix("s")):
                usage = " ".join([ctx.command_path, *metavars])
                raise typer.BadParameter(f"{option}: expected the argument {word}, got an option; use `{usage}`", ctx)
        return super().parse_args(ctx, args)


class GreedyCommand(Command):
    """Command whose lists accept several values, such as `--seeds 1 2 3`, or the shell expansion of `--text *.md`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the option name before each additional value, then parse the arguments."""
        greedy = {name for each in self.params if each.metavar in _GREEDY for name in each.opts}
        repeated: list[str] = []
        option = ""
        for n, arg in enumerate(args):
            if arg.startswith("-"):
                option = arg.partition("=")[0]
            elif option in greedy and args[n - 1] != option:
                repeated.append(option)
            repeated.append(arg)
        return super().parse_args(ctx, repeated)


def validate_output_folder(location: Any) -> Any:
    """Validate that a folder, given as path or text, or a URL is writable (option callback)."""
    return None if location is None else type(location)(_validate_location(str(location), is_file=False))


def validate_set_output_location(location: str) -> str:
    """Validate that a challenge set can be written to a Parquet file or folder at a path or URL (option callback)."""
    return _validate_location(location, is_file=location.endswith(".parquet"))


def _validate_location(location: str, *, is_file: bool) -> str:
    from unbag.utils.safe_io import validate_writable
    from unbag.utils.storage import StorageFolder, is_url

    try:
        if not is_url(location):
            return str(validate_writable(Path(location.removeprefix("file://")), folder=not is_file))
        StorageFolder(location.rpartition("/")[0] if is_file else location).validate_writable()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return location


def validate_output_file(path: Path | None) -> Path | None:
    """Validate that a file is writable (option callback)."""
    return None if path is None else Path(_validate_location(str(path), is_file=True))


def _validate_badge(path: Path | None) -> Path | None:
    if path is not None and path.suffix not in (".svg", ".json"):
        raise typer.BadParameter(f"expected a file name ending in .svg or .json, got {path}; rename the file")
    return validate_output_file(path)


Badge = Annotated[
    Path | None,
    typer.Option(
        "--badge",
        callback=_validate_badge,
        help="Output file for a model-card badge: .svg, or .json for shields.io.",
    ),
]


def complete_sets(incomplete: str) -> list[str]:
    """Complete the name of a challenge set."""
    from unbag import challenge_sets

    return _completed(incomplete, challenge_sets.list_set_names())


def complete_corpora(incomplete: str) -> list[str]:
    """Complete the name of a base corpus."""
    return _completed(incomplete, CORPORA)


def complete_splits(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a split, for the corpora on the command line or for all corpora."""
    named = [name for name in ctx.params.get("corpus") or () if name in CORPORA] or list(CORPORA)
    return _completed(incomplete, dict.fromkeys(split for name in named for split in CORPORA[name].splits))


def complete_metrics(incomplete: str) -> list[str]:
    """Complete the name of a metric."""
    return _completed(incomplete, scripts.list_script_folders("metrics"))


def complete_bounds(incomplete: str) -> list[str]:
    """Complete the prefix `SET:METRIC=` of a bound."""
    from unbag import challenge_sets
    from unbag.evaluation.metrics import CHANGED_LABELS, describe_metrics

    names = [
        f"{name}:{each}="
        for name in challenge_sets.list_set_names()
        for each in (*describe_metrics(name), CHANGED_LABELS.name)
    ]
    return _completed(incomplete, names)


def _completed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete the last name of a comma-separated list. Names in the list are not suggested again."""
    before, comma, last = incomplete.rpartition(",")
    listed_names: Sequence[str] = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in listed_names]


def build_declared_option(declared: DeclaredOptions, name: str, **settings: Any) -> Any:
    """Build the annotated type of a CLI parameter from a declared option. `settings` replace those of `typer.Option`.

    An option whose value may be a sequence or a mapping takes comma-separated and repeated values.
    """
    hint, option = declared[name]
    kinds = list_alternatives(hint)
    is_list = any(get_origin(each) in (Sequence, Mapping) for each in kinds)
    kind = list[str] | None if is_list else kinds[0] | None if len(kinds) == 1 else str | None
    shown: dict[str, Any] = {"help": option.help, "metavar": option.metavar}
    if is_list:
        shown["callback"] = split_commas
    flag = format_flag(name)
    # An option that is off by default needs no flag that disables it.
    flags = [flag] if option.default is False else [f"{flag}/--no{flag[1:]}"] if kind == bool | None else []
    return Annotated[kind, typer.Option(*flags, **shown | settings)]


# Constructors of options and arguments that several commands have.
list_option = partial(typer.Option, callback=split_commas)
corpora_option = partial(list_option, autocompletion=complete_corpora)
sets_option = partial(list_option, autocompletion=complete_sets)
paths_option = partial(typer.Option, callback=split_paths)
folder_option = partial(typer.Option, callback=validate_output_folder)
location_option = partial(typer.Option, callback=validate_output_folder, metavar="FOLDER")
set_argument = partial(typer.Argument, autocompletion=complete_sets, metavar="SET")
