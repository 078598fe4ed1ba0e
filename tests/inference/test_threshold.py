"""Tests of thresholds for models with several outputs: entailment if its probability reaches the threshold."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.inference.fixtures import PAIRS, MakeModel
from unbag.data.labels import CONTRADICTION_OR_NOT, LABELS, TWO_WAY
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
