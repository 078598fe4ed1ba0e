import json

import numpy as np
import pytest

from unbag import evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest
from unbag.data.labels import LABELS

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


@pytest.fixture
def options(tmp_path):
    train, test = _write(tmp_path / "train.jsonl", 150, 1), _write(tmp_path / "test.jsonl", 30, 2, mislabelled=6)
    return {"data": test, "train_data": (train,), "pipeline": "all"}


def test_every_example_is_scored_and_misleading_ones_are_found(options):
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


def test_word_model_fails_on_misleading_pairs(options, tmp_path):
    request = SetRequest("cs_lambda", options=options)
    [result] = evaluate(
        "lexical", [request], output_dir=tmp_path / "out", train_data=options["train_data"], pipeline="all"
    )
    whole, *subsets = result.scores["subsets"]
    assert whole["accuracy"].value == pytest.approx(24 / 30)
    assert [subset["accuracy"].value for subset in subsets] == [0, 0, 0]
    assert whole["human"].value == pytest.approx((24 + 6 * 2 / 3) / 30)
