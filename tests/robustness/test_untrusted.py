"""Tests of names, texts, modules, lexical models and tables of other users.

They are escaped, stay in their folder, run no code, and errors name them.
"""

import json
import math
import re
import shutil
import sys
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.conftest import fit_model, read_files_below, run_command, run_rejected, sample_inputs
from unbag.baselines.lexical.model import locate_lexical_model
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.evaluation.model_loading import load_predictor
from unbag.hub.dataset import build_dataset_upload
from unbag.hub.push import HubUpload
from unbag.utils.terminal import escape_control_chars, escape_json

pytestmark = pytest.mark.usefixtures("empty_working_dir")

CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x202E, 0x2066, 0xFEFF, 0x2028)]


def obeyed(text):
    return [character for character in CONTROLS if character in text]


@given(st.text())
def test_control_characters_are_escaped(text):
    escaped = escape_control_chars(text)
    assert not obeyed(escaped)
    assert len(escaped) == len(text)
    assert escaped.isprintable() or set(escaped) & set("\n\t\u00a0\u3000") or not text.isprintable()
    written = escape_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert not obeyed(written)
    assert json.loads(written) == {text: [text]}


@pytest.mark.parametrize("name", ["x[b]y", "a\x1b[31mb"])
def test_model_can_have_any_name(tiny_bert, sixty_pairs, tmp_path, capsys, name):
    model = shutil.copytree(tiny_bert, tmp_path / "models" / name)
    options = ("--data", sixty_pairs, "--sets", "plain", "--output-dir", "out", "--no-lexical-baseline")
    code, out, err = run_command(capsys, "evaluate", model, *options)
    assert code == 0, err
    assert not obeyed(out + err)
    assert Path("out/table.txt").is_file()
    [result] = results.read_results(Path("out/results.json"))
    assert result.model["name"] == str(model)
    for command in (("report", "out", "--output", "r.html"), ("compare", "out", "out")):
        _, out, err = run_command(capsys, *command)
        assert not obeyed(out + err)


@pytest.mark.parametrize(
    "name",
    sample_inputs(
        ("x[/b]y", "[link=http://evil]x", ":smile:", "a\x1b[31mb", "a\u202eb", "a\rb", "a\nb"),
        2,
    ),
)
def test_names_in_error_messages_are_escaped(capsys, name):
    run_rejected(capsys, "evaluate", name, "--sets", "plain", "--output-dir", "out")
    run_rejected(capsys, "build", "plain", "--corpus", name, "--output", "out")
    run_rejected(capsys, "report", name, "--output", "out.html")


@pytest.fixture
def publish(sixty_pairs, monkeypatch, tmp_path):
    """Return the words of a command that publishes a set of the pairs."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return ("publish", "dataset", "plain", "--data", sixty_pairs, "--license", "mit")


@pytest.mark.parametrize("config", ["*", "../../x", "/etc", "a\x1b[31mb", "", "-x", "x" * 97, "a\0b"])
def test_invalid_config_name_is_rejected(publish, sixty_pairs, tmp_path, capsys, config):
    before = read_files_below(tmp_path)
    run_rejected(capsys, *publish, "--repo-id", "org", f"--config={config}")
    if config:
        with pytest.raises(ValueError, match="config"):
            build_dataset_upload(
                [SetRequest("plain", config, {"data": str(sixty_pairs)})],
                "org/plain",
                tmp_path / "built",
                license="mit",
            )
    assert read_files_below(tmp_path) == before


@pytest.mark.parametrize("repo", ["org", "../x", "a/b/c", "org/na me", "org/x\n", "org/", "org/x.git"])
def test_invalid_repo_name_is_rejected(publish, capsys, repo):
    with pytest.raises(ValueError, match="expected a Hub repository"):
        HubUpload(repo, "dataset", {}, "Publish")
    if repo not in ("org", "org/"):  # an organization; --repo-id strips slashes at its ends
        run_rejected(capsys, *publish, f"--repo-id={repo}")


@pytest.mark.parametrize("path", ["../x", "/x", "a/../b", "a//b", "", ".", "a/.git/b", "a\nb", "a\\b", "a\0b", "./a"])
def test_path_outside_repo_is_rejected(path):
    with pytest.raises(ValueError, match="expected a file path"):
        HubUpload("org/name", "dataset", {path: b""}, "Publish")


IMPORTABLE = "broken_model:predict: expected an importable module broken_model, got "
FUNCTION = "expected module:function, got "


@pytest.mark.parametrize(
    ("content", "model", "expected"),
    [
        ("raise RuntimeError('out of\\nluck')", "broken_model:predict",
         f"{IMPORTABLE}RuntimeError: out of luck at broken_model.py:1 (<module>); correct it"),
        ("def predict(:", "broken_model:predict",
         f"{IMPORTABLE}SyntaxError: invalid syntax at broken_model.py:1 (<module>); correct it"),
        ("import sys; sys.exit('no')", "broken_model:predict",
         f"{IMPORTABLE}SystemExit: no at broken_model.py:1 (<module>); correct it"),
        ("", "no_such_module:predict", f"{FUNCTION}'no_such_module:predict': No module named 'no_such_module'"),
        ("", "broken_model:none", "has no attribute 'none'"),
        ("number = 3", "broken_model:number", "which has type int; pass a function"),
        ("", "broken_model:", f"{FUNCTION}'broken_model:'; pass a module and one of its functions"),
    ],
)  # fmt: skip
def test_module_without_function_is_rejected(sixty_pairs, capsys, monkeypatch, content, model, expected):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("broken_model", None)
    Path("broken_model.py").write_text(f"{content}\n")
    options = ("--sets", "plain", "--data", sixty_pairs, "--output-dir", "out")
    found = " ".join(run_rejected(capsys, "evaluate", model, *options).split())
    assert expected in found
    assert "predictors.py" not in found
    assert not Path("out").exists()


@pytest.fixture
def lexical_model(sixty_pairs):
    folder = fit_model(sixty_pairs)
    (folder / "checksums.json").unlink()  # models of other users have no checksums
    return folder


def change_record(folder, change):
    """Change the record of a lexical model."""
    config = json.loads((folder / "config.json").read_text())
    change(config["record"])
    (folder / "config.json").write_text(json.dumps(config))


SCORE = ("lexical", "score", "--premise", "A.", "--hypothesis", "B.", "--model")


@pytest.mark.parametrize(
    ("pipeline", "tags"),
    [("os", "context"), ("evil/repository", None), ("./here", "context"), ("spacy/../evil", None), ("", "context")],
)
def test_lexical_model_cannot_choose_package_or_repository(lexical_model, monkeypatch, capsys, pipeline, tags):
    change_record(lexical_model, lambda record: record.update(pipeline=pipeline, tags=tags))
    monkeypatch.setattr("unbag.data.text.tagging.load_pipeline", lambda *_: pytest.fail("loaded"))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: pytest.fail("fetched"))
    with pytest.raises(ValueError, match="which would execute code on this machine; if you trust it"):
        load_predictor(lexical_model)
    assert "if you trust it" in run_rejected(capsys, *SCORE, lexical_model)
    if pipeline == "evil/repository":  # trusted, because the user names it
        assert locate_lexical_model(lexical_model, pipeline=pipeline) == lexical_model


def test_invalid_value_in_lexical_model_is_read_or_named(lexical_model):
    def predict():
        return load_predictor(lexical_model)[0].predict(["A dog runs."], ["A cat runs."])

    assert predict().shape == (1, 3)
    content = (lexical_model / "config.json").read_text()
    names = ("pipeline", "tags", "language", "words", "hypothesis_only", "pairs", "l2", "training")
    values = (None, 1, "x", [], {}, [[]], [None], [{"origin": 1}], True, "\x1b[31m", {"a": {}})
    messages = {name: "" for name in names}
    for name, value in product(names, values):
        change_record(lexical_model, lambda record, change={name: value}: record.update(change))
        try:
            predict()
        except ValueError as error:
            messages[name] = str(error)
        (lexical_model / "config.json").write_text(content)
        assert not messages[name] or name in messages[name]
    assert all(messages.values())


@pytest.mark.parametrize("name", ["tags", "training"])
def test_lexical_model_without_record_field_is_rejected(lexical_model, sixty_pairs, capsys, name):
    change_record(lexical_model, lambda record: record.pop(name))
    evaluate = ("evaluate", lexical_model, "--sets", "plain", "--data", sixty_pairs, "--output-dir", "out")
    for command in ((*SCORE, lexical_model), evaluate):
        said = " ".join(run_rejected(capsys, *command).split())
        assert f"expected the record of a lexical model, got record.{name}: field required" in said
        assert "fit the model again with `unbag lexical fit`" in said
    assert not Path("out").exists()


def test_leaderboard_cells_are_escaped_and_do_not_break_tables():
    pytest.importorskip("gradio", reason="needs gradio")
    from tests.hub.test_leaderboard import P_C, _build_row
    from unbag.hub.leaderboard_page import build_overview, build_results_table, drop_incomplete_rows

    markup = "![x](https://evil.example/a.png) [y](javascript:alert(1)) <img src=x onerror=alert(1)> **b** www.evil.ex"
    good = _build_row("org/reader", 0.4, **P_C)
    for column in good:
        for value in (markup, "{", None) if isinstance(good[column], str) else (None, math.nan, math.inf):
            rows = drop_incomplete_rows(pd.DataFrame([good, {**good, "model": "org/other", column: value}]))
            assert len(rows) >= 1
            assert "org/reader" in build_overview(rows)[0].to_csv()
            assert len(build_results_table(rows)) == len(rows)
    for column in ("model", "head"):
        rows = pd.DataFrame([good | {column: markup}])
        for table in (build_overview(rows)[0], build_results_table(rows)):
            [shown] = table["model"]
            link = "[org/reader](https://huggingface.co/org/reader)"
            assert not re.search(r"[<>!*:\[\]]", shown.removeprefix(link))
