"""Tests of sets of installed packages, and of types of scores."""

import json
import re
from dataclasses import dataclass
from typing import TypedDict, is_typeddict

import pytest
from typer.testing import CliRunner

import unbag
from tests.factories import build_result, write_run
from unbag import challenge_sets
from unbag.challenge_sets import results, selection
from unbag.challenge_sets.base import ChallengeSet
from unbag.challenge_sets.pairs import SetOptions
from unbag.challenge_sets.request import SetRequest
from unbag.cli import app
from unbag.data import demo
from unbag.data.labels import LABELS
from unbag.evaluation.evaluator import evaluate_all
from unbag.integrations.harness.export import export_tasks
from unbag.reports import html, terminal
from unbag.scoring.bootstrap import Estimate


@pytest.fixture(scope="module")
def runs(installed_package, tmp_path_factory):
    """Return the folders of two models that were evaluated on the set and on plain pairs."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [{**pair._asdict(), "id": pair.source_id} for pair in demo.iter_demo_pairs("validation")][:30]
    keys = ("id", "premise", "hypothesis", "label")
    (folder / "pairs.jsonl").write_text("".join(json.dumps({key: row[key] for key in keys}) + "\n" for row in rows))
    data = {"data": str(folder / "pairs.jsonl")}

    def letters(premises, hypotheses):
        return [LABELS[sum(map(ord, p + h)) % 3] for p, h in zip(premises, hypotheses, strict=True)]

    def neutral(premises, hypotheses):
        return ["neutral"] * len(premises)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", folder / "cache")
        requests = [SetRequest("plain", options=data), SetRequest("capitals", options=data | {"marks": 2})]
        for model in (letters, neutral):
            evaluate_all([model], requests, output_dir=folder / model.__name__)
        export_tasks("lm-eval", requests, folder / "tasks")
    return folder


def _run_command(*arguments):
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_external_set_is_listed_and_in_suite(installed_package):
    assert "capitals" in challenge_sets.list_set_names()
    assert "Pairs in capitals." in _run_command("sets")
    assert "exclamation marks after each hypothesis" in " ".join(_run_command("sets", "capitals").split())
    assert selection.list_suite_sets()[-1] == "capitals", "sets that ask for no place come last"
    assert selection.apply_suite_sample(selection.build_suite_request("capitals")).max_examples == 5


def test_external_set_is_evaluated_and_shown(runs):
    [_, result] = results.read_results(runs / "letters" / "results.json")
    assert (result.set, result.config["marks"], result.scores["accuracy"].n) == ("capitals", 2, 30)
    terminal.write_views([*terminal.build_result_views([result])], runs / "table.txt")
    assert "Correct on" in (runs / "table.txt").read_text()


def test_external_set_is_in_report_and_comparison(runs):
    html.write_report([runs / "letters", runs / "neutral"], runs / "report.html")
    text = re.sub(r"<[^>]*>", " ", (runs / "report.html").read_text(encoding="utf-8"))
    for words in ("Is it right when it is shouted at?", "share of shouted pairs right", "Accuracy by gold label"):
        assert words in text
    found = unbag.compare(runs / "letters", runs / "neutral")
    assert ("capitals", "accuracy") in [(each.set, each.label) for each in found.differences]


def test_external_set_is_exported_with_its_metric(runs):
    written = {"__name__": "written"}
    exec((runs / "tasks" / "unbag_scores.py").read_text(), written)
    records = [{"label": 1, "predicted": 1}, {"label": 0, "predicted": -1}]
    assert written["SCORES_OF"]["capitals"](records) == {"accuracy": 0.5}
    assert written["COLUMNS"] == {"plain": (), "capitals": ()}
    assert "unbag_capitals" in (runs / "tasks" / "unbag.yaml").read_text()


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_every_set_declares_type_of_scores(name):
    assert is_typeddict(challenge_sets.get_challenge_set(name).scores_type)


def test_read_result_without_version_of_unbag_is_unknown(tmp_path):
    result = build_result()
    del result.environment["unbag"]
    folder = write_run(tmp_path / "run", result)
    assert results.read_results(folder / results.FILE)[0].unbag_version == "unknown"


class _OptionalScores(TypedDict, total=False):
    loudness: Estimate


@pytest.mark.parametrize(("value", "is_valid"), [({}, True), ({"loudness": 0.5}, False)])
def test_optional_score_is_validated_only_if_result_has_it(tmp_path, monkeypatch, value, is_valid):
    result = build_result()
    monkeypatch.setattr(type(challenge_sets.get_challenge_set(result.set)), "scores_type", _OptionalScores)
    result.scores.update(value)
    folder = write_run(tmp_path / "run", result)
    if is_valid:
        assert results.read_results(folder / results.FILE)[0].scores == result.scores
    else:
        with pytest.raises(ValueError, match=r"got results\.0\.scores\.loudness: "):
            results.read_results(folder / results.FILE)


@dataclass
class _OptionsWithFile(SetOptions):
    """The options of the set.

    Attributes:
        file: a file of words.
    """

    file: str = ""


class _SetWithFile(ChallengeSet):
    """Set with an option of the name of the authors' file, but without authors' pairs."""

    name = "with_file"
    Options = _OptionsWithFile


def test_option_file_is_recorded_unless_it_is_authors_file():
    config = _SetWithFile().get_builder_class().BUILDER_CONFIG_CLASS(name="custom", file="words.txt")
    assert config.get_set_options() == {"file": "words.txt"}
    official = challenge_sets.get_challenge_set("sicck").get_builder_class().BUILDER_CONFIG_CLASS(name="official")
    assert "space" in official.get_set_options()
    assert "file" not in official.get_set_options()
