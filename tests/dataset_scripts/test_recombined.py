from tests.challenge_sets.perturbations.test_recombined import CLAIM, OTHERS
from unbag.challenge_sets import loading

PAIRS = [
    (CLAIM.premise, CLAIM.hypothesis, "entailment"),
    (CLAIM.premise, "A man sleeps.", "contradiction"),
    (CLAIM.premise, "A tall man is carrying a ladder.", "entailment"),  # a claim with a word that is not in the premise
    ("Two boys are riding bikes near a lake.", "Two boys are riding bikes.", "entailment"),
    ("A bird sings.", "A bird sings.", "entailment"),  # no argument to exchange
    *((sentence, "It rains.", "neutral") for sentence in OTHERS),
    ("A horse jumps over a wall.", "It rains.", "-"),  # unlabelled
]


def test_rows_come_from_entailed_pairs_with_argument(write_pairs, pipeline):
    data = write_pairs(PAIRS, ids=range(len(PAIRS)))
    rows = loading.load("recombined", data=data, pipeline=pipeline, k="1,4")
    assert {row["source_id"] for row in rows} == {"0", "3"}
    assert rows.features["label"].names == ["entailment", "not_entailment"]
    operations = {row["id"]: (row["operation"], row["label"]) for row in rows}
    assert operations["0#1#supported"] == ("supported", 0)
    assert operations["0#4#subject"] == ("subject", 1)
    assert operations["3#4#number"] == ("number", 1)
    [number] = [row for row in rows if row["id"] == "3#4#number"]
    assert number["hypothesis"] == "Three boys are riding bikes."
    assert "Three dogs are chasing a ball." in number["premise"]
