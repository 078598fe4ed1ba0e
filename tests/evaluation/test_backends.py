"""Tests that invalid engine options are rejected before loading, in Python and on the command line."""

import pytest

import unbag
from tests.cli.test_options import run_unbag as command

REFUSED = [
    ({"engine": "spark"}, "--engine: expected 'ray' or no value, got 'spark'"),
    ({"num_gpus": 0.5}, "--num-gpus: expected --engine ray, got no engine"),
    (
        {"engine": "ray", "shard": "0/2"},
        "--engine: cannot be combined with --shard, because both options distribute the run",
    ),
]


@pytest.mark.parametrize(("options", "why"), REFUSED, ids=["unknown", "without", "shards"])
def test_unsuitable_engine_is_rejected(options, why):
    with pytest.raises(ValueError, match=why):
        unbag.evaluate("majority", "plain", **options)


def test_ray_rejects_processes_of_a_launcher(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="--engine ray: expected a single process, got a launcher"):
        unbag.evaluate("majority", "plain", engine="ray")


def test_command_rejects_options_of_other_engine(tmp_path):
    done = command("evaluate", "majority", "--num-gpus", "0.5", "--output-dir", str(tmp_path))
    assert done.exit_code == 2
    assert "--num-gpus: expected --engine ray" in " ".join(done.stderr.split())
