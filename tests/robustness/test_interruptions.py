"""Tests of Ctrl-C, SIGTERM and full disks: one line, a distinct exit code, and no incomplete files."""

import functools
import multiprocessing
import os
import resource
import signal
import time
from multiprocessing.connection import Client
from multiprocessing.resource_sharer import DupFd

import pytest
import typer

from tests.fork_server import PYTHON
from tests.robustness.conftest import read_files_below, run_command, write_pairs
from unbag.cli.app import _sigterm_as_interrupt, run

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
def test_full_disk_gives_one_line_and_next_run_succeeds(empty_working_dir, capsys, tmp_path, monkeypatch, command):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
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
        outputs[name] = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in (folder / "out").rglob("*")
            if path.is_file() and path.name not in ("run.yaml", "manifest.json")  # these contain paths and times
        }
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
