import numpy as np
import pytest

from unbag import evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest

ROWS = [
    ("A man sleeps.", "A person sleeps.", "entailment"),
    ("A man sleeps.", "A man is old.", "neutral"),
    ("A man sleeps.", "A man runs.", "contradiction"),
    ("A dog barks.", "A dog is quiet.", "contradiction"),
]


@pytest.fixture
def data(write_pairs):
    return write_pairs(ROWS)


def test_only_neutral_and_contradiction_pairs_are_swapped(data):
    rows = loading.load("swapped", data=data)
    assert [(row["source_id"], row["swapped"]) for row in rows] == [
        ("pairs-0", False),
        *(("pairs-" + str(n), swapped) for n in (1, 2, 3) for swapped in (False, True)),
    ]
    assert len(set(rows["id"][:])) == 7
    for given, exchanged in zip(list(rows)[1::2], list(rows)[2::2], strict=True):
        assert (given["premise"], given["hypothesis"]) == (exchanged["hypothesis"], exchanged["premise"])
        assert given["label"] == exchanged["label"]


def test_two_label_model_is_right_on_neutral_and_contradiction(data, tmp_path):
    class NeverEntails:
        label_space = ("entailment", "not_entailment")
        identity = None

        def predict(self, premises, hypotheses):
            return np.tile(np.array([[0.2, 0.8]], dtype=np.float32), (len(premises), 1))

    [result] = evaluate(NeverEntails(), [SetRequest("swapped", options={"data": data})], output_dir=tmp_path / "out")
    assert result.scores["accuracy_before"].value == result.scores["accuracy_after"].value == 1
    assert result.scores["overall"]["accuracy_before"].value == pytest.approx(3 / 4)
