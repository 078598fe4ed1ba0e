"""Tests of thresholds for models with several outputs: entailment if its probability reaches the threshold."""

import csv

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.inference.conftest import PAIRS, MakeModel
from unbag import evaluate
from unbag.data.labels import CONTRADICTION_OR_NOT, LABELS, TWO_WAY
from unbag.inference.label_probe import run_label_probe
from unbag.inference.long_premises import LongPremisePredictor
from unbag.inference.transformer import TransformerPredictor

PREMISES, HYPOTHESES = zip(*PAIRS, strict=True)


@pytest.mark.parametrize(
    ("order", "space"),
    [
        (("contradiction", "entailment", "neutral"), LABELS),
        (("not_entailment", "entailment"), TWO_WAY),
        (("not_contradiction", "contradiction"), CONTRADICTION_OR_NOT),
    ],
)
def test_predictions_and_identity_do_not_depend_on_threshold(make_model: MakeModel, order, space):
    folder = make_model(order=order)
    plain = TransformerPredictor.load(folder, device="cpu")
    predictor = TransformerPredictor.load(folder, device="cpu", threshold=0.9)
    assert (predictor.order, predictor.label_space, predictor.threshold) == (order, space, 0.9)
    assert predictor.identity == plain.identity
    np.testing.assert_array_equal(predictor.predict(PREMISES, HYPOTHESES), plain.predict(PREMISES, HYPOTHESES))


def test_probe_does_not_depend_on_threshold(make_model: MakeModel):
    folder = make_model(order=("contradiction", "entailment", "neutral"))
    expected = run_label_probe(TransformerPredictor.load(folder, device="cpu"))
    for threshold in (0.01, 0.99, "break-even"):
        predictor = TransformerPredictor.load(folder, device="cpu", threshold=threshold)
        assert run_label_probe(predictor) == expected
        assert run_label_probe(LongPremisePredictor(predictor, "every-sentence")) == expected


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
        at_threshold = verify(row["threshold"])
        assert at_threshold["false_entailment"].value == pytest.approx(row["false_entailment"])
        assert at_threshold["recall"].value == pytest.approx(row["recall"])
        assert at_threshold["auroc"].value == plain["auroc"].value
