import numpy as np
import pytest

from unbag.data.predictions import build_predictions_from_labels
from unbag.scoring.permutation_acceptance import permutation_acceptance, score_permuted

E, N, C = 0, 1, 2

# Four examples, all entailment, four permutations each; by hand:
#   a: right unpermuted, accepted 4 of 4      b: right, 2 of 4
#   c: wrong unpermuted, accepted 1 of 4      d: wrong, 0 of 4
PREDICTED = {"a": [E, E, E, E, E], "b": [E, E, N, E, C], "c": [N, N, N, N, E], "d": [C, C, N, C, C]}
ROWS = [(source, k - 1, label) for source, labels in PREDICTED.items() for k, label in enumerate(labels)]
SOURCES = [source for source, _, _ in ROWS]
INDEX = [k for _, k, _ in ROWS]
PREDICTIONS = [label for _, _, label in ROWS]
REFERENCES = [E] * len(ROWS)


def _score(**properties):
    return permutation_acceptance(PREDICTIONS, REFERENCES, SOURCES, INDEX, **properties)


def _sample_inputs():
    """Return random predictions for 40 examples with seven permutations each."""
    rng = np.random.default_rng(3)
    references = np.repeat(rng.integers(0, 3, 40), 8)
    probabilities = rng.dirichlet([1.0] * 3, len(references))
    return {
        "predictions": probabilities.argmax(axis=1),
        "references": references,
        "source_id": np.arange(40).repeat(8),
        "permutation": np.tile(np.arange(-1, 7), 40),
        "probabilities": probabilities,
    }


def test_all_metrics_equal_hand_computed_values():
    scores = _score()
    values = {name: estimate.value for name, estimate in scores.items() if hasattr(estimate, "value")}
    assert values == {
        "accuracy": 0.5,
        "omega_max": 0.75,  # a, b, c
        "omega_rand": 0.5,  # a and b exceed a third; c has a quarter
        "omega_all": 0.25,  # a
        "acceptance": 7 / 16,  # 4, 2, 1 and 0 of 4 are accepted
        "p_c": 0.75,  # (1 + 1/2) / 2
        "p_c_accepted": 0.75,  # both are accepted in at least one order
        "p_f": 0.25,  # only c, since d is never accepted
    }
    counts = [scores[name] for name in ("n_examples", "q", "n_labels", "n_c", "n_f")]
    assert counts == [4, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("predicted", "n_labels", "omega_rand"),
    [([E, E, N, N], 3, 0), ([E, E, E, N, N], 2, 0), ([E, E, E, E, N], 2, 1)],  # 1/3 and 1/2 are not above chance
)
def test_acceptance_must_be_above_chance(predicted, n_labels, omega_rand):
    n = len(predicted)
    scores = permutation_acceptance(predicted, [E] * n, ["a"] * n, range(-1, n - 1), n_labels=n_labels)
    assert scores["omega_rand"].value == omega_rand


def test_confident_acceptance_equals_hand_computed_value():
    # The gold label has .45 and .95 for b's accepted permutations, .6 for c's, and 1 for a's.
    gold = {("b", 0): 0.45, ("b", 2): 0.95, ("c", 3): 0.6}
    distributions = []
    for source, k, label in ROWS:
        p = gold.get((source, k), 0.95)
        other = (1 - p) / 2
        distributions.append([p if i == label else other for i in range(3)])
    confident = _score(probabilities=distributions)["confident"]
    half = {name: estimate.value for name, estimate in confident["0.5"].items()}
    both = {"omega_rand": 0.25, "omega_all": 0.25, "p_c": (1 + 1 / 4) / 2, "p_c_accepted": (1 + 1 / 4) / 2}
    assert half == both | {"omega_max": 0.75, "acceptance": (1 + 1 / 4 + 1 / 4) / 4, "p_f": 0.25}
    sure = {name: estimate.value for name, estimate in confident["0.9"].items()}
    assert sure == both | {"omega_max": 0.5, "acceptance": (1 + 1 / 4) / 4, "p_f": None}
    assert confident["0.9"]["p_f"].n == 0


def test_entropy_is_averaged_per_example_by_default():
    # Both are right in the original order. a is accepted twice, with entropies h and 0, and b once, with entropy k.
    predicted = [E, E, E, E, E, N]
    distributions = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.34, 0.33, 0.33], [0, 1, 0]]
    rows = (predicted, [E] * 6, list("aaabbb"), [-1, 0, 1, -1, 0, 1], distributions)
    h, k = np.log(2), -(0.34 * np.log(0.34) + 2 * 0.33 * np.log(0.33))
    scores = permutation_acceptance(*rows)
    assert scores["entropy_c"].value == pytest.approx((h / 2 + k) / 2)
    assert scores["entropy_c"].n == 2
    assert scores["entropy_quartiles_c"] == pytest.approx([h / 2 + (k - h / 2) * part for part in (0.25, 0.5, 0.75)])
    assert scores["entropy_quartiles_f"] is scores["entropy_f"].value is None
    pooled = permutation_acceptance(*rows, entropy_over="permutations")
    assert pooled["entropy_c"].value == pytest.approx((h + k) / 3)


def test_p_c_accepted_excludes_examples_never_accepted():
    # a and b are right in the original order; a is accepted in 1 of 2 permutations, b in none.
    rows = ([E, E, N, E, N, N], [E] * 6, list("aaabbb"), [-1, 0, 1, -1, 0, 1])
    scores = permutation_acceptance(*rows)
    assert (scores["p_c"].value, scores["p_c"].n) == (1 / 4, 2)
    assert (scores["p_c_accepted"].value, scores["p_c_accepted"].n) == (1 / 2, 1)
    assert scores["acceptance"].value == 1 / 4


def test_bag_of_words_accepts_exactly_correct_examples():
    data = _sample_inputs()
    data["predictions"] = data["predictions"][data["permutation"] == -1].repeat(8)  # the same for all orders
    scores = permutation_acceptance(**data)
    assert scores["p_c"].value == scores["p_c_accepted"].value == 1
    assert scores["p_f"].value is None
    assert scores["acceptance"].value == scores["accuracy"].value
    assert scores["n_f"] == 0
    assert scores["omega_max"] == scores["omega_rand"] == scores["omega_all"] == scores["accuracy"]


@pytest.mark.parametrize("label", [E, N, C])
def test_constant_prediction_scores_label_frequency(label):
    data = _sample_inputs()
    share = np.mean(data["references"] == label)
    scores = permutation_acceptance(**data | {"predictions": np.full(320, label)}, curve=True)
    assert scores["omega_max"].value == scores["omega_rand"].value == scores["omega_all"].value == pytest.approx(share)
    assert [omega for _, omega in scores["curve"]] == pytest.approx([share] * 101)


def test_curve_counts_only_proportions_above_x():
    # 29 of 100 are accepted; 0.29 * 100 is 28.999999999999996 in floating point.
    predicted = [E] + [E] * 29 + [N] * 71
    rows = (predicted, [E] * 101, ["a"] * 101, range(-1, 100))
    scores = permutation_acceptance(*rows, curve=True)
    assert dict(scores["curve"])[0.28] == 1
    assert dict(scores["curve"])[0.29] == 0


def test_metrics_equal_plain_loop():
    """An independent implementation of the definitions, one example at a time."""
    data = _sample_inputs()
    rates, correct = {}, {}
    for i, source in enumerate(data["source_id"]):
        hit = data["predictions"][i] == data["references"][i]
        if data["permutation"][i] == -1:
            correct[source] = hit
        else:
            rates.setdefault(source, []).append(hit)
    share = {source: sum(hits) / len(hits) for source, hits in rates.items()}
    scores = permutation_acceptance(**data)
    assert scores["omega_rand"].value == pytest.approx(np.mean([s > 1 / 3 for s in share.values()]))
    assert scores["p_c"].value == pytest.approx(np.mean([s for source, s in share.items() if correct[source]]))
    kept = [s for source, s in share.items() if correct[source] and s > 0]
    assert scores["p_c_accepted"].value == pytest.approx(np.mean(kept))
    assert scores["acceptance"].value == pytest.approx(np.mean(list(share.values())))
    entropies = {}
    for i, source in enumerate(data["source_id"]):
        if data["permutation"][i] >= 0 and data["predictions"][i] == data["references"][i]:
            entropies.setdefault(source, []).append(
                -np.sum(data["probabilities"][i] * np.log(data["probabilities"][i]))
            )
    means = [np.mean(each) for source, each in entropies.items() if correct[source]]
    assert scores["entropy_c"].value == pytest.approx(np.mean(means))
    assert scores["entropy_quartiles_c"] == pytest.approx(np.percentile(means, [25, 50, 75]))
    flipped = [s for source, s in share.items() if not correct[source] and s > 0]
    assert scores["p_f"].value == pytest.approx(np.mean(flipped))
    assert scores["n_f"] == len(flipped)


def test_bins_equal_hand_computed_values():
    bleu = [1.0, 0.0, 0.05, 0.3, 0.35] * 4
    bins = _score(bleu=bleu)["by_bleu"]
    assert [(row["low"], row["n"]) for row in bins] == [(0.0, 8), (0.3, 8)]
    # Three of four are accepted for permutations 0 and 1 of a and b, none for c and d.
    assert bins[0]["acceptance"] == 3 / 8
    assert (bins[0]["n_c"], bins[0]["acceptance_c"]) == (4, 3 / 4)
    assert (bins[1]["n_f"], bins[1]["acceptance_f"]) == (2, 1 / 2)
    others = _score(bleu_3=bleu, bleu_4=[0.0] * 20)
    assert others["by_bleu_3"] == bins
    assert [row["n"] for row in others["by_bleu_4"]] == [16]
    assert "by_bleu" not in others


def test_bins_of_minitree_ratios_and_lengths_equal_hand_computed_values():
    bins = _score(minitree=[1.0, 0.5, 0.55, np.nan, 0.95] * 4)["by_minitree"]  # rows without a ratio are excluded
    assert [(row["low"], row["n"]) for row in bins] == [(0.5, 8), (0.9, 4)]
    assert bins[0]["acceptance"] == 3 / 8
    assert _score(minitree=[np.nan] * 20)["by_minitree"] == []
    bins = _score(lengths=[21] * 5 + [24] * 5 + [25] * 10)["by_length"]
    assert [(row["low"], row["high"], row["n"]) for row in bins] == [(20, 25, 8), (25, 30, 8)]


def test_score_permuted_part_of_rows_has_acceptance_by_length():
    # The second example lacks a permutation, so only the first one counts.
    columns = {
        "label": [E] * 5,
        "source_id": list("aaabb"),
        "permutation": [-1, 0, 1, -1, 0],
        "premise_words": [3, 3, 3, 9, 9],
        "hypothesis_words": [2, 2, 2, 9, 9],
    }
    predictions = build_predictions_from_labels([E, E, N, E, E])
    [row] = score_permuted(columns, predictions, partial=True)["by_length"]
    assert (row["low"], row["n"], row["acceptance"]) == (5.0, 2, 0.5)
