from pathlib import Path

import pytest

from unbag.cli.training import _show


@pytest.mark.parametrize("summary", [{}, {"accuracy": {"mean": 0.5, "standard_deviation": None}}])
def test_a_table_of_figures_is_shown_where_there_are_some(summary, capsys):
    _show({"runs": [{"pairs_per_epoch": 1200, "steps": 6}], "summary": summary}, Path("runs/a"))
    *table, last = capsys.readouterr().out.splitlines()
    assert last == "1,200 pairs an epoch, 6 steps; in runs/a"
    assert ("value" in "".join(table)) == bool(summary)
