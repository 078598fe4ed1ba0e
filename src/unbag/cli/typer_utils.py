"""Helpers of option parsing: comma-separated lists, output paths that are checked early, and shell completion."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from unbag.utils.options import split_names

if TYPE_CHECKING:
    from unbag.utils.storage import Folder


def comma_separated(values: list[str] | None) -> list[str] | None:
    """Return the values of a list, as the callback of its option.

    >>> comma_separated(["permuted, swapped", "plain"])
    ['permuted', 'swapped', 'plain']

    Raises:
        typer.BadParameter: if nothing is named in it; an option that is not given says another thing.
    """
    named = [value for value in split_names(*values) if value] if values else values
    if values and not named:
        raise typer.BadParameter(f"expected names with commas between them, found {','.join(values)!r}")
    return named


def comma_separated_names(values: list[str] | None) -> list[str] | None:
    """Return the values of a list of fixed names, as the callback of its option: none with white space around them.

    Python takes no such name either. After a comma a space is part of the list.

    Raises:
        typer.BadParameter: if nothing is named, or there is white space around the names.
    """
    named = comma_separated(values)
    for value in values or ():
        if value != value.strip():
            raise typer.BadParameter(
                f"expected a name without white space around it, got {value!r}; did you mean {value.strip()!r}?"
            )
    return named


def comma_separated_paths(values: list[Path] | None) -> list[Path] | None:
    """Return the paths of a list, as the callback of its option; one that is there may have commas in its name."""
    if not values:
        return values
    return [
        path
        for value in values
        for path in ([value] if value.exists() else map(Path, comma_separated([str(value)]) or ()))
    ]


_BADGES: Final = (".svg", ".json")
_PARQUET: Final = ".parquet"


def place_to_write(place: str | None) -> str | None:
    """Return a folder or an address that can be written to, as the callback of its option."""
    from unbag.utils.storage import Folder, is_address

    if place is None:
        return None
    if not is_address(place):
        return str(_writable(Path(place.removeprefix("file://")), folder=True))
    return _reached(place, Folder(place))


def set_or_address_to_write(place: str) -> str:
    """Return a Parquet file, or a folder of them, that can be written here or at an address, as a callback."""
    from unbag.utils.storage import Folder, is_address

    if not is_address(place):
        return str(set_to_write(Path(place.removeprefix("file://"))))
    return _reached(place, Folder(place.rpartition("/")[0] if place.endswith(_PARQUET) else place))


def _reached(place: str, folder: "Folder") -> str:
    try:
        folder.validate_writable()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return place


def folder_to_write(path: Path | None) -> Path | None:
    """Return a folder that can be written to, as the callback of its option."""
    return None if path is None else _writable(path, folder=True)


def file_to_write(path: Path | None) -> Path | None:
    """Return a file that can be written, as the callback of its option."""
    return None if path is None else _writable(path, folder=False)


def set_to_write(path: Path) -> Path:
    """Return a Parquet file, or a folder of them, that can be written, as the callback of its option."""
    return _writable(path, folder=path.suffix != _PARQUET)


def _badge_to_write(path: Path | None) -> Path | None:
    if path is not None and path.suffix not in _BADGES:
        raise typer.BadParameter(f"expected a badge as {' or '.join(_BADGES)}, found {path}")
    return file_to_write(path)


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
        callback=_badge_to_write,
        help="Also write a badge for the card of the model: an .svg, or a .json for shields.io.",
    ),
]


def sets(incomplete: str) -> list[str]:
    """Complete the name of a challenge set."""
    from unbag import challenge_sets

    return _completed(incomplete, challenge_sets.names())


def corpora(incomplete: str) -> list[str]:
    """Complete the name of a base corpus."""
    from unbag.data.corpora import CORPORA

    return _completed(incomplete, CORPORA)


def splits(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a split of the corpora that are named before, or of all corpora."""
    from unbag.data.corpora import CORPORA

    named = [name for name in ctx.params.get("corpus") or () if name in CORPORA] or list(CORPORA)
    return _completed(incomplete, dict.fromkeys(split for name in named for split in CORPORA[name].splits))


def metrics(incomplete: str) -> list[str]:
    """Complete the name of a metric."""
    from unbag import scripts

    return _completed(incomplete, scripts.names("metrics"))


def bounds(incomplete: str) -> list[str]:
    """Complete SET:NUMBER= of a gate."""
    from unbag import challenge_sets
    from unbag.evaluation.quantities import quantities

    return _completed(incomplete, [f"{name}:{each}=" for name in challenge_sets.names() for each in quantities(name)])


def _completed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return what a list becomes with each name in place of the part behind its last comma."""
    before, comma, last = incomplete.rpartition(",")
    given: Sequence[str] = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in given]
