"""Tests of the Spaces with arbitrary user input: an error message or a result, and no markup."""

import math
import re

import pytest

pytest.importorskip("gradio", reason="needs gradio")

import pandas as pd

from tests.hub.test_leaderboard import P_C, _build_row
from unbag.hub.leaderboard_page import build_overview, build_results_table, drop_incomplete_rows

MARKUP = "![x](https://evil.example/a.png) [y](javascript:alert(1)) <img src=x onerror=alert(1)> **b** www.evil.example"


GOOD = _build_row("org/reader", 0.4, **P_C)


@pytest.mark.parametrize("column", GOOD)
def test_odd_cell_does_not_break_tables(column):
    texts = (MARKUP, "{", None)
    for value in texts if isinstance(GOOD[column], str) else (None, math.nan, math.inf):
        rows = drop_incomplete_rows(pd.DataFrame([GOOD, {**GOOD, "model": "org/other", column: value}]))
        assert len(rows) >= 1
        assert "org/reader" in build_overview(rows)[0].to_csv()
        assert len(build_results_table(rows)) == len(rows)


@pytest.mark.parametrize("column", ["model", "head"])
def test_markup_in_model_name_is_removed(column):
    rows = pd.DataFrame([_build_row("org/reader", 0.4, **P_C) | {column: MARKUP}])
    [overview] = build_overview(rows)[0]["model"]
    [shown] = build_results_table(rows)["model"]
    for text in (overview, shown):
        assert not re.search(r"[<>!*:\[\]]", text.removeprefix("[org/reader](https://huggingface.co/org/reader)"))
