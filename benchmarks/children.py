"""Child processes for the engines of a benchmark, so that no engine profits from the state of another."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def started(arguments: Sequence[str], *, on_one_core: bool = False) -> "subprocess.Popen[str]":
    """Start the running script again with other arguments. On one core, all children share the same core."""
    core = {min(os.sched_getaffinity(0))}
    return subprocess.Popen(
        [sys.executable, sys.argv[0], *arguments],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=(lambda: os.sched_setaffinity(0, core)) if on_one_core else None,
    )


def ended(child: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait for a process, and parse the last line of its output as JSON."""
    said, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{child.args!r} failed; what it said is above")
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    return result


def at_once(arguments: Mapping[str, Sequence[str]], turns: int) -> dict[str, Any]:
    """Run a peer and unbag at the same time on one shared core, in several turns.

    Other load on the machine slows both equally. The times are CPU seconds. The arguments of the script are given by
    name, first those of the peer, then those of unbag.

    Returns:
        The output of each in the median turn, by name; the peer's `cpu_seconds` divided by those of unbag in the median
        turn (`ratio`) and in each turn (`ratios`).
    """
    found = []
    for turn in range(turns):
        both = {engine: started(its, on_one_core=True) for engine, its in arguments.items()}
        found.append({engine: ended(child) for engine, child in both.items()})
        print(f"turn {turn + 1} of {turns}: {found[-1]}", file=sys.stderr)
    peer, ours = arguments
    ratios = [turn[peer]["cpu_seconds"] / turn[ours]["cpu_seconds"] for turn in found]
    middle = found[sorted(range(turns), key=ratios.__getitem__)[turns // 2]]
    return {**middle, "ratio": round(statistics.median(ratios), 3), "ratios": [round(ratio, 3) for ratio in ratios]}


def peak_mb() -> int:
    """Read the peak memory of this process. The value of getrusage is not used: a child inherits its parent's."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024
