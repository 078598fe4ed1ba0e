"""Tests of the Spaces with arbitrary user input: an error message or a result, and no markup."""

import csv
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
from tests.robustness.command import sample_inputs
from unbag.hub import metric_page
from unbag.hub.leaderboard_page import (
    ALL,
    EXCLUDED,
    build_overview,
    choose_defaults,
    drop_malformed_rows,
    list_filter_choices,
    rank_results,
)

GOOD = _build_row("org/reader", 0.4, **P_C)
MARKUP = "![x](https://evil.example/a.png) [y](javascript:alert(1)) <img src=x onerror=alert(1)> **b** www.evil.example"
WRONG = (
    None,
    math.nan,
    math.inf,
    10**400,
    "",
    "nope",
    "[1]",
    "{",
    "[" * 10_000,
    1,
    -1,
    True,
    [],
    {},
    b"x",
    MARKUP,
    "a\nb",
)


def views(rows):
    """Return all views of a table on the page."""
    table = drop_malformed_rows(pd.DataFrame(rows, dtype=object))
    shown, meanings = build_overview(table)
    for name in list_filter_choices(table, "set", ALL):
        choose_defaults(table, name)
        rank_results(table, name, ALL, ALL)
    return table, f"{meanings} {shown.to_csv()} {rank_results(table, ALL, ALL, ALL).to_csv()}"


@pytest.mark.parametrize("column", sample_inputs(GOOD, 4))
def test_invalid_cell_is_dropped_or_escaped(column):
    for value in WRONG:
        table, text = views([GOOD, {**GOOD, "model": "org/other", column: value}])
        assert len(table) + table.attrs[EXCLUDED] == 2
        assert len(table) >= 1
        assert "<img" not in text or "\\<img" in text
        assert not re.search(r"(?<!\\)\]\(|(?<!\\)!\[", text.replace("](https://huggingface.co/", ""))


def test_markup_in_metric_name_is_escaped():
    _, text = views([{**GOOD, "metric_name": MARKUP}])
    assert "\\[y\\]\\(javascript\\:alert" in text
    assert "www\\.evil" in text


def test_missing_column_error_is_raised():
    with pytest.raises(ValueError, match="expected a results dataset, got one without the columns"):
        drop_malformed_rows(pd.DataFrame([{"model": "a"}]))
    assert len(drop_malformed_rows(pd.DataFrame([], columns=list(GOOD)))) == 0


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
        inputs = metric_page.parse_metric_columns(["predictions", "references", "groups.part"], rows)
        metric_page.render_scores(metric_page.compute_scores(metric, inputs, options), {})
    except ValueError as error:
        said = str(error)
    assert isinstance(said, str)


@given(st.text(max_size=200))
def test_invalid_table_text_raises_only_expected_errors(text):
    try:
        header, rows = metric_page.parse_table(text)
        metric_page.parse_metric_columns(header, rows)
    except (ValueError, csv.Error):
        return
    assert rows
