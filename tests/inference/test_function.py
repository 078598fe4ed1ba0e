import json
import re

import numpy as np
import pytest

from unbag.data.labels import CONTRADICTION_OR_NOT, LABELS, TWO_WAY, LabelError, parse_label_map
from unbag.inference.function import CallablePredictor
from unbag.inference.predictor import Predictor
from unbag.utils.errors import UserCodeError

PREMISES = ["A man sleeps.", "A dog runs.", "It rains."]
HYPOTHESES = ["A man is awake.", "An animal moves.", "The party is cancelled."]


def predict_with(answer, **options):
    return CallablePredictor(lambda premises, hypotheses: answer, **options).predict(PREMISES, HYPOTHESES)


def test_label_names_become_one_hot_rows():
    predictor = CallablePredictor(lambda premises, hypotheses: ["CONTRADICTION", "entails", "neutral"])
    assert isinstance(predictor, Predictor)
    assert predictor.has_probabilities
    assert predictor.predict(PREMISES, HYPOTHESES).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert not predictor.has_probabilities


SCORES = {"CONTRADICTION": 0.7, "NEUTRAL": 0.2, "ENTAILMENT": 0.1}
PIPELINE = [{"label": label, "score": score} for label, score in SCORES.items()]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SCORES, [0.1, 0.2, 0.7]),
        (PIPELINE, [0.1, 0.2, 0.7]),  # of a text-classification pipeline with `top_k=None`
        (PIPELINE[:1], [0, 0, 1]),
        (PIPELINE[0], [0, 0, 1]),
    ],
)
def test_dicts_and_outputs_of_pipeline_are_read_by_label_name(answer, expected):
    np.testing.assert_allclose(predict_with([answer] * 3), [expected] * 3, atol=1e-7)


@pytest.mark.parametrize("order", [TWO_WAY[::-1], CONTRADICTION_OR_NOT[::-1], LABELS[::-1]])
def test_label_order_follows_label_map_and_is_in_identity(order):
    """Equal identities share stored predictions, so identities of different label maps must differ."""
    mapped = parse_label_map(",".join(order))
    predictor = CallablePredictor(lambda *_: [], identity={"model": "mine"}, label_map=mapped)
    assert predictor.order == order
    code = predictor.version
    assert predictor.identity == {"kind": "callable", "label_order": ",".join(order), "model": "mine", **code}
    other = CallablePredictor(lambda *_: [], identity={"model": "mine"})
    assert other.identity == {"kind": "callable", "model": "mine", **code}
    assert CallablePredictor(lambda *_: []).order == LABELS
    for label_map, ordered in ((None, {}), (mapped, {"label_order": ",".join(order)})):
        source = CallablePredictor(predict_with, label_map=label_map).source
        assert source == {"kind": "callable", "function": f"{__name__}:predict_with", **ordered, **code}


def test_function_without_source_has_no_version():
    names = {}
    exec("def predict(premises, hypotheses): return ['neutral'] * len(premises)", names)
    assert CallablePredictor(names["predict"]).version == {}


def test_torch_tensors_are_accepted():
    torch = pytest.importorskip("torch", reason="needs unbag[models]")
    rows = torch.tensor([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    for answer in (rows, rows.bfloat16(), rows.half(), rows.clone().requires_grad_(), list(rows.requires_grad_())):
        np.testing.assert_array_equal(predict_with(answer), rows.detach().numpy())
    ids = torch.tensor([2, 0, 1])
    assert predict_with(ids, label_map=parse_label_map(",".join(LABELS))).tolist() == np.eye(3)[[2, 0, 1]].tolist()


@pytest.mark.parametrize(
    ("answer", "space", "words"),
    [
        ([0.2, 0.9, 0.4], LABELS, r"got one score per pair; return .* such as \[score, 1 - score\]"),
        ([[0.2, 0.8]] * 3, LABELS, "got 2 columns; .*--label-map .*: an order of .* entailment,not_entailment or not_"),
        (np.array([[0.2, 0.8]] * 3, dtype=object), LABELS, "got 2 columns; return a column for each label"),
        (["not_entailment"] * 3, LABELS, "pass --label-map entailment,not_entailment "),
        (
            ["entailment"] * 3,
            CONTRADICTION_OR_NOT,
            "pass --label-map entailment,neutral,contradiction or entailment,not_entailment ",
        ),
    ],
)
def test_outputs_of_other_label_space_error_names_label_map(answer, space, words):
    with pytest.raises(LabelError, match=words):
        predict_with(answer, label_space=space)


def test_function_receives_lists_and_no_empty_calls():
    seen = []
    predictor = CallablePredictor(lambda *sides: seen.append(sides) or ["neutral"])
    assert predictor.predict((), ()).shape == (0, 3)
    assert seen == []
    predictor.predict(("A man.",), ("A dog.",))
    assert seen == [(["A man."], ["A dog."])]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (["neutral"] * 2, "expected 3 predictions for 3 pairs, got 2"),
        (["neutral", "maybe", "neutral"], "got 'maybe'"),
        (["neutral", [0, 1, 0], "neutral"], "outputs of one type"),
        ([[0.5, 0.5, 0.5]] * 3, "sum to 1"),
        ([[1.5, -0.5, 0.0]] * 3, "sum to 1"),
        ([{"entailment": 1.0}] * 3, "a probability for each of"),
        ((name for name in ["neutral"] * 3), "got a generator"),
        ([object()] * 3, r"expected a table of numbers, 3 rows .* got list of object"),
        ([{"entailment": 10**400, "neutral": 0, "contradiction": 0}] * 3, "a probability from 0 to 1 for each label"),
        ([{"label": "neutral", "score": 0.9, "index": 0}] * 3, "expected a label such as .* got 'label'"),
        ([{0: 1.0, 1: 0.0, 2: 0.0}] * 3, r"dicts with label names as keys .* got the key 0"),
    ],
)
def test_invalid_answer_is_rejected(answer, message):
    with pytest.raises(ValueError, match=message):
        predict_with(answer)


def test_unequal_lengths_missing_text_and_wrong_parameters_are_rejected():
    predictor = CallablePredictor(lambda premises, hypotheses: ["neutral"] * len(premises))
    with pytest.raises(ValueError, match="got 2 premises and 1 hypotheses"):
        predictor.predict(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="text in column 'hypothesis', got None in row 1"):
        predictor.predict(["a", "b"], ["c", None])
    with pytest.raises(UserCodeError, match=r"got TypeError: .*takes 1 positional argument but 2 were given"):
        CallablePredictor(lambda pairs: []).predict(PREMISES, HYPOTHESES)


def test_failing_function_error_shows_only_user_lines():
    def of_one(premise):
        return json.loads(premise)

    def answer(premises, hypotheses):
        return [of_one(premise) for premise in premises]

    with pytest.raises(UserCodeError) as failed:
        CallablePredictor(answer).predict(PREMISES, HYPOTHESES)
    said = str(failed.value)
    assert re.search(
        r"the function .*answer: expected a prediction for each of 3 pairs, got JSONDecodeError: Expecting", said
    )
    assert re.search(r" at \S*test_function\.py:\d+ \(of_one\), \S*test_function\.py:\d+ \(answer\); correct the", said)
    assert "json/" not in said
    assert "inference/function.py" not in said
    assert isinstance(failed.value.__cause__, json.JSONDecodeError), "with the whole traceback for who debugs it"


def test_interrupted_function_is_not_reported_as_failing():
    def answer(premises, hypotheses):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallablePredictor(answer).predict(PREMISES, HYPOTHESES)
