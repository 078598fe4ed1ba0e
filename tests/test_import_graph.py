"""Tests of the import graph: packages import only lower layers, and there are no cycles between packages or files."""

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from unbag import scripts

_FOLDERS = ("dataset_scripts", "metrics", "trainers")


@cache
def _modules():
    """Return all files of the package and its scripts, by module name."""
    package = Path(scripts.__file__).parents[1]
    files = {path: path.relative_to(package.parent) for path in package.rglob("*.py")}
    files |= {path: path.relative_to(scripts.ROOT) for name in _FOLDERS for path in (scripts.ROOT / name).rglob("*.py")}
    return {".".join(name.with_suffix("").parts).removesuffix(".__init__"): path for path, name in files.items()}


@cache
def _imports():
    """Return the modules that each module imports, including imports in functions and for type checking."""
    modules = _modules()
    arrows = {name: set() for name in modules}
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: a relative import"
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [each if each in modules else node.module for each in inner]
            arrows[name].update(each for each in targets if each in modules and each != name)
    return arrows


def _room(module):
    """Return the package of a module: a folder, or a file next to the folders."""
    parts = module.split(".")
    return parts[0] if parts[0] != "unbag" else ".".join(parts[:2])


def _check(arrows, what):
    try:
        tuple(TopologicalSorter(arrows).static_order())
    except CycleError as error:
        pytest.fail(f"{what} import each other in a circle: {' <- '.join(error.args[1])}")


def test_files_have_no_import_cycle():
    _check(_imports(), "files")


def test_packages_have_no_import_cycle():
    rooms = defaultdict(set)
    for module, imported in _imports().items():
        rooms[_room(module)].update(_room(each) for each in imported if _room(each) != _room(module))
    _check(rooms, "rooms")


def test_labels_and_scoring_import_nothing_else_of_package():
    """These modules are copied into metric Spaces and harness tasks, which have numpy but not unbag."""
    vendored = {name for name in _modules() if _room(name) == "unbag.scoring"}
    vendored |= {"unbag.data.labels", "unbag.data.predictions"}
    assert len(vendored) > 10
    for module, imported in _imports().items():
        if module in vendored:
            assert imported <= vendored | {"unbag.data"}, module


LAYERS = (
    {"utils"},
    {"data"},
    {"models", "scoring"},
    {"inference"},
    {"baselines"},
    {"challenge_sets"},
    {"evaluation"},
    {"training", "reports"},
    {"hub", "api"},
    {"integrations"},
    {"cli"},
)
"""The packages of `src/unbag`, from the lowest layer to the highest. A package imports from lower layers only."""


def test_packages_import_only_lower_layers():
    level = {f"unbag.{name}": number for number, names in enumerate(LAYERS) for name in names}
    imports = _imports()
    assert level.keys() | {"unbag", "unbag.__main__", "unbag.scripts"} == {
        _room(name) for name in imports if name.startswith("unbag")
    }
    upward = [
        (module, each)
        for module, imported in imports.items()
        for each in imported
        if _room(module) in level
        and level.get(_room(each), -1) >= level[_room(module)]
        and _room(each) != _room(module)
    ]
    assert not upward


def test_no_file_imports_scikit_learn():
    """scikit-learn is only a test dependency."""
    names = {
        name
        for path in _modules().values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert "scipy.stats" in names
    assert not [name for name in names if name.split(".")[0] == "sklearn"]


def test_files_of_base_install_import_no_torch():
    # `unbag prefetch` downloads exported models, and the command of a training run is shown, without unbag[models].
    modules = ("unbag.inference.exported_files", "unbag.training.record")
    code = f"import sys; sys.modules['torch'] = None; import {', '.join(modules)}"
    subprocess.run([sys.executable, "-c", code], check=True)
