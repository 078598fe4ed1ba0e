"""Tests of thresholds for models with several outputs: entailment if its probability reaches the threshold."""

import csv

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.inference.conftest import PAIRS, MakeModel
from unbag import evaluate
from unbag.data.labels import CONTRADICTION_OR_NOT, LABELS, TWO_WAY
from unbag.inference import TransformerPredictor
from unbag.inference.label_probe import run_label_probe
from unbag.inference.long_premises import LongPremisePredictor

PREMISES, HYPOTHESES = zip(*PAIRS, strict=True)


def find_middle_threshold(probabilities: np.ndarray) -> float:
    """Return a threshold that half of the probabilities reach."""
    ordered = np.sort(probabilities.astype(float))
    return float(ordered[len(ordered) // 2 - 1 : len(ordered) // 2 + 1].mean())


@pytest.mark.parametrize(
    ("order", "space"),
    [
        (("contradiction", "entailment", "neutral"), TWO_WAY),
        (("not_entailment", "entailment"), TWO_WAY),
        (("not_contradiction", "contradiction"), CONTRADICTION_OR_NOT),
    ],
)
def test_several_outputs_predict_label_from_threshold(make_model: MakeModel, order, space):
    folder = make_model(order=order)
    plain = TransformerPredictor.load(folder, device="cpu")
    own = plain.predict(PREMISES, HYPOTHESES)[:, plain.label_space.index(space[0])]
    threshold = find_middle_threshold(own)
    predictor = TransformerPredictor.load(folder, device="cpu", threshold=threshold)
    assert (predictor.order, predictor.label_space, predictor.has_probabilities) == (order, space, False)
    assert predictor.identity["threshold"] == str(threshold)
    values = predictor.predict(PREMISES, HYPOTHESES)
    assert (values[:, 0] >= 0.5).tolist() == (own >= threshold).tolist()
    assert 0 < (values[:, 0] >= 0.5).sum() < len(PAIRS)
    odds = own / (1 - own) / (threshold / (1 - threshold))
    np.testing.assert_allclose(values[:, 0], odds / (1 + odds), atol=1e-5)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-6)


def test_probe_does_not_depend_on_threshold(make_model: MakeModel):
    folder = make_model(order=("contradiction", "entailment", "neutral"))
    expected = run_label_probe(TransformerPredictor.load(folder, device="cpu"))
    for threshold in (0.01, 0.99, "break-even"):
        predictor = TransformerPredictor.load(folder, device="cpu", threshold=threshold)
        assert run_label_probe(predictor) == expected
        assert run_label_probe(LongPremisePredictor(predictor, "every-sentence")) == expected
        assert predictor.label_space == TWO_WAY
        assert predictor.copy_without_threshold().label_space == LABELS


def test_evaluate_at_threshold_equals_threshold_sweep(make_model: MakeModel, tmp_path):
    folder = make_model(order=("contradiction", "entailment", "neutral"))
    data = tmp_path / "claims.csv"
    with data.open("w", newline="") as file:
        rows = [(*pair, label) for pair, label in zip(PAIRS, ["supported", "unsupported"] * 3, strict=True)]
        csv.writer(file).writerows([("document", "claim", "label"), *rows])

    def verify(threshold=None):
        report = evaluate(
            str(folder),
            "plain",
            data=str(data),
            threshold=threshold,
            lexical_baseline=False,
            trust_labels=True,
            progress=False,
        )
        return report[0].scores["verification"]

    plain = verify()
    for row in plain["thresholds"]:
        at_threshold = verify(row["threshold"] - 1e-6)  # below the rounded probability of the pair
        assert at_threshold["false_entailment"].value == pytest.approx(row["false_entailment"])
        assert at_threshold["auroc"].value == plain["auroc"].value
