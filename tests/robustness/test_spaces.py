"""Tests of the Spaces with arbitrary user input: an error message or a result, and no markup."""

import json
import math
import re

import pytest

pytest.importorskip("gradio", reason="needs gradio")

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hub.test_leaderboard import P_C, _build_row
from tests.robustness.command import ALL as ALL_OF_IT
from unbag.hub import metric_page
from unbag.hub.leaderboard_page import build_overview, build_results_table, drop_incomplete_rows

MARKUP = "![x](https://evil.example/a.png) [y](javascript:alert(1)) <img src=x onerror=alert(1)> **b** www.evil.example"
WRONG = (None, math.nan, "", "nope", "[1]", "{", "[" * 10_000, MARKUP, "a\nb")


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


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(WRONG),
    st.recursive(st.integers(-2, 3), lambda inner: st.lists(inner, max_size=3), max_leaves=5).map(json.dumps),
)


def metric(predictions, references, groups=None, resamples=10):
    """A metric stub that computes with the cells."""
    right = [int(p) == int(r) for p, r in zip(predictions, references, strict=True)]
    return {"accuracy": sum(right) / len(right), "first": predictions[0][0] if isinstance(predictions[0], list) else 1}


@settings(max_examples=300 if ALL_OF_IT else 40)
@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=4), st.sampled_from(["", "{}", "[]", "{", '{"x": 1}', "[" * 9999])
)
def test_invalid_cell_raises_only_expected_errors(rows, options):
    said = ""
    try:
        table = pd.DataFrame(rows, columns=["predictions", "references", "groups.part"])
        inputs = metric_page.parse_metric_columns(table)
        scores = metric_page.compute_scores(metric, inputs, options)
        metric_page.build_score_table({name: float(value) for name, value in scores.items()}, {})
    except ValueError as error:
        said = str(error)
    assert isinstance(said, str)
