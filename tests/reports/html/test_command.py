import json

import pytest
from typer.testing import CliRunner

from unbag import cli
from unbag.cli import output
from unbag.evaluation.outcome import EvaluationOutcome
from unbag.evaluation.result_folder import FolderContents
from unbag.reports import html


@pytest.mark.nightly
def test_command_rebuilds_report_from_several_folders(folders, report, run):
    out = run / "by-command.html"
    said = CliRunner().invoke(cli.app, ["report", *map(str, folders), "--output", str(out), "--json"])
    assert said.exit_code == 0
    assert json.loads(said.output) == {"report": str(out), "bytes": out.stat().st_size}
    assert out.read_bytes() == report.read_bytes()


def test_run_writes_report_next_to_results(folders, capsys):
    contents = FolderContents.read(folders[1])
    output.show_results(EvaluationOutcome(list(contents.results), [], contents), folders[1], as_json=False)
    assert (folders[1] / html.FILE).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "examples.json" in capsys.readouterr().out
