import random

import pytest

from tests.challenge_sets.perturbations.test_recombined import CLAIM, OTHERS
from unbag import evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest, build_requested_set

PAIRS = [
    (CLAIM.premise, CLAIM.hypothesis, "entailment"),
    (CLAIM.premise, "A man sleeps.", "contradiction"),
    (CLAIM.premise, "A tall man is carrying a ladder.", "entailment"),  # a claim with a word that is not in the premise
    ("Two boys are riding bikes near a lake.", "Two boys are riding bikes.", "entailment"),
    ("A bird sings.", "A bird sings.", "entailment"),  # no argument to exchange
    *((sentence, "It rains.", "neutral") for sentence in OTHERS),
    ("A horse jumps over a wall.", "It rains.", "-"),  # unlabelled
]


@pytest.fixture
def options(write_pairs, pipeline):
    return {"data": write_pairs(PAIRS, ids=range(len(PAIRS))), "pipeline": pipeline, "k": "1,4"}


def test_rows_come_from_entailed_pairs_with_argument(options):
    rows = loading.load("recombined", **options)
    assert {row["source_id"] for row in rows} == {"0", "3"}
    assert rows.features["label"].names == ["entailment", "not_entailment"]
    operations = {row["id"]: (row["operation"], row["label"]) for row in rows}
    assert operations["0#1#supported"] == ("supported", 0)
    assert operations["0#4#subject"] == ("subject", 1)
    assert operations["3#4#number"] == ("number", 1)
    [number] = [row for row in rows if row["id"] == "3#4#number"]
    assert number["hypothesis"] == "Three boys are riding bikes."
    assert "Three dogs are chasing a ball." in number["premise"]


def test_order_of_pairs_changes_no_row(options, write_pairs, monkeypatch):
    monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", 5)
    rows = loading.load("recombined", **options).to_list()
    assert len(rows) > 8
    shuffled = list(enumerate(PAIRS))
    random.Random(2).shuffle(shuffled)
    numbers, pairs = zip(*shuffled, strict=True)
    path = write_pairs(pairs, "shuffled.jsonl", numbers)
    other = loading.load("recombined", **options | {"data": path}).to_list()
    by_id = {row["id"]: row for row in other}
    # For a repeated sentence, the order of the rows determines the first example.
    assert by_id == {row["id"]: row for row in rows}


def test_documents_depend_on_seed(options):
    rows, others = (loading.load("recombined", seed=seed, **options).to_list() for seed in (13, 14))
    assert [row["premise"] for row in rows] != [row["premise"] for row in others]


def test_exclusions_are_counted_and_parser_is_recorded(options):
    built = build_requested_set(SetRequest("recombined", options=options))
    assert built.data["excluded"] == {
        "unlabelled": 1,
        "not labelled entailment": 9,
        "whose hypothesis has a content word that the premise lacks": 1,
        "whose claim has no argument to exchange": 1,
    }
    assert built.config["parser"].startswith("en_core_web_sm")
    counts = built.config["counts"]
    assert counts["claims"] == 2
    assert counts["supported"] == counts["removed"] == 4
    assert sum(n for name, n in counts.items() if name.startswith("excluded: ")) == 11
    assert build_requested_set(SetRequest("recombined", options=options)).config == built.config, "also from the cache"


def test_word_matching_model_scores_equal_manual_example(options, tmp_path):
    """The documents contain all words of the claim, except where the evidence was removed."""

    def has_words(premises, hypotheses):
        pairs = zip(premises, hypotheses, strict=True)
        return [
            "entailment" if set(h.lower().strip(".").split()) <= set(p.lower().replace(".", "").split()) else "neutral"
            for p, h in pairs
        ]

    [result] = evaluate(has_words, [SetRequest("recombined", options=options)], output_dir=tmp_path)
    by_operation = {row["operation"]: row for row in result.scores["by_operation"]}
    assert by_operation["removed"]["paired_accuracy"].value == 1
    assert by_operation["subject"]["false_entailment_rate"].value == 1
    assert by_operation["subject"]["paired_accuracy"].value == 0
    by_k = {row["k"]: row["paired_accuracy"].value for row in result.scores["by_k"]}
    assert by_k == {1: 1, 4: 0}
