"""Tests that predictions collected by a Trainer get the same scores as in an evaluation."""

import numpy as np
import pytest

import unbag
from unbag.api import evaluate
from unbag.challenge_sets.request import build_requested_set
from unbag.data.labels import LABELS, LabelError
from unbag.inference.function import CallablePredictor
from unbag.integrations.built_sets import parse_requests

ORDER = ("contradiction", "entailment", "neutral")
ID2LABEL = dict(enumerate(ORDER))


@pytest.fixture
def rows(requests):
    return build_requested_set(requests[0]).rows


@pytest.fixture
def logits(rows):
    return np.random.default_rng(0).normal(size=(len(rows), 3))


@pytest.fixture
def metrics(rows):
    return unbag.compute_metrics("permuted", rows, ID2LABEL)


def test_metrics_equal_evaluation(rows, logits, metrics, requests, tmp_path):
    gold = np.array([ORDER.index(LABELS[label]) for label in rows["label"]])
    found = metrics((logits, gold))
    assert metrics((logits.argmax(axis=1), gold)) == metrics(((logits, "hidden states"), None)) == found
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    ours = dict(zip(zip(rows["premise"], rows["hypothesis"], strict=True), shares, strict=True))
    columns = [ORDER.index(label) for label in LABELS]
    predictor = CallablePredictor(lambda p, h: [ours[pair][columns] for pair in zip(p, h, strict=True)])
    [result] = evaluate(predictor, requests[:1], output_dir=tmp_path, lexical_baseline=False)
    assert found["p_c"] == result.scores["p_c"].value
    assert found["p_c_high"] == result.scores["p_c"].high
    assert found["skill_no_lexical"] == result.scores["skill"]["score"].value
    assert all(type(value) is float for value in found.values())


def test_two_labels_are_folded(requests):
    swapped = build_requested_set(requests[1]).rows
    metrics = unbag.compute_metrics("swapped", swapped, {0: "not_entailment", 1: "entailment"})
    label_ids = np.array([LABELS[label] == "entailment" for label in swapped["label"]], dtype=int)
    assert metrics((label_ids, label_ids))["accuracy_after"] == 1


def test_other_rows_and_labels_are_rejected(rows, logits, metrics):
    n = len(rows)
    with pytest.raises(ValueError, match=rf"each of the {n} rows of the set, shape \({n}, 3\)"):
        metrics((logits[1:], None))
    with pytest.raises(ValueError, match="got 0; pass the rows of the set in order, with the model's label ids"):
        metrics((logits, np.array(rows["label"])))
    with pytest.raises(ValueError, match="check whether training diverged"):
        metrics((logits * np.nan, None))
    with pytest.raises(ValueError, match=r"expected the columns \['lms'\]"):
        unbag.compute_metrics("cs_lambda", rows, ID2LABEL)
    with pytest.raises(LabelError, match=r"config\.id2label: expected NLI labels"):
        unbag.compute_metrics("permuted", rows, {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})


def test_set_name_selects_sample():
    permuted, cs_lambda = parse_requests(["permuted", "cs_lambda"], 50)
    assert (permuted.config, permuted.max_examples) == ("snli-validation", 50)
    assert cs_lambda.options["max_train_pairs"] == 20_000, "the suite's options, by which it is made in seconds"
    assert parse_requests("swapped", 7) == parse_requests(["swapped"], 7)
    with pytest.raises(ValueError, match="max_examples: expected a whole number of at least 1, got 0"):
        parse_requests("swapped", 0)
