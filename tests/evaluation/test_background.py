"""Tests of the background process of an evaluation: it changes the order of work, never the results."""

import io
import json
import pickle
import subprocess
import sys
import time

import pytest

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
from unbag.challenge_sets.loading import is_set_cached
from unbag.challenge_sets.request import SetRequest, build_requested_set, create_validated_builder
from unbag.evaluation import background
from unbag.evaluation.background import BackgroundBuild
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.lexical_baseline import LexicalBaseline
from unbag.evaluation.outcome import EvaluationCallbacks

LABELS = ["entailment", "neutral", "contradiction"]
NOUNS = ["dog", "cat", "bird", "horse", "child", "farmer"]


@pytest.fixture(autouse=True)
def _isolated_caches(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("UNBAG_CACHE", str(tmp_path / "unbag"))


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"premise": f"The {one} sees a {other} near house {n}.", "hypothesis": f"A {other} is {n}.", "label": LABELS[n]}
        for one in NOUNS
        for other in NOUNS
        for n in range(3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _predict_by_length(premises, hypotheses):
    return [LABELS[len(premise) % 3] for premise in premises]


def test_sets_predicted_during_fit_have_same_results(tmp_path, pairs, monkeypatch):
    requests = [SetRequest("plain", options={"data": pairs}), SetRequest("swapped", options={"data": pairs})]
    events, previews = [], {}

    def preview(result):
        events.append(f"preview {result.set}")
        previews[result.set] = dict(result.scores)

    def run(folder):
        events.clear()
        results = evaluate_all(
            [_predict_by_length],
            requests,
            output_dir=tmp_path / folder,
            callbacks=EvaluationCallbacks(
                on_set=lambda name: events.append(f"begin {name}"),
                on_preview=preview,
                on_result=lambda result: events.append(f"result {result.set}"),
            ),
        ).results
        return [result.scores for result in results]

    monkeypatch.setattr("unbag.evaluation.lexical_baseline.PAIRS", {"en": (pairs, 100, "all")})
    immediate = run("immediate")
    assert events == ["begin plain", "result plain", "begin swapped", "result swapped"]
    states = iter([True, True])  # one per set; `predict` does not read the state
    monkeypatch.setattr(LexicalBaseline, "is_fitting", property(lambda self: next(states)))
    assert run("deferred") == immediate
    assert immediate[0]["skill"]["baseline"] is not None
    assert [event.split()[0] for event in events] == ["begin", "preview", "begin", "preview", "result", "result"]
    for name, scores in zip(("plain", "swapped"), immediate, strict=True):
        assert previews[name] | {"skill": scores["skill"]} == scores, "only the skill score comes later"


def test_follow_ignores_other_lines_and_ends_fit():
    fit = background._Fit()
    background._follow(io.BytesIO(b"a package prints\n[1, 2]\n[3, 4]\n"), fit)
    assert fit == background._Fit(is_running=False, done=(3, 4), folder=None)


def test_process_that_exits_at_once_ends_fit(monkeypatch, pairs):
    monkeypatch.setattr(background, "__name__", "unbag.no_such_module")
    process = BackgroundBuild(LexicalTrainingOptions(train_data=(pairs,), pipeline="all"), [])
    assert process.wait_until_fitted() is None
    assert not process.is_fitting
    process.stop()


@pytest.mark.nightly
def test_process_fills_caches(pairs):
    recipe, request = (
        LexicalTrainingOptions(train_data=(pairs,), pipeline="all"),
        SetRequest("plain", options={"data": pairs}),
    )
    process = BackgroundBuild(recipe, [request])
    done = []
    folder = process.wait_until_fitted(lambda *numbers: done.append(numbers))
    assert folder == fit_or_load_lexical_model(recipe, progress=lambda *_: pytest.fail("fitted again"))
    while not is_set_cached(create_validated_builder(request)):
        time.sleep(0.1)
    assert len(build_requested_set(request).rows) == 108
    process.stop()


@pytest.mark.nightly
def test_process_ends_when_stdin_closes():
    endless = (
        "import time; from unbag.evaluation import background; background.fit_or_load_lexical_model = lambda *_, **__: "
    )
    command = [sys.executable, "-c", f"{endless}time.sleep(600); background.main()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    pickle.dump((LexicalTrainingOptions(), []), process.stdin)
    process.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.stdin.close()
    assert process.wait() == 0
