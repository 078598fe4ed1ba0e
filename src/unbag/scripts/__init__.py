"""Scripts outside the library: `dataset_scripts/`, `metrics/`, `trainers/`, in a checkout or inside a wheel.

They are imported from either place under one name, `unbag.scripts.dataset_scripts.<set>.<set>`, so that a process
started by `datasets` to build with several finds them too. The first two hold a folder a script, the last files.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
ROOT = _HERE if (_HERE / "dataset_scripts").is_dir() else _HERE.parents[2]
__path__ = [str(_HERE), str(ROOT)]


def names(kind: str) -> list[str]:
    """Return the scripts of a kind that have a folder each, e.g. the challenge sets of `dataset_scripts`."""
    return sorted(path.name for path in (ROOT / kind).iterdir() if (path / f"{path.name}.py").is_file())


def folder(kind: str, name: str) -> Path:
    """Return the folder of one script.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in names(kind):
        raise ValueError(f"expected one of {', '.join(names(kind))} in {kind}, found {name!r}")
    return ROOT / kind / name


def module(kind: str, name: str) -> Any:
    """Import a script that has a folder.

    Raises:
        ValueError: if there is none of that name.
    """
    return import_module(f"unbag.scripts.{kind}.{folder(kind, name).name}.{name}")


def files(kind: str) -> list[str]:
    """Return the names of the scripts of a kind that are single files: `trainers`."""
    return sorted(path.stem for path in (ROOT / kind).glob("*.py"))


def file(kind: str, name: str) -> Any:
    """Import a script that is a single file.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in files(kind):
        raise ValueError(f"expected one of {', '.join(files(kind))} in {kind}, found {name!r}")
    return import_module(f"unbag.scripts.{kind}.{name}")
