"""Tests of jobs of the Hub: how they are detected, and that runs must store their output outside the job."""

from functools import partial

import pytest

from tests.factories import build_result
from unbag import cli
from unbag.cli import evaluate, push, train
from unbag.cli.app import run
from unbag.evaluation.outcome import EvaluationOutcome
from unbag.training.recipes import load_recipes
from unbag.utils.hf_jobs import validate_persistent_output

JOB = {"JOB_ID": "699d874f1aad19adb8aaeadc", "ACCELERATOR": "none", "CPU_CORES": "2", "MEMORY": "16Gi"}


@pytest.fixture
def in_job(monkeypatch):
    """Set the environment of a job without volumes."""
    for name, value in JOB.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("os.path.ismount", lambda path: str(path) == "/")


def test_output_outlives_job_with_push_address_or_volume(in_job, monkeypatch):
    monkeypatch.setattr("os.path.ismount", lambda path: str(path) in ("/", "/output"))
    validate = partial(validate_persistent_output, "--output-dir", push_option="--push-results")
    validate("runs/a", "org/name")
    for output in ("s3://bucket/run", "/output", "/output/runs/a"):
        validate(output, None)
    for output in ("runs/a", "/outputs/a"):
        with pytest.raises(
            ValueError, match="--output-dir: expected persistent output for the Hugging Face job 699d874f1aad19adb8aaea"
        ):
            validate(output, None)
    monkeypatch.delenv("MEMORY")  # not a job of the Hub
    validate("runs/a", None)


@pytest.mark.parametrize("name", load_recipes())
def test_every_recipe_in_job_requires_push(in_job, tmp_path, monkeypatch, capsys, name):
    monkeypatch.setattr(train, "_run", lambda *_, **__: pytest.fail("the training started"))
    arguments = [name.replace("_", "-"), "--model", "org/model", "--output-dir", str(tmp_path / "run")]
    assert run(train.app, arguments) == 1
    message = capsys.readouterr().err
    assert "expected persistent output for the Hugging Face job 699d874f1aad19adb8aaeadc" in message
    assert ("add --push-results ORG/NAME" in message) == (name not in ("kfold", "rearranged"))
    assert "hf jobs run -v hf://buckets/ORG/BUCKET:/output" in message


@pytest.mark.parametrize("name", ["finetune", "mend"])
def test_recipe_in_job_pushes_after_training(in_job, tmp_path, monkeypatch, name):
    done = []
    monkeypatch.setattr(push, "validate_push", lambda repo_id, *, offline: done.append(repo_id))
    monkeypatch.setattr(train, "_run", lambda *_, **__: done.append("training") or [])
    monkeypatch.setattr(push, "push_model", lambda folder, repo_id, *, as_json: done.append((folder, repo_id)))
    arguments = ["--model", "org/model", "--output-dir", str(tmp_path / "run"), "--push-results", "org/name"]
    assert run(train.app, [name, *arguments]) == 0
    assert done == ["org/name", "training", (tmp_path / "run", "org/name")]


def test_evaluation_in_job_requires_push(in_job, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(push, "validate_push_target", lambda *_, **__: None)
    started = []

    def run_models(models, requests, options, folder, **_):
        started.append(folder.location)
        return EvaluationOutcome([build_result("org/model")], [])

    monkeypatch.setattr(evaluate, "run_models", run_models)
    monkeypatch.setattr(evaluate, "show_results", lambda *_, **__: None)
    monkeypatch.setattr(push, "push_results", lambda *_, **__: None)
    arguments = ["evaluate", "org/model", "--sets", "swapped"]
    assert run(cli.app, arguments) == 1
    assert "--push-results ORG/NAME" in capsys.readouterr().err
    assert not started
    assert run(cli.app, [*arguments, "--output-dir", str(tmp_path / "run"), "--push-results", "org"]) == 0
    assert started == [str(tmp_path / "run")]
