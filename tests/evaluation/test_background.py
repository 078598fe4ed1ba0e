"""Tests of the second process of an evaluation: it changes the order of work, never the results."""

import pytest

from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import LABELS
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.lexical_baseline import LexicalBaseline
from unbag.evaluation.outcome import EvaluationCallbacks

pytestmark = pytest.mark.usefixtures("empty_caches")
NOUNS = ["dog", "cat", "bird", "horse", "child", "farmer"]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    rows = [
        f"The {one} sees a {other} near house {n}.,A {other} is {n}.,{LABELS[n]}"
        for one in NOUNS
        for other in NOUNS
        for n in range(3)
    ]
    path.write_text("\n".join(["premise,hypothesis,label", *rows]))
    return str(path)


def _predict_by_length(premises, hypotheses):
    return [LABELS[len(premise) % 3] for premise in premises]


def test_sets_predicted_during_fit_have_same_results(tmp_path, pairs, monkeypatch):
    requests = [SetRequest("plain", options={"data": pairs}), SetRequest("swapped", options={"data": pairs})]
    events = []

    def run(folder):
        events.clear()
        callbacks = EvaluationCallbacks(
            on_set=lambda name: events.append(f"begin {name}"),
            on_result=lambda result: events.append(f"result {result.set}"),
        )
        out = tmp_path / folder
        outcome = evaluate_all([_predict_by_length], requests, output_dir=out, callbacks=callbacks)
        return [result.scores for result in outcome.results]

    monkeypatch.setattr("unbag.evaluation.lexical_baseline.PAIRS", {"en": (pairs, 100, "all")})
    immediate = run("immediate")
    assert events == ["begin plain", "result plain", "begin swapped", "result swapped"]
    states = iter([True, True])  # one per set; `predict` does not read the state
    monkeypatch.setattr(LexicalBaseline, "is_fitting", property(lambda self: next(states)))
    assert run("deferred") == immediate
    assert immediate[0]["skill"]["baseline"] is not None
    assert events == ["begin plain", "begin swapped", "result plain", "result swapped"]


def test_process_that_dies_leaves_the_fit_to_this_process(tmp_path, pairs):
    baseline = LexicalBaseline({"train_data": (pairs,), "pipeline": "all"})
    baseline.start_fitting("en", ())
    assert baseline.is_fitting
    baseline.stop()
    assert not baseline.is_fitting
    built = build_requested_set(SetRequest("plain", options={"data": pairs}))
    assert baseline.predict(built, tmp_path / "predictions").answers is not None
