"""The cross-domain table on the real corpora: `unbag evaluate --cross` over HTTP."""

import pytest

from tests.fork_server import PYTHON
from unbag import results


@pytest.mark.nightly
def test_models_meet_corpora(shared_hub, tmp_path):
    home = tmp_path / "home"
    environment = shared_hub.env(home) | {"XDG_CACHE_HOME": str(home / "cache")}
    command = ["-m", "unbag", "evaluate", "nli-fixtures/minilm-l6-snli", "majority", "--cross"]
    options = ["--corpus", "snli-test,sick", "--training", "snli", "--examples", "150", "--out", tmp_path / "out"]
    done = PYTHON.run(*command, *options, env=environment)
    assert done.returncode == 0, done.stderr
    assert "A constant answer at best" in done.stdout
    found = {
        (r.model["name"], r.data["name"]): r.scores["accuracy"] for r in results.read(tmp_path / "out" / "results.json")
    }
    assert len(found) == 4
    # .81 on all of SNLI test, .59 on all of SICK test: 150 examples are within four standard errors of that.
    assert found["nli-fixtures/minilm-l6-snli", "snli"].value == pytest.approx(0.81, abs=0.13)
    assert found["nli-fixtures/minilm-l6-snli", "sick"].value < found["nli-fixtures/minilm-l6-snli", "snli"].value
    assert found["majority", "snli"].n == 150
