"""Tests of the import graph and the script folders: packages import only lower layers, and there are no cycles."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from unbag import scripts

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


@cache
def _list_modules():
    """Return the text of each file of the package and its scripts, by module name."""
    package = Path(scripts.__file__).parents[1]
    files = {path: path.relative_to(package.parent) for path in package.rglob("*.py")}
    for folder in ("dataset_scripts", "metrics", "trainers"):
        files |= {path: path.relative_to(scripts.ROOT) for path in (scripts.ROOT / folder).rglob("*.py")}
    return {
        ".".join(name.with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
        for path, name in files.items()
    }


@cache
def _list_imports():
    """Return the modules that each module imports, including imports in functions and for type checking."""
    modules = _list_modules()
    imports = {name: set() for name in modules}
    for name, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            targets = []
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: a relative import"
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [each if each in modules else node.module for each in inner]
            imports[name].update(each for each in targets if each in modules and each != name)
    return imports


def _get_package(module):
    """Return the package of a module: a folder, or a file next to the folders."""
    parts = module.split(".")
    return parts[0] if parts[0] != "unbag" else ".".join(parts[:2])


def test_files_have_no_import_cycle():
    assert tuple(TopologicalSorter(_list_imports()).static_order())  # raises an error that lists a cycle


def test_packages_import_only_lower_layers():
    level = {f"unbag.{name}": number for number, names in enumerate(LAYERS) for name in names}
    packages = {_get_package(name) for name in _list_modules() if name.startswith("unbag")}
    assert packages == level.keys() | {"unbag", "unbag.__main__", "unbag.scripts"}
    upward = [
        (module, each)
        for module, imported in _list_imports().items()
        for each in imported
        if _get_package(module) != _get_package(each)
        and level.get(_get_package(module), len(level)) <= level.get(_get_package(each), -1)
    ]
    assert not upward


def test_labels_and_scoring_import_nothing_else_of_package():
    """These modules are copied into metric Spaces and harness tasks, which have numpy but not unbag."""
    vendored = {name for name in _list_modules() if _get_package(name) == "unbag.scoring"}
    vendored |= {"unbag.data.labels", "unbag.data.predictions"}
    assert len(vendored) > 10
    for module in vendored:
        assert _list_imports()[module] <= vendored | {"unbag.data"}, module


def test_scikit_learn_is_only_a_test_dependency():
    assert [name for name, text in _list_modules().items() if re.search(r"\b(from|import) sklearn", text)] == []


def test_files_of_base_install_import_no_torch():
    # `unbag prefetch` downloads exported models, and the command of a training run is shown, without unbag[models].
    modules = ("unbag.inference.exported_files", "unbag.training.record")
    code = f"import sys; sys.modules['torch'] = None; import {', '.join(modules)}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_script_error_lists_scripts():
    with pytest.raises(ValueError, match=r"metrics: expected one of .*permutation_acceptance.*, got 'accuracy'"):
        scripts.find_script_folder("metrics", "accuracy")
    with pytest.raises(ValueError, match=r"trainers: expected one of .*finetune.*, got 'magic'"):
        scripts.import_script_file("trainers", "magic")


@pytest.mark.parametrize("name", scripts.list_script_files("trainers"))
def test_trainer_begins_with_requirements(name):
    text = (scripts.ROOT / "trainers" / f"{name}.py").read_text()
    assert text.startswith("# /// script\n"), "`hf jobs uv run` reads what it needs there"
