"""A cell of the table: run a command with a fault, check the result, and run it again without the fault."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.fake_hub.faults import Fault
from tests.robustness.damage import flip_bit, truncate
from tests.robustness.fault_injection.command_runner import CommandRunner, wait_for_exit
from tests.robustness.fault_injection.commands import OUT, WHERE, Command
from tests.robustness.malformed_inputs.verdicts import is_clear, last_line

Found = dict[str, bytes]
_ALWAYS = 1_000_000
_TIMED = "hardware.json"  # contains the duration of a training, which differs between runs


@dataclass(frozen=True)
class Cell:
    """The result of a command with a fault.

    Attributes:
        command: the row.
        fault: the column.
        verdict: ok, or the kind of failure: traceback, hang, unclear, partial,
            differs (a different result), missed (the fault did not occur), or – if the cell does not apply.
        said: the last line of the error output.
    """

    command: str
    fault: str
    verdict: str
    said: str = ""


class FailedCell(Exception):
    """A failed cell: the verdict and the line that shows the failure."""


class UndisturbedRun:
    """The output and caches of a command without faults."""

    def __init__(
        self, runner: CommandRunner, command: Command, arguments: tuple[str, ...], repo: str, tmp: Path
    ) -> None:
        """Run the command twice. Files that differ between the two runs are excluded from comparisons."""
        self.command, self._asked = command, arguments
        runner.reset()
        begun = time.monotonic()
        code, err = runner.run(self.get_arguments(repo))
        assert code == 0, (arguments, err)
        first = read_output(runner, command, repo)
        self.seconds = time.monotonic() - begun
        shutil.copytree(runner.home, tmp)
        self.home = tmp
        runner.reset(tmp)
        begun = time.monotonic()
        code, err = runner.run(self.get_arguments(f"{repo}-again"))
        self.seconds = min(self.seconds, time.monotonic() - begun)  # the first run may import modules for both
        assert code == 0, (arguments, err)
        second = read_output(runner, command, f"{repo}-again")
        self.left = {name: content for name, content in first.items() if second.get(name) == content}
        self.changing = sorted((first.keys() | second.keys()) - self.left.keys())

    def get_arguments(self, repo: str) -> tuple[str, ...]:
        """Return the arguments of the command for a repository."""
        return _insert_repo(self._asked, repo)


def _insert_repo(arguments: tuple[str, ...], repo: str) -> tuple[str, ...]:
    return tuple(repo if part == "REPO" else part for part in arguments)


def read_output(runner: CommandRunner, command: Command, repo: str) -> Found:
    """Return the output of a command: its files by path, or the content of its repository."""
    if command.publishes:
        return runner.read_repo(command.publishes, repo)
    there = runner.place / OUT
    kept = [path for path in there.rglob("*") if path.is_file() and "predictions" not in path.parts]
    kept = [path for path in kept if path.name != _TIMED]
    return {str(path.relative_to(there)): path.read_bytes() for path in kept}


def _require_line(code: int | None, err: str, codes: tuple[int, ...]) -> None:
    """Require one of the exit codes, and one clear error line if the command failed."""
    if code is None:
        raise FailedCell("hang", last_line(err))
    if "Traceback (most recent call last)" in err:
        raise FailedCell("traceback", last_line(err))
    if code not in codes:
        raise FailedCell(f"exit {code}", last_line(err))
    if code in (1, 2) and not is_clear(code, err):
        raise FailedCell("unclear", last_line(err))


def _require_whole(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str) -> None:
    """Require that the output is complete and equal to that of an undisturbed run, or absent."""
    now = {
        name: content
        for name, content in read_output(runner, undisturbed.command, repo).items()
        if not name.startswith(("out.unfinished/", ".")) and not Path(name).name.startswith(".") and not _is_lock(name)
    }
    for name, content in now.items():
        if name in undisturbed.left and undisturbed.left[name] != content:
            raise FailedCell("partial", f"{name} is there and is not what it must be")
    expected = undisturbed.left.keys()
    if now and (undisturbed.command.whole or undisturbed.command.publishes) and not expected <= now.keys():
        raise FailedCell("partial", f"{sorted(expected - now.keys())} are missing beside {sorted(now)[:3]}")


def _is_lock(name: str) -> bool:
    return name.endswith((".lock", "/lock"))


def rerun(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str) -> None:
    """Run the command without a fault, and require the output of an undisturbed run."""
    before = read_output(runner, undisturbed.command, repo)
    is_done = bool(before) and all(before.get(name) == content for name, content in undisturbed.left.items())
    code, err = runner.run(undisturbed.get_arguments(repo))
    _require_line(code, err, (0, 1) if is_done else (0,))  # a complete output need not be overwritten
    now = read_output(runner, undisturbed.command, repo)
    for name, content in undisturbed.left.items():
        if now.get(name) != content:
            raise FailedCell("differs", f"{name} is {'another' if name in now else 'missing'}")
    left_over = [name for name in now if name not in undisturbed.left and name not in undisturbed.changing]
    if litter := [name for name in left_over if not _is_lock(name)]:
        raise FailedCell("litter", f"{litter[:3]} is left over")


def send_signal(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str, number: int, rng: random.Random) -> str:
    """Send a signal at a random time. Return the error output."""
    # After the end of the command, Ctrl-C during the shutdown is handled by Python.
    codes = {signal.SIGKILL: (-9,), signal.SIGTERM: (-15, 143), signal.SIGINT: (-2, 130)}[signal.Signals(number)]
    share = 0.9
    for _ in range(8):
        runner.reset()
        process = runner.start(undisturbed.get_arguments(repo))
        time.sleep(undisturbed.seconds * rng.uniform(0.15, share))
        share /= 2
        if process.poll() is None:
            os.kill(process.pid, number)
        code, err = wait_for_exit(process)
        if code != 0:
            _require_line(code, err, codes)
            _require_whole(runner, undisturbed, repo)
            if (
                code == -signal.SIGINT
                and undisturbed.left.keys() - read_output(runner, undisturbed.command, repo).keys()
            ):
                raise FailedCell("unclear", "interrupted without a word")
            rerun(runner, undisturbed, repo)
            return last_line(err)
    raise FailedCell("missed", "it was always faster")


def fill_disk(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str, of: str) -> str:
    """Fill the disk of the output or of the caches, a tiny file system, and enlarge it afterwards."""
    runner.reset()
    folder = runner.place / OUT if of == "out" else runner.home
    mounted = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(folder)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        raise FailedCell("–", "no file system can be mounted here")
    try:
        code, err = runner.run(undisturbed.get_arguments(repo))
        _require_line(code, err, (0, 1))
        if code == 0 and of == "out" and undisturbed.left and not undisturbed.command.publishes:
            _require_whole(runner, undisturbed, repo)
        subprocess.run(["mount", "-o", "remount,size=300m", str(folder)], check=True)
        _require_whole(runner, undisturbed, repo)
        rerun(runner, undisturbed, repo)
        return last_line(err) if code else ""
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remove_write_permission(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str, of: str) -> str:
    """Remove the write permission from the folder of the output or of the caches."""
    runner.reset()
    folder = runner.place / OUT if of == "out" else runner.home
    folder.chmod(0o555)
    try:
        code, err = runner.run(undisturbed.get_arguments(repo), "impatient,no_root")
    finally:
        folder.chmod(0o755)
    _require_line(code, err, (0, 1, 2))
    _require_whole(runner, undisturbed, repo)
    rerun(runner, undisturbed, repo)
    return last_line(err) if code else ""


def run_twice(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str) -> str:
    """Run the command twice at the same time. Each process must succeed or fail with one line."""
    runner.reset()
    started = [runner.start(undisturbed.get_arguments(repo)) for _ in range(2)]
    said = []
    for process in started:
        code, err = wait_for_exit(process)
        _require_line(code, err, (0, 1))
        said += [last_line(err)] if code else []
    if len(said) == 2:
        raise FailedCell("both fail", " / ".join(said))
    _require_whole(runner, undisturbed, repo)
    rerun(runner, undisturbed, repo)
    return " / ".join(said)


def set_clock_back(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str) -> str:
    """Set the clock back between two runs with the same caches."""
    runner.reset(undisturbed.home)
    code, err = runner.run(undisturbed.get_arguments(repo), "impatient,clock")
    _require_line(code, err, (0,))
    rerun(runner, undisturbed, repo)
    return ""


def inject_hub_fault(
    runner: CommandRunner, undisturbed: UndisturbedRun, repo: str, fault: Fault, codes: tuple[int, ...]
) -> str:
    """Inject a fault of the Hub, permanently or once."""
    runner.reset()
    with runner.hub.broken_by(fault):
        code, err = runner.run(undisturbed.get_arguments(repo))
        met = any(each.times < fault.times for each in runner.hub.armed()) or not runner.hub.armed()
    if not met:
        raise FailedCell("missed", "the Hub was not asked")
    _require_line(code, err, codes)
    _require_whole(runner, undisturbed, repo)
    rerun(runner, undisturbed, repo)
    return last_line(err) if code else ""


HUB: dict[str, tuple[Fault, tuple[int, ...]]] = {
    "one answer lost": (Fault(cut=0, cut_in="response", method="GET|HEAD"), (0,)),
    "connection lost": (Fault(cut=0, cut_in="response", times=_ALWAYS), (1,)),
    "500": (Fault(status=500, times=_ALWAYS), (1,)),
    "429": (Fault(status=429, times=_ALWAYS), (1,)),
    "body cut": (Fault(cut=100, cut_in="response", times=_ALWAYS), (1,)),
    "200 with HTML": (Fault(status=200, headers={"Content-Type": "text/html"}, times=_ALWAYS), (1,)),
    "redirect loop": (Fault(status=302, headers={"Location": "/round"}, times=_ALWAYS), (1,)),
}


def damage_caches(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str, kind: str, rng: random.Random) -> str:
    """Damage each file of a kind of cache. The damage must be detected and the file recreated."""
    runner.reset(undisturbed.home)
    if kind == "store":  # keep the predictions, but not the results computed from them
        code, err = runner.run(undisturbed.get_arguments(repo))
        assert code == 0, err
        for path in (runner.place / OUT / "out").iterdir():
            if path.is_file():
                path.unlink()
    if kind == "checkpoints":
        process = runner.start(undisturbed.get_arguments(repo))
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if len(list(runner.place.glob(WHERE[kind]))) >= 2:
                process.kill()
            time.sleep(0.001)
        process.wait()
    files = [path for path in runner.place.glob(WHERE[kind]) if path.is_file()]
    files += [path for path in runner.place.glob(WHERE[kind].replace("home/", "../home/", 1)) if path.is_file()]
    files = sorted({path.resolve() for path in files})
    if kind == "checkpoints":
        files = files[-1:]
    if not files:
        raise FailedCell("missed", f"nothing at {WHERE[kind]}")
    kept = {path: path.read_bytes() for path in files}
    for path, content in kept.items():
        if content:
            path.write_bytes(rng.choice((flip_bit, truncate))(content, rng.randrange(1000)))
    code, err = runner.run(undisturbed.get_arguments(repo))
    _require_line(code, err, (0, 1) if kind == "records" else (0,))
    if kind == "records":
        for path, content in kept.items():
            path.write_bytes(content)
    if kind != "records":
        now = read_output(runner, undisturbed.command, repo)
        for name, content in undisturbed.left.items():
            if now.get(name) != content:
                raise FailedCell("silent", f"{name} is {'another' if name in now else 'missing'}")
    rerun(runner, undisturbed, repo)
    return last_line(err)


def kill_worker(runner: CommandRunner, undisturbed: UndisturbedRun, repo: str) -> str:
    """Kill the data loading process of a training."""
    runner.reset()
    process = runner.start((*undisturbed.get_arguments(repo), "--dataloader-num-workers", "1"))
    killed = False
    while process.poll() is None and not killed:
        for child in _children(process.pid):
            os.kill(child, signal.SIGKILL)
            killed = True
        time.sleep(0.002)
    code, err = wait_for_exit(process)
    if not killed:
        raise FailedCell("missed", "no worker was seen")
    _require_line(code, err, (0, 1))
    _require_whole(runner, undisturbed, repo)
    rerun(runner, undisturbed, repo)
    return last_line(err)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
