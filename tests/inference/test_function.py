import functools
import json
import re

import numpy as np
import pytest

from unbag.inference import CallablePredictor, Predictor
from unbag.labels import TWO_WAY
from unbag.user_code import UserCodeError

PREMISES = ["A man sleeps.", "A dog runs.", "It rains."]
HYPOTHESES = ["A man is awake.", "An animal moves.", "The party is cancelled."]


def ask(answer, **options):
    return CallablePredictor(lambda premises, hypotheses: answer, **options).predict(PREMISES, HYPOTHESES)


def test_names_become_certainties_and_are_flagged():
    predictor = CallablePredictor(lambda premises, hypotheses: ["CONTRADICTION", "entails", "neutral"])
    assert isinstance(predictor, Predictor)
    assert predictor.has_probabilities
    assert predictor.predict(PREMISES, HYPOTHESES).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert not predictor.has_probabilities


def test_an_array_is_taken_in_the_order_of_the_space():
    rows = np.array([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1], [0.2, 0.6, 0.2]])
    found = ask(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, rows, atol=1e-7)


def test_dicts_are_read_by_name():
    answer = [{"neutral": 0.2, "Contradiction": 0.7, "entailment": 0.1}] * 3
    np.testing.assert_allclose(ask(answer), [[0.1, 0.2, 0.7]] * 3, atol=1e-7)


def test_two_labels():
    assert ask(["not_entailment", "entailment", "non-entailment"], label_space=TWO_WAY).tolist() == [
        [0, 1],
        [1, 0],
        [0, 1],
    ]


def test_the_function_sees_lists_and_no_pairs_ask_nothing():
    seen = []
    predictor = CallablePredictor(lambda *sides: seen.append(sides) or ["neutral"])
    assert predictor.predict((), ()).shape == (0, 3)
    assert seen == []
    predictor.predict(("A man.",), ("A dog.",))
    assert seen == [(["A man."], ["A dog."])]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (["neutral"] * 2, "expected 3 answers for 3 pairs, the function returned 2"),
        (["neutral", "maybe", "neutral"], "found 'maybe'"),
        (["neutral", "not_entailment", "neutral"], "the function returned 'not_entailment'"),
        (["neutral", [0, 1, 0], "neutral"], "answers of one kind"),
        ([[0.5, 0.5, 0.5]] * 3, "sum to 1"),
        ([[np.nan, 0.5, 0.5]] * 3, "sum to 1"),
        ([[1.5, -0.5, 0.0]] * 3, "sum to 1"),
        ([[0.5, 0.5]] * 3, r"shape \(3, 3\).*found shape \(3, 2\)"),
        ([{"entailment": 1.0}] * 3, "a probability for each of"),
        ((name for name in ["neutral"] * 3), "found a generator"),
        ([object()] * 3, r"expected a table of numbers, 3 rows .* got list of object"),
        ([b"neutral"] * 3, r"expected a table of numbers, 3 rows .* got list of bytes"),
        ([[10**400, 0, 0]] * 3, r"expected a table of numbers, 3 rows .* got list of list"),
        ([[1, 0, 0], [1, 0], [1, 0, 0]], r"expected a table of numbers, 3 rows .* got list of list"),
        ([{"entailment": 10**400, "neutral": 0, "contradiction": 0}] * 3, "a probability from 0 to 1 for each label"),
        ([{"entailment": object(), "neutral": 0, "contradiction": 0}] * 3, r"returned <object .*> for 'entailment'"),
        ([{0: 1.0, 1: 0.0, 2: 0.0}] * 3, r"dicts with labels' names as keys .* returned the key 0"),
    ],
)
def test_what_is_no_answer_is_refused(answer, message):
    with pytest.raises(ValueError, match=message):
        ask(answer)


def test_sums_within_a_thousandth_are_accepted():
    assert ask([[0.333, 0.333, 0.3335]] * 3).shape == (3, 3)


def test_sides_of_different_lengths_and_missing_text_are_refused():
    predictor = CallablePredictor(lambda premises, hypotheses: ["neutral"] * len(premises))
    with pytest.raises(ValueError, match="found 2 and 1"):
        predictor.predict(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="every hypothesis to be text, found None in row 1"):
        predictor.predict(["a", "b"], ["c", None])  # type: ignore[list-item]


@pytest.mark.parametrize("fn", [lambda: [], lambda pairs: [], lambda a, b, c: [], lambda *, premises, hypotheses: []])
def test_function_of_other_arguments_is_refused_with_its_signature(fn):
    with pytest.raises(ValueError, match=r"expected a function of a list of premises and a list of hypotheses, got "):
        CallablePredictor(fn).predict(PREMISES, HYPOTHESES)


def test_function_that_a_decorator_gives_an_argument_is_called():
    def answer(session, premises, hypotheses):
        return [session] * len(premises)

    wrapped = functools.wraps(answer)(lambda premises, hypotheses: answer("neutral", premises, hypotheses))
    assert CallablePredictor(wrapped).predict(PREMISES, HYPOTHESES)[:, 1].tolist() == [1, 1, 1]


def test_function_that_raises_is_named_with_its_own_lines_alone():
    def of_one(premise):
        return json.loads(premise)

    def answer(premises, hypotheses):
        return [of_one(premise) for premise in premises]

    with pytest.raises(UserCodeError) as failed:
        CallablePredictor(answer).predict(PREMISES, HYPOTHESES)
    said = str(failed.value)
    assert re.search(
        r"the function .*answer: expected an answer for each of 3 pairs, got JSONDecodeError: Expecting", said
    )
    assert re.search(r" at \S*test_function\.py:\d+ \(of_one\), \S*test_function\.py:\d+ \(answer\); correct the", said)
    assert "json/" not in said
    assert "inference/function.py" not in said
    assert isinstance(failed.value.__cause__, json.JSONDecodeError), "with the whole traceback for who debugs it"


def test_function_that_is_interrupted_is_not_taken_for_one_that_fails():
    def answer(premises, hypotheses):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CallablePredictor(answer).predict(PREMISES, HYPOTHESES)
