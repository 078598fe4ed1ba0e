"""Tests of installations without some extras: working commands, and errors that name the extra."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from unbag.utils.optional_deps import EXTRA_OF, build_install_hint

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    extra: {re.split(r"[<>=\[ ]", needed)[0] for needed in needs} - {"unbag"}
    for extra, needs in PROJECT["optional-dependencies"].items()
}

# A process in which some packages cannot be imported.
WITHOUT = """
import sys
from importlib.machinery import PathFinder
find, absent = PathFinder.find_spec, set(sys.argv.pop(1).split())
PathFinder.find_spec = staticmethod(lambda name, *rest: None if name.split(".")[0] in absent else find(name, *rest))
from unbag.cli import main
sys.exit(main())
"""


def _run(tmp_path, *arguments):
    (tmp_path / "p.csv").write_text(
        "premise,hypothesis,label\nA cat sees a dog today .,A dog sees a cat today .,neutral\n"
    )
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text('{"model_type": "bert"}')
    absent = " ".join(EXTRA_OF)
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, absent, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )


def test_every_package_of_extra_is_mapped_to_it():
    single = {extra: needs for extra, needs in EXTRAS.items() if extra != "all"}
    assert {package: extra for extra, needs in single.items() for package in needs} == EXTRA_OF


def test_missing_package_error_names_extra():
    for error, hint in (
        (ModuleNotFoundError("No module named 'torch'", name="torch.nn"), "pip install 'unbag[models]'"),
        (ImportError("requires PyTorch: pip install 'unbag[models]'", name="torch"), "pip install 'unbag[models]'"),
        (ModuleNotFoundError("No module named 'colorama'", name="colorama"), "No module named 'colorama'"),
    ):
        found = build_install_hint(error)
        assert found.endswith(hint)
        assert found.count("pip install") == hint.count("pip install"), "an error that names the extra stays as it is"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["train", "finetune", "--model", "m", "--output-dir", "o"], "models"),
        (["models", "init", "dan", "--corpus", "demo", "--output-dir", "o"], "models"),
        (["evaluate", "./m", "--sets", "plain", "--data", "p.csv", "--output-dir", "o"], "models"),
        (["evaluate", "endpoint:m", "--base-url", "http://127.0.0.1:9", "--sets", "plain", "--output-dir", "o"], "llm"),
        (["build", "plain", "--data", "p.csv", "--engine", "ray", "--output", "o"], "ray"),
    ],
)
def test_command_without_extra_names_extra(tmp_path, arguments, extra):
    run = _run(tmp_path, *arguments)
    assert run.returncode in (1, 2), run.stdout
    assert f"pip install 'unbag[{extra}]'" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.nightly
def test_plain_installation_builds_and_scores(tmp_path):
    built = _run(tmp_path, "build", "swapped", "--data", "p.csv", "--output", "set")
    assert built.returncode == 0, built.stderr


def test_missing_tracker_error_names_extra(monkeypatch):
    from unbag.training.seeds import validate_trackers

    monkeypatch.setattr("unbag.data.text.tagging.is_package_installed", lambda name: False)
    with pytest.raises(ImportError, match=r"install them: pip install 'unbag\[trackers\]' wandb$"):
        validate_trackers(["tensorboard", "wandb"])
