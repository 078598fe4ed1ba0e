"""Tests of the row statistics of a published set."""

import pyarrow as pa
import pytest

from unbag.data.labels import LABELS, TWO_WAY
from unbag.hub.dataset_card import SplitStatistics

ROWS = {
    "source_id": ["a", "a", "b"],
    "premise": ["A man  sleeps. ", "ab", "ab"],
    "hypothesis": ["He rests.", "c", "c"],
    "label": [0, 2, 2],
}


def test_statistics_do_not_depend_on_row_batches():
    table = pa.table(ROWS)
    whole, cut = SplitStatistics(LABELS, "en"), SplitStatistics(LABELS, "en")
    whole.update(table)
    cut.update(table[:2])
    cut.update(table[2:])
    assert whole.compute_record() == cut.compute_record()
    assert whole.compute_record() == {
        "rows": 3,
        "examples": 2,
        "labels": {"entailment": 1, "neutral": 0, "contradiction": 2},
        "unique_pairs": 2,
        "lengths": {"unit": "words", "premise": [1, 1.7, 3], "hypothesis": [1, 1.3, 2]},
    }


def test_statistics_count_labels_of_set():
    counted = SplitStatistics(TWO_WAY, "en")
    counted.update(pa.table(ROWS | {"label": [0, 1, 1]}))
    assert counted.compute_record()["labels"] == {"entailment": 1, "not_entailment": 2}


@pytest.mark.parametrize(("sides", "unique"), [((("ab", "c"), ("a", "bc")), 2), ((("ab", "c"), ("ab", "c")), 1)])
def test_unique_pairs_depend_on_both_sentences(sides, unique):
    counted = SplitStatistics(LABELS, "en")
    premises, hypotheses = zip(*sides, strict=True)
    counted.update(pa.table({"source_id": ["a", "b"], "premise": premises, "hypothesis": hypotheses, "label": [0, 0]}))
    assert counted.compute_record()["unique_pairs"] == unique


def test_chinese_length_is_in_characters():
    counted = SplitStatistics(LABELS, "zh")
    counted.update(pa.table({"source_id": ["a"], "premise": ["他在睡觉"], "hypothesis": ["他"], "label": [1]}))
    assert counted.compute_record()["lengths"] == {
        "unit": "characters",
        "premise": [4, 4.0, 4],
        "hypothesis": [1, 1.0, 1],
    }
    assert SplitStatistics(LABELS, "en").compute_record()["unique_pairs"] == 0
