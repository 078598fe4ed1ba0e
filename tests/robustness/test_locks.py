"""Tests of two processes that use the same path. Training has its own test in `tests/training/test_interrupted.py`."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fork_server import PYTHON, wait_until
from tests.robustness.conftest import write_pairs
from unbag.utils import locks

_HOLD = """
import os, sys, time
from pathlib import Path
from unbag.utils import locks
with locks.hold_lock(Path(sys.argv[1]), "training"):
    if sys.argv[3] == "with a child":
        os.fork() or time.sleep(3)
    time.sleep(float(sys.argv[2]))
"""


def start_holder(path, seconds, kind="alone"):
    """Start a process that holds the lock of a path."""
    process = PYTHON.start("-c", _HOLD, path, seconds, kind)
    wait_until(lambda: "training since" in locks.describe_lock_holder(path), process)
    return process


@pytest.mark.parametrize("kind", ["alone", "with a child"])
def test_lock_of_killed_process_is_released(tmp_path, kind):
    holder = start_holder(tmp_path / "out", 60, kind)
    holder.kill()
    holder.wait()
    assert locks.get_lock_file(tmp_path / "out").exists()
    with locks.hold_lock(tmp_path / "out", "training"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_waiting_process_continues_after_release(tmp_path, caplog):
    holder = start_holder(tmp_path / "out", 0.3)
    with locks.hold_lock(tmp_path / "out", "fitting", wait=True):
        assert f"process {os.getpid()} " in locks.describe_lock_holder(tmp_path / "out")
    assert f"waiting for process {holder.pid} on " in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_lock_is_reentrant_and_created_folders_are_removed(tmp_path):
    with locks.hold_lock(tmp_path / "a/b/out", "training"):
        with locks.hold_lock(tmp_path / "a/b/../b/out", "training"):
            pass
        assert locks.get_lock_file(tmp_path / "a/b/out").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
@pytest.mark.slow
def test_two_evaluations_in_one_folder_give_result_of_one(tmp_path):
    write_pairs(tmp_path / "pairs.csv", 40)
    command = "evaluate majority --train-data pairs.csv --data pairs.csv --sets plain,swapped --output-dir".split()
    outputs = {}
    for name, n in (("one", 1), ("two", 2)):
        caches = {"XDG_CACHE_HOME": str(tmp_path / f"cache {name}"), "UNBAG_CACHE": "", "HF_HOME": str(tmp_path / "hf")}
        env = os.environ | caches | {"HF_HUB_OFFLINE": "1"}
        processes = [PYTHON.start("-m", "unbag", *command, name, env=env, cwd=tmp_path) for _ in range(n)]
        for process in processes:
            assert process.wait() == 0, process.communicate()
        outputs[name] = {
            str(path.relative_to(tmp_path / name)): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file() and path.name not in ("run.yaml", "manifest.json")  # these contain paths and times
        }
    assert outputs["one"]
    assert outputs["two"] == outputs["one"]
    assert not [path for path in tmp_path.rglob(".*") if path.name.endswith((".lock", ".part"))]


def test_concurrent_initialization_creates_model_once(isolated_cache, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs unbag[models]")
    from unbag.training import initialization

    pairs, out = write_pairs(tmp_path / "pairs.csv", 5), tmp_path / "there" / "dan"
    of_words, both_read = initialization._of_words, threading.Barrier(2, timeout=60)

    def at_once(*args):
        parts = of_words(*args)
        both_read.wait()  # both have seen that the path is free
        return parts

    monkeypatch.setattr(initialization, "_of_words", at_once)
    with ThreadPoolExecutor(2) as threads:
        made = [
            threads.submit(initialization.initialize_model, "dan", [str(pairs)], out, dimensions=4) for _ in range(2)
        ]
    [refusal] = filter(None, (each.exception() for each in made))
    assert "expected a new folder" in str(refusal)
    [record] = [each.result() for each in made if each.exception() is None]
    assert json.loads((out / initialization.FILE).read_text()) == record
    assert list(out.parent.iterdir()) == [out]
