"""Tests of the GitHub Action: its steps run in bash with the inputs as environment variables, as on GitHub."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.factories import build_result, write_run
from unbag import scripts

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
