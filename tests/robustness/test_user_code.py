"""Tests of failing user modules: one line with the module, the error and the lines of the user."""

import sys
from pathlib import Path

import pytest

from tests.robustness.command import run_rejected

pytestmark = pytest.mark.usefixtures("empty_working_dir")

AT_IMPORT = {
    "raise RuntimeError('out of\\nluck')": "got RuntimeError: out of luck at broken_model.py:1 (<module>); correct it",
    "x = {}['a']": "got KeyError: 'a' at broken_model.py:1 (<module>); correct it",
    "def predict(:": "got SyntaxError: invalid syntax at broken_model.py:1 (<module>); correct it",
    "import sys; sys.exit('no')": "got SystemExit: no at broken_model.py:1 (<module>); correct it",
    "import no_such_package": "got ModuleNotFoundError: No module named 'no_such_package' at broken_model.py:1",
    "from json import no_such_name": "got ImportError: cannot import name 'no_such_name' from 'json'",
    "import json; json.loads('{')": "at broken_model.py:1 (<module>); correct it",
}


@pytest.fixture(autouse=True)
def _imported_anew(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    sys.modules.pop("broken_model", None)


def said(capsys, pairs, model):
    command = ("evaluate", model, "--sets", "plain", "--data", pairs, "--output-dir", "out")
    return " ".join(run_rejected(capsys, *command).split())


@pytest.mark.parametrize("content", AT_IMPORT)
def test_module_that_fails_on_import_error_names_line(sixty_pairs, capsys, content):
    Path("broken_model.py").write_text(f"{content}\n")
    found = said(capsys, sixty_pairs, "broken_model:predict")
    assert "broken_model:predict: expected an importable module broken_model, got " in found
    assert AT_IMPORT[content] in found
    assert "predictors.py" not in found
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("no_such_module:predict", "'no_such_module:predict': No module named 'no_such_module'"),
        ("broken_model.inner:predict", "No module named 'broken_model.inner'"),
        ("broken_model:none", "has no attribute 'none'"),
        ("broken_model:number", "which has type int; pass a function"),
        (":predict", "':predict'; pass a module and one of its functions"),
        ("broken_model:", "'broken_model:'; pass a module and one of its functions"),
        (".broken_model:predict", "'.broken_model:predict'; pass a module and one of its functions"),
    ],
)
def test_name_without_function_is_rejected(sixty_pairs, capsys, model, expected):
    Path("broken_model.py").write_text("number = 3\n")
    found = said(capsys, sixty_pairs, model)
    assert "expected module:function, got " in found
    assert expected in found


def test_function_that_raises_error_names_user_lines(sixty_pairs, capsys):
    Path("broken_model.py").write_text(
        "def known(pair):\n    return {}[pair]\n\n\ndef predict(premises, hypotheses):\n"
        "    return [known(pair) for pair in zip(premises, hypotheses)]\n"
    )
    found = said(capsys, sixty_pairs, "broken_model:predict")
    assert "the function predict: expected a prediction for each of 60 pairs, got KeyError: (" in found
    assert found.endswith("at broken_model.py:2 (known), broken_model.py:6 (predict); correct the function")
