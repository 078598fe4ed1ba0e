import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import render_result
from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.uncertainty_partitions import merge_sparse_partitions, uncertainty_partitions

resnli = challenge_sets.get_challenge_set("resnli")

# Four test pairs, easiest first. Gold labels e n c e, predictions e n n c.
ROWS = datasets.Dataset.from_dict(
    {
        "label": [0, 1, 2, 0],
        "partition": [0, 1, 2, 3],
        "source_split": ["train", "test", "train", "validation"],
    }
)
PREDICTED = [0, 1, 1, 2]


def _build_predictions(predicted, label_space=LABELS):
    return SetPredictions(np.eye(len(label_space))[predicted], label_space, has_probabilities=False)


def test_partitions_are_scored_with_unseen_pairs_separate():
    scores = resnli.score_rows(ROWS, _build_predictions(PREDICTED))
    unseen = scores.pop("unseen")
    assert scores.pop("skill") is None, "one label has not ten pairs"
    assert scores.pop("verification")["n_entailed"] == 2
    assert scores == uncertainty_partitions(PREDICTED, [0, 1, 2, 0], [0, 1, 2, 3])
    assert (scores["accuracy"].value, scores["drop"].value) == (0.5, 1.0)
    assert (unseen.value, unseen.n) == (0.5, 2)  # the second and fourth pair


@pytest.mark.parametrize("splits", [["train"] * 4, ["test"] * 4, [""] * 4])
def test_single_source_split_gives_no_unseen_score(splits):
    rows = ROWS.remove_columns("source_split").add_column("source_split", splits)
    assert "unseen" not in resnli.score_rows(rows, _build_predictions(PREDICTED))


# Partitions of a set with 20, by hand: the largest of 20, 10, 5, 4, 2 and 1 without an empty partition.
@pytest.mark.parametrize(
    ("drawn", "joined", "total"),
    [
        ([*range(20)], [*range(20)], 20),
        ([*range(20)] * 2, [*range(20)] * 2, 20),
        ([n for n in range(20) if n != 7], [n // 2 for n in range(20) if n != 7], 20),
        # The hardest partition is empty, and the last nonempty one must not replace it.
        ([*range(19), 18], [n // 2 for n in (*range(19), 18)], 20),
        ([0, 4, 5, 12, 19], [0, 0, 1, 2, 3], 20),
        ([3, 17], [0, 1], 20),
        ([3, 4, 9], [0, 0, 0], 20),
        ([11], [0], 20),
        ([0, 1, 2], [0, 1, 2], 3),  # a whole set of three pairs
        ([0, 1, 3], [0, 0, 0], 20),
    ],
)
def test_empty_partitions_are_joined_with_neighbors(drawn, joined, total):
    numbers, of_set = merge_sparse_partitions(np.array(drawn))
    assert (numbers.tolist(), of_set) == (joined, total)


@given(st.lists(st.integers(0, 19), min_size=1, max_size=60))
def test_joined_partitions_have_no_gap_and_keep_order(drawn):
    numbers, total = merge_sparse_partitions(np.array(drawn))
    m = numbers.max() + 1
    assert set(numbers.tolist()) == set(range(m))
    assert total % m == 0
    order = np.argsort(drawn, kind="stable")
    assert (np.diff(numbers[order]) >= 0).all()
    if set(drawn) == set(range(20)):
        assert numbers.tolist() == drawn


def test_few_examples_are_scored_in_fewer_partitions():
    drawn = [n for n in range(20) if n not in (3, 19)] * 3  # 54 examples, with two of the twenty partitions empty
    labels = [n % 3 for n in range(len(drawn))]
    rows = datasets.Dataset.from_dict({"label": labels, "partition": drawn, "source_split": ["train"] * len(drawn)})
    scores = resnli.score_rows(rows, _build_predictions(labels))
    assert (scores["n_partitions"], scores["set_partitions"]) == (10, 20)
    assert [row["accuracy"].n for row in scores["by_partition"]] == [6, 3, 6, 6, 6, 6, 6, 6, 6, 3]
    shown = " ".join(render_result(_build_result(scores)).split())
    assert "54 examples in 10 partitions (each joins 2 of the set's 20, since there are too few examples)" in shown
    assert "(6 and 3 pairs)" in shown


def test_two_label_model_is_scored_on_entailment_or_not():
    scores = resnli.score_rows(ROWS, _build_predictions([0, 1, 1, 1], TWO_WAY))
    assert scores["accuracy"].value == 0.75


def _build_scores(easiest, hardest, low=0.1, n=491):
    def build_estimate(value):
        return Estimate(value, value - 0.04, value + 0.04, n)

    steps = np.linspace(easiest, hardest, 20)
    return {
        "n_examples": 20 * n,
        "n_partitions": 20,
        "accuracy": build_estimate(0.61),
        "unseen": Estimate(0.58, 0.55, 0.61, 400),
        "easiest": build_estimate(easiest),
        "hardest": build_estimate(hardest),
        "drop": Estimate(easiest - hardest, low, 0.5, n),
        "rank_correlation": -0.987,
        "by_partition": [{"partition": i, "accuracy": build_estimate(float(v))} for i, v in enumerate(steps)],
    }


def _build_result(scores, **model):
    data = {"name": "snli", "split": "train+validation+test", "rows": 570_152}
    data["excluded"] = {"unlabelled": 785, "in the other splits": 559_543}
    return Result("resnli", {}, {"name": "an-organisation/a-model-with-quite-a-long-name"} | model, data, scores, {})


def test_insignificant_change_is_inconclusive():
    assert "inconclusive: too few pairs" in resnli.summarize_result(_build_result(_build_scores(0.6, 0.6, low=-0.3)))


def test_unknown_training_data_is_stated_once():
    unknown = "The model's training data are unknown and may include any of these pairs."
    scores = _build_scores(0.8, 0.4)
    assert resnli.summarize_result(_build_result(scores)).endswith(f" {unknown}")
    assert " ".join(render_result(_build_result(scores)).split()).count(unknown) == 1  # the reading is below the table
    for known in ({"training": "stanfordnlp/snli (plain_text) train"}, {"name": "wordnet"}):
        assert unknown not in resnli.summarize_result(_build_result(scores, **known))
