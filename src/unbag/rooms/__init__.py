"""Where the rooms are, `dataset_scripts/`, `metrics/`, `trainers/`: beside this file in a wheel, or in a checkout.

They can be imported from either place under one name, `unbag.rooms.dataset_scripts.<set>.<set>`, so that a process
started by `datasets` to build with several finds them too. The first two hold a folder a thing, the last a file.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
ROOT = _HERE if (_HERE / "dataset_scripts").is_dir() else _HERE.parents[2]
__path__ = [str(_HERE), str(ROOT)]


def names(room: str) -> list[str]:
    """Return what a room holds, e.g. the challenge sets of `dataset_scripts`."""
    return sorted(path.name for path in (ROOT / room).iterdir() if (path / f"{path.name}.py").is_file())


def folder(room: str, name: str) -> Path:
    """Return the folder of one thing in a room.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in names(room):
        raise ValueError(f"expected one of {', '.join(names(room))} in {room}, found {name!r}")
    return ROOT / room / name


def module(room: str, name: str) -> Any:
    """Import one thing of a room.

    Raises:
        ValueError: if there is none of that name.
    """
    return import_module(f"unbag.rooms.{room}.{folder(room, name).name}.{name}")


def scripts(room: str) -> list[str]:
    """Return the names of the files in a room of files, `trainers`."""
    return sorted(path.stem for path in (ROOT / room).glob("*.py"))


def script(room: str, name: str) -> Any:
    """Import one file of a room of files.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in scripts(room):
        raise ValueError(f"expected one of {', '.join(scripts(room))} in {room}, found {name!r}")
    return import_module(f"unbag.rooms.{room}.{name}")
