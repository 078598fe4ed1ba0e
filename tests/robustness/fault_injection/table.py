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
from tests.robustness.fault_injection.cells import HUB, Cell, FailedCell, UndisturbedRun
from tests.robustness.fault_injection.command_runner import CommandRunner, create_runner
from tests.robustness.fault_injection.commands import COMMANDS, WHERE, Command

Run = Callable[[CommandRunner, UndisturbedRun, str], str]

SIGNALS = {"kill -9": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
COLUMNS = (
    *SIGNALS,
    *("full disk", "full disk (caches)", "read-only", "read-only (caches)", "two at once", "clock set back"),
    *HUB,
    *(f"damaged {kind}" for kind in WHERE),
    "dying worker",
)
NOT_APPLICABLE = "–"


def list_cells(command: Command, seed: int) -> dict[str, tuple[tuple[str, ...], Run]]:
    """Return the applicable cells of a command: for each column, the arguments and the function to run."""

    def rng(column: str) -> random.Random:
        return random.Random(f"{seed} {command.name} {column}")

    found: dict[str, tuple[tuple[str, ...], Run]] = {}
    writes = bool(command.out)
    for column, number in SIGNALS.items():
        found[column] = command.arguments, partial(cells.send_signal, number=number, rng=rng(column))
    if writes:
        found["full disk"] = command.arguments, partial(cells.fill_disk, of="out")
        found["read-only"] = command.arguments, partial(cells.remove_write_permission, of="out")
    reads_pairs = command.name not in ("report", "compare", "check", "publish model")
    if reads_pairs:
        found["full disk (caches)"] = command.arguments, partial(cells.fill_disk, of="caches")
        found["read-only (caches)"] = command.arguments, partial(cells.remove_write_permission, of="caches")
    if writes or command.publishes:
        found["two at once"] = command.arguments, cells.run_twice
    found["clock set back"] = command.arguments, cells.set_clock_back
    if command.of_hub:
        for column, (fault, codes) in HUB.items():
            found[column] = command.of_hub, partial(cells.inject_hub_fault, fault=fault, codes=codes)
    for kind, arguments in command.caches.items():
        found[f"damaged {kind}"] = arguments, partial(cells.damage_caches, kind=kind, rng=rng(kind))
    if command.name == "train":
        found["dying worker"] = command.arguments, cells.kill_worker
    return found


def run(
    commands: Sequence[str] = (),
    faults: str = "",
    seed: int = 0,
    n_runners: int = 2,
    report: Callable[[Cell], None] = lambda _: None,
) -> list[Cell]:
    """Run cells, and return their results in the order of the table.

    Args:
        commands: the rows; all by default.
        faults: a regular expression that is searched in the names of columns.
        seed: the random seed for times and damage.
        n_runners: the number of cells to run in parallel.
        tell: called with each finished cell.
    """
    waiting = [each for each in COMMANDS if not commands or each.name in commands]
    done: dict[tuple[str, str], Cell] = {}
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with create_runner() as here:
                while waiting:
                    command = waiting.pop(0)
                    for cell in _row(here, command, faults, seed):
                        done[cell.command, cell.fault] = cell
                        report(cell)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(min(n_runners, len(waiting)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return [done[each.name, column] for each in COMMANDS for column in COLUMNS if (each.name, column) in done]


def _row(here: CommandRunner, command: Command, faults: str, seed: int):
    undisturbed: dict[tuple[str, ...], UndisturbedRun] = {}
    asked = {column: of for column, of in list_cells(command, seed).items() if re.search(faults, column)}
    for number, (column, (arguments, what)) in enumerate(asked.items()):
        repo = f"org/{re.sub('[^a-z]', '', command.name)}-{number}"
        try:
            if arguments not in undisturbed:
                tmp = Path(here.folder) / f"home-{len(list(here.folder.iterdir()))}"
                undisturbed[arguments] = UndisturbedRun(here, command, arguments, f"{repo}-unbroken", tmp)
            yield Cell(command.name, column, "ok", what(here, undisturbed[arguments], repo))
        except FailedCell as broken:
            yield Cell(command.name, column, broken.args[0], broken.args[1])
        except AssertionError as error:
            yield Cell(command.name, column, "no unbroken run", " ".join(str(error).split())[-300:])


def format_table(found: Sequence[Cell]) -> str:
    """Return the verdicts as a Markdown table with faults as rows and commands as columns."""
    verdicts = {(each.command, each.fault): each.verdict for each in found}
    commands = [each.name for each in COMMANDS if any(each.name == cell.command for cell in found)]
    columns = [column for column in COLUMNS if any(column == cell.fault for cell in found)]
    lines = [f"| fault | {' | '.join(commands)} |", "|---|" + "---|" * len(commands)]
    for column in columns:
        cells_of_row = [verdicts.get((command, column), NOT_APPLICABLE) for command in commands]
        lines.append(f"| {column} | {' | '.join(cells_of_row)} |")
    return "\n".join(lines)
