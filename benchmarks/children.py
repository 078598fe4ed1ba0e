"""The engines of a benchmark, each in a process of its own: what one leaves behind is not the next one's."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def started(arguments: Sequence[str], *, on_one_core: bool = False) -> "subprocess.Popen[str]":
    """Start the running script once more with other arguments; on one core, it shares that with all so started."""
    core = {min(os.sched_getaffinity(0))}
    return subprocess.Popen(
        [sys.executable, sys.argv[0], *arguments],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=(lambda: os.sched_setaffinity(0, core)) if on_one_core else None,
    )


def ended(child: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait for a process, and return the JSON object of the last line it printed."""
    said, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{child.args!r} failed; what it said is above")
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    return result


def at_once(arguments: Mapping[str, Sequence[str]], turns: int) -> dict[str, Any]:
    """Run a peer and ours at once, so many times, on one core that they share a slice at a time.

    What else slows the machine slows both, and CPU seconds count.

    Args:
        arguments: what the script is started with, for the peer and then for ours, each by its name.
        turns: how often both run.

    Returns:
        what each printed in the middle turn, by its name; the peer's `cpu_seconds` over ours in the median turn
        (`ratio`), and in each (`ratios`).
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
    """Return the most memory this process has had; not getrusage's figure, which a child inherits from its parent."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024
