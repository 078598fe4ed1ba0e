"""Laws of all metrics, on random predictions: row order, intervals, missing predictions and malformed columns."""

import re

import numpy as np
import pytest

from unbag.data.labels import FOUR_WAY
from unbag.scoring.accuracy import accuracy
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.document_consistency import document_consistency
from unbag.scoring.label_distribution import label_distribution
from unbag.scoring.natural_logic import natural_logic
from unbag.scoring.negation_consistency import negation_consistency
from unbag.scoring.nested import flatten_scores, iter_estimates
from unbag.scoring.permutation_acceptance import permutation_acceptance
from unbag.scoring.swap_consistency import swap_consistency
from unbag.scoring.uncertainty_partitions import uncertainty_partitions
from unbag.scripts import list_script_folders

N = 240
PREDICTED, GOLD, THIRDS = np.random.default_rng(0).integers(0, 3, (3, N))
SHARES = np.random.default_rng(1).random(N)
SOURCES, PLACES, PARTS = np.arange(N) // 4, np.arange(N) % 4, np.array(["x", "y"])[np.arange(N) % 8 // 4]
LABELLED = {"predictions": PREDICTED, "references": GOLD}
ANNOTATED = LABELLED | {"annotator_labels": np.stack([GOLD, GOLD, PREDICTED], axis=1)}
GROUPED = LABELLED | {"references": np.minimum(PLACES, 1), "source_id": SOURCES // 2, "operation": PARTS}

METRICS = {
    accuracy: LABELLED | {"source_id": SOURCES},
    category_accuracy: ANNOTATED
    | {"category": PARTS, "similarity": SHARES, "pair_frequency": np.arange(N), "premise": SOURCES},
    compositionality_sensitivity: ANNOTATED | {"lms": SHARES},
    document_consistency: GROUPED
    | {"group": SOURCES, "k": np.full(N, 4), "position": SOURCES % 4}
    | {"operation": np.array(["supported", "subject", "object", "removed"])[PLACES]},
    label_distribution: LABELLED | {"source_id": SOURCES, "kind": PARTS},
    natural_logic: {"predictions": np.array(FOUR_WAY)[PREDICTED], "references": np.array(FOUR_WAY)[GOLD]}
    | {"source_id": SOURCES},
    negation_consistency: GROUPED | {"references": PLACES % 2, "mirror": np.arange(N) // 2},
    permutation_acceptance: LABELLED
    | {"references": GOLD[SOURCES], "source_id": SOURCES, "permutation": PLACES - 1, "bleu": SHARES}
    | {"probabilities": 0.1 + 0.7 * np.eye(3)[PREDICTED], "lengths": SOURCES},
    swap_consistency: LABELLED
    | {"references": 1 + GOLD[np.arange(N) // 2] % 2, "source_id": np.arange(N) // 2, "swapped": PLACES % 2 == 1},
    uncertainty_partitions: LABELLED | {"partition": THIRDS},
}
"""Each metric with columns of its rows."""
OWN_TESTS = ("pos_minitree", "verification")
"""Metrics whose columns are not predicted labels, with laws in their own modules."""
RESAMPLED = ("f1", "precision", "recall", "entropy", "human", "kappa")
"""Scores whose intervals are resampled, so that they depend on the seed."""


def test_list_of_metrics_is_complete():
    names = {metric.__name__ for metric in METRICS} - {"accuracy"}
    assert names | {*OWN_TESTS} == set(list_script_folders("metrics"))


@pytest.fixture(params=METRICS, ids=lambda metric: metric.__name__)
def metric(request):
    return request.param, METRICS[request.param]


def test_row_order_has_no_effect(metric):
    compute, columns = metric
    order = np.random.default_rng(2).permutation(N)
    shuffled = {name: column[order] for name, column in columns.items()}
    given, other = (flatten_scores(compute(**each, resamples=0)) for each in (columns, shuffled))
    assert len(given) > 5
    assert other == pytest.approx(given)


def test_intervals_contain_values_and_only_resampled_ones_depend_on_seed(metric):
    compute, columns = metric
    first, again, other = (dict(iter_estimates(compute(**columns, seed=seed))) for seed in (1, 1, 2))
    assert first == again
    for path, estimate in first.items():
        assert estimate.value is None or estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9, path
        if not any(word in path for word in RESAMPLED):
            assert other[path] == estimate


def test_zero_resamples_give_values_without_intervals(metric):
    compute, columns = metric
    alone, full = (dict(iter_estimates(compute(**columns, **options))) for options in ({"resamples": 0}, {}))
    assert {path: (each.value, each.n) for path, each in alone.items()} == {
        path: (each.value, each.n) for path, each in full.items()
    }
    assert {(each.low, each.high) for each in alone.values()} == {(None, None)}


@pytest.mark.parametrize("metric", [each for each in METRICS if each is not natural_logic], indirect=True)
def test_missing_predictions_are_wrong_and_gold_labels_are_required(metric):
    compute, columns = metric
    missing = np.full(N, -1)
    if compute is not label_distribution:  # of which each share has a label
        found = dict(iter_estimates(compute(**columns | {"predictions": missing}, resamples=0)))
        assert {each.value for path, each in found.items() if "accuracy" in path} <= {0, None}
        assert compute is not permutation_acceptance or found["acceptance"].value == 1, "low acceptance is better"
    with pytest.raises(ValueError, match="expected a gold label for every example, got -1 in row 0"):
        compute(**columns | {"references": missing})


def test_columns_of_other_or_zero_length_are_rejected(metric):
    compute, columns = metric
    for name in columns:
        short = columns | {name: columns[name][:1]}
        with pytest.raises(ValueError, match=rf"\b{name}\b|expected (bin )?columns"):
            compute(**short)
    with pytest.raises(ValueError, match="expected at least one example, got none"):
        compute(**{name: column[:0] for name, column in columns.items()})


SWAPPED, ENDS = PLACES % 2 == 1, np.arange(N) // 2
INVALID = [
    (category_accuracy, {"similarity": np.full(N, 2.0)}, "similarity: expected values from -1 to 1, got 2.0 in row 0"),
    (category_accuracy, {"pair_frequency": np.full(N, -3)}, "pair_frequency: expected values from 0 to inf, got -3.0"),
    (compositionality_sensitivity, {"lms": np.full(N, 1.1)}, "lms: expected values from 0 to 1, got 1.1 in row 0"),
    (compositionality_sensitivity, {"lms": np.full(N, np.nan)}, "lms: expected values from 0 to 1, got nan in row 0"),
    (compositionality_sensitivity, {"thresholds": [0.5, 1.5]}, "thresholds: expected values from 0 to 1, got [1.5]"),
    (compositionality_sensitivity, {"references": np.full(N, 3)},
     "references: expected label ids from 0 to 2, got 3 in row 0"),
    (compositionality_sensitivity, {"predictions": ["neutral"] * N}, "expected integers, got {'predictions': '<U7'}"),
    (compositionality_sensitivity, {"predictions": np.ones((N, 3))},
     "{'references': (240,), 'predictions': (240, 3)}"),
    (compositionality_sensitivity, {"annotator_labels": np.full((N, 2), 7)},
     "expected label ids from 0 to 2, got 7 in row 0"),
    (document_consistency, {"position": np.full(N, 4)}, "expected values from 0 to k - 1, got 4 for k=4 in row 0"),
    (label_distribution, {"predictions": np.full(N, 3)},
     "predictions: expected label ids from 0 to 2, got 3 in row 0"),
    (natural_logic, {"pair": ENDS}, "expected both pair and reverse, got only pair"),
    (natural_logic, {"pair": ENDS, "reverse": np.full(N, False)}, "expected each pair once per direction"),
    (natural_logic, {"pair": [*range(N)], "reverse": SWAPPED}, "expected a reversed row for each pair, got none for 0"),
    (natural_logic, {"pair": [0], "reverse": SWAPPED}, "'pair': 1"),
    (permutation_acceptance, {"permutation": np.r_[PLACES[:-1] - 1, 1]},
     "exactly once per source, got 1 of source 59 2 times"),
    (permutation_acceptance, {name: column[:-1] for name, column in METRICS[permutation_acceptance].items()},
     "got 2 of source 59 0 times"),
    (permutation_acceptance, {"permutation": PLACES - 2}, "of at least -1, got -2"),
    (permutation_acceptance, {"source_id": np.arange(N), "permutation": np.full(N, -1)}, "only unpermuted"),
    (permutation_acceptance, {"references": np.r_[GOLD[SOURCES[:-1]], 3]},
     "in all rows of a source, got different labels for source 59"),
    (permutation_acceptance, {"probabilities": np.full((N, 3), np.nan)},
     "probabilities: expected no NaN, got NaN in row 0"),
    (permutation_acceptance, {"probabilities": np.ones((N, 1))}, "probabilities: expected shape (240, n_labels)"),
    (permutation_acceptance, {"entropy_over": "rows"}, "expected 'examples' or 'permutations', got 'rows'"),
    (swap_consistency, {"swapped": np.full(N, False)}, "got 2 original and 0 swapped rows for 0"),
    (swap_consistency, {"source_id": np.arange(N)}, "got 0 original and 1 swapped rows for 1"),
    (swap_consistency, {"source_id": np.arange(N), "swapped": np.full(N, False)},
     "neutral and contradiction pair, got none for 0"),
    (swap_consistency, {"neutral": 2}, "neutral, contradiction: expected two different label ids, got 2 for both"),
    (uncertainty_partitions, {"partition": np.where(THIRDS == 2, 3, THIRDS)}, "from 0 to 3, got none in partition 2"),
    (uncertainty_partitions, {"partition": THIRDS - 1},
     "partition: expected the test split, got -1, as in the other splits"),
    (uncertainty_partitions, {"partition": SHARES}, "expected integers, got {'partition': 'float64'}"),
]  # fmt: skip


@pytest.mark.parametrize(("compute", "change", "words"), INVALID)
def test_invalid_column_error_names_it(compute, change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        compute(**METRICS[compute] | change)


@pytest.mark.parametrize("metric", [accuracy, label_distribution, natural_logic, category_accuracy], indirect=True)
def test_rows_of_one_source_are_resampled_together(metric):
    compute, columns = metric
    sources = "premise" if "premise" in columns else "source_id"
    copies = {name: column.repeat(4, axis=0) for name, column in columns.items()}
    one, together, apart = (
        compute(**each | {sources: ids})["accuracy"]
        for each, ids in ((columns, np.arange(N)), (copies, np.arange(N).repeat(4)), (copies, np.arange(4 * N)))
    )
    assert together[:3] == pytest.approx(one[:3], abs=0.01)
    assert (together.high - together.low) / (apart.high - apart.low) == pytest.approx(2, abs=0.1)
