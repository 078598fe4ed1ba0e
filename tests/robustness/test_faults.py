"""A few cells of the table of faults; `make attack` runs all commands with all faults, in two lanes."""

import pytest

from tests.fork_server import PYTHON
from tests.robustness.fault_injection.cells import Broken, Cell, Unbroken
from tests.robustness.fault_injection.commands import COMMANDS, WHERE
from tests.robustness.fault_injection.lane import Lane
from tests.robustness.fault_injection.table import COLUMNS, runs, table

BUILD = COMMANDS[0]
CELLS = ("kill -9", "SIGTERM", "full disk", "read-only", "clock set back", "damaged sets")


@pytest.fixture(scope="module")
def lane(hub, tmp_path_factory):
    """Return a place to build a set in, and what an unbroken build leaves there."""
    folder = tmp_path_factory.mktemp("faults")
    here = Lane(folder / "lane", hub, PYTHON)
    return here, Unbroken(here, BUILD, BUILD.told, "org/faults", folder / "home")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("fault", CELLS)
def test_a_build_that_meets_a_fault_ends_as_an_unbroken_one(lane, fault):
    here, unbroken = lane
    told, cell = runs(BUILD, seed=0)[fault]
    assert told == BUILD.told
    try:
        cell(here, unbroken, "org/faults")
    except Broken as broken:
        if broken.args[0] == "–":
            pytest.skip(broken.args[1])
        raise


def test_every_command_and_every_fault_has_a_place_in_the_table():
    cells = {(command.name, fault) for command in COMMANDS for fault in runs(command, 0)}
    assert len(cells) > 120
    assert {fault for _, fault in cells} == set(COLUMNS)
    assert {kind for command in COMMANDS for kind in command.caches} == set(WHERE)
    said = table([Cell("build", "kill -9", "ok"), Cell("check", "kill -9", "hang"), Cell("check", "500", "ok")])
    assert said.splitlines()[2:] == ["| kill -9 | ok | hang |", "| 500 | – | ok |"]
