"""Tests of sets of installed packages, and of what a set declares."""

from typer.testing import CliRunner

from unbag import challenge_sets
from unbag.challenge_sets import selection
from unbag.challenge_sets.base import LAST
from unbag.challenge_sets.request import SetRequest
from unbag.cli import app
from unbag.integrations.harness.export import export_tasks


def _run_command(*arguments):
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_external_set_is_listed_and_in_suite(installed_package):
    assert "capitals" in challenge_sets.list_set_names()
    assert "Pairs in capitals." in _run_command("sets")
    assert "exclamation marks after each hypothesis" in " ".join(_run_command("sets", "capitals").split())
    suite = selection.list_suite_sets()
    has_evaluation_order = [challenge_sets.get_challenge_set(each).evaluation_order < LAST for each in suite]
    assert not has_evaluation_order[suite.index("capitals")]
    assert has_evaluation_order == sorted(has_evaluation_order, reverse=True)
    assert selection.apply_suite_sample(selection.build_suite_request("capitals")).max_examples == 5


def test_external_set_is_exported_with_its_metric(installed_package, empty_caches, tmp_path):
    (tmp_path / "pairs.csv").write_text("premise,hypothesis,label\nA man sleeps.,A man runs.,contradiction\n")
    data = {"data": str(tmp_path / "pairs.csv")}
    requests = [SetRequest("plain", options=data), SetRequest("capitals", options=data | {"marks": 2})]
    export_tasks("lm-eval", requests, tmp_path / "tasks")
    written = {"__name__": "written"}
    exec((tmp_path / "tasks" / "unbag_scores.py").read_text(), written)
    records = [{"label": 1, "predicted": 1}, {"label": 0, "predicted": -1}]
    assert written["SCORES_OF"]["capitals"](records) == {"accuracy": 0.5}
    assert written["COLUMNS"] == {"plain": (), "capitals": ()}
    assert "unbag_capitals" in (tmp_path / "tasks" / "unbag.yaml").read_text()
