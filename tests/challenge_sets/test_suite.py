"""Tests of the default suite: a sample of every set, except unavailable ones."""

import json
import os
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tests.fork_server import PYTHON
from unbag import challenge_sets, cli, evaluate
from unbag.challenge_sets import loading, results, selection
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.cli.output import print_failures
from unbag.data.downloads import MissingFileError
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.outcome import EvaluationCallbacks
from unbag.inference import label_probe
from unbag.inference.function import CallablePredictor

pytestmark = pytest.mark.usefixtures("empty_caches")
LABELS = ["entailment", "neutral", "contradiction"]
WHO, WHAT = ("big", "small", "brown", "grey"), ("cat", "bone", "car")
PAIRS = [
    {
        "premise": f"The {who} dog over there sees a {what} on the road.",
        "hypothesis": f"The {other} animal there sees some {what} just now.",
        "label": LABELS[WHAT.index(what)],
    }
    for who in WHO
    for other in WHO
    for what in WHAT
]


def predict_from_letters(premises, hypotheses):
    """Return labels by the letters of a pair, which do not depend on word order."""
    return [LABELS[sum(map(ord, p + h)) % 3] for p, h in zip(premises, hypotheses, strict=True)]


@pytest.fixture
def data_path(tmp_path):
    path = tmp_path / "ours.jsonl"
    path.write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS))
    return str(path)


@pytest.fixture
def requests(data_path):
    """Return three requests, of which only the second cannot be built."""
    return [
        SetRequest("plain", options={"data": data_path}),
        SetRequest("permuted", options={"data": data_path, "min_words": 40}),
        SetRequest("swapped", options={"data": data_path}, max_examples=20),
    ]


def test_suite_contains_every_set_ordered_by_cost():
    names = selection.list_suite_sets()
    assert sorted(names) == challenge_sets.list_set_names()
    assert names[0] == "plain"
    assert names.index("permuted") > names.index("cs_lambda") > names.index("swapped")


def test_given_options_are_kept_and_others_sampled():
    asked = selection.build_suite_request("permuted")
    assert selection.apply_suite_sample(asked) == replace(asked, max_examples=500, options={"q": 10})
    assert selection.apply_suite_sample(replace(asked, max_examples=7)).max_examples == 7
    more = replace(asked, options={"q": 100})
    assert selection.apply_suite_sample(more) == replace(asked, max_examples=500, options={"q": 100})
    assert selection.apply_suite_sample(SetRequest("permuted", options={"data": "own.csv"})).options["q"] == 10
    scored = selection.apply_suite_sample(selection.build_suite_request("cs_lambda"))
    assert dict(scored.options) == {"train_data": ("snli",), "max_train_pairs": 20_000}
    for options in ({"train_data": ("mnli",)}, {"lexical": "org/model"}, {"max_train_pairs": 5}):
        own = selection.apply_suite_sample(SetRequest("cs_lambda", "snli-validation", options))
        assert dict(own.options) == options
    assert not selection.apply_suite_sample(SetRequest("cs_lambda", "ocnli-validation")).options
    assert not selection.apply_suite_sample(SetRequest("cs_lambda", options={})).options


def test_failed_set_does_not_stop_others(tmp_path, requests):
    failures, seen, taken_up = [], [], []
    outcome = evaluate_all(
        [predict_from_letters],
        requests,
        output_dir=tmp_path / "out",
        keep_going=True,
        callbacks=EvaluationCallbacks(
            on_set=taken_up.append, on_result=lambda result: seen.append(result.set), on_failure=failures.append
        ),
    )
    assert taken_up == ["plain", "permuted", "swapped"]
    assert seen == [result.set for result in outcome.results] == ["plain", "swapped"]
    assert outcome.skipped == failures
    [failure] = failures
    assert (failure.set, failure.model) == ("permuted", None)
    assert "none of the pairs are suitable" in failure.reason
    assert [result.set for result in results.read_results(tmp_path / "out" / "results.json")] == ["plain", "swapped"]
    with pytest.raises(ValueError, match="none of the pairs are suitable"):
        evaluate_all([predict_from_letters], requests, output_dir=tmp_path / "strict")


def test_failed_model_does_not_stop_others(tmp_path, requests):
    def raise_error(premises, hypotheses):
        raise RuntimeError("out of\nmemory")

    outcome = evaluate_all(
        [raise_error, predict_from_letters], requests[::2], output_dir=tmp_path / "out", keep_going=True
    )
    failures = outcome.skipped
    assert [(result.model["name"], result.set) for result in outcome.results] == [
        ("predict_from_letters", "plain"),
        ("predict_from_letters", "swapped"),
    ]
    assert [failure.set for failure in failures] == ["plain", "swapped"]
    assert (
        "raise_error: expected a prediction for each of 48 pairs, got RuntimeError: out of memory at "
        in failures[0].reason
    )
    assert failures[0].model.endswith("raise_error")


def test_stopped_suite_resumes(tmp_path, requests):
    asked = []

    def predict_and_count(premises, hypotheses):
        asked.append(len(premises))
        return predict_from_letters(premises, hypotheses)

    def interrupt(result):
        raise KeyboardInterrupt

    model = CallablePredictor(predict_and_count, identity={"name": "predict_from_letters", "version": "1"})
    sound = [requests[0], requests[2]]
    with pytest.raises(KeyboardInterrupt):
        evaluate_all([model], sound, output_dir=tmp_path / "a", callbacks=EvaluationCallbacks(on_result=interrupt))
    assert not (tmp_path / "a" / "results.json").exists()
    evaluate_all([model], sound, output_dir=tmp_path / "a")
    stopped, asked[:] = sum(asked), []
    evaluate_all([model], sound, output_dir=tmp_path / "b")
    probed = len(label_probe.PAIRS["en"])
    assert stopped == sum(asked) + probed, "only the obvious pairs are asked again, by the second run"
    assert (tmp_path / "a" / "results.json").read_bytes() == (tmp_path / "b" / "results.json").read_bytes()


def test_python_evaluates_suite_by_default_with_warnings(tmp_path, data_path, monkeypatch, caplog):
    monkeypatch.setattr(selection, "list_suite_sets", lambda **_: ["plain", "permuted", "swapped"])
    report = evaluate(
        predict_from_letters,
        data=data_path,
        max_examples=20,
        options={"min_words": 40},
        output_dir=tmp_path / "out",
    )
    assert [result.set for result in report] == ["plain", "swapped"]
    assert [each.set for each in report.skipped] == ["permuted"]
    assert results.read_results_with_skipped(tmp_path / "out" / results.FILE)[1] == report.skipped
    assert "permuted is skipped: none of the pairs" in caplog.text


def test_named_set_is_required_and_suite_set_optional(capsys):
    missing = EvaluationFailure("sicck", MissingFileError("could not be downloaded"))
    broken = EvaluationFailure("plain", ValueError("line 3: no label"))
    assert [each.is_fatal(is_named=False) for each in (missing, broken)] == [False, True]
    assert [each.is_fatal(is_named=True) for each in (missing, broken)] == [True, True]
    print_failures([missing, broken], with_model=False)
    assert capsys.readouterr().err.splitlines() == [
        "sicck: skipped: could not be downloaded",
        "plain: failed: line 3: no label",
    ]
    print_failures([missing], with_model=False, is_named=True)
    assert capsys.readouterr().err == "sicck: failed: could not be downloaded\n"


def test_sets_with_same_failure_are_named_together(capsys):
    print_failures(
        [EvaluationFailure(name, ValueError("no column")) for name in ("plain", "swapped", "permuted")],
        with_model=False,
    )
    assert capsys.readouterr().err == "plain, swapped, permuted: failed: no column\n"


@pytest.mark.parametrize("sets_named", [True, False])
def test_failed_download_exit_code_depends_on_named_sets(tmp_path, data_path, monkeypatch, sets_named):
    """A named set is required: exit code 1. A set of the suite is skipped: exit code 0."""

    def raise_missing_file(*args, **how):
        raise MissingFileError("could not be downloaded")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(selection, "list_suite_sets", lambda **_: ["plain", "swapped"])
    monkeypatch.setattr(
        "unbag.evaluation.evaluator.build_requested_set",
        lambda request: raise_missing_file() if request.name == "swapped" else build_requested_set(request),
    )
    line = [
        "evaluate",
        "majority",
        "--data",
        str(data_path),
        "--train-data",
        str(data_path),
        "--no-lexical-baseline",
        "--output-dir",
        "out",
    ]
    done = CliRunner().invoke(cli.app, [*line, *(["--sets", "plain,swapped"] if sets_named else [])])
    assert done.exit_code == (1 if sets_named else 0), done.output
    assert f"swapped: {'failed' if sets_named else 'skipped'}: could not be downloaded" in done.output


def test_split_applies_to_sets_with_splits():
    without = {name for name in challenge_sets.list_set_names() if not loading.has_split_config(name, None)}
    assert without == {"breaking_nli", "resnli", "sicck"}
    assert loading.has_split_config("sicck", "snli")
    assert not loading.has_split_config("resnli", "mnli")


def _environment(cwd):
    return os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(cwd / "hf")}


def _run(*arguments, cwd):
    return PYTHON.run("-m", "unbag", *arguments, cwd=cwd, env=_environment(cwd))


@pytest.fixture
def offline(tmp_path, data_path):
    """Return a folder with a model and a local corpus, without access to the Hub."""
    (tmp_path / "always.py").write_text("def predict(premises, hypotheses):\n    return ['neutral'] * len(premises)\n")
    return tmp_path


@pytest.mark.nightly
def test_command_shows_each_set_and_names_those_with_missing_downloads(offline):
    done = _run("evaluate", "always:predict", "--data", "ours.jsonl", "-o", "q=2", "--output-dir", "out", cwd=offline)
    assert done.returncode == 0, "the suite skips sets whose downloads are missing"
    kept = results.read_results(offline / "out" / "results.json")
    assert {"plain", "swapped", "permuted"} <= {result.set for result in kept}
    assert done.stdout.count("Verdict") == 1
    assert len(kept) >= 3
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "cs_lambda: skipped: " in done.stderr
    assert "resnli: skipped: " in done.stderr
    assert "failed: " not in done.stderr
    assert "Traceback" not in done.stderr
    assert (offline / "out" / "table.txt").read_text().count("Verdict") == 1


@pytest.mark.nightly
def test_two_processes_evaluate_suite_as_one(offline):
    pytest.importorskip("accelerate")
    named = ("--sets", "plain", "--sets", "resnli", "--sets", "swapped")
    options = ("evaluate", "always:predict", *named, "--data", "ours.jsonl", "-o", "embeddings=./none.txt")
    group = PYTHON.start_group(
        2, "-m", "unbag", *options, "--output-dir", "two", cwd=offline, env=_environment(offline)
    )
    one = _run(*options, "--output-dir", "one", cwd=offline)
    assert max(process.wait() for process in group) == 1
    assert one.returncode == 1
    two = ["".join(said) for said in zip(*(process.communicate() for process in group), strict=True)]
    for printed, said in ((one.stdout, one.stderr), two):
        assert said.count("resnli: failed: ") == 1, said
        assert printed.count("Verdict") == 1
    assert (offline / "two" / "results.json").read_bytes() == (offline / "one" / "results.json").read_bytes()
