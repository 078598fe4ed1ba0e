"""Tests of runs killed with SIGKILL, which cannot be handled."""

import random
import time
from pathlib import Path

import pytest

from tests.fork_server import PYTHON, Forked, wait_until
from tests.inference.predict_child import CHUNK_ROWS
from unbag.inference.prediction_store import StoredPredictions

ROOT = Path(__file__).parents[2]
PARTS = 8


def start_prediction(folder: Path, *options: object) -> Forked:
    return PYTHON.start("-m", "tests.inference.predict_child", folder, *options, cwd=ROOT)


@pytest.fixture(scope="module")
def uninterrupted_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the chunk files of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("unbroken")
    assert start_prediction(folder).wait() == 0
    parts = {path.name: path.read_bytes() for path in folder.glob("*/part-*.parquet")}
    assert len(parts) == PARTS
    return parts


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (0, 2))])
def test_killed_run_resumes_to_same_files(tmp_path, uninterrupted_run, seed):
    draw = random.Random(seed)
    # number of chunks to wait for, and further seconds
    wanted, moment = draw.randint(1 + 2 * seed, 2 + 2 * seed), draw.uniform(0, 0.2)
    killed = start_prediction(tmp_path, "--seconds", 0.2)
    wait_until(lambda: len(list(tmp_path.glob("*/part-*.parquet"))) >= wanted, killed)
    time.sleep(moment)
    killed.kill()
    assert killed.wait() < 0
    there = len(list(tmp_path.glob("*/part-*.parquet")))
    assert wanted <= there < PARTS

    calls = tmp_path / "calls"
    assert start_prediction(tmp_path, "--calls", calls).wait() == 0
    assert calls.read_text().splitlines() == [str(CHUNK_ROWS)] * (PARTS - there)  # only the missing chunks
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert {path.name: path.read_bytes() for path in folder.glob("part-*.parquet")} == uninterrupted_run
    assert len(StoredPredictions.from_folder(folder).table) == PARTS * CHUNK_ROWS


@pytest.mark.nightly
def test_killed_shard_is_replaced_with_same_files(tmp_path, uninterrupted_run):
    calls, folder = tmp_path / "calls", tmp_path / "store"
    options = ("--calls", calls, "--seconds", 0.3, "--shard")
    shards = [start_prediction(folder, *options, f"{index}/3") for index in range(3)]
    wait_until(lambda: len(list(folder.glob("*/part-*.parquet"))) >= 3, *shards)
    shards[1].kill()
    assert shards[1].wait() < 0
    again = start_prediction(folder, *options, "1/3")
    for shard in (shards[0], shards[2], again):
        assert shard.wait() == 0, shard.communicate()
    [store] = folder.iterdir()
    assert {path.name: path.read_bytes() for path in store.glob("part-*.parquet")} == uninterrupted_run
    assert PARTS <= len(calls.read_text().splitlines()) <= PARTS + 1, "only the chunk of the killed one is asked twice"
