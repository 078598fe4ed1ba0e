"""Tests of the rows that the swapped, SICCK, SOSwap/AddAmod and negation sets build from small files."""

import json

import numpy as np
import pytest

from tests.challenge_sets.perturbations.test_negation_operations import CLAIMS
from tests.factories import render
from unbag import challenge_sets, evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest
from unbag.challenge_sets.results import Result
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.data.sources import open_data


def test_only_neutral_and_contradiction_pairs_are_swapped(write_pairs):
    pairs = [
        ("A man sleeps.", "A person sleeps.", "entailment"),
        ("A man sleeps.", "A man is old.", "neutral"),
        ("A man sleeps.", "A man runs.", "contradiction"),
    ]
    rows = loading.load("swapped", data=write_pairs(pairs))
    assert [(row["source_id"], row["swapped"], row["premise"], row["hypothesis"]) for row in rows] == [
        ("pairs-0", False, "A man sleeps.", "A person sleeps."),
        ("pairs-1", False, "A man sleeps.", "A man is old."),
        ("pairs-1", True, "A man is old.", "A man sleeps."),
        ("pairs-2", False, "A man sleeps.", "A man runs."),
        ("pairs-2", True, "A man runs.", "A man sleeps."),
    ]
    assert rows["label"][:] == [0, 1, 1, 2, 2]
    assert len(set(rows["id"][:])) == 5
    answers = SetPredictions(np.tile([0.2, 0.8], (5, 1)), TWO_WAY, has_probabilities=True)
    scores = challenge_sets.get_challenge_set("swapped").score_rows(rows, answers)
    assert scores["accuracy_before"].value == scores["accuracy_after"].value == 1
    assert scores["overall"]["accuracy_before"].value == pytest.approx(2 / 3)


def test_each_sicck_pair_occurs_in_both_directions(write_pairs):
    pairs = [
        ("A black cat is eating a fish.", "A cat is eating a fish.", "entailment"),
        ("A box is full.", "A box is empty.", "contradiction"),
        ("There are cats.", "A cat is eating.", "neutral"),  # not a subject, verb and object
    ]
    rows = loading.load("sicck", data=write_pairs(pairs))
    as_they_are, exchanged = ({row["pair"]: row for row in rows if row["reverse"] == side} for side in (False, True))
    assert len(rows) == 2 * len(as_they_are) == len(set(rows["id"]))
    mirrored = {"forward_entailment": "reverse_entailment", "reverse_entailment": "forward_entailment"}
    for name, row in as_they_are.items():
        other = exchanged[name]
        assert (other["premise"], other["hypothesis"]) == (row["hypothesis"], row["premise"])
        assert other["four_way"] == mirrored.get(row["four_way"], row["four_way"])
    seed = as_they_are["pairs-0#0"]
    assert (seed["premise"], seed["hypothesis"]) == ("a black cat is eating a fish", "a cat is eating a fish")
    assert (seed["modifier"], seed["target"], LABELS[seed["label"]]) == ("none", "forward_entailment", "entailment")
    assert exchanged["pairs-0#0"]["label"] == LABELS.index("neutral")


def test_equivalence_has_no_four_way_label(write_pairs):
    path = write_pairs([("a cat is up", "a cat is up", "entailment")])
    four, seven, three = (loading.load("sicck", data=path, space=f"{n}_way") for n in ("four", "seven", "three"))
    assert "equivalence" in seven["target"]
    assert "equivalence" not in four["relation"]
    assert len(four) < len(seven) == len(three)


def test_official_sicck_has_seven_labels_and_scores_two_label_models(shared):
    file = str(shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")
    seven = loading.load("sicck", "official-seven_way", file=file)
    targets = [row["target"] for row in seven if not row["reverse"]]
    assert targets.count("negation|alternation") == 252
    rows = loading.load("sicck", "official", file=file)
    answers = SetPredictions(np.tile([0.2, 0.8], (len(rows), 1)), TWO_WAY, has_probabilities=True)
    sicck = challenge_sets.get_challenge_set("sicck")
    scores = sicck.score_rows(rows, answers)
    assert set(scores["by_label"]) == {"forward_entailment", "reverse_entailment", "not_entailment"}
    assert scores["accuracy"].value == (593 + 422) / 1304
    data = {"name": "official", "split": "", "rows": 15, "excluded": {}}
    table = render(sicck.build_table(Result("sicck", {}, {"name": "m"}, data, scores, {})))
    assert "Table 10" not in table, "the model predicts no neutral pairs"


def test_attested_split_counts_adjectives_of_other_split(write_pairs, pipeline, monkeypatch):
    painting = ("A woman is painting a man in a car.", "Somebody paints.", "entailment")
    attesting = [("A man is pushing an old car.", "An old man has a car.", "neutral")]
    attesting += [("The dog sleeps.", "The old man sleeps near an old car.", "neutral")]
    files = {"test": write_pairs([painting], "test.jsonl"), "train": write_pairs(attesting, "train.jsonl")}
    monkeypatch.setattr(
        "unbag.challenge_sets.pairs.open_corpus", lambda corpus, split, **settings: open_data(files[split])
    )
    request = {"corpus": "sick", "source_split": "test", "pipeline": pipeline}
    assert loading.load("soswap_addamod", **request)["kind"][:] == ["soswap"]
    swapped, added = loading.load("soswap_addamod", **request, attested_split="train")
    assert (swapped["id"], swapped["hypothesis"]) == ("test-0#soswap", "A man is painting a woman in a car.")
    assert (added["id"], added["adjective"], added["source_premise"]) == ("test-0#addamod", "old", painting[0])
    assert {added["premise"], added["hypothesis"]} == {
        "A woman is painting an old man in a car.",
        "A woman is painting a man in an old car.",
    }


def test_negation_of_text_has_rows_of_its_sentences_as_premises(write_pairs, pipeline, tmp_path):
    (tmp_path / "page.md").write_text("# A page\n\n" + " ".join(CLAIMS) + "\n")
    pairs = write_pairs([(claim, "It rains.", "neutral") for claim in CLAIMS])
    of_pairs, of_text = (
        loading.load("negation", pipeline=pipeline, **each)
        for each in ({"data": pairs}, {"text": [str(tmp_path / "page.md")]})
    )
    for name in ("premise", "hypothesis", "label"):
        assert of_pairs[name][:] == of_text[name][:]
    assert len(of_pairs) > 50


VERBS = {"contradiction": ("naps", "runs"), "entailment": ("runs", "runs"), "neutral": ("sings", "walks")}


def _write(path, n, seed, mislabelled=0):
    """Write pairs whose verbs determine the label, except for the first ones, which have other labels."""
    rng = np.random.default_rng(seed)
    nouns = ["cat", "dog", "man", "girl", "boy", "bird"]
    with path.open("w") as file:
        for number in range(n):
            label = LABELS[number % 3]
            one, other = VERBS[label]
            gold = LABELS[(number + 1) % 3] if number < mislabelled else label
            row = {
                "premise": f"The {rng.choice(nouns)} {one}.",
                "hypothesis": f"The {rng.choice(nouns)} {other}.",
                "label": gold,
                "annotator_labels": [gold, gold, label, ""],
            }
            file.write(json.dumps(row) + "\n")
    return str(path)


def test_word_model_is_wrong_on_misleading_pairs(tmp_path):
    training = {"train_data": (_write(tmp_path / "train.jsonl", 150, 1),), "pipeline": "all"}
    options = {"data": _write(tmp_path / "test.jsonl", 30, 2, mislabelled=6), **training}
    rows = loading.load("cs_lambda", **options)
    assert len(rows) == 30
    lms = np.array(rows["lms"][:])
    probabilities = np.array([rows[f"lexical_{label}"][:] for label in LABELS]).T
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1.5e-4)  # each probability is rounded to four decimals
    wrong = np.where(np.eye(3, dtype=bool)[rows["label"][:]], -1, probabilities)
    assert lms == pytest.approx(wrong.max(axis=1))
    assert (lms[:6] > 0.7).all()
    assert (lms[6:] < 0.5).all()
    # The most misleading feature is a verb.
    first = rows[0]["misleading"][0]
    assert {"naps", "runs", "sings", "walks"} & {first["premise"], first["hypothesis"]}
    assert rows[0]["annotator_labels"] == [1, 1, 0]
    [result] = evaluate("lexical", [SetRequest("cs_lambda", options=options)], output_dir=tmp_path / "out", **training)
    whole, *subsets = result.scores["subsets"]
    assert whole["accuracy"].value == pytest.approx(24 / 30)
    assert [subset["accuracy"].value for subset in subsets] == [0, 0, 0]
    assert whole["human"].value == pytest.approx((24 + 6 * 2 / 3) / 30)
