"""Tests of two processes that use the same path."""

import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fork_server import PYTHON, wait_until
from tests.robustness.conftest import write_pairs
from unbag.utils import locks

_HOLD = """
import sys, time
from pathlib import Path
from unbag.utils import locks
with locks.hold_lock(Path(sys.argv[1]), "training"):
    print("held", flush=True)
    {more}
    time.sleep(float(sys.argv[2]))
"""


def holding(path, seconds=60, more="pass"):
    """Return a process that holds the lock of a path."""
    process = PYTHON.start("-c", _HOLD.format(more=more), path, seconds)
    wait_until(lambda: "training since" in locks.describe_lock_holder(path), process)
    return process


def test_second_process_error_names_holder(tmp_path):
    holder = holding(tmp_path / "out")
    told = (
        rf"out: expected no other process that writes to this path, got process {holder.pid} "
        rf"on {socket.gethostname()} \(training since 20.*wait"
    )
    with pytest.raises(locks.LockedError, match=told), locks.hold_lock(tmp_path / "out", "training"):
        pass
    holder.kill()


@pytest.mark.parametrize("more", ["pass", "import os; os.fork() or time.sleep(3)"], ids=["alone", "with a child"])
def test_lock_of_killed_process_is_released(tmp_path, more):
    holder = holding(tmp_path / "out", more=more)
    holder.kill()
    holder.wait()
    assert locks.get_lock_file(tmp_path / "out").exists()
    with locks.hold_lock(tmp_path / "out", "training"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_waiting_process_continues_after_release(tmp_path, caplog):
    holder = holding(tmp_path / "out", seconds=0.3)
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


@pytest.fixture
def env(tmp_path):
    """Return an environment with separate caches in which commands work without the Hub."""
    changed = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    return {**{name: value for name, value in os.environ.items() if name != "UNBAG_CACHE"}, **changed}


def both(env, cwd, *command):
    """Run a command twice at the same time. Return the outputs; both processes must succeed."""
    processes = [PYTHON.start("-m", "unbag", *command, env=env, cwd=cwd) for _ in range(2)]
    for process in processes:
        assert process.wait() == 0, process.communicate()
    return "".join(process.communicate()[1] for process in processes)


@pytest.mark.nightly
@pytest.mark.slow
def test_two_evaluations_in_one_folder_give_result_of_one(tmp_path, env):
    write_pairs(tmp_path / "pairs.csv", 40)
    ask = ("evaluate", "majority", "--train-data", "pairs.csv", "--data", "pairs.csv", "--sets", "plain,swapped")
    PYTHON.run(
        "-m", "unbag", *ask, "--output-dir", "one", env=env | {"XDG_CACHE_HOME": "other"}, cwd=tmp_path, check=True
    )
    both(env, tmp_path, *ask, "--output-dir", "two")
    one, two = (
        {str(path.relative_to(tmp_path / name)): path for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("one", "two")
    )
    assert one.keys() == two.keys()
    for name, path in one.items():
        if name not in ("run.yaml",) and not name.endswith("manifest.json"):  # these contain paths and times
            assert path.read_bytes() == two[name].read_bytes(), name
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
