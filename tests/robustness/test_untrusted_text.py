"""Tests of names and texts from other users, which must not control the terminal or be read as markup."""

import io
import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import build_result
from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)
from tests.robustness.command import run_command, run_rejected, sample_inputs
from unbag.challenge_sets import results
from unbag.reports.report import Report
from unbag.utils.terminal import create_console, escape_control_chars, escape_json

CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x202E, 0x2066, 0xFEFF, 0x2028)]
NASTY = (
    "x[/b]y",
    "a[red]b",
    "[/]",
    "[link=http://evil]x",
    ":smile:",
    "a\x1b[31mb",
    "a\x1b]0;t\x07b",
    "a\u202eb",
    "a\rb",
)


def obeyed(text):
    return [character for character in CONTROLS if character in text]


pytestmark = pytest.mark.usefixtures("empty_working_dir")


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


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=30))
def test_table_shows_whole_text(text):
    from rich.table import Table

    out = io.StringIO()
    table = Table(text)
    table.add_row(text)
    create_console(file=out, width=300).print(table, text)
    assert not obeyed(out.getvalue())
    visible = "".join(escape_control_chars(text).split())
    assert "".join(out.getvalue().split()).count(visible) >= 1


@pytest.mark.parametrize("name", NASTY)
def test_python_report_shows_escaped_names(tmp_path, name):
    made = [build_result(name, set_name="swapped", data=data) for data in ("a.jsonl", "b.jsonl")]
    report = Report(made, tmp_path, [results.SkippedSet("sicck", None, name)])
    for text in (str(report), repr(report)):
        assert not obeyed(text)
        assert text.count(escape_control_chars(name)) >= 1 + name.isprintable()  # rich removes some of the others


def write(path, name):
    path.write_text("premise,hypothesis,label\nA dog runs.,A cat runs.,neutral\nA man is in.,No one.,contradiction\n")
    return path


@pytest.mark.parametrize("name", sample_inputs(NASTY, 2))
def test_file_can_have_any_printable_name(tmp_path, capsys, name):
    folder = tmp_path / "data"
    folder.mkdir()
    path = write(folder / f"{name.replace('/', '')}.csv", name)
    code, out, err = run_command(
        capsys, "build", "plain", "--data", path, "--output", f"{name.replace('/', '')}.parquet"
    )
    assert code == (0 if name.isprintable() else 1), err
    assert not obeyed(out + err)
    path.write_text("nonsense\n")
    run_rejected(capsys, "build", "plain", "--data", path, "--output", "out")


@pytest.mark.parametrize("name", [name for name in NASTY if ":" not in name and "/" not in name] + ["x[b]y"])
def test_model_can_have_any_name(tiny_bert, tmp_path, capsys, name):  # noqa: F811
    model = shutil.copytree(tiny_bert, tmp_path / "models" / name)
    data = write(tmp_path / "pairs.csv", name)
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
        ("evaluate", "majority", "--sets", "NAME", "--output-dir", "out"),
        ("build", "NAME", "--output", "out"),
        ("build", "plain", "--data", "NAME", "--output", "out"),
        ("build", "plain", "--corpus", "NAME", "--output", "out"),
        ("build", "permuted", "-o", "NAME=1", "--output", "out"),
        ("build", "permuted", "-o", "q=NAME", "--output", "out"),
        ("report", "NAME", "--output", "out.html"),
        ("compare", "NAME", "NAME"),
        ("lexical", "fit", "--train-data", "NAME.csv", "--output-dir", "out"),
        ("papers", "NAME"),
    ],
    ids=lambda command: " ".join(command),
)
def test_names_in_error_messages_are_escaped(capsys, command, name):
    run_rejected(capsys, *(part.replace("NAME", name) for part in command))
