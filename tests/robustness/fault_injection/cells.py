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
from tests.robustness.damage import flipped, truncated
from tests.robustness.fault_injection.command_runner import Lane, ended
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


class Broken(Exception):
    """A failed cell: the verdict and the line that shows the failure."""


class Unbroken:
    """The output and caches of a command without faults."""

    def __init__(self, lane: Lane, command: Command, told: tuple[str, ...], repo: str, tmp: Path) -> None:
        """Run the command twice. Files that differ between the two runs are excluded from comparisons."""
        self.command, self._asked = command, told
        lane.fresh()
        begun = time.monotonic()
        code, err = lane.run(self.told_for(repo))
        assert code == 0, (told, err)
        first = found(lane, command, repo)
        self.seconds = time.monotonic() - begun
        shutil.copytree(lane.home, tmp)
        self.home = tmp
        lane.fresh(tmp)
        begun = time.monotonic()
        code, err = lane.run(self.told_for(f"{repo}-again"))
        self.seconds = min(self.seconds, time.monotonic() - begun)  # the first run may import modules for both
        assert code == 0, (told, err)
        second = found(lane, command, f"{repo}-again")
        self.left = {name: content for name, content in first.items() if second.get(name) == content}
        self.changing = sorted((first.keys() | second.keys()) - self.left.keys())

    def told_for(self, repo: str) -> tuple[str, ...]:
        """Return the arguments of the command for a repository."""
        return _to(self._asked, repo)


def _to(told: tuple[str, ...], repo: str) -> tuple[str, ...]:
    return tuple(repo if part == "REPO" else part for part in told)


def found(lane: Lane, command: Command, repo: str) -> Found:
    """Return the output of a command: its files by path, or the content of its repository."""
    if command.publishes:
        return lane.published(command.publishes, repo)
    there = lane.place / OUT
    kept = [path for path in there.rglob("*") if path.is_file() and "predictions" not in path.parts]
    kept = [path for path in kept if path.name != _TIMED]
    return {str(path.relative_to(there)): path.read_bytes() for path in kept if ".damaged" not in str(path)}


def _require_line(code: int | None, err: str, codes: tuple[int, ...]) -> None:
    """Require one of the exit codes, and one clear error line if the command failed."""
    if code is None:
        raise Broken("hang", last_line(err))
    if "Traceback (most recent call last)" in err:
        raise Broken("traceback", last_line(err))
    if code not in codes:
        raise Broken(f"exit {code}", last_line(err))
    if code in (1, 2) and not is_clear(code, err):
        raise Broken("unclear", last_line(err))


def _require_whole(lane: Lane, unbroken: Unbroken, repo: str) -> None:
    """Require that the output is complete and equal to that of an undisturbed run, or absent."""
    now = {
        name: content
        for name, content in found(lane, unbroken.command, repo).items()
        if not name.startswith(("out.unfinished/", ".")) and not Path(name).name.startswith(".") and not _is_lock(name)
    }
    for name, content in now.items():
        if name in unbroken.left and unbroken.left[name] != content:
            raise Broken("partial", f"{name} is there and is not what it must be")
    expected = unbroken.left.keys()
    if now and (unbroken.command.whole or unbroken.command.publishes) and not expected <= now.keys():
        raise Broken("partial", f"{sorted(expected - now.keys())} are missing beside {sorted(now)[:3]}")


def _is_lock(name: str) -> bool:
    return name.endswith((".lock", "/lock"))


def again(lane: Lane, unbroken: Unbroken, repo: str) -> None:
    """Run the command without a fault, and require the output of an undisturbed run."""
    before = found(lane, unbroken.command, repo)
    is_done = bool(before) and all(before.get(name) == content for name, content in unbroken.left.items())
    code, err = lane.run(unbroken.told_for(repo))
    _require_line(code, err, (0, 1) if is_done else (0,))  # a complete output need not be overwritten
    now = found(lane, unbroken.command, repo)
    for name, content in unbroken.left.items():
        if now.get(name) != content:
            raise Broken("differs", f"{name} is {'another' if name in now else 'missing'}")
    left_over = [name for name in now if name not in unbroken.left and name not in unbroken.changing]
    if litter := [name for name in left_over if not _is_lock(name)]:
        raise Broken("litter", f"{litter[:3]} is left over")


def signalled(lane: Lane, unbroken: Unbroken, repo: str, number: int, rng: random.Random) -> str:
    """Send a signal at a random time. Return the error output."""
    # After the end of the command, Ctrl-C during the shutdown is handled by Python.
    codes = {signal.SIGKILL: (-9,), signal.SIGTERM: (-15, 143), signal.SIGINT: (-2, 130)}[signal.Signals(number)]
    share = 0.9
    for _ in range(8):
        lane.fresh()
        process = lane.start(unbroken.told_for(repo))
        time.sleep(unbroken.seconds * rng.uniform(0.15, share))
        share /= 2
        if process.poll() is None:
            os.kill(process.pid, number)
        code, err = ended(process)
        if code != 0:
            _require_line(code, err, codes)
            _require_whole(lane, unbroken, repo)
            if code == -signal.SIGINT and unbroken.left.keys() - found(lane, unbroken.command, repo).keys():
                raise Broken("unclear", "interrupted without a word")
            again(lane, unbroken, repo)
            return last_line(err)
    raise Broken("missed", "it was always faster")


def full(lane: Lane, unbroken: Unbroken, repo: str, of: str) -> str:
    """Fill the disk of the output or of the caches, a tiny file system, and enlarge it afterwards."""
    lane.fresh()
    folder = lane.place / OUT if of == "out" else lane.home
    mounted = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(folder)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        raise Broken("–", "no file system can be mounted here")
    try:
        code, err = lane.run(unbroken.told_for(repo))
        _require_line(code, err, (0, 1))
        if code == 0 and of == "out" and unbroken.left and not unbroken.command.publishes:
            _require_whole(lane, unbroken, repo)
        subprocess.run(["mount", "-o", "remount,size=300m", str(folder)], check=True)
        _require_whole(lane, unbroken, repo)
        again(lane, unbroken, repo)
        return last_line(err) if code else ""
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def read_only(lane: Lane, unbroken: Unbroken, repo: str, of: str) -> str:
    """Remove the write permission from the folder of the output or of the caches."""
    lane.fresh()
    folder = lane.place / OUT if of == "out" else lane.home
    folder.chmod(0o555)
    try:
        code, err = lane.run(unbroken.told_for(repo), "impatient,no_root")
    finally:
        folder.chmod(0o755)
    _require_line(code, err, (0, 1, 2))
    _require_whole(lane, unbroken, repo)
    again(lane, unbroken, repo)
    return last_line(err) if code else ""


def two(lane: Lane, unbroken: Unbroken, repo: str) -> str:
    """Run the command twice at the same time. Each process must succeed or fail with one line."""
    lane.fresh()
    started = [lane.start(unbroken.told_for(repo)) for _ in range(2)]
    said = []
    for process in started:
        code, err = ended(process)
        _require_line(code, err, (0, 1))
        said += [last_line(err)] if code else []
    if len(said) == 2:
        raise Broken("both fail", " / ".join(said))
    _require_whole(lane, unbroken, repo)
    again(lane, unbroken, repo)
    return " / ".join(said)


def clock_back(lane: Lane, unbroken: Unbroken, repo: str) -> str:
    """Set the clock back between two runs with the same caches."""
    lane.fresh(unbroken.home)
    code, err = lane.run(unbroken.told_for(repo), "impatient,clock")
    _require_line(code, err, (0,))
    again(lane, unbroken, repo)
    return ""


def hub(lane: Lane, unbroken: Unbroken, repo: str, fault: Fault, codes: tuple[int, ...]) -> str:
    """Inject a fault of the Hub, permanently or once."""
    lane.fresh()
    with lane.hub.broken_by(fault):
        code, err = lane.run(unbroken.told_for(repo))
        met = any(each.times < fault.times for each in lane.hub.armed()) or not lane.hub.armed()
    if not met:
        raise Broken("missed", "the Hub was not asked")
    _require_line(code, err, codes)
    _require_whole(lane, unbroken, repo)
    again(lane, unbroken, repo)
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


def damaged(lane: Lane, unbroken: Unbroken, repo: str, kind: str, rng: random.Random) -> str:
    """Damage each file of a kind of cache. The damage must be detected and the file recreated."""
    lane.fresh(unbroken.home)
    if kind == "store":  # keep the predictions, but not the results computed from them
        code, err = lane.run(unbroken.told_for(repo))
        assert code == 0, err
        for path in (lane.place / OUT / "out").iterdir():
            if path.is_file():
                path.unlink()
    if kind == "checkpoints":
        process = lane.start(unbroken.told_for(repo))
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if len(list(lane.place.glob(WHERE[kind]))) >= 2:
                process.kill()
            time.sleep(0.001)
        process.wait()
    files = [path for path in lane.place.glob(WHERE[kind]) if path.is_file()]
    files += [path for path in lane.place.glob(WHERE[kind].replace("home/", "../home/", 1)) if path.is_file()]
    files = sorted({path.resolve() for path in files})
    if kind == "checkpoints":
        files = files[-1:]
    if not files:
        raise Broken("missed", f"nothing at {WHERE[kind]}")
    kept = {path: path.read_bytes() for path in files}
    for path, content in kept.items():
        if content:
            path.write_bytes(rng.choice((flipped, truncated))(content, rng.randrange(1000)))
    code, err = lane.run(unbroken.told_for(repo))
    _require_line(code, err, (0, 1) if kind == "records" else (0,))
    if kind == "records":
        for path, content in kept.items():
            path.write_bytes(content)
    if kind != "records":
        now = found(lane, unbroken.command, repo)
        for name, content in unbroken.left.items():
            if now.get(name) != content:
                raise Broken("silent", f"{name} is {'another' if name in now else 'missing'}")
    again(lane, unbroken, repo)
    return last_line(err)


def dying_worker(lane: Lane, unbroken: Unbroken, repo: str) -> str:
    """Kill the data loading process of a training."""
    lane.fresh()
    process = lane.start((*unbroken.told_for(repo), "--dataloader-num-workers", "1"))
    killed = False
    while process.poll() is None and not killed:
        for child in _children(process.pid):
            os.kill(child, signal.SIGKILL)
            killed = True
        time.sleep(0.002)
    code, err = ended(process)
    if not killed:
        raise Broken("missed", "no worker was seen")
    _require_line(code, err, (0, 1))
    _require_whole(lane, unbroken, repo)
    again(lane, unbroken, repo)
    return last_line(err)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
