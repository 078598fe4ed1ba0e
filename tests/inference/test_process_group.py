"""Tests of two processes started by `torchrun` that share a run, and of how they end."""

from pathlib import Path

import pytest

pytest.importorskip("accelerate", reason="needs unbag[models]")

from tests.fork_server import PYTHON

ROOT = Path(__file__).parents[2]
CHILD = "tests.inference.predict_child"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


def read_chunks(folder: Path) -> dict[str, bytes]:
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in folder.glob("*/part-*.parquet")}


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
