"""Tests of Ctrl-C, SIGTERM, full disks, and two processes that use the same path.

Commands print one line, exit with a distinct code, and leave no incomplete files. `tests/training/test_interrupted.py`
tests training.
"""

import functools
import json
import multiprocessing
import os
import resource
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client
from multiprocessing.resource_sharer import DupFd

import pytest
import typer

from tests.fork_server import PYTHON, wait_until
from tests.robustness.conftest import read_files_below, run_command, write_pairs
from unbag.cli.app import _sigterm_as_interrupt, run
from unbag.utils import locks

COMMANDS = [
    "build swapped --data pairs.csv --output out/swapped.parquet".split(),
    "evaluate majority --train-data pairs.csv --data pairs.csv --sets plain --output-dir out".split(),
    "lexical fit --train-data pairs.csv --pipeline all --l2 1 --output-dir out".split(),
]


@pytest.mark.parametrize(
    ("number", "code", "how"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_signal_is_reported_with_advice_to_resume(capsys, number, code, how):
    def stop():
        os.kill(os.getpid(), number)
        signal.pause()

    before = signal.getsignal(signal.SIGTERM)
    for name, advice in (("evaluate", "; rerun the same command to resume"), ("build", "")):
        app = typer.Typer()
        app.callback()(lambda: None)
        app.command(name)(stop)
        assert run(app, [name]) == code
        assert capsys.readouterr().err == f"unbag: {how}{advice}\n"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_full_disk_gives_one_line_and_next_run_succeeds(empty_working_dir, capsys, tmp_path, command):
    write_pairs(tmp_path / "here" / "pairs.csv", 400)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        code, _, said = run_command(capsys, *command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 1
    [line] = [line for line in said.splitlines() if line.startswith("unbag: ")]
    assert "no space left on a disk" in line
    assert "free disk space" in line
    written = read_files_below(tmp_path / "here")
    assert not [name for name in written if name.endswith((".parquet", ".part", "results.json"))]
    code, _, said = run_command(capsys, *command)
    assert code == 0, said


def read_outputs(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("run.yaml", "manifest.json")  # these contain paths and times
    }


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_interrupted_command_succeeds_when_repeated(tmp_path, command, number):
    """The outputs of a command that is interrupted at some time and repeated equal those of an uninterrupted run."""
    outputs, seconds = {}, 0.0
    for name in ("whole", "interrupted"):
        folder = tmp_path / name
        folder.mkdir()
        write_pairs(folder / "pairs.csv", 400)
        caches = {"XDG_CACHE_HOME": str(folder / "cache"), "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
        start = functools.partial(PYTHON.start, "-m", "unbag", *command, env=os.environ | caches, cwd=folder)
        begin = time.monotonic()
        if name == "interrupted":
            for share in (0.3, 0.6, 0.9):
                process = start()
                time.sleep(share * seconds)
                if process.poll() is None:
                    os.kill(process.pid, number)
                process.wait()
        process = start()
        assert process.wait() == 0, process.communicate()
        seconds = time.monotonic() - begin
        outputs[name] = read_outputs(folder / "out")
    assert outputs["whole"]
    assert outputs["interrupted"] == outputs["whole"]


def pass_files(pipe):
    pipe.send([DupFd(0), DupFd(0)])
    pipe.recv()


def test_worker_is_silent_if_command_stops_while_it_receives_a_tensor(capfd):
    """Tensors are passed as file descriptors, which a thread of the worker sends to those that connect to it."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    worker = context.Process(target=pass_files, args=[theirs])
    with _sigterm_as_interrupt():
        worker.start()
    first, second = ours.recv()
    Client(first._id[0]).close()  # as an interrupted process does before the worker has sent the file
    os.close(second.detach())  # the thread answers one connection after the other
    ours.send(None)
    worker.join()
    assert worker.exitcode == 0
    assert capfd.readouterr().err == ""


@pytest.mark.nightly
def test_new_worker_ends_on_sigterm():
    """A pool's last worker, forked while the others did all the work, once made its command wait forever."""
    with _sigterm_as_interrupt() as received:
        for _ in range(100):
            worker = os.fork()
            if worker == 0:
                signal.pause()
                os._exit(0)
            os.kill(worker, signal.SIGTERM)  # usually before the worker runs
            deadline = time.monotonic() + 60
            while (ended := os.waitpid(worker, os.WNOHANG))[0] == 0:
                if time.monotonic() > deadline:
                    os.kill(worker, signal.SIGKILL)
                    os.waitpid(worker, 0)
                    pytest.fail("still waiting")
                time.sleep(0.001)
            assert os.waitstatus_to_exitcode(ended[1]) == -signal.SIGTERM
        assert received == []
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, []), "still held back"


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
        outputs[name] = read_outputs(tmp_path / name)
    assert outputs["one"]
    assert outputs["two"] == outputs["one"]
    assert not [path for path in tmp_path.rglob(".*") if path.name.endswith((".lock", ".part"))]


def test_concurrent_initialization_creates_model_once(empty_caches, tmp_path, monkeypatch):
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
