"""Tests of thresholds (of models with one or several outputs), break-even, and code in a model repository."""

import re

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")
import torch
import transformers

from tests.factories import BARE, write_pairs
from tests.inference.fixtures import PAIRS, save_model_with_code
from unbag import evaluate
from unbag.data.labels import CONTRADICTION_OR_NOT, LABELS, TWO_WAY, LabelError
from unbag.data.predictions import SetPredictions, scatter_predictions
from unbag.inference import single_output
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor
from unbag.reports.reproduce import build_reproduce_command, list_remarks

PREMISES, HYPOTHESES = zip(*PAIRS, strict=True)
REVERSED = {"0": "not_entailment", "1": "entailment"}


@pytest.fixture(scope="module")
def scorer(make_model):
    """Return the folder of a tiny BERT with one output."""
    return make_model(order=("LABEL_0",))


@pytest.fixture(scope="module")
def sigmoids(scorer):
    """Return the sigmoid of transformers' output, one pair at a time."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(scorer).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(scorer)
    tokenizer.backend_tokenizer.no_truncation()
    with torch.inference_mode():
        logits = [model(**tokenizer(*pair, return_tensors="pt")).logits.item() for pair in PAIRS]
    return 1 / (1 + np.exp(-np.array(logits)))


def test_missing_threshold_error_names_options(scorer):
    with pytest.raises(ModelError, match=r"one output.*--threshold 0\.5.*--threshold break-even"):
        TransformerPredictor.load(scorer)


def test_pairs_with_sigmoid_at_threshold_are_entailed(scorer, sigmoids):
    predictor = TransformerPredictor.load(scorer, threshold=0.5)
    values = predictor.predict(PREMISES, HYPOTHESES)
    assert predictor.label_space == TWO_WAY
    np.testing.assert_allclose(values[:, 0], sigmoids, atol=1e-5)
    answers = SetPredictions(values, TWO_WAY, has_probabilities=True)
    ordered = np.sort(sigmoids)
    for between in (ordered[1:] + ordered[:-1]) / 2:
        decided, _, _ = single_output.apply_threshold(answers, [0] * len(values), float(between))
        assert (decided.predicted == 0).tolist() == (sigmoids >= between).tolist()


def test_output_for_other_label_keeps_its_name(scorer, make_model):
    plain = TransformerPredictor.load(scorer, threshold=0.5).predict(PREMISES, HYPOTHESES)
    turned = TransformerPredictor.load(scorer, threshold=0.5, label_map=REVERSED)
    np.testing.assert_allclose(turned.predict(PREMISES, HYPOTHESES), plain[:, ::-1], atol=1e-6)
    for name, order in (
        ("contradiction", ("contradiction", "not_contradiction")),
        ("hallucinated", ("not_entailment", "entailment")),  # a high score of this name means not supported
    ):
        assert TransformerPredictor.load(make_model(order=(name,)), threshold=0.5).order == order
    with pytest.raises(LabelError, match="for a model with one output, got 0=entailment"):
        TransformerPredictor.load(scorer, threshold=0.5, label_map={"0": "entailment"})


@pytest.mark.parametrize(
    ("order", "space"),
    [
        (("contradiction", "entailment", "neutral"), LABELS),
        (("not_entailment", "entailment"), TWO_WAY),
        (("not_contradiction", "contradiction"), CONTRADICTION_OR_NOT),
    ],
)
def test_several_outputs_and_identity_do_not_depend_on_threshold(make_model, order, space):
    folder = make_model(order=order)
    plain, predictor = (TransformerPredictor.load(folder, threshold=threshold) for threshold in (None, 0.9))
    assert (predictor.order, predictor.label_space, predictor.threshold) == (order, space, 0.9)
    assert predictor.identity == plain.identity
    np.testing.assert_array_equal(predictor.predict(PREMISES, HYPOTHESES), plain.predict(PREMISES, HYPOTHESES))


def test_break_even_predicts_as_many_as_labelled():
    """With scores .9 .6 .4 .2, and gold entailment for the first and third; ids 0, 1, 2 are entailment, neutral, …"""
    given = np.array([0.9, 0.6, 0.4, 0.2])
    answers = SetPredictions(np.stack([given, 1 - given], axis=1), TWO_WAY, has_probabilities=True)
    ranked, said, cutoff = single_output.apply_threshold(answers, [0, 1, 0, 2], "break-even")
    assert ranked.predicted.tolist() == [0, 0, 1, 1]
    assert cutoff == pytest.approx(np.log(0.6 / 0.4), abs=1e-6)
    assert single_output.predict_by_cutoff(answers, cutoff).predicted.tolist() == [0, 0, 1, 1]
    of_six = scatter_predictions(ranked, np.array([True, False, True, True, False, True]))
    assert of_six.predicted[~of_six.unanswered].tolist() == [0, 0, 1, 1]
    assert of_six.unanswered.tolist() == [False, True, False, False, True, False]
    assert said == {"auc": 0.75, "threshold": 0.6, "n_predicted_entailed": 2, "pairs": 4}
    same, said, _ = single_output.apply_threshold(answers, [0, 1, 0, 2], 0.5)
    assert same.predicted.tolist() == answers.predicted.tolist()
    assert said == {"auc": 0.75, "threshold": 0.5, "n_predicted_entailed": 2, "pairs": 4}
    none, said, _ = single_output.apply_threshold(answers, [1, 1, 2, 2], "break-even")
    assert none.predicted.tolist() == [1, 1, 1, 1]
    assert said == {"auc": None, "threshold": None, "n_predicted_entailed": 0, "pairs": 4}
    with pytest.raises(ValueError, match="expected probabilities of the labels, got labels only; omit --threshold"):
        single_output.apply_threshold(answers._replace(has_probabilities=False), [0, 1, 0, 2], 0.5)


@pytest.mark.parametrize("threshold", [0.2, "break-even"])
def test_evaluation_records_threshold(scorer, sigmoids, tmp_path, threshold):
    data = write_pairs(tmp_path / "pairs.csv", [(*pair, LABELS[row % 3]) for row, pair in enumerate(PAIRS)])
    [result] = evaluate(str(scorer), "plain", data=str(data), threshold=threshold, trust_labels=True, **BARE).results
    assert result.model["options"]["threshold"] == threshold
    assert result.model["ranking"]["pairs"] == 6
    if threshold == "break-even":
        assert result.model["ranking"]["n_predicted_entailed"] == 2
    verified = result.scores["verification"]  # computed from the sigmoid, independent of the threshold
    assert verified["auroc"].value == pytest.approx(result.model["ranking"]["auc"])
    assert verified["thresholds"]
    for row in verified["thresholds"]:
        assert min(abs(sigmoids - row["threshold"])) < 1e-4
    [said] = list_remarks(result)
    assert "predicts entailment or not" in said
    assert ("its threshold is unknown" in said) == (threshold == "break-even")
    assert f"--threshold {threshold}" in build_reproduce_command(result).command


@pytest.fixture
def model_with_code(tiny_bert, tmp_path):
    return save_model_with_code(tmp_path / "own", tiny_bert, ran=tmp_path / "ran"), tmp_path / "ran"


def test_repository_code_runs_only_if_trusted(model_with_code, tiny_bert):
    folder, ran = model_with_code
    with pytest.raises(ModelError, match=r"requires code from its own repository.*--trust-remote-code"):
        TransformerPredictor.load(folder)
    assert not ran.exists()
    trusted = TransformerPredictor.load(folder, trust_remote_code=True)
    assert ran.exists()
    assert trusted.identity["trusted_code"].startswith("sha256:")
    expected = TransformerPredictor.load(tiny_bert)
    assert "trusted_code" not in expected.identity
    np.testing.assert_allclose(trusted.predict(PREMISES, HYPOTHESES), expected.predict(PREMISES, HYPOTHESES), atol=1e-5)
    (folder / "own.py").write_text((folder / "own.py").read_text() + "# another\n")
    assert TransformerPredictor.load(folder, trust_remote_code=True).identity != trusted.identity


def test_code_of_other_repository_is_rejected(model_with_code):
    folder, ran = model_with_code
    config = (folder / "config.json").read_text().replace('"own.OwnConfig"', '"someone/else--own.OwnConfig"')
    (folder / "config.json").write_text(config)
    with pytest.raises(ModelError, match=re.escape("code from another repository, someone/else")):
        TransformerPredictor.load(folder, trust_remote_code=True)
    assert not ran.exists()
