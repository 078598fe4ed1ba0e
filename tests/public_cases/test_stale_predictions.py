"""Models that change under the same name: endpoints, functions and label orders. No report mixes two versions."""

import importlib
import sys
import time

import datasets
import numpy as np
import pytest

import unbag
from tests.factories import BARE
from unbag.challenge_sets import results
from unbag.data.labels import LABELS
from unbag.evaluation.model_loading import load_predictor
from unbag.inference.function import CallablePredictor
from unbag.inference.runner import predict_rows
from unbag.reports.reproduce import list_remarks
from unbag.utils.imports import hash_imported_modules

pytest.importorskip("openai", reason="needs unbag[llm]")

PAIRS = [(f"{number} people wait.", f"Somebody waits for {number} hours.") for number in range(5)]
ROWS = "premise,hypothesis,label\n" + "".join(f"{p},{h},{LABELS[n % 3]}\n" for n, (p, h) in enumerate(PAIRS * 6))
VERSIONS = {
    "info": lambda n: {"info": {"/info": {"model_id": "org/m", "model_sha": f"{n:040}"}}},
    "models": lambda n: {"info": {"/v1/models": {"data": [{"id": "m", "created": 1_700_000_000 + n}]}}},
    "fingerprint": lambda n: {"version": {"system_fingerprint": f"fp_{n}"}},
    "resolved name": lambda n: {"version": {"model": f"m-2026-0{n}"}},
    "header": lambda n: {"headers": {"X-Model-Version": str(n)}},
}


def serve(endpoint, label, **report):
    """Let the server predict one label for every pair, and report a version."""
    endpoint.reset()
    word = {"entailment": "Yes", "neutral": "Maybe", "contradiction": "No"}[label]
    endpoint.answers = lambda _: word
    endpoint.classifier.outputs = lambda *_: [0.9 if name == label else 0.05 for name in endpoint.classifier.labels]
    for name, value in report.items():
        setattr(endpoint, name, value)


def connect(endpoint, kind, **options):
    url = endpoint.base_url if kind == "chat" else endpoint.route("predict")
    return load_predictor("endpoint:m", base_url=url, **options)[0]


def predict_labels(predictor):
    return {LABELS[column] for column in predictor.predict(*zip(*PAIRS, strict=True)).argmax(axis=1)}


IN_BODY = ("fingerprint", "resolved name")  # the response of /predict is a list


@pytest.mark.parametrize(
    ("kind", "source"),
    [("chat", source) for source in VERSIONS] + [("predict", source) for source in VERSIONS if source not in IN_BODY],
)
def test_endpoint_with_new_version_is_asked_again(endpoint, kind, source):
    serve(endpoint, "entailment", **VERSIONS[source](1))
    first = connect(endpoint, kind)
    assert predict_labels(first) == {"entailment"}
    endpoint.requests.clear()
    again = connect(endpoint, kind)
    assert predict_labels(again) == {"entailment"}
    assert len(endpoint.requests) == 1, "the same version is not asked again"
    assert again.identity == first.identity
    serve(endpoint, "contradiction", **VERSIONS[source](2))
    changed = connect(endpoint, kind)
    assert predict_labels(changed) == {"contradiction"}
    assert changed.identity["server_version"] != first.identity["server_version"]


def test_time_of_request_is_no_version(endpoint):
    class Now:
        def __contains__(self, path):
            return path == "/v1/models"

        def __getitem__(self, path):
            return {"data": [{"id": "m", "created": int(time.time()), "root": "/weights"}]}

    serve(endpoint, "entailment", info=Now())
    assert connect(endpoint, "chat").identity["server_version"] == "root /weights"


def test_unknown_version_is_dated_and_no_cache_asks_again(endpoint, tmp_path):
    (tmp_path / "pairs.csv").write_text(ROWS)

    def evaluate(folder, **options):
        options |= {"base_url": endpoint.base_url, "output_dir": tmp_path / folder, "trust_labels": True, **BARE}
        [result] = unbag.evaluate("endpoint:m", "plain", data=str(tmp_path / "pairs.csv"), **options)
        return result

    serve(endpoint, "entailment")
    first = evaluate("a")
    assert "stored_answers" not in first.model
    day = first.model["answered"]
    serve(endpoint, "contradiction")
    for folder in ("a", "b"):  # from the stored predictions of the folder, and from the stored answers
        reused = evaluate(folder)
        assert reused.scores["by_label"][0].value == 1.0
        assert reused.model["stored_answers"] == day
        assert any(f"stored answers of {day}" in each for each in list_remarks(reused))
    asked = evaluate("a", no_cache=True)
    assert asked.scores["by_label"][2].value == 1.0
    assert "stored_answers" not in asked.model
    assert evaluate("a").scores["by_label"][2].value == 1.0


def test_classifier_that_answers_differently_is_asked_again(endpoint, caplog):
    serve(endpoint, "entailment")
    predict_labels(connect(endpoint, "predict"))
    serve(endpoint, "contradiction")
    assert predict_labels(connect(endpoint, "predict")) == {"contradiction"}
    assert "ignoring all stored answers" in caplog.text
    assert len([each for each in endpoint.requests if len(each.body["inputs"]) == len(PAIRS)]) == 1
    caplog.clear()
    assert predict_labels(connect(endpoint, "predict")) == {"contradiction"}, "the old answers stay ignored"
    assert not caplog.text


def test_model_that_changes_during_run_ends_run(endpoint):
    serve(endpoint, "entailment", **VERSIONS["info"](1))
    predictor = connect(endpoint, "predict")
    serve(endpoint, "contradiction", **VERSIONS["info"](2))
    with pytest.raises(ValueError, match=f"expected one version of m .*, got model_sha {2:040} after .*{1:040}"):
        predict_labels(predictor)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module whose function calls another module. Returns a function that changes the other module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helpers_").mkdir()
    (tmp_path / "judge_.py").write_text(
        "import json\nfrom helpers_.rules_ import decide\n\n"
        "def predict(premises, hypotheses):\n    return [decide() for _ in premises]\n"
    )

    def write(label):
        (tmp_path / "helpers_" / "rules_.py").write_text(f"def decide():\n    return {label!r}\n")
        for name in ("judge_", "helpers_.rules_", "helpers_"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return write


def test_function_with_changed_import_does_not_mix_results(module, tmp_path, caplog):
    (tmp_path / "pairs.csv").write_text(ROWS)
    options = {"data": "pairs.csv", "output_dir": "run", "trust_labels": True, **BARE}
    module("entailment")
    unbag.evaluate("judge_:predict", "plain", **options)
    module("contradiction")
    with pytest.raises(ValueError, match=r"judge_:predict at imported_sha256 .* results on plain at"):
        unbag.evaluate("judge_:predict", "swapped", **options)
    unbag.evaluate("judge_:predict", "plain", **options)
    assert "replacing earlier results: plain of pairs.csv for judge_:predict (imported_sha256 " in caplog.text
    [result] = results.read_results(tmp_path / "run" / "results.json")
    assert result.scores["by_label"][2].value == 1.0


def test_named_function_with_changed_import_is_not_reused(module, tmp_path):
    premises, hypotheses = map(list, zip(*PAIRS, strict=True))
    ids = [str(number) for number in range(len(PAIRS))]
    rows = datasets.Dataset.from_dict({"id": ids, "source_id": ids, "premise": premises, "hypothesis": hypotheses})
    found = []
    for label in ("entailment", "entailment", "neutral"):
        module(label)
        sys.path.insert(0, str(tmp_path))
        judge = CallablePredictor(importlib.import_module("judge_").predict, identity={"name": "judge"})
        sys.path.remove(str(tmp_path))
        predicted = predict_rows(rows, judge, tmp_path / "store")
        found.append((LABELS[int(np.argmax(predicted.load_probabilities()[0]))], predicted.reused))
    assert found == [("entailment", 0), ("entailment", 5), ("neutral", 0)]


def test_imports_of_packages_and_relative_imports_are_found(tmp_path):
    for name, text in {
        "top.py": "def f():\n    import own.deep.leaf\n    import numpy\n",
        "own/__init__.py": "",
        "own/deep/__init__.py": "from . import leaf\nfrom ..side import value\n",
        "own/deep/leaf.py": "import json\n",
        "own/side.py": "value = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    hashes = set()
    for name in ("none.py", "own/__init__.py", "own/deep/leaf.py", "own/side.py"):
        (tmp_path / name).write_text(f"# {name}\n{(tmp_path / name).read_text() if (tmp_path / name).exists() else ''}")
        hashes.add(hash_imported_modules(tmp_path / "top.py", "top"))
    assert len(hashes) == 4
    assert hash_imported_modules(tmp_path / "none.py", "none") is None
