"""Tests of the default suite and of the sets that a command builds: samples, failures, options and names."""

import os
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from tests.factories import QUICK
from tests.fork_server import PYTHON
from tests.golden.outputs import answers
from unbag import challenge_sets, cli, evaluate
from unbag.challenge_sets import loading, results, selection
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.cli.options import PairOptions, build_selected_requests
from unbag.cli.output import print_failures
from unbag.data.downloads import MissingFileError
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.outcome import EvaluationCallbacks
from unbag.utils.options import OptionError

pytestmark = pytest.mark.usefixtures("empty_caches")
DATA = QUICK["data"]


def test_suite_contains_every_set_ordered_by_cost():
    names = selection.list_suite_sets()
    assert sorted(names) == challenge_sets.list_set_names()
    assert names[0] == "plain"
    assert names.index("permuted") > names.index("cs_lambda") > names.index("swapped")


def test_given_options_are_kept_and_others_sampled():
    sample = selection.apply_suite_sample
    asked = selection.build_suite_request("permuted")
    assert sample(asked) == replace(asked, max_examples=500, options={"q": 10})
    assert sample(replace(asked, max_examples=7)).max_examples == 7
    assert sample(replace(asked, options={"q": 100})).options == {"q": 100}
    assert sample(SetRequest("permuted", options={"data": "own.csv"})).options["q"] == 10
    scored = sample(selection.build_suite_request("cs_lambda"))
    assert dict(scored.options) == {"train_data": ("snli",), "max_train_pairs": 20_000}
    for options in ({"train_data": ("mnli",)}, {"lexical": "org/model"}, {"max_train_pairs": 5}):
        assert dict(sample(SetRequest("cs_lambda", "snli-validation", options)).options) == options
    assert not sample(SetRequest("cs_lambda", "ocnli-validation")).options
    assert not sample(SetRequest("cs_lambda", options={})).options


def test_failed_set_and_failed_model_do_not_stop_others(tmp_path):
    def raise_error(premises, hypotheses):
        raise RuntimeError("out of\nmemory")

    options = {"plain": {}, "permuted": {"min_words": 60}, "swapped": {}}  # no pair of 60 words
    requests = [SetRequest(name, options={"data": DATA, **own}, max_examples=30) for name, own in options.items()]
    failures, seen, taken_up = [], [], []
    callbacks = EvaluationCallbacks(
        on_set=taken_up.append, on_result=lambda result: seen.append(result.set), on_failure=failures.append
    )
    models = [raise_error, answers]
    outcome = evaluate_all(models, requests, output_dir=tmp_path / "out", keep_going=True, callbacks=callbacks)
    assert list(dict.fromkeys(taken_up)) == ["plain", "permuted", "swapped"]
    stored = results.read_results(tmp_path / "out" / "results.json")
    assert seen == [each.set for each in outcome.results] == [each.set for each in stored] == ["plain", "swapped"]
    assert {each.model["name"] for each in outcome.results} == {"answers"}
    assert failures == list(outcome.skipped)
    by_set = {failure.set: failure for failure in failures}
    assert len(by_set) == len(failures) == 3
    assert by_set["permuted"].model is None
    assert "none of the pairs are suitable" in by_set["permuted"].reason
    assert by_set["plain"].model.endswith("raise_error")
    expected = "raise_error: expected a prediction for each of 30 pairs, got RuntimeError: out of memory at "
    assert expected in by_set["plain"].reason
    with pytest.raises(ValueError, match="none of the pairs are suitable"):
        evaluate_all([answers], requests[1:2], output_dir=tmp_path / "strict")


def test_python_evaluates_suite_by_default_with_warnings(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(selection, "list_suite_sets", lambda **_: ["plain", "permuted", "swapped"])
    options = {"min_words": 60}
    report = evaluate(answers, options=options, output_dir=tmp_path / "out", **QUICK)
    assert [result.set for result in report] == ["plain", "swapped"]
    assert [each.set for each in report.skipped] == ["permuted"]
    assert results.read_results_with_skipped(tmp_path / "out" / results.FILE)[1] == report.skipped
    assert "permuted is skipped: none of the pairs" in caplog.text


def test_invalid_pairs_fail_sets_with_one_line(capsys):
    broken = [EvaluationFailure(name, ValueError("line 3: no label")) for name in ("plain", "swapped")]
    assert all(each.is_fatal(is_named=False) for each in broken)
    print_failures(broken, with_model=False)
    assert capsys.readouterr().err == "plain, swapped: failed: line 3: no label\n"


@pytest.mark.parametrize(("named", "code", "outcome"), [(["--sets", "plain,swapped"], 1, "failed"), ([], 0, "skipped")])
def test_failed_download_exit_code_depends_on_named_sets(tmp_path, monkeypatch, named, code, outcome):
    def build(request):
        if request.name == "swapped":
            raise MissingFileError("could not be downloaded")
        return build_requested_set(request)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(selection, "list_suite_sets", lambda **_: ["plain", "swapped"])
    monkeypatch.setattr("unbag.evaluation.evaluator.build_requested_set", build)
    arguments = ["--data", DATA, "--train-data", DATA, "--no-lexical-baseline", "--output-dir", "out"]
    done = CliRunner().invoke(cli.app, ["evaluate", "majority", *arguments, *named])
    assert done.exit_code == code, done.output
    assert f"swapped: {outcome}: could not be downloaded" in done.output


def test_split_applies_to_sets_with_splits():
    without = {name for name in challenge_sets.list_set_names() if not loading.has_split_config(name, None)}
    assert without == {"breaking_nli", "resnli", "sicck"}
    assert loading.has_split_config("sicck", "snli")
    assert not loading.has_split_config("resnli", "mnli")


@pytest.mark.nightly
def test_two_processes_evaluate_suite_as_one(tmp_path):
    pytest.importorskip("accelerate")
    (tmp_path / "always.py").write_text("def predict(premises, hypotheses):\n    return ['neutral'] * len(premises)\n")
    options = ("--data", DATA, "--sets", "plain,resnli,swapped", "-o", "embeddings=./none.txt")
    command = ("-m", "unbag", "evaluate", "always:predict", *options, "--output-dir")
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    group = PYTHON.start_group(2, *command, "two", cwd=tmp_path, env=environment)
    one = PYTHON.run(*command, "one", cwd=tmp_path, env=environment)
    assert max(process.wait() for process in group) == one.returncode == 1
    two = ["".join(said) for said in zip(*(process.communicate() for process in group), strict=True)]
    for printed, said in ((one.stdout, one.stderr), two):
        assert said.count("resnli: failed: ") == 1, said
        assert printed.count("Verdict") == 1
    assert (tmp_path / "two" / "results.json").read_bytes() == (tmp_path / "one" / "results.json").read_bytes()


def _build_requests(names, **options):
    return build_selected_requests(PairOptions(**options), names, full=True, on_failure=[].append)


def test_several_or_all_corpora_are_used_in_order():
    both = _build_requests(["plain", "swapped"], corpus=["snli", "sick"])
    assert [(request.name, request.config) for request in both] == [
        *(("plain", "snli-validation"), ("swapped", "snli-validation")),
        *(("plain", "sick-test"), ("swapped", "sick-test")),
    ]
    five = ["snli", "mnli", "anli", "sick", "ocnli"]
    assert _build_requests(["plain"], corpus=five) == _build_requests(["plain"], corpus=["all"])


def test_several_corpora_with_split_are_rejected():
    with pytest.raises(typer.BadParameter, match="--split: expected one --corpus, got 2; remove --split"):
        _build_requests(["plain"], corpus=["snli", "sick"], split="test")


def test_option_with_set_name_applies_to_that_set():
    for others, of_soswap in ((["seed=1"], 1), ([], None)):
        both = _build_requests(["permuted", "soswap_addamod"], set_option=[*others, "permuted.seed=2"])
        assert [request.options.get("seed") for request in both] == [2, of_soswap]


def test_option_of_set_that_is_not_selected_is_rejected():
    why = "option 'sicck.seed': expected one of the sets permuted, swapped before the dot, got 'sicck'"
    with pytest.raises(OptionError, match=why):
        _build_requests(["permuted", "swapped"], set_option=["sicck.seed=1"])


def test_official_pairs_replaced_by_corpus_are_reported(capsys):
    breaking, _ = _build_requests(["breaking_nli", "plain"], corpus=["snli"])
    assert breaking.config == "snli-validation"
    expected = "breaking_nli: generated from snli; remove --corpus to use the authors' original pairs"
    assert [expected] == capsys.readouterr().err.splitlines()
    _build_requests(["breaking_nli", "plain"])
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({"set_option": ["breaking_nli.file=folder"], "corpus": ["snli"]}, "--corpus snli"),
        ({"official_file": "folder", "data": "pairs.csv"}, "--data"),
    ],
)
def test_authors_file_beside_other_pairs_is_rejected_before_building(options, source):
    with pytest.raises(OptionError) as caught:
        _build_requests(["plain", "breaking_nli"], **options)
    assert str(caught.value) == (
        f"--official-file (-o breaking_nli.file): cannot be combined with {source}, which generates breaking_nli from "
        "other pairs instead of the official file; omit one of them"
    )


def test_unknown_set_error_lists_sets():
    with pytest.raises(ValueError, match=r"expected one of the challenge sets .*permuted.*, got 'none such'"):
        challenge_sets.get_challenge_set("none such")
    assert challenge_sets.find_challenge_set("none such") is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("permutd", "permuted"), ("Breaking NLI", "breaking_nli"), ("addamod", "soswap_addamod")],
)
def test_misspelled_set_name_gets_suggestion(typed, meant):
    with pytest.raises(ValueError, match=f"got '{typed}', did you mean '{meant}'[?]"):
        challenge_sets.get_challenge_set(typed)
