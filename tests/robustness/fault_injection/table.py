"""The applicable cells, parallel execution, and the table."""

from __future__ import annotations

import random
import re
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.robustness.fault_injection import cells
from tests.robustness.fault_injection.cells import HUB, Broken, Cell, Unbroken
from tests.robustness.fault_injection.command_runner import Lane, lane
from tests.robustness.fault_injection.commands import COMMANDS, WHERE, Command

Run = Callable[[Lane, Unbroken, str], str]

SIGNALS = {"kill -9": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
COLUMNS = (
    *SIGNALS,
    *("full disk", "full disk (caches)", "read-only", "read-only (caches)", "two at once", "clock set back"),
    *HUB,
    *(f"damaged {kind}" for kind in WHERE),
    "dying worker",
)
NOT_APPLICABLE = "–"


def runs(command: Command, seed: int) -> dict[str, tuple[tuple[str, ...], Run]]:
    """Return the applicable cells of a command: for each column, the arguments and the function to run."""

    def rng(column: str) -> random.Random:
        return random.Random(f"{seed} {command.name} {column}")

    found: dict[str, tuple[tuple[str, ...], Run]] = {}
    writes = bool(command.out)
    for column, number in SIGNALS.items():
        found[column] = command.told, partial(cells.signalled, number=number, rng=rng(column))
    if writes:
        found["full disk"] = command.told, partial(cells.full, of="out")
        found["read-only"] = command.told, partial(cells.read_only, of="out")
    reads_pairs = command.name not in ("report", "compare", "check", "publish model")
    if reads_pairs:
        found["full disk (caches)"] = command.told, partial(cells.full, of="caches")
        found["read-only (caches)"] = command.told, partial(cells.read_only, of="caches")
    if writes or command.publishes:
        found["two at once"] = command.told, cells.two
    found["clock set back"] = command.told, cells.clock_back
    if command.of_hub:
        for column, (fault, codes) in HUB.items():
            found[column] = command.of_hub, partial(cells.hub, fault=fault, codes=codes)
    for kind, told in command.caches.items():
        found[f"damaged {kind}"] = told, partial(cells.damaged, kind=kind, rng=rng(kind))
    if command.name == "train":
        found["dying worker"] = command.told, cells.dying_worker
    return found


def run(
    commands: Sequence[str] = (),
    faults: str = "",
    seed: int = 0,
    lanes: int = 2,
    tell: Callable[[Cell], None] = lambda _: None,
) -> list[Cell]:
    """Run cells, and return their results in the order of the table.

    Args:
        commands: the rows; all by default.
        faults: a regular expression that is searched in the names of columns.
        seed: the random seed for times and damage.
        lanes: the number of cells to run in parallel.
        tell: called with each finished cell.
    """
    waiting = [each for each in COMMANDS if not commands or each.name in commands]
    done: dict[tuple[str, str], Cell] = {}
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with lane() as here:
                while waiting:
                    command = waiting.pop(0)
                    for cell in _row(here, command, faults, seed):
                        done[cell.command, cell.fault] = cell
                        tell(cell)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(min(lanes, len(waiting)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return [done[each.name, column] for each in COMMANDS for column in COLUMNS if (each.name, column) in done]


def _row(here: Lane, command: Command, faults: str, seed: int):
    unbroken: dict[tuple[str, ...], Unbroken] = {}
    asked = {column: of for column, of in runs(command, seed).items() if re.search(faults, column)}
    for number, (column, (told, what)) in enumerate(asked.items()):
        repo = f"org/{re.sub('[^a-z]', '', command.name)}-{number}"
        try:
            if told not in unbroken:
                tmp = Path(here.folder) / f"home-{len(list(here.folder.iterdir()))}"
                unbroken[told] = Unbroken(here, command, told, f"{repo}-unbroken", tmp)
            yield Cell(command.name, column, "ok", what(here, unbroken[told], repo))
        except Broken as broken:
            yield Cell(command.name, column, broken.args[0], broken.args[1])
        except AssertionError as error:
            yield Cell(command.name, column, "no unbroken run", " ".join(str(error).split())[-300:])


def table(found: Sequence[Cell]) -> str:
    """Return the verdicts as a Markdown table with faults as rows and commands as columns."""
    verdicts = {(each.command, each.fault): each.verdict for each in found}
    commands = [each.name for each in COMMANDS if any(each.name == cell.command for cell in found)]
    columns = [column for column in COLUMNS if any(column == cell.fault for cell in found)]
    lines = [f"| fault | {' | '.join(commands)} |", "|---|" + "---|" * len(commands)]
    for column in columns:
        cells_of_row = [verdicts.get((command, column), NOT_APPLICABLE) for command in commands]
        lines.append(f"| {column} | {' | '.join(cells_of_row)} |")
    return "\n".join(lines)
