"""Option parsing: comma-separated lists, validation of output paths, shell completion, and escaped help texts."""

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import wraps
from inspect import getdoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import typer
from typer.core import TyperCommand

from unbag.utils.options import split_names

if TYPE_CHECKING:
    from unbag.utils.storage import StorageFolder


def split_commas(values: list[str] | None) -> list[str] | None:
    """Split the values of a list option at commas (Typer callback).

    >>> split_commas(["permuted, swapped", "plain"])
    ['permuted', 'swapped', 'plain']
    """
    # Commas alone must not count as an absent option.
    names = [value for value in split_names(*values) if value] if values else values
    if values and not names:
        raise typer.BadParameter(f"expected comma-separated names, got {','.join(values)!r}; add a name")
    return names


def split_fixed_names(values: list[str] | None) -> list[str] | None:
    """Split a list of predefined names at commas, and reject whitespace around a value (option callback).

    The Python API also rejects such names. A space after a comma is allowed.
    """
    names = split_commas(values)
    for value in values or ():
        if value != value.strip():
            raise typer.BadParameter(
                f"expected a name without whitespace around it, got {value!r}; did you mean {value.strip()!r}?"
            )
    return names


def split_paths(values: list[Path] | None) -> list[Path] | None:
    """Split a list of paths at commas, except within existing file names (option callback)."""
    names = split_paths_or_ids([str(value) for value in values or ()])
    return values if names is None else list(map(Path, names))


def split_paths_or_ids(values: list[str] | None) -> list[str] | None:
    """Split a list of paths or Hub ids at commas, except within existing paths (option callback)."""
    if not values:
        return None
    # The name of an existing file may contain a comma.
    return [name for each in values for name in ([each] if Path(each).exists() else split_commas([each]) or ())]


class TextCommand(TyperCommand):
    """Command whose option `--text` accepts several values, such as the shell expansion of `--text docs/*.md`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the option name before each additional value, then parse the arguments with click."""
        repeated: list[str] = []
        following = False
        for n, arg in enumerate(args):
            if arg.startswith("-"):
                following = arg == "--text" or arg.startswith("--text=")
            elif following and args[n - 1] != "--text":
                repeated.append("--text")
            repeated.append(arg)
        return super().parse_args(ctx, repeated)


_BADGE_SUFFIXES: Final = (".svg", ".json")
_PARQUET: Final = ".parquet"


def validate_output_location(location: str | None) -> str | None:
    """Validate that a folder or URL is writable (option callback)."""
    from unbag.utils.storage import StorageFolder, is_url

    if location is None:
        return None
    if not is_url(location):
        return str(_writable(Path(location.removeprefix("file://")), folder=True))
    return _validate_address(location, StorageFolder(location))


def validate_set_output_location(location: str) -> str:
    """Validate that a challenge set can be written to a Parquet file or folder at a path or URL (option callback)."""
    from unbag.utils.storage import StorageFolder, is_url

    if not is_url(location):
        return str(validate_set_output(Path(location.removeprefix("file://"))))
    return _validate_address(
        location, StorageFolder(location.rpartition("/")[0] if location.endswith(_PARQUET) else location)
    )


def _validate_address(place: str, folder: "StorageFolder") -> str:
    try:
        folder.validate_writable()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return place


def validate_output_folder(path: Path | None) -> Path | None:
    """Validate that a folder is writable (option callback)."""
    return None if path is None else _writable(path, folder=True)


def validate_output_file(path: Path | None) -> Path | None:
    """Validate that a file is writable (option callback)."""
    return None if path is None else _writable(path, folder=False)


def validate_set_output(path: Path) -> Path:
    """Validate that a challenge set can be written to a local Parquet file or folder."""
    return _writable(path, folder=path.suffix != _PARQUET)


def _validate_badge(path: Path | None) -> Path | None:
    if path is not None and path.suffix not in _BADGE_SUFFIXES:
        raise typer.BadParameter(
            f"expected a file name ending in {' or '.join(_BADGE_SUFFIXES)}, got {path}; rename the file"
        )
    return validate_output_file(path)


def _writable(path: Path, *, folder: bool) -> Path:
    from unbag.utils.safe_io import validate_writable

    try:
        return validate_writable(path, folder=folder)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


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
    from unbag.data.corpora import CORPORA

    return _completed(incomplete, CORPORA)


def complete_splits(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a split, for the corpora on the command line or for all corpora."""
    from unbag.data.corpora import CORPORA

    named = [name for name in ctx.params.get("corpus") or () if name in CORPORA] or list(CORPORA)
    return _completed(incomplete, dict.fromkeys(split for name in named for split in CORPORA[name].splits))


def complete_metrics(incomplete: str) -> list[str]:
    """Complete the name of a metric."""
    from unbag import scripts

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


_TAG: Final = re.compile(r"(\\*)(\[[a-zA-Z#/@][^\[]*?\])")
"""Pattern of a Rich tag and the backslashes before it, as in `rich.markup.escape`, which is slow to import."""


def escape_markup(text: str) -> str:
    r"""Escape square brackets that Rich would interpret as markup.

    >>> print(escape_markup("pip install 'unbag[ray]', [0, 1]"))
    pip install 'unbag\[ray]', [0, 1]
    """
    return _TAG.sub(r"\1\1\\\2", text)


def escape_help(app: typer.Typer) -> None:
    """Escape the help texts of all commands, options and arguments of an app, so that they are printed unchanged.

    Typer passes help texts to Rich, which would remove `[ray]` from "unbag[ray]" as an unknown style.
    """
    if app.registered_callback is not None and app.registered_callback.callback is not None:
        app.registered_callback.callback = _with_escaped_help(app.registered_callback.callback)
    if isinstance(app.info.help, str):
        app.info.help = escape_markup(app.info.help)
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_escaped_help(command.callback)
        if command.help is not None:
            command.help = escape_markup(command.help)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            escape_help(group.typer_instance)


def _with_escaped_help(callback: Callable[..., Any]) -> Callable[..., Any]:
    declared = signature(callback)

    @wraps(callback)
    def run(**arguments: Any) -> Any:
        return callback(**arguments)

    parameters = [
        each.replace(annotation=_escaped_annotation(each.annotation)) for each in declared.parameters.values()
    ]
    run.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = callback.__annotations__ | {each.name: each.annotation for each in parameters}
    run.__doc__ = escape_markup(getdoc(callback) or "") or None
    return run


def _escaped_annotation(annotation: Any) -> Any:
    """Copy an `Annotated[type, option]` with escaped help. A copy is required, because commands share options."""
    if not hasattr(annotation, "__metadata__"):
        return annotation
    kind, option = get_args(annotation)
    if not option.help or (escaped := escape_markup(option.help)) == option.help:
        return annotation
    option = copy(option)
    option.help = escaped
    return Annotated[kind, option]
