"""Tests of verdicts: on the models of `unbag demo`, and on models with known abilities on its sets."""

import os
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest

from tests.factories import render
from tests.fork_server import PYTHON
from unbag import challenge_sets
from unbag.baselines.demo_reader import tokenize_words
from unbag.challenge_sets import selection
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.request import build_requested_set, read_exported_set
from unbag.challenge_sets.results import FILE, read_results, write_results
from unbag.data import demo
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions, scatter_predictions
from unbag.evaluation import verdict
from unbag.evaluation.demo import MODELS, build_demo_requests, build_demo_training_options
from unbag.evaluation.lexical_baseline import BaselinePredictions
from unbag.evaluation.model_loading import load_predictor
from unbag.evaluation.samples import read_row_labels
from unbag.evaluation.scoring import score_set_predictions
from unbag.reports import terminal
from unbag.reports.html.data import load_report_data
from unbag.reports.html.page import render_page

EXAMPLES = {"permuted": 100, "resnli": 600, "cs_lambda": 600}
"""Examples of a set; all of SICCK, and 300 of the others."""
READ = ("permuted", "sicck")
"""The sets on which one model reads, and is at chance elsewhere."""
CONSTANT = [f"always {label}" for label in LABELS]


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory):
    """Run `unbag demo` without network. Return its output folder, its output and its error output."""
    folder = tmp_path_factory.mktemp("demo")
    nobody = "http://127.0.0.1:9"  # the discard port, where every connection fails
    caches = {"HF_HOME": str(folder / "hf"), "XDG_CACHE_HOME": str(folder / "cache"), "HF_ENDPOINT": nobody}
    done = PYTHON.run("-m", "unbag", "demo", "--output-dir", folder / "run", env=os.environ | caches, check=True)
    return folder / "run", done.stdout, done.stderr


@pytest.fixture(scope="module")
def demo_results(demo_run):
    """Return the results of `unbag demo` by model and set."""
    found = read_results(demo_run[0] / FILE)
    return {model: {each.set: each for each in found if each.model["name"] == model} for model in MODELS}


def test_demo_evaluates_every_model_on_every_set_offline(demo_run):
    folder, _, complaints = demo_run
    assert not complaints.strip()
    evaluated = [(result.model["name"], result.set) for result in read_results(folder / FILE)]
    assert evaluated == [(model, name) for model in MODELS for name in selection.list_suite_sets()]


def test_demo_output_is_short_and_names_files(demo_run):
    folder, said, _ = demo_run
    assert said.splitlines()[-1] == f"Report for a browser: {folder / 'report.html'}"
    assert len(said.splitlines()) < 60
    assert said.index("Three models") < said.index("Verdict on reader") < said.index("premise ")
    assert "CS_0.5" not in said, "the sets' own tables are in a file"
    assert "CS_0.5" in (folder / "table.txt").read_text(encoding="utf-8")
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "unbag demo" in report
    assert "http-equiv" in report
    for path in (*map(demo.get_demo_file, demo.SPLITS), demo.VECTORS):  # for further runs
        assert (folder / path.name).read_bytes() == path.read_bytes()


def test_demo_counts_pairs_on_which_models_differ_and_shows_one(demo_run):
    folder, said, _ = demo_run
    counts = re.findall(r"\d[\d,]*", said.partition("Reader and lexical")[2])[:4]
    n_different, n_pairs, reader_right, lexical_right = (int(each.replace(",", "")) for each in counts)
    plain = [(place, each) for place, each in enumerate(read_results(folder / FILE)) if each.set == "plain"]
    reader, lexical = (read_row_labels(folder, place, result) for place, result in plain[:2])
    assert n_different == reader.find_differences(lexical).sum() > 0
    reader, lexical = (result.scores["accuracy"].value for _, result in plain[:2])
    assert reader_right - lexical_right == round(n_pairs * (reader - lexical)), (
        "on other pairs, both are right or wrong"
    )
    shown = [re.search(rf"^{name} +(.+)$", said, re.MULTILINE)[1] for name in ("premise", "hypothesis", "label")]
    assert set(tokenize_words(shown[0])) == set(tokenize_words(shown[1]))
    assert shown[2] != "entailment"


def test_demo_reader_is_better_where_order_matters(demo_results):
    for of_model in demo_results.values():
        for each in verdict.compute_model_verdict(list(of_model.values())):
            assert each.standing != "inconclusive", (each.result.model["name"], each.result.set)
    reader, lexical = ({name: each.scores for name, each in demo_results[model].items()} for model in MODELS[:2])
    assert reader["plain"]["accuracy"].value > 0.88
    assert reader["swapped"]["accuracy_after"].low > lexical["swapped"]["accuracy_after"].high
    for name in ("resnli", "permuted", "soswap_addamod"):
        assert reader[name][SKILL]["score"].low > 0
    assert reader["permuted"]["p_c"].value < 0.6
    assert reader["sicck"][SKILL]["n_sources"] >= 40
    assert 0.5 < lexical["plain"]["accuracy"].value < 0.95
    assert (lexical["permuted"]["p_c"].value, lexical["permuted"]["n_f"]) == (1, 0)
    whole, *_, hardest = lexical["cs_lambda"]["subsets"]
    assert hardest["accuracy"].value < whole["accuracy"].value
    assert hardest["accuracy"].n >= 150


@pytest.fixture(scope="module")
def sets(demo_run):
    """Return sets of the demonstration with the predictions of the lexical baseline, from the caches of the command."""
    folder = demo_run[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", folder.parent / "hf" / "datasets")
        patch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
        lexical, _ = load_predictor("lexical", **build_demo_training_options(folder))
        built = {
            request.name: build_requested_set(replace(request, max_examples=EXAMPLES.get(request.name, 300)))
            for request in build_demo_requests(folder)
        }
    built["sicck"] = read_exported_set(demo.BUILT_SETS["sicck"])
    return {name: (item, _predict_rows(lexical, item)) for name, item in built.items()}


def _predict_rows(predictor, item):
    sides = (read_column(item.rows, side).to_pylist() for side in ("premise", "hypothesis"))
    return SetPredictions(predictor.predict(*sides), LABELS, has_probabilities=True)


def _predict_at_random(rows):
    """Return labels by a checksum of the sentences, so that the orders of a pair have independent labels."""
    sides = (read_column(rows, side).to_pylist() for side in ("premise", "hypothesis"))
    return np.array([zlib.crc32(f"|{p}|{h}".encode()) // 7 % 3 for p, h in zip(*sides, strict=True)])


def _predict_as_reader(name, item):
    """Return the predictions of a model that reads: the gold label, or a guess for words in random order."""
    gold = read_numeric_column(item.rows, "label").copy()
    if name == "permuted":
        gold = np.where(read_numeric_column(item.rows, "permutation") < 0, gold, _predict_at_random(item.rows))
    return gold


def _build_predictions(name, item, kind):
    chance, true = _predict_at_random(item.rows), _predict_as_reader(name, item)
    noise = np.array([zlib.crc32(f"noise {row}".encode()) % 10 < 2 for row in range(len(true))])
    ids = {
        "coin": chance,
        "oracle": true,
        "noisy oracle": np.where(noise, chance, true),
        "reads two": true if name in READ else chance,
        **{name: np.full(len(true), label) for label, name in enumerate(CONSTANT)},
    }[kind]
    return SetPredictions(np.eye(3)[ids] * 0.94 + 0.02, LABELS, has_probabilities=True)


def _predict_shuffled(item, kind):
    """Return the predictions on shuffled rows: unchanged for a constant model, guesses for models that read."""
    if item.control is None:
        return []
    ids = _predict_at_random(item.control)
    if kind in CONSTANT:
        ids = np.full(len(ids), CONSTANT.index(kind))
    answers, n = np.eye(3)[ids] * 0.94 + 0.02, int(item.skill_score_mask.sum())
    draws = [SetPredictions(answers[start : start + n], LABELS, True) for start in range(0, len(answers), n)]
    return [scatter_predictions(draw, item.skill_score_mask) for draw in draws]


@pytest.fixture(scope="module")
def results(sets, demo_results):
    """Return the results by kind of model: those of the demonstration, and of models with known abilities."""
    scored = {model: list(of_model.values()) for model, of_model in demo_results.items()}
    for kind in ("coin", *CONSTANT, "oracle", "noisy oracle", "reads two"):
        scored[kind] = [
            score_set_predictions(
                item,
                _build_predictions(name, item, kind),
                {"name": kind, "kind": "function"},
                BaselinePredictions(lexical, {"kind": "lexical"}),
                _predict_shuffled(item, kind),
            ).result
            for name, (item, lexical) in sets.items()
        ]
    return scored


@pytest.mark.parametrize("kind", ["coin", *CONSTANT, *MODELS[1:]])
def test_models_that_cannot_read_are_never_better(results, kind):
    verdicts = verdict.compute_model_verdict(results[kind])
    n = len(verdicts) - 1  # the corpus is no challenge set
    assert verdict.format_verdict(verdicts).startswith(f"Better than the baseline on 0 of {n} challenge sets.")
    for each in verdicts:
        assert each.standing != "better", each.result.set
        if kind != "coin":  # whose score may be positive by chance
            assert each.score.value <= 0, each.result.set
            assert each.shuffled in (None, each.model)


@pytest.mark.parametrize("kind", ["oracle", "noisy oracle"])
def test_models_that_read_are_better_on_every_set(results, kind):
    verdicts = verdict.compute_model_verdict(results[kind])
    assert {each.standing for each in verdicts} == {"better"}
    n = len(verdicts) - 1
    assert verdict.format_verdict(verdicts).startswith(f"Better than the baseline on {n} of {n} challenge sets (")


def test_all_outputs_state_the_same_verdict_on_a_model_that_reads_two_sets(results, tmp_path):
    own = results["reads two"]
    verdicts = verdict.compute_model_verdict(own)
    assert {each.result.set for each in verdicts if each.standing == "better"} == set(READ)
    sentence = verdict.format_verdict(verdicts)
    assert "on 2 of 6 challenge sets (" in sentence
    shown = render(*terminal.build_result_views(own), *terminal.build_summary_views(own), width=2_000)
    assert f"Verdict: {sentence}" in shown
    write_results(own, tmp_path / FILE)
    page = render_page(load_report_data([tmp_path]))
    assert sentence in page
    for each in verdicts:
        number = f"{each.score.value:.3f}"
        assert number in shown
        assert number.replace("-0.000", "0.000").replace("-", "−") in page
        reading = challenge_sets.get_challenge_set(each.result.set).summarize_result(each.result)
        assert reading[1:] in shown
