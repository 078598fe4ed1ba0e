"""Tests of the demonstration command in a separate process, with empty caches and without network."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fork_server import PYTHON
from unbag import challenge_sets
from unbag.baselines.demo_reader import DemoNetworkPredictor
from unbag.challenge_sets import results, selection
from unbag.challenge_sets.base import SKILL
from unbag.data import demo
from unbag.evaluation import prefetch
from unbag.evaluation.demo import (
    MODELS,
    build_demo_requests,
    build_demo_training_options,
    list_demo_sets,
    write_demo_data,
)
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.verdict import compute_model_verdict


@pytest.fixture(scope="module")
def demo_output(tmp_path_factory):
    """Return the output folder of the command, its output and its error output."""
    folder = tmp_path_factory.mktemp("demo")
    nobody = "http://127.0.0.1:9"  # the discard port, where every connection fails
    caches = {"HF_HOME": str(folder / "hf"), "XDG_CACHE_HOME": str(folder / "cache"), "HF_ENDPOINT": nobody}
    done = PYTHON.run("-m", "unbag", "demo", "--output-dir", folder / "run", env=os.environ | caches, check=True)
    return folder / "run", done.stdout, done.stderr


def test_demo_evaluates_every_model_on_every_set_offline(demo_output):
    folder, _, complaints = demo_output
    assert not complaints
    asked = {(result.model["name"], result.set) for result in results.read_results(folder / "results.json")}
    assert asked == {(model, name) for model in MODELS for name in challenge_sets.list_set_names()}


def test_lexical_baseline_fails_where_order_matters(demo_output):
    folder, said, _ = demo_output
    for model in MODELS[1:]:
        assert f"Verdict on {model}: Better than the baseline on 0 of " in " ".join(said.split())
    lexical = {r.set: r for r in results.read_results(folder / "results.json") if r.model["name"] == "lexical"}
    assert 0.5 < lexical["plain"].scores["accuracy"].value < 0.95
    assert lexical["permuted"].scores["p_c"].value == 1
    assert lexical["permuted"].scores["n_f"] == 0
    whole, *_, hardest = lexical["cs_lambda"].scores["subsets"]
    assert hardest["accuracy"].value < whole["accuracy"].value
    assert lexical["swapped"].scores["n_examples"] == lexical["swapped"].data["rows"]


def test_reader_is_better_where_order_matters(demo_output):
    scores = {
        model: {
            r.set: r.scores for r in results.read_results(demo_output[0] / "results.json") if r.model["name"] == model
        }
        for model in MODELS
    }
    reader, lexical = scores["reader"], scores["lexical"]
    assert reader["plain"]["accuracy"].value > 0.88
    assert reader["swapped"]["accuracy_after"].low > lexical["swapped"]["accuracy_after"].high
    for name in ("resnli", "permuted", "soswap_addamod"):
        assert reader[name][SKILL]["score"].low > 0
    assert reader["permuted"]["p_c"].value < 0.6


def test_every_set_has_score_and_verdict(demo_output):
    found = results.read_results(demo_output[0] / "results.json")
    for model in MODELS:
        for each in compute_model_verdict([result for result in found if result.model["name"] == model]):
            assert each.standing != "inconclusive", (model, each.result.set)
    scores = {result.set: result.scores for result in found if result.model["name"] == "reader"}
    assert scores["sicck"][SKILL]["n_sources"] >= 40
    assert scores["cs_lambda"]["subsets"][-1]["accuracy"].n >= 150


def test_output_is_short_and_ends_with_report_path(demo_output):
    folder, said, _ = demo_output
    assert said.splitlines()[-1] == f"Report for a browser: {folder / 'report.html'}"
    assert (folder / "report.html").is_file()
    assert len(said.splitlines()) < 60
    assert said.index("Three models") < said.index("Verdict on reader") < said.index("premise ")
    assert "CS_0.5" not in said, "the sets' own tables are in a file"
    assert "CS_0.5" in (folder / "table.txt").read_text(encoding="utf-8")
    assert "unbag demo" in (folder / "report.html").read_text(encoding="utf-8")


def test_output_folder_contains_data_for_further_runs(demo_output):
    folder, _, _ = demo_output
    for path in (*map(demo.get_demo_file, demo.SPLITS), demo.VECTORS):
        assert (folder / path.name).read_bytes() == path.read_bytes()
    assert "http-equiv" in (folder / "report.html").read_text(encoding="utf-8")


def test_demo_sets_have_order_of_suite():
    assert [each.name for each in list_demo_sets(Path("out"))] == selection.list_suite_sets()


@pytest.mark.nightly
def test_every_set_scores_twenty_sampled_examples(tmp_path):
    write_demo_data(tmp_path)
    wanted = [replace(request, max_examples=20) for request in build_demo_requests(tmp_path)]
    at_hand = [
        request for request in wanted if not prefetch.fetch_requirements(prefetch.list_run_requirements([request]))
    ]
    found = evaluate_all(
        (DemoNetworkPredictor(), "lexical"),
        at_hand,
        output_dir=tmp_path / "out",
        **build_demo_training_options(tmp_path),
    ).results
    assert {"resnli", "cs_lambda", "permuted", "swapped"} <= {request.name for request in at_hand}
    assert [result.set for result in found] == [request.name for request in at_hand] * 2
    resnli = next(result for result in found if result.set == "resnli")
    assert resnli.scores["n_partitions"] in (1, 2, 4, 5, 10)
    assert resnli.scores["set_partitions"] == 20
