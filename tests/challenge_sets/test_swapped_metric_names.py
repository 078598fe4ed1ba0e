"""Tests that each metric of the swapped set has one name in all outputs."""

import pytest
from rich.console import Console

from tests.factories import score_swapped_pairs
from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.reports import terminal

SWAPPED = challenge_sets.get_challenge_set("swapped")
# Gold labels e n c n, predictions before e n c c, after – n n c. Three pairs are swapped, and the whole set has four.
SCORES = score_swapped_pairs([0, 1, 2, 2], [0, 1, 2, 1], [0, 1, 1, 2], resamples=20)


def test_swapped_and_overall_accuracy_have_different_names():
    by_name = {name: estimate.value for name, _, estimate in SWAPPED.iter_set_metrics(SCORES)}
    assert by_name["accuracy, exchanged"] == pytest.approx(1 / 3)
    assert by_name["accuracy on the whole set, Table 1"] == pytest.approx(2 / 4)
    assert by_name == {each.label: each.get_estimate(SCORES).value for each in SWAPPED.metric_definitions}


def test_table_cells_are_unique_by_row_and_column():
    data = {"name": "snli", "split": "test", "rows": 4, "excluded": {}}
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        terminal.print_views([SWAPPED.build_table(Result("swapped", {}, {"name": "m"}, data, SCORES, {}))], console)
    shown = " ".join(capture.get().split())
    assert "accuracy as given exchanged drop" in shown
    assert "both labels 0.667 0.333" in shown
    assert "Accuracy on all pairs, with these in the original order (Table 1): 0.750 before, 0.500 after" in shown
