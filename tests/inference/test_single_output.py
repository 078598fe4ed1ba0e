"""Tests of models with one output (a fixed threshold, or ranks), and of code in a model repository."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")
import torch
import transformers

from tests.inference.fixtures import PAIRS, MakeModel
from unbag import evaluate
from unbag.data.labels import TWO_WAY, LabelError
from unbag.data.predictions import SetPredictions
from unbag.inference import single_output
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor
from unbag.reports.reproduce import build_reproduce_command, list_remarks

PREMISES, HYPOTHESES = zip(*PAIRS, strict=True)
REVERSED = {"0": "not_entailment", "1": "entailment"}


@pytest.fixture(scope="module")
def scorer(make_model: MakeModel):
    """Return the folder of a tiny BERT with one output."""
    return make_model(order=("LABEL_0",))


def compute_sigmoids(folder):
    """Return the sigmoid of transformers' output, one pair at a time."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.backend_tokenizer.no_truncation()
    with torch.inference_mode():
        logits = [model(**tokenizer(*pair, return_tensors="pt")).logits.item() for pair in PAIRS]
    return 1 / (1 + np.exp(-np.array(logits)))


def test_missing_threshold_error_names_options(scorer):
    with pytest.raises(ModelError, match=r"one output.*--threshold 0\.5.*--threshold break-even"):
        TransformerPredictor.load(scorer)


def test_threshold_of_one_half_uses_sigmoid(scorer):
    predictor = TransformerPredictor.load(scorer, threshold=0.5)
    expected = compute_sigmoids(scorer)
    assert predictor.label_space == TWO_WAY
    np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES)[:, 0], expected, atol=1e-5)


def test_pairs_at_threshold_are_entailed(scorer):
    expected = compute_sigmoids(scorer)
    values = TransformerPredictor.load(scorer, threshold=0.5).predict(PREMISES, HYPOTHESES)
    answers = SetPredictions(values, TWO_WAY, has_probabilities=True)
    ordered = np.sort(expected)
    for between in (ordered[1:] + ordered[:-1]) / 2:
        decided, _, _ = single_output.apply_threshold(answers, [0] * len(values), float(between))
        assert (decided.predicted == 0).tolist() == (expected >= between).tolist()


def test_output_for_other_label_keeps_its_name(scorer, make_model):
    plain = TransformerPredictor.load(scorer, threshold=0.5).predict(PREMISES, HYPOTHESES)
    turned = TransformerPredictor.load(scorer, threshold=0.5, label_map=REVERSED)
    np.testing.assert_allclose(turned.predict(PREMISES, HYPOTHESES), plain[:, ::-1], atol=1e-6)
    named = TransformerPredictor.load(make_model(order=("contradiction",)), threshold=0.5)
    assert named.order == ("contradiction", "not_contradiction")
    named = TransformerPredictor.load(make_model(order=("hallucinated",)), threshold=0.5)
    assert named.order == ("not_entailment", "entailment"), "a high score of this name means not supported"
    with pytest.raises(LabelError, match="for a model with one output, got 0=entailment"):
        TransformerPredictor.load(scorer, threshold=0.5, label_map={"0": "entailment"})


def test_break_even_predicts_as_many_as_labelled():
    """With scores .9 .6 .4 .2, and gold entailment for the first and third; ids 0, 1, 2 are entailment, neutral, …"""
    given = np.array([0.9, 0.6, 0.4, 0.2])
    answers = SetPredictions(np.stack([given, 1 - given], axis=1), TWO_WAY, has_probabilities=True)
    ranked, said, cutoff = single_output.apply_threshold(answers, [0, 1, 0, 2], "break-even")
    assert ranked.predicted.tolist() == [0, 0, 1, 1]
    assert cutoff == pytest.approx(np.log(0.6 / 0.4), abs=1e-6)
    assert said == {"auc": 0.75, "threshold": 0.6, "n_predicted_entailed": 2, "pairs": 4}
    same, said, _ = single_output.apply_threshold(answers, [0, 1, 0, 2], 0.5)
    assert same.predicted.tolist() == answers.predicted.tolist()
    assert said == {"auc": 0.75, "threshold": 0.5, "n_predicted_entailed": 2, "pairs": 4}
    none, said, _ = single_output.apply_threshold(answers, [1, 1, 2, 2], "break-even")
    assert none.predicted.tolist() == [1, 1, 1, 1]
    assert said == {"auc": None, "threshold": None, "n_predicted_entailed": 0, "pairs": 4}


def test_threshold_of_bare_labels_is_rejected():
    answers = SetPredictions(np.eye(2), TWO_WAY, has_probabilities=False)
    with pytest.raises(ValueError, match="expected probabilities of the labels, got labels only; omit --threshold"):
        single_output.apply_threshold(answers, [0, 1], 0.5)


@pytest.mark.parametrize("threshold", [0.2, "break-even"])
def test_evaluation_records_threshold(scorer, tmp_path, threshold):
    lines = [
        {"premise": p, "hypothesis": h, "label": label}
        for (p, h), label in zip(PAIRS, ["entailment", "neutral", "contradiction"] * 2, strict=True)
    ]
    data = tmp_path / "pairs.jsonl"
    data.write_text("\n".join(map(json.dumps, lines)))
    report = evaluate(
        str(scorer),
        "plain",
        data=str(data),
        threshold=threshold,
        lexical_baseline=False,
        trust_labels=True,
        progress=False,
    )
    [result] = report.results
    assert result.model["options"]["threshold"] == threshold
    assert result.model["ranking"]["pairs"] == 6
    if threshold == "break-even":
        assert result.model["ranking"]["n_predicted_entailed"] == 2
    verified = result.scores["verification"]  # computed from the sigmoid, independent of the threshold
    assert verified["auroc"].value == pytest.approx(result.model["ranking"]["auc"])
    expected = compute_sigmoids(scorer)
    assert verified["thresholds"]
    for row in verified["thresholds"]:
        assert min(abs(expected - row["threshold"])) < 1e-4
    [said] = list_remarks(result)
    assert "predicts entailment or not" in said
    assert ("its threshold is unknown" in said) == (threshold == "break-even")
    assert f"--threshold {threshold}" in build_reproduce_command(result).command


CODE = """
from transformers import BertConfig, BertForSequenceClassification
from pathlib import Path
Path({ran!r}).touch()
class OwnConfig(BertConfig):
    model_type = "own-bert"
class OwnForSequenceClassification(BertForSequenceClassification):
    config_class = OwnConfig
"""


@pytest.fixture
def model_with_code(tiny_bert, tmp_path):
    """Return a model folder with custom code, and the file that this code writes when it runs."""
    folder, ran = tmp_path / "own", tmp_path / "ran"
    transformers.AutoModelForSequenceClassification.from_pretrained(tiny_bert).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    (folder / "own.py").write_text(CODE.format(ran=str(ran)))
    auto_map = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.OwnForSequenceClassification"}
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "own-bert", "auto_map": auto_map}))
    return folder, ran


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
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"]["AutoConfig"] = "someone/else--own.OwnConfig"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=re.escape("code from another repository, someone/else")):
        TransformerPredictor.load(folder, trust_remote_code=True)
    assert not ran.exists()
