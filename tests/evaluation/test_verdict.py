"""Tests of verdicts on models with known abilities: no output format over- or understates one of them."""

import gzip
import zlib
from dataclasses import replace

import numpy as np
import pytest

from tests.factories import render
from unbag import challenge_sets
from unbag.baselines.lexical.words import ALL
from unbag.challenge_sets.request import build_requested_set, read_exported_set
from unbag.challenge_sets.results import FILE, write_results
from unbag.data import demo
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.labels import LABELS, get_label_id
from unbag.data.predictions import SetPredictions, scatter_predictions
from unbag.evaluation import verdict
from unbag.evaluation.demo import build_demo_requests, write_demo_data
from unbag.evaluation.lexical_baseline import BaselinePredictions
from unbag.evaluation.model_loading import load_predictor
from unbag.evaluation.scoring import score_set_predictions
from unbag.reports import terminal
from unbag.reports.html.data import load_report_data
from unbag.reports.html.page import render_page

TRAIN = "demo-train.jsonl.gz"
EXAMPLES = {"permuted": 100, "resnli": 600, "cs_lambda": 600}
"""Examples of a set; all of SICCK, and 300 of the others."""
READ = ("permuted", "sicck")
"""The sets on which the last model reads, and is at chance elsewhere."""


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Return all sets of the demonstration, each with the predictions of the lexical baseline."""
    folder = tmp_path_factory.mktemp("sets")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", folder / "cache")
        patch.setenv("XDG_CACHE_HOME", str(folder / "xdg"))
        write_demo_data(folder)
        _truncate(folder / TRAIN, 2_000)
        lexical = _load_baseline("lexical", folder)
        built = {}
        for request in build_demo_requests(folder):
            item = build_requested_set(replace(request, max_examples=EXAMPLES.get(request.name, 300)))
            built[request.name] = item, _predict_rows(lexical, item)
        sicck = read_exported_set(demo.BUILT_SETS["sicck"])
        built["sicck"] = sicck, _predict_rows(lexical, sicck)
        only = _load_baseline("hypothesis-only", folder)
        yield built, {name: _predict_rows(only, item) for name, (item, _) in built.items()}


def _truncate(path, pairs):
    """Keep only the first pairs of a file, so that the lexical baseline is fitted faster."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    assert len(lines) > pairs
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(lines[:pairs])


def _load_baseline(name, folder):
    return load_predictor(name, train_data=(str(folder / TRAIN),), pipeline=ALL)[0]


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


def _build_predictions(name, item, kind, others):
    if kind in ("lexical", "hypothesis-only"):
        return others[kind]
    chance, true = _predict_at_random(item.rows), _predict_as_reader(name, item)
    noise = np.array([zlib.crc32(f"noise {row}".encode()) % 10 < 2 for row in range(len(true))])
    ids = {
        "coin": chance,
        "oracle": true,
        "noisy oracle": np.where(noise, chance, true),
        "reads two": true if name in READ else chance,
        **{f"always {label}": np.full(len(true), get_label_id(label)) for label in LABELS},
    }[kind]
    return SetPredictions(np.eye(3)[ids] * 0.94 + 0.02, LABELS, has_probabilities=True)


def _predict_shuffled(item, kind):
    """Return the predictions on shuffled rows: unchanged for order-blind models, guesses for models that read."""
    if item.control is None or kind in ("lexical", "hypothesis-only"):  # the lexical models do not depend on word order
        return []
    ids = _predict_at_random(item.control)
    if kind.startswith("always "):
        ids = np.full(len(ids), get_label_id(kind.removeprefix("always ")))
    answers, n = np.eye(3)[ids] * 0.94 + 0.02, int(item.skill_score_mask.sum())
    draws = [SetPredictions(answers[start : start + n], LABELS, True) for start in range(0, len(answers), n)]
    return [scatter_predictions(draw, item.skill_score_mask) for draw in draws]


KINDS = ("coin", *(f"always {label}" for label in LABELS), "lexical", "hypothesis-only", "oracle", "noisy oracle")


@pytest.fixture(scope="module")
def results(sets):
    built, of_hypotheses = sets
    scored = {}
    for kind in (*KINDS, "reads two"):
        record = {"name": kind, "kind": "lexical" if kind in ("lexical", "hypothesis-only") else "function"}
        scored[kind] = [
            score_set_predictions(
                item,
                _build_predictions(name, item, kind, {"lexical": lexical, "hypothesis-only": of_hypotheses[name]}),
                record,
                BaselinePredictions(lexical, {"kind": "lexical"}),
                _predict_shuffled(item, kind),
            ).result
            for name, (item, lexical) in built.items()
        ]
    return scored


def compute_standings(results, kind):
    return {each.result.set: each.standing for each in verdict.compute_model_verdict(results[kind])}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "oracle" not in kind])
def test_models_that_cannot_read_are_never_better(results, kind):
    assert "better" not in compute_standings(results, kind).values()
    said = verdict.format_verdict(verdict.compute_model_verdict(results[kind]))
    assert said.startswith("Better than the baseline on 0 of 6 challenge sets.")


@pytest.mark.parametrize("kind", [*(f"always {label}" for label in LABELS), "lexical", "hypothesis-only"])
def test_order_blind_model_has_no_positive_score(results, kind):
    """Here for models that are order-blind by construction; `test_order_blind` tests networks."""
    for each in verdict.compute_model_verdict(results[kind]):
        assert each.score.value <= 0, each.result.set
        assert each.standing != "better"
        if each.shuffled is not None:
            assert each.shuffled == each.model


@pytest.mark.parametrize("kind", ["oracle", "noisy oracle"])
def test_models_that_read_are_better_on_every_set(results, kind):
    assert set(compute_standings(results, kind).values()) == {"better"}
    n = len(results[kind]) - 1  # the corpus is no challenge set
    assert verdict.format_verdict(verdict.compute_model_verdict(results[kind])).startswith(
        f"Better than the baseline on {n} of {n} challenge sets ("
    )


def test_oracle_is_better_and_coin_is_not_on_sixty_corpora(results):
    for kind, is_better in (("oracle", True), ("coin", False)):
        [swapped] = [result for result in results[kind] if result.set == "swapped"]
        copies = [replace(swapped, data={**swapped.data, "name": f"corpus {i}"}) for i in range(60)]
        verdicts = verdict.compute_model_verdict(copies)
        assert len(verdicts) == 60
        assert {each.standing == "better" for each in verdicts} == {is_better}


def test_oracle_has_score_1_except_for_random_labels(results):
    for each in verdict.compute_model_verdict(results["oracle"]):
        if each.result.set == "permuted":  # out of order the oracle guesses, with an accuracy of one third
            assert each.score.low < 1
        else:
            assert each.score.low < each.score.value == each.score.high == 1


def test_model_that_reads_two_sets_is_better_on_both(results):
    stand = compute_standings(results, "reads two")
    assert {name for name, standing in stand.items() if standing == "better"} == set(READ)
    assert "on 2 of 6 challenge sets (" in verdict.format_verdict(verdict.compute_model_verdict(results["reads two"]))


@pytest.mark.parametrize("kind", ["lexical", "noisy oracle"])
def test_all_outputs_state_the_same_verdict(results, kind, tmp_path):
    own = results[kind]
    shown = render(*terminal.build_result_views(own), *terminal.build_summary_views(own), width=2_000)
    sentence = verdict.format_verdict(verdict.compute_model_verdict(own))
    assert f"Verdict: {sentence}" in shown
    write_results(own, tmp_path / FILE)
    page = render_page(load_report_data([tmp_path]))
    assert sentence in page
    for each in verdict.compute_model_verdict(own):
        number = f"{each.score.value:.3f}"
        assert number in shown
        assert number.replace("-0.000", "0.000").replace("-", "−") in page
        reading = challenge_sets.get_challenge_set(each.result.set).summarize_result(each.result)
        assert reading[1:] in shown
