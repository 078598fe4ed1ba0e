"""Where commands write: refused as soon as the options are read, not when the work is done."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from unbag.utils.storage import Folder

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
        folder.require_writable()
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
    from unbag.utils.safe_io import require_writable

    try:
        return require_writable(path, folder=folder)
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
