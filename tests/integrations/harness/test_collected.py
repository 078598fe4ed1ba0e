"""Tests that the scores of harness tasks equal those of `unbag evaluate` for every set."""

import math

import datasets
import numpy as np
import pytest

from unbag import challenge_sets
from unbag.data.labels import LABELS, get_label_id
from unbag.data.predictions import SetPredictions
from unbag.integrations.harness.tasks import HarnessTask, build_scoring_source
from unbag.scoring.nested import iter_estimates

# The exported code: one module that does not import unbag.
_WRITTEN = {}
exec(
    build_scoring_source([HarnessTask(name, "org/sets", None, "test") for name in challenge_sets.list_set_names()]),
    _WRITTEN,
)
COLUMNS, HIGHER_IS_BETTER, SCORES_OF = (_WRITTEN[name] for name in ("COLUMNS", "HIGHER_IS_BETTER", "SCORES_OF"))

N = 240
FOUR_WAY = ["forward_entailment", "reverse_entailment", "contradiction", "neutral"]


def build_rows(name):
    """Return rows with random values for all columns that the set's scores need."""
    draw = np.random.default_rng(7)
    label = [int(draw.integers(3)) for _ in range(N)]
    rows = [{"id": f"r{i}", "source_id": f"s{i}", "premise": f"p{i % 50}", "label": label[i]} for i in range(N)]
    for i, row in enumerate(rows):
        half = i // 2
        row |= {
            "breaking_nli": {
                "category": "abc"[i % 3],
                "similarity": None,
                "pair_frequency": None,
                "annotator_labels": [],
            },
            "cs_lambda": {"lms": float(draw.random()), "annotator_labels": []},
            "permuted": {"source_id": f"s{i // 6}", "permutation": i % 6 - 1, "label": label[i // 6]}
            | {f"{side}_words": 8 for side in ("premise", "hypothesis")}
            | {f"{side}_bleu_{n}": 0.5 for side in ("premise", "hypothesis") for n in (2, 3, 4)}
            | {f"{side}_minitree": 0.5 for side in ("premise", "hypothesis")},
            "negation": {"source_id": f"s{i // 4}", "mirror": f"m{half}", "operation": "double", "label": i % 2},
            "plain": {},
            "recombined": {"source_id": f"s{i // 3}", "group": f"g{i // 3}", "k": 4, "position": i // 3 % 4}
            | {"operation": ("supported", "subject", "removed")[i % 3], "label": int(i % 3 > 0)},
            "resnli": {"partition": i % 20, "source_split": "test"},
            "sicck": {"pair": f"r{half}", "reverse": bool(i % 2), "four_way": [*FOUR_WAY, None][half % 5]}
            | dict.fromkeys(("modifier_type", "part", "modifier", "position", "relation"), "a"),
            "soswap_addamod": {"kind": ("soswap", "addamod")[i % 2]},
            "swapped": {"source_id": f"s{half}", "swapped": bool(i % 2), "label": label[half]},
        }[name]
    if name == "swapped":  # an entailment pair has no swapped row
        rows = [row for row in rows if not (row["swapped"] and LABELS[row["label"]] == "entailment")]
    return rows


def build_predictions(rows):
    draw = np.random.default_rng(8)
    return [row | {"predicted": int(draw.choice([row["label"], draw.integers(3)]))} for row in rows]


def test_every_set_has_scores():
    assert set(SCORES_OF) == set(COLUMNS) == set(HIGHER_IS_BETTER) == set(challenge_sets.list_set_names())


@pytest.mark.parametrize("name", list(SCORES_OF))
def test_task_scores_equal_set_scores(name):
    records = build_predictions(build_rows(name))
    rows = datasets.Dataset.from_list(records)
    probabilities = np.eye(3, dtype=np.float32)[[record["predicted"] for record in records]]
    answers = SetPredictions(probabilities, LABELS, has_probabilities=False)
    expected = get_task_values(name, challenge_sets.get_challenge_set(name).score_rows(rows, answers))
    found = SCORES_OF[name]([{c: r[c] for c in (*COLUMNS[name], "label", "predicted")} for r in records])
    assert list(found) == list(HIGHER_IS_BETTER[name])
    for score, value in found.items():
        assert value == pytest.approx(expected[score]), score
    assert all(0 < abs(value) < 1 for score, value in found.items() if "omega" not in score)


def get_task_values(name, scores):
    """Return the scores of a task by name, from the scores of `unbag evaluate`."""
    found = dict(iter_estimates(scores))
    return {
        each.name: found[each.path].value
        for each in challenge_sets.get_challenge_set(name).list_metrics_with_role("harness")
    }


@pytest.mark.parametrize("name", list(SCORES_OF))
def test_partial_rows_are_scored(name):
    records = build_predictions(build_rows(name))
    draw = np.random.default_rng(9)
    parts = [[records[i] for i in draw.permutation(N)[:n] if i < len(records)] for n in range(20, N, 7)]
    for part in [*parts, records[:1], records[:13], records[:100]]:
        found = SCORES_OF[name](part)
        assert list(found) == list(HIGHER_IS_BETTER[name])
        assert all(math.isnan(value) or -1 <= value <= 1 for value in found.values())
    if name == "permuted":  # sixteen whole examples and a part of another
        assert found == SCORES_OF[name](records[:96])


NAN = math.nan


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        # (rows, correct rows) per partition; then accuracy, easiest, hardest, drop
        ({0: (4, 3), 1: (4, 1)}, (4 / 8, 3 / 4, NAN, NAN)),
        ({1: (4, 1)}, (1 / 4, NAN, NAN, NAN)),
        ({18: (2, 2), 19: (5, 1)}, (3 / 7, NAN, 1 / 5, NAN)),
        ({0: (4, 3), 7: (1, 0), 19: (5, 1)}, (4 / 10, 3 / 4, 1 / 5, 3 / 4 - 1 / 5)),
        ({number: (2, number % 2) for number in range(20)}, (10 / 40, 0.0, 1 / 2, -1 / 2)),
        # a whole set of three pairs is indistinguishable from a part of a larger set
        ({0: (1, 1), 1: (1, 1), 2: (1, 0)}, (2 / 3, 1.0, NAN, NAN)),
        ({}, (NAN, NAN, NAN, NAN)),
    ],
)
def test_partial_resnli_omits_unknown_partitions(asked, expected):
    records = [
        {"partition": number, "label": 1, "predicted": 1 if row < right else 0}
        for number, (rows, right) in asked.items()
        for row in range(rows)
    ]
    found = SCORES_OF["resnli"](records)
    assert tuple(found) == ("accuracy", "accuracy_easiest", "accuracy_hardest", "drop")
    assert tuple(found.values()) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", list(SCORES_OF))
def test_missing_answer_is_wrong(name):
    rows = build_rows(name)
    records = [record | {"predicted": -1} for record in build_predictions(rows)]
    found = SCORES_OF[name](records)
    worst = {score: 0 if higher else 1 for score, higher in HIGHER_IS_BETTER[name].items()}
    assert all(value == worst[score] or math.isnan(value) for score, value in found.items())
    nothing = SetPredictions(
        np.full((len(rows), 3), 1 / 3), LABELS, has_probabilities=False, unanswered=np.ones(len(rows), dtype=bool)
    )
    expected = get_task_values(
        name, challenge_sets.get_challenge_set(name).score_rows(datasets.Dataset.from_list(rows), nothing)
    )
    assert expected == pytest.approx({score: None if math.isnan(value) else value for score, value in found.items()})


def test_label_ids_equal_those_of_sets():
    assert [get_label_id(label) for label in LABELS] == list(range(len(LABELS)))
