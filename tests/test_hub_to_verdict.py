"""Tests of a run from Hub id to verdict over HTTP, with the command line."""

import pytest

from tests.fork_server import PYTHON
from unbag.challenge_sets import results

pytestmark = pytest.mark.nightly

COMMAND = [
    *("-m", "unbag", "evaluate", "nli-fixtures/minilm-l6-snli", "--sets", "permuted"),
    *("--corpus", "snli", "--max-examples", "60", "-o", "q=19"),
]


@pytest.fixture(scope="module")
def environment(shared_hub, tmp_path_factory):
    return shared_hub.env(tmp_path_factory.mktemp("verdict_home"))


@pytest.fixture(scope="module")
def finished_run(environment, tmp_path_factory):
    """Return the folder of the run."""
    folder = tmp_path_factory.mktemp("finished_run")
    PYTHON.run(*COMMAND, "--output-dir", folder, env=environment, check=True)
    return folder


def test_fixture_model_has_known_scores(finished_run):
    [result] = results.read_results(finished_run / "results.json")
    assert result.data["excluded"] == {"unlabelled": 158, "too short to permute": 6145, "not drawn": 3637}
    assert result.model["label_order"] == "contradiction,entailment,neutral"
    assert len(result.model["revision"]) == 40
    # On all 3,697 examples, A is .785 and P^c .90. With sixty examples, the tolerance is four standard errors.
    assert result.scores["accuracy"].value == pytest.approx(0.785, abs=0.21)
    assert result.scores["p_c"].value == pytest.approx(0.90, abs=0.13)


def test_requests_stay_on_endpoint_without_token_in_url(finished_run, shared_hub):
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
