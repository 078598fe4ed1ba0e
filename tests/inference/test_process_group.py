"""Two processes, started as a user starts them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("accelerate", reason="needs unbag[models]")

ROOT = Path(__file__).parents[2]
CHILD = "tests.inference.predict_child"
LAUNCHER = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def torchrun(folder: Path, *options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAUNCHER, "-m", CHILD, str(folder), *map(str, options)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def parts(folder: Path) -> dict[str, bytes]:
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in folder.glob("*/part-*.parquet")}


def test_two_processes_share_the_work_and_give_what_one_gives(tiny_bert, tmp_path):
    options = ("--rows", 230, "--model", tiny_bert)
    alone = [sys.executable, "-m", CHILD, str(tmp_path / "one"), *map(str, options)]
    subprocess.run(alone, cwd=ROOT, env=ENVIRONMENT, check=True)
    two = torchrun(tmp_path / "two", *options)
    assert two.returncode == 0, two.stderr
    assert len(parts(tmp_path / "one")) == 5
    assert parts(tmp_path / "two") == parts(tmp_path / "one")


def test_a_failing_process_ends_the_others(tmp_path):
    begun = time.monotonic()
    failed = torchrun(tmp_path, "--fail-on-rank", 1, "--calls", tmp_path / "calls")
    assert failed.returncode != 0
    assert "out of luck" in failed.stderr
    assert time.monotonic() - begun < 60
    assert len((tmp_path / "calls").read_text().splitlines()) == 5  # rank 0 did its four chunks, rank 1 failed at once
    assert len(parts(tmp_path)) == 4  # which are kept


LEAVES = '''
import atexit, os, time
import torch, typer
from unbag import cli
from unbag.inference.process_group import process_group

app = typer.Typer()

@app.command()
def tell(folder: str) -> None:
    """Leave at once, but for the first, which has still to tell something and then fails."""
    atexit.register(lambda: open(f"{folder}/{rank}", "w").write(f"{said}{torch.distributed.is_initialized()}"))
    said, rank = "", process_group().rank
    if rank == 0:
        time.sleep(3)
        said = "told, "
        raise typer.Exit(1)

raise SystemExit(cli.run(app))
'''


def test_processes_leave_together_and_disconnected(tmp_path):
    script = tmp_path / "leaves.py"
    script.write_text(LEAVES)
    left = subprocess.run([*LAUNCHER, str(script), str(tmp_path)], env=ENVIRONMENT, capture_output=True, text=True)
    assert left.returncode == 1, left.stderr
    assert (tmp_path / "0").read_text() == "told, False"
    assert (tmp_path / "1").read_text() == "False"
    assert (tmp_path / "1").stat().st_mtime >= (tmp_path / "0").stat().st_mtime - 1, "the second did not wait"
