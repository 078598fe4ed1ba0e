import random

import pytest

from tests.challenge_sets.perturbations.test_negation_operations import CLAIMS, NO_CLAIMS
from unbag.challenge_sets import loading

PAIRS = [*CLAIMS, *NO_CLAIMS, CLAIMS[0]]


def _build_pairs(premises):
    return [(premise, "It rains.", "neutral") for premise in premises]


@pytest.fixture
def options(write_pairs, pipeline):
    return {"data": write_pairs(_build_pairs(PAIRS), ids=range(len(PAIRS))), "pipeline": pipeline}


def test_order_of_pairs_changes_no_row(options, write_pairs, monkeypatch):
    monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", 3)
    rows = loading.load("negation", **options)
    assert rows.features["label"].names == ["entailment", "not_entailment"]
    rows = rows.to_list()
    assert {row["source_id"] for row in rows} == {"0", "1", "2", "3"}
    shuffled = list(enumerate(PAIRS[:-1]))
    random.Random(2).shuffle(shuffled)
    numbers, premises = zip(*shuffled, strict=True)
    path = write_pairs(_build_pairs(premises), "shuffled.jsonl", numbers)
    other = loading.load("negation", **options | {"data": path}).to_list()
    assert {row["id"]: row for row in other} == {row["id"]: row for row in rows}


def test_text_gives_same_rows_as_premises(options, tmp_path):
    text = tmp_path / "page.md"
    text.write_text("# A page\n\n" + " ".join(CLAIMS) + "\n")
    given = {"text": [str(text)], "pipeline": options["pipeline"]}
    rows, others = (
        {(row["premise"], row["hypothesis"], row["label"]) for row in loading.load("negation", **each)}
        for each in (options, given)
    )
    assert rows == others
