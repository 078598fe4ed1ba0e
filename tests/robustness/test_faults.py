"""Tests of some cells of the table of faults. `make attack` runs all commands with all faults."""

import pytest

from tests.fork_server import PYTHON
from tests.robustness.fault_injection.cells import Cell, FailedCell, UndisturbedRun
from tests.robustness.fault_injection.command_runner import CommandRunner
from tests.robustness.fault_injection.commands import COMMANDS, WHERE
from tests.robustness.fault_injection.table import COLUMNS, format_table, list_cells

BUILD = COMMANDS[0]
CELLS = ("kill -9", "SIGTERM", "full disk", "read-only", "clock set back", "damaged sets")


@pytest.fixture(scope="module")
def runner(hub, tmp_path_factory):
    """Return an environment for building a set, and the result of an undisturbed build."""
    folder = tmp_path_factory.mktemp("faults")
    here = CommandRunner(folder / "lane", hub, PYTHON)
    return here, UndisturbedRun(here, BUILD, BUILD.arguments, "org/faults", folder / "home")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("fault", CELLS)
def test_build_with_fault_ends_like_undisturbed_build(runner, fault):
    here, undisturbed = runner
    arguments, cell = list_cells(BUILD, seed=0)[fault]
    assert arguments == BUILD.arguments
    try:
        cell(here, undisturbed, "org/faults")
    except FailedCell as broken:
        if broken.args[0] == "–":
            pytest.skip(broken.args[1])
        raise


def test_table_includes_every_command_and_fault():
    cells = {(command.name, fault) for command in COMMANDS for fault in list_cells(command, 0)}
    assert len(cells) > 120
    assert {fault for _, fault in cells} == set(COLUMNS)
    assert {kind for command in COMMANDS for kind in command.caches} == set(WHERE)
    said = format_table([Cell("build", "kill -9", "ok"), Cell("check", "kill -9", "hang"), Cell("check", "500", "ok")])
    assert said.splitlines()[2:] == ["| kill -9 | ok | hang |", "| 500 | – | ok |"]
