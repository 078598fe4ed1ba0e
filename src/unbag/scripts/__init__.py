"""Import of the scripts outside the library: `dataset_scripts/`, `metrics/`, `trainers/`.

The scripts lie in the root of a checkout or inside the wheel. Both places give the same import name,
`unbag.scripts.dataset_scripts.<set>.<set>`, so that the worker processes of `datasets` can import them too.
`dataset_scripts/` and `metrics/` have one folder per script, `trainers/` has one file per script.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from unbag.utils.options import OptionError

_HERE = Path(__file__).parent
ROOT = _HERE if (_HERE / "dataset_scripts").is_dir() else _HERE.parents[2]
__path__ = [str(_HERE), str(ROOT)]


def list_script_folders(parent_folder: str) -> list[str]:
    """List the scripts in a folder such as `dataset_scripts`, in which each script has its own subfolder."""
    return sorted(path.name for path in (ROOT / parent_folder).iterdir() if (path / f"{path.name}.py").is_file())


def find_script_folder(parent_folder: str, name: str) -> Path:
    """Find the folder of one script.

    Raises:
        OptionError: If no script has that name.
    """
    if name not in list_script_folders(parent_folder):
        raise OptionError(
            f"{parent_folder}: expected one of {', '.join(list_script_folders(parent_folder))}, got {name!r}"
        )
    return ROOT / parent_folder / name


def import_script_module(parent_folder: str, name: str) -> Any:
    """Import a script that has its own folder.

    Raises:
        OptionError: If no script has that name.
    """
    return import_module(f"unbag.scripts.{parent_folder}.{find_script_folder(parent_folder, name).name}.{name}")


def list_script_files(parent_folder: str) -> list[str]:
    """List the scripts in a folder such as `trainers`, in which each script is a single file."""
    return sorted(path.stem for path in (ROOT / parent_folder).glob("*.py"))


def import_script_file(parent_folder: str, name: str) -> Any:
    """Import a script that is a single file.

    Raises:
        OptionError: If no script has that name.
    """
    if name not in list_script_files(parent_folder):
        raise OptionError(
            f"{parent_folder}: expected one of {', '.join(list_script_files(parent_folder))}, got {name!r}"
        )
    return import_module(f"unbag.scripts.{parent_folder}.{name}")
