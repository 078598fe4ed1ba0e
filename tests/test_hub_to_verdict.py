"""From a Hub id to a verdict over HTTP: the command as a user gives it, killed and given again."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from unbag import results

COMMAND = [
    *(sys.executable, "-m", "unbag", "evaluate", "nli-fixtures/minilm-l6-snli", "--sets", "permuted"),
    *("--corpus", "snli", "--examples", "60", "-o", "q=99"),  # 6,000 rows: two parts of the store
]


@pytest.fixture(scope="module")
def environment(shared_hub, tmp_path_factory):
    return shared_hub.env(tmp_path_factory.mktemp("verdict_home"))


@pytest.fixture(scope="module")
def unbroken(environment, tmp_path_factory):
    """Give the folder of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("unbroken")
    subprocess.run([*COMMAND, "--out", folder], env=environment, check=True, capture_output=True)
    return folder


def test_the_verdict_of_the_fixture(unbroken):
    [result] = results.read(unbroken / "results.json")
    assert result.data["left_out"] == {"unlabelled": 158, "too short to permute": 6145, "not drawn": 3637}
    assert result.model["outputs"] == "contradiction,entailment,neutral"
    assert len(result.model["revision"]) == 40
    # On all 3,697 examples: A .785, P^c .90. Sixty examples are within four standard errors of that.
    assert result.scores["accuracy"].value == pytest.approx(0.785, abs=0.21)
    assert result.scores["p_c"].value == pytest.approx(0.90, abs=0.13)


def test_a_killed_run_goes_on_and_leaves_the_same_results(environment, unbroken, tmp_path):
    """`kill -9` at three random moments while predicting, then the same command."""
    rng = np.random.default_rng(17)
    killed = 0
    for moment in rng.uniform(0.5, 8, size=3):
        process = subprocess.Popen([*COMMAND, "--out", tmp_path], env=environment, stderr=subprocess.DEVNULL)
        while process.poll() is None and not list(tmp_path.glob("predictions/*/manifest.json")):
            time.sleep(0.05)  # until it predicts
        time.sleep(moment)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed, "no run was killed, so this test would show nothing"
    assert not (tmp_path / "results.json").exists()
    subprocess.run([*COMMAND, "--out", tmp_path], env=environment, check=True, capture_output=True)
    assert (tmp_path / "results.json").read_bytes() == (unbroken / "results.json").read_bytes()


def test_nothing_goes_elsewhere_and_no_token_is_in_a_url(unbroken, shared_hub):
    requests = shared_hub.requests()
    assert requests
    assert not [request for request in requests if request.is_for_elsewhere or request.token_in_url]


def test_a_missing_model_is_one_line(environment, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "unbag", "evaluate", "nobody/no-such-model", "--out", tmp_path / "out"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "nobody/no-such-model" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
