"""Tests of a run from Hub id to verdict over HTTP, with the command line, killed and repeated."""

import time

import numpy as np
import pytest

from tests.fork_server import PYTHON
from unbag.challenge_sets import results

pytestmark = pytest.mark.nightly

IN_SMALL_PARTS = """
from unbag.cli import main
from unbag.inference.runner import predict_rows
predict_rows.__kwdefaults__["chunk_rows"] = 256
main()
"""
COMMAND = [
    *("-c", IN_SMALL_PARTS, "evaluate", "nli-fixtures/minilm-l6-snli", "--sets", "permuted"),
    *("--corpus", "snli", "--max-examples", "60", "-o", "q=19"),  # 1,200 rows in five chunks
]


@pytest.fixture(scope="module")
def environment(shared_hub, tmp_path_factory):
    return shared_hub.env(tmp_path_factory.mktemp("verdict_home"))


@pytest.fixture(scope="module")
def unbroken(environment, tmp_path_factory):
    """Return the folder of an undisturbed run."""
    folder = tmp_path_factory.mktemp("unbroken")
    PYTHON.run(*COMMAND, "--output-dir", folder, env=environment, check=True)
    return folder


@pytest.mark.nightly
def test_fixture_model_has_known_scores(unbroken):
    [result] = results.read_results(unbroken / "results.json")
    assert result.data["excluded"] == {"unlabelled": 158, "too short to permute": 6145, "not drawn": 3637}
    assert result.model["label_order"] == "contradiction,entailment,neutral"
    assert len(result.model["revision"]) == 40
    # On all 3,697 examples, A is .785 and P^c .90. With sixty examples, the tolerance is four standard errors.
    assert result.scores["accuracy"].value == pytest.approx(0.785, abs=0.21)
    assert result.scores["p_c"].value == pytest.approx(0.90, abs=0.13)


@pytest.mark.nightly
def test_killed_run_resumes_to_same_results(environment, unbroken, tmp_path):
    """Run the command and kill it three times at random moments during prediction, then run it again."""
    rng = np.random.default_rng(17)
    assert len(list(unbroken.glob("predictions/*/part-*.parquet"))) == 5
    killed = 0
    for moment in rng.uniform(0.2, 2, size=3):
        process = PYTHON.start(*COMMAND, "--output-dir", tmp_path, env=environment)
        while process.poll() is None and not list(tmp_path.glob("predictions/*/manifest.json")):
            time.sleep(0.05)  # wait until it predicts
        time.sleep(moment)
        if process.poll() is None:
            process.kill()
            killed += 1
        process.wait()
    assert killed, "no run was killed, so this test would show nothing"
    assert not (tmp_path / "results.json").exists()
    PYTHON.run(*COMMAND, "--output-dir", tmp_path, env=environment, check=True)
    assert (tmp_path / "results.json").read_bytes() == (unbroken / "results.json").read_bytes()


def test_requests_stay_on_endpoint_without_token_in_url(unbroken, shared_hub):
    requests = shared_hub.requests()
    assert requests
    assert not [request for request in requests if request.is_for_external_host or request.token_in_url]


def test_missing_model_error_is_one_line(environment, tmp_path):
    done = PYTHON.run(
        "-m", "unbag", "evaluate", "nobody/no-such-model", "--output-dir", tmp_path / "out", env=environment
    )
    assert done.returncode == 1
    assert "nobody/no-such-model" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
