"""Tests of predictions in separate processes: killed with SIGKILL, in shards, and started by `torchrun`."""

import random
import time
from pathlib import Path

import pytest

pytest.importorskip("accelerate", reason="needs unbag[models]")

from tests.fork_server import PYTHON, wait_until
from tests.inference.predict_child import CHUNK_ROWS
from unbag.inference.prediction_store import StoredPredictions

ROOT = Path(__file__).parents[2]
CHILD = "tests.inference.predict_child"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
PARTS = 8


def start_prediction(folder, *options):
    return PYTHON.start("-m", CHILD, folder, *options, cwd=ROOT)


def read_chunks(folder):
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in folder.glob("*/part-*.parquet")}


@pytest.fixture(scope="module")
def uninterrupted_run(tmp_path_factory):
    """Return the chunk files of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("unbroken")
    assert start_prediction(folder).wait() == 0
    parts = read_chunks(folder)
    assert len(parts) == PARTS
    return parts


def test_killed_run_resumes_to_same_files(tmp_path, uninterrupted_run):
    killed = start_prediction(tmp_path, "--seconds", 0.2)
    wait_until(lambda: len(read_chunks(tmp_path)) >= 3, killed)
    time.sleep(random.uniform(0, 0.2))
    killed.kill()
    assert killed.wait() < 0
    there = len(read_chunks(tmp_path))
    assert 3 <= there < PARTS

    calls = tmp_path / "calls"
    assert start_prediction(tmp_path, "--calls", calls).wait() == 0
    assert calls.read_text().splitlines() == [str(CHUNK_ROWS)] * (PARTS - there)  # only the missing chunks
    assert read_chunks(tmp_path) == uninterrupted_run
    [folder] = (path for path in tmp_path.iterdir() if path.is_dir())
    assert len(StoredPredictions.from_folder(folder).table) == PARTS * CHUNK_ROWS


@pytest.mark.nightly
def test_killed_shard_is_replaced_with_same_files(tmp_path, uninterrupted_run):
    calls, folder = tmp_path / "calls", tmp_path / "store"
    options = ("--calls", calls, "--seconds", 0.3, "--shard")
    shards = [start_prediction(folder, *options, f"{index}/3") for index in range(3)]
    wait_until(lambda: len(read_chunks(folder)) >= 3, *shards)
    shards[1].kill()
    assert shards[1].wait() < 0
    again = start_prediction(folder, *options, "1/3")
    for shard in (shards[0], shards[2], again):
        assert shard.wait() == 0, shard.communicate()
    assert read_chunks(folder) == uninterrupted_run
    assert PARTS <= len(calls.read_text().splitlines()) <= PARTS + 1, "only the chunk of the killed one is asked twice"


def test_two_processes_give_result_of_one(tiny_bert, tmp_path):
    options = ("--rows", 230, "--model", tiny_bert)
    for number in (1, 2):
        for process in PYTHON.start_group(number, "-m", CHILD, tmp_path / str(number), *options, cwd=ROOT):
            assert process.wait() == 0, process.communicate()
    assert len(read_chunks(tmp_path / "1")) == 5
    assert read_chunks(tmp_path / "2") == read_chunks(tmp_path / "1")


@pytest.mark.nightly
def test_failing_process_ends_others(tmp_path):
    options = ("--fail-on-rank", 1, "--calls", tmp_path / "calls")
    failed = PYTHON.run(*TORCHRUN, "-m", CHILD, tmp_path, *options, cwd=ROOT)
    assert failed.returncode != 0
    assert "out of luck" in failed.stderr
    # rank 0 predicted its four chunks, rank 1 failed at its first
    assert len((tmp_path / "calls").read_text().splitlines()) == 5
    assert len(read_chunks(tmp_path)) == 4  # the finished chunks are stored


LEAVES = '''
import atexit, os, time
import torch, typer
from unbag import cli
from unbag.inference.distributed import connect_process_group

app = typer.Typer()

@app.command()
def tell(folder: str) -> None:
    """Leave at once, but for the first, which has still to tell something and then fails."""
    atexit.register(lambda: open(f"{folder}/{rank}", "w").write(f"{said}{torch.distributed.is_initialized()}"))
    said, rank = "", connect_process_group().rank
    if rank == 0:
        time.sleep(3)
        said = "told, "
        raise typer.Exit(1)

raise SystemExit(cli.run(app))
'''


@pytest.mark.nightly
def test_processes_exit_together_and_disconnected(tmp_path):
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES)
    left = PYTHON.run(*TORCHRUN, script, tmp_path)
    assert left.returncode == 1, left.stderr
    assert (tmp_path / "0").read_text() == "told, False"
    assert (tmp_path / "1").read_text() == "False"
    assert (tmp_path / "1").stat().st_mtime >= (tmp_path / "0").stat().st_mtime - 1, "the second did not wait"
