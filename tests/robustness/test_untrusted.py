"""Tests of names, texts and modules of other users: escaped, confined to their folder, and blamed for their errors."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.command import read_files_below, run_command, run_rejected, sample_inputs
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.hub.dataset import build_dataset_upload
from unbag.hub.push import HubUpload
from unbag.utils.terminal import escape_control_chars, escape_json

pytestmark = pytest.mark.usefixtures("empty_working_dir")

CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x202E, 0x2066, 0xFEFF, 0x2028)]

NASTY = ("x[/b]y", "[link=http://evil]x", ":smile:", "a\x1b[31mb", "a\u202eb", "a\rb")


def obeyed(text):
    return [character for character in CONTROLS if character in text]


@given(st.text())
def test_control_characters_are_escaped(text):
    assert not obeyed(escape_control_chars(text))
    assert len(escape_control_chars(text)) == len(text)
    assert (
        escape_control_chars(text).isprintable()
        or set(escape_control_chars(text)) & set("\n\t\u00a0\u3000")
        or not text.isprintable()
    )


@given(st.text())
def test_json_value_round_trips(text):
    written = escape_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert not obeyed(written)
    assert json.loads(written) == {text: [text]}


@pytest.mark.parametrize("name", ["x[b]y", "a\x1b[31mb"])
def test_model_can_have_any_name(tiny_bert, tmp_path, capsys, name):
    model = shutil.copytree(tiny_bert, tmp_path / "models" / name)
    data = tmp_path / "pairs.csv"
    data.write_text("premise,hypothesis,label\nA dog runs.,A cat runs.,neutral\nA man is in.,No one.,contradiction\n")
    code, out, err = run_command(
        capsys, "evaluate", model, "--data", data, "--sets", "plain", "--output-dir", "out", "--no-lexical-baseline"
    )
    assert code == 0, err
    assert not obeyed(out + err)
    assert (tmp_path / "here/out/table.txt").is_file()
    [result] = results.read_results(tmp_path / "here/out/results.json")
    assert result.model["name"] == str(model)
    for command in (("report", "out", "--output", "r.html"), ("compare", "out", "out")):
        _, out, err = run_command(capsys, *command)
        assert not obeyed(out + err)


@pytest.mark.parametrize("name", sample_inputs([*NASTY, "a\nb"], 2))
@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "NAME", "--sets", "plain", "--output-dir", "out"),
        ("build", "plain", "--corpus", "NAME", "--output", "out"),
        ("report", "NAME", "--output", "out.html"),
    ],
    ids=lambda command: " ".join(command),
)
def test_names_in_error_messages_are_escaped(capsys, command, name):
    run_rejected(capsys, *(part.replace("NAME", name) for part in command))


CONFIGS = ("*", "../../x", "/etc", "a\x1b[31mb", "", "-x", "x" * 97, "a\0b")
REPOSITORIES = ("org", "../x", "a/b/c", "org/na me", "org/x\n", "org/", "org/x.git")


@pytest.fixture
def pairs(empty_working_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = tmp_path / "pairs.csv"
    path.write_text("premise,hypothesis,label\nA dog runs.,A cat runs.,neutral\n")
    return path


@pytest.mark.parametrize("config", CONFIGS)
def test_invalid_config_name_is_rejected(pairs, tmp_path, capsys, config):
    before = read_files_below(tmp_path)
    own = ("--data", pairs, "--license", "mit")
    command = ("publish", "dataset", "plain", "--repo-id", "org", *own, f"--config={config}")
    if config.strip() == config:  # commands strip spaces around names
        run_rejected(capsys, *command)
    if config:
        with pytest.raises(ValueError, match="config"):
            build_dataset_upload(
                [SetRequest("plain", config, {"data": str(pairs)})], "org/plain", tmp_path / "built", license="mit"
            )
    assert read_files_below(tmp_path) == before


@pytest.mark.parametrize("repo", REPOSITORIES)
def test_invalid_repo_name_is_rejected(pairs, capsys, repo):
    with pytest.raises(ValueError, match="expected a Hub repository"):
        HubUpload(repo, "dataset", {}, "Publish")
    if repo not in ("org", "org/", "/x"):  # organizations; --repo-id strips slashes at its ends
        run_rejected(capsys, "publish", "dataset", "plain", f"--repo-id={repo}", "--data", pairs, "--license", "mit")


@pytest.mark.parametrize("path", ["../x", "/x", "a/../b", "a//b", "", ".", "a/.git/b", "a\nb", "a\\b", "a\0b", "./a"])
def test_path_outside_repo_is_rejected(path):
    with pytest.raises(ValueError, match="expected a file path"):
        HubUpload("org/name", "dataset", {path: b""}, "Publish")


AT_IMPORT = {
    "raise RuntimeError('out of\\nluck')": "got RuntimeError: out of luck at broken_model.py:1 (<module>); correct it",
    "def predict(:": "got SyntaxError: invalid syntax at broken_model.py:1 (<module>); correct it",
    "import sys; sys.exit('no')": "got SystemExit: no at broken_model.py:1 (<module>); correct it",
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
        ("broken_model:none", "has no attribute 'none'"),
        ("broken_model:number", "which has type int; pass a function"),
        ("broken_model:", "'broken_model:'; pass a module and one of its functions"),
    ],
)
def test_name_without_function_is_rejected(sixty_pairs, capsys, model, expected):
    Path("broken_model.py").write_text("number = 3\n")
    found = said(capsys, sixty_pairs, model)
    assert "expected module:function, got " in found
    assert expected in found
