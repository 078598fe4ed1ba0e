"""Tests of the GitHub Action, whose steps run in bash with the inputs as environment variables, and of jobs of the Hub.

A job is detected, and must store its output outside of the job.
"""

import re
import subprocess
import sys
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
import yaml

from tests.factories import build_result, write_run
from unbag import cli, scripts
from unbag.cli import evaluate, push, train
from unbag.cli.app import run
from unbag.evaluation.outcome import EvaluationOutcome
from unbag.training.recipes import load_recipes
from unbag.utils.hf_jobs import validate_persistent_output

ROOT = Path(scripts.ROOT)
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]


def run_check_step(folder, **inputs):
    """Run the check step with the given inputs. Return the finished process and the job summary."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    python = bin_folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    defaults = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
    given = defaults | {name.replace("_", "-"): value for name, value in inputs.items()}
    environment = {name: given[_parse_input_name(text)] for name, text in CHECK["env"].items()}
    summary = folder / "summary.md"
    summary.write_text("")
    found = {
        "PATH": f"{bin_folder}:/usr/bin:/bin",
        "GITHUB_STEP_SUMMARY": str(summary),
        "PYTHONPATH": str(ROOT / "src"),
    }
    # The command that GitHub uses for `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", CHECK["run"]]
    done = subprocess.run(command, cwd=folder, env=environment | found, capture_output=True, text=True)
    return done, summary.read_text()


def _parse_input_name(text):
    return re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)[1]


def test_action_check_step_exits_with_gate_result(tmp_path):
    """Inputs with shell syntax are not executed."""
    swapped = build_result(proportion_correct=0.8, set_name="swapped")
    folder = write_run(tmp_path / 'run"; touch taken; "$(touch taken)', build_result(proportion_correct=0.8), swapped)
    bounds = "plain:accuracy=.5\n\n  swapped:score=.2  \n"
    done, summary = run_check_step(tmp_path, model=str(folder), min=bounds, badge="badge.svg")
    assert done.returncode == 0, done.stderr
    assert summary.count("| passes |") == 2
    assert "Passed: all 2 gates." in done.stdout
    assert "shown on 1 of 1 set" in (tmp_path / "badge.svg").read_text()
    done, summary = run_check_step(tmp_path, model=str(folder), min="plain:accuracy=.9,plain:score=.2")
    assert done.returncode == 1
    assert "| fails |" in summary
    assert "Failed: 1 of 2 gates." in summary
    assert not (tmp_path / "taken").exists()


def test_action_steps_use_exactly_the_declared_inputs():
    texts = [text for each in (INSTALL, CHECK) for text in each["env"].values() if "inputs." in text]
    assert {_parse_input_name(text) for text in texts} == set(ACTION["inputs"])
    assert all("${{" not in each["run"] for each in (INSTALL, CHECK)), "an input in a script is a command"
    assert all(each["shell"] == "bash" for each in (INSTALL, CHECK))


@pytest.mark.parametrize(("extras", "expected"), [("models,zh", "/here[models,zh]"), ("", "/here")])
def test_action_install_step_passes_extras_to_pip(tmp_path, extras, expected):
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "python").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "EXTRAS": extras, "HERE": "/here"}
    done = subprocess.run(["bash", "-c", INSTALL["run"]], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == expected


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
def test_recipe_in_job_checks_repositories_before_training_and_pushes_after_it(in_job, tmp_path, monkeypatch, name):
    done = []

    def record(to, *, offline, option="--push-results"):
        done.append((option, to))

    monkeypatch.setattr(push, "validate_push", record)
    monkeypatch.setattr(train, "_run", lambda *_, **__: done.append("training") or [])
    monkeypatch.setattr(push, "push_model", lambda folder, repo_id, *, as_json: done.append((folder, repo_id)))
    repositories = {"--push-results": "org/name", "--push-checkpoints": "org/checkpoints"}
    arguments = ["--model", "org/model", "--output-dir", str(tmp_path / "run"), *chain(*repositories.items())]
    assert run(train.app, [name, *arguments]) == 0
    assert done == [*repositories.items(), "training", (tmp_path / "run", "org/name")]


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
