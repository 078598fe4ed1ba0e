"""Ctrl-C, SIGTERM and full disks: a line, an exit code that tells, and nothing left half written."""

import os
import resource
import signal
import time

import pytest
import typer

from tests.robustness.command import ask, files_below
from unbag.cli import app as running
from unbag.cli.app import run


def stopped_by(number):
    """Return a command line whose commands are stopped by a signal."""
    app = typer.Typer()

    def work():
        os.kill(os.getpid(), number)
        signal.pause()

    for name in ("evaluate", "build"):
        app.command(name)(work)
    return app


@pytest.mark.parametrize(
    ("number", "code", "how"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_is_told_and_who_goes_on_says_so(capsys, number, code, how):
    before = signal.getsignal(signal.SIGTERM)
    assert run(stopped_by(number), ["evaluate"]) == code
    assert capsys.readouterr().err == f"unbag: {how}; rerun the same command to resume\n"
    assert run(stopped_by(number), ["build"]) == code
    assert capsys.readouterr().err == f"unbag: {how}\n"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    "command",
    [
        ("build", "swapped", "--data", "pairs.csv", "--output", "out/swapped.parquet"),
        (
            "evaluate",
            "majority",
            "--train-data",
            "pairs.csv",
            "--data",
            "pairs.csv",
            "--sets",
            "plain",
            "--output-dir",
            "out",
        ),
        ("lexical", "fit", "--train-data", "pairs.csv", "--pipeline", "all", "--l2", "1", "--output-dir", "out"),
    ],
    ids=lambda command: command[0],
)
def test_a_full_disk_is_one_line_and_the_next_run_succeeds(elsewhere, capsys, tmp_path, monkeypatch, command):
    import datasets

    from tests.robustness.conftest import write_pairs

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    write_pairs(tmp_path / "here" / "pairs.csv", 400)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        code, _, said = ask(capsys, *command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 1
    lines = [line for line in said.splitlines() if line.startswith("unbag: ")]
    assert len(lines) == 1
    assert "no space left on a disk" in lines[0]
    assert "free disk space" in lines[0]
    assert not [name for name in files_below(tmp_path / "here") if name.endswith((".parquet", ".part", "results.json"))]
    code, _, said = ask(capsys, *command)
    assert code == 0, said


@pytest.mark.nightly
def test_a_worker_that_was_only_just_started_ends_when_it_is_told_to():
    """A pool's last worker, forked while the others did all the work, made its command wait for ever."""
    with running._sigterm_as_interrupt() as received:
        for _ in range(100):
            worker = os.fork()
            if worker == 0:
                signal.pause()
                os._exit(0)
            os.kill(worker, signal.SIGTERM)  # mostly before it runs at all
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
