"""Tests of verification scores: values worked out by hand, properties, and scikit-learn."""

import math

import numpy as np
import pytest
from sklearn import metrics

from unbag.scoring.calibration import BINS, compute_calibration
from unbag.scoring.log_odds import compute_log_odds
from unbag.scoring.ranking import (
    compute_auroc,
    compute_break_even_threshold,
    estimate_auroc,
    estimate_average_precision,
)
from unbag.scoring.significance import compute_paired_difference, compute_sample_value
from unbag.scoring.thresholds import TARGETS, find_safe_thresholds, sweep_thresholds
from unbag.scoring.verification import BinaryPredictions, compute_risk_coverage, compute_verification_scores

N = 4000


def sample_calibrated(n=N, seed=1):
    """Return scores and labels of a perfectly calibrated model."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(0, 1, n)
    return scores, rng.uniform(0, 1, n) < scores


def compute_scores(scores, entailed, threshold=0.5, sources=None, **options):
    scores, entailed = np.asarray(scores, dtype=np.float64), np.asarray(entailed, dtype=bool)
    decisions = BinaryPredictions(entailed, scores >= threshold, scores, **options)
    found = compute_verification_scores(decisions, range(len(scores)) if sources is None else sources)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_scikit_learn(seed):
    scores, entailed = sample_calibrated(500, seed)
    scores = scores.round(2)  # with ties
    found = compute_scores(scores, entailed)
    assert found["auroc"].value == pytest.approx(metrics.roc_auc_score(entailed, scores))
    assert found["average_precision"].value == pytest.approx(metrics.average_precision_score(entailed, scores))
    assert found["balanced_accuracy"].value == pytest.approx(metrics.balanced_accuracy_score(entailed, scores >= 0.5))
    assert found["calibration"]["brier"].value == pytest.approx(metrics.brier_score_loss(entailed, scores))
    false, true, at = metrics.roc_curve(entailed, scores, drop_intermediate=False)
    rates = {round(float(threshold), 9): (a, b) for threshold, a, b in zip(at, false, true, strict=True)}
    assert len(found["thresholds"]) > 50
    for row in found["thresholds"]:
        assert (row["false_entailment"], row["recall"]) == pytest.approx(rates[round(row["threshold"], 9)])


def test_three_labels_have_false_contradiction_rate():
    entailed, contradicted = np.array([1, 0, 0, 0], dtype=bool), np.array([0, 0, 1, 1], dtype=bool)
    predicted = np.array([0, 0, 0, 0], dtype=bool)
    contradictions = BinaryPredictions(contradicted, np.array([1, 0, 1, 0], dtype=bool))
    found = compute_verification_scores(BinaryPredictions(entailed, predicted), range(4), contradictions=contradictions)
    assert found["false_contradiction"].value == 0.5  # one of the two pairs without contradiction
    assert found["false_contradiction"].n == 2
    assert found["auroc"] is found["calibration"] is found["risk_coverage"] is None
    assert found["thresholds"] == found["safe_thresholds"] == []


def test_auroc_and_threshold_equal_hand_computed_values():
    # (positive, negative) pairs: .9 beats .8, .3, .1; .3 loses to .8, ties with .3, beats .1: (3 + 1.5) of 6.
    scores, positive = [0.9, 0.8, 0.3, 0.3, 0.1], [True, False, True, False, False]
    assert compute_auroc(scores, positive) == 4.5 / 6
    assert compute_break_even_threshold(scores, positive) == 0.8  # two positives, and two scores of at least .8
    assert compute_auroc(np.ones(6), np.arange(6) < 2) == 0.5
    assert compute_break_even_threshold(np.ones(6), np.arange(6) < 2) == 1


def test_single_gold_label_has_no_verification_scores():
    decisions = BinaryPredictions(np.ones(3, dtype=bool), np.ones(3, dtype=bool))
    assert compute_verification_scores(decisions, range(3)) is None
    for positive, threshold in ((True, 1.0), (False, math.inf)):
        assert compute_auroc([1.0, 2.0], [positive] * 2) is None
        assert compute_break_even_threshold([1.0, 2.0], [positive] * 2) == threshold


def test_score_outside_0_to_1_is_rejected():
    with pytest.raises(ValueError, match="from 0 to 1"):
        compute_scores([2.0, 0.1], [True, False])


@pytest.mark.parametrize(("answer", "alarms"), [(0.9, 1.0), (0.1, 0.0)])
def test_constant_prediction_separates_nothing(answer, alarms):
    found = compute_scores(np.full(200, answer), np.arange(200) % 4 == 0)
    assert found["auroc"].value == found["balanced_accuracy"].value == 0.5
    assert found["false_entailment"].value == alarms
    assert found["average_precision"].value == 0.25
    assert found["risk_coverage"]["aurc"] == pytest.approx(found["risk_coverage"]["random"])
    assert all(each["threshold"] is None for each in found["safe_thresholds"])


def test_average_precision_interval_is_continuous_at_1():
    """One pair that is not entailed ranks before the last of 64 entailed pairs: (63 + 64 / 65) / 64."""
    entailed = np.ones(66, dtype=bool)
    entailed[[63, 65]] = False
    scores = np.linspace(0.9, 0.1, 66)
    near = estimate_average_precision(scores, entailed, np.arange(66))
    perfect = estimate_average_precision(np.where(entailed, 0.9, 0.1), entailed, np.arange(66))
    assert near.value == pytest.approx((63 + 64 / 65) / 64)
    assert perfect.low == pytest.approx(0.025 ** (1 / 64))  # Clopper-Pearson for 64 of 64
    assert perfect.low - 0.01 < near.low < perfect.low
    # The exact limit is about 1 - 0.025^65, which a float cannot distinguish from 1.
    assert 0.999 < near.high <= perfect.high == 1


def test_oracle_is_perfect_with_valid_limits():
    entailed = np.arange(400) % 2 == 0
    found = compute_scores(np.where(entailed, 0.99, 0.01), entailed)
    for name in ("auroc", "average_precision", "balanced_accuracy"):
        assert found[name].value == 1 == found[name].high
        assert 0.95 < found[name].low < 1
    assert found["false_entailment"].value == 0 < found["false_entailment"].high < 0.03
    assert found["risk_coverage"]["aurc"] == 0
    by_target = {each["target"]: each for each in found["safe_thresholds"]}
    assert list(by_target) == list(TARGETS)
    assert by_target[0.05]["threshold"] == 0.99
    assert by_target[0.05]["recall"].value == 1
    assert by_target[0.05]["confirmed"].value == 0
    assert by_target[0.01]["threshold"] is None, "about 100 not-entailed pairs in a half are too few"
    assert by_target[0.01]["needed"] == 299  # 0.99^299 < 0.05


def test_monotone_transformation_keeps_ranking_metrics():
    scores, entailed = sample_calibrated(800)
    first, second = compute_scores(scores, entailed), compute_scores(scores**3, entailed)
    for name in ("auroc", "average_precision"):
        assert tuple(first[name]) == pytest.approx(tuple(second[name]))
    assert first["calibration"]["ece"] < second["calibration"]["ece"]


def test_calibrated_scores_have_calibration_error_of_noise():
    found = [compute_calibration(*sample_calibrated(seed=seed), np.arange(N), resamples=0) for seed in range(10)]
    raw, corrected = (np.mean([each[name] for each in found]) for name in ("ece", "ece_corrected"))
    # E|X| of a proportion with variance p (1 - p) / n, averaged over bins with uniform p.
    noise = (
        math.sqrt(2 / math.pi) * math.sqrt(BINS / N) * np.mean(np.sqrt([p * (1 - p) for p in np.arange(0.05, 1, 0.1)]))
    )
    assert raw == pytest.approx(noise, rel=0.25)
    assert corrected < 0.75 * raw, "part of the bias is removed: its estimate uses the gap that was found, not 0"
    scores, entailed = sample_calibrated()
    overconfident = np.where(scores > 0.5, 0.95, 0.05)
    assert compute_calibration(overconfident, entailed, np.arange(N))["ece_corrected"] > 0.15


def test_brier_score_is_sum_of_its_parts_over_bins_of_equal_size():
    scores, entailed = sample_calibrated(1000)
    found = compute_calibration(scores, entailed, np.arange(1000))
    assert [each["share"].n for each in found["bins"]] == [100] * BINS
    assert sorted(each["score"] for each in found["bins"]) == [each["score"] for each in found["bins"]]
    parts = found["reliability"] - found["resolution"] + found["uncertainty"]
    assert found["brier"].value == pytest.approx(parts)
    assert found["uncertainty"] == pytest.approx(entailed.mean() * (1 - entailed.mean()))
    constant = compute_calibration(np.full(1000, entailed.mean()), entailed, np.arange(1000))
    assert constant["reliability"] == pytest.approx(0, abs=1e-12)
    assert constant["resolution"] == pytest.approx(0, abs=1e-12)
    assert len(constant["bins"]) == 1, "equal scores share a bin"


def test_risk_coverage_lies_between_oracle_and_chance():
    rng = np.random.default_rng(3)
    right = rng.uniform(0, 1, 1000) < 0.8
    helpful = compute_risk_coverage(right + rng.normal(0, 1, 1000), right)
    assert helpful["oracle"] < helpful["aurc"] < helpful["random"] == pytest.approx(1 - right.mean())
    assert compute_risk_coverage(right.astype(float), right)["aurc"] == pytest.approx(helpful["oracle"])
    assert compute_risk_coverage(-right.astype(float), right)["aurc"] > helpful["random"]
    assert len(helpful["coverage"]) == len(helpful["risk"]) <= 100
    assert (helpful["coverage"][-1], helpful["risk"][-1]) == (1.0, pytest.approx(1 - right.mean()))
    # Two pairs of equal confidence, one of them wrong: risks 1/2 and 1/2, the mean of (1, 1/2) and (0, 1/2).
    assert compute_risk_coverage([0.7, 0.7], [True, False])["aurc"] == pytest.approx(0.5)


def test_safe_threshold_limits_rate_on_new_pairs():
    """For random models, the true rate exceeds the target in at most about 5 % of the draws."""
    exceeded = found = 0
    for seed in range(60):
        scores, entailed = sample_calibrated(400, seed)
        [chosen] = find_safe_thresholds(compute_log_odds(scores), entailed, np.arange(400), range(400), targets=(0.1,))
        if chosen["threshold"] is None:
            continue
        found += 1
        t = chosen["threshold"]
        # For calibrated uniform scores, P(score >= t and not entailed) / P(not entailed) is (1 - t)².
        exceeded += (1 - t) ** 2 > 0.1
    assert found > 45
    assert exceeded <= 0.12 * found


def test_rows_of_one_source_are_not_independent():
    scores, entailed = sample_calibrated(300)
    alone = compute_scores(scores, entailed)
    copies = np.repeat(np.arange(300), 10)
    together = compute_scores(scores[copies], entailed[copies], sources=copies)
    for name in ("auroc", "balanced_accuracy", "false_entailment", "average_precision"):
        one, many = alone[name], together[name]
        assert many.value == pytest.approx(one.value)
        assert many.high - many.low == pytest.approx(one.high - one.low, rel=0.15), name
    one, many = (found["safe_thresholds"][2]["threshold"] for found in (alone, together))
    assert many == pytest.approx(one, abs=0.1)


def test_two_models_are_compared_on_same_pairs():
    scores, entailed = sample_calibrated(800)
    noisy = np.clip(scores + np.random.default_rng(5).normal(0, 0.5, 800), 0, 1)
    better, worse = compute_scores(scores, entailed), compute_scores(noisy, entailed)
    for name in ("auroc", "balanced_accuracy"):
        assert compute_sample_value(better[name].sample) == pytest.approx(better[name].value)
        difference, p = compute_paired_difference(worse[name].sample, better[name].sample, resamples=500)
        assert difference.low > 0
        assert p < 0.01
    same, p = compute_paired_difference(better["auroc"].sample, better["auroc"].sample, resamples=200)
    assert (same.value, p) == (0, 1.0)


def test_auroc_interval_coverage_is_95_percent():
    """Calibrated uniform scores have an AUROC of 5/6. DeLong's interval contains it in about 95 % of the draws."""
    held = 0
    for seed in range(200):
        scores, entailed = sample_calibrated(150, 1000 + seed)
        area = estimate_auroc(scores, entailed, np.arange(150))
        held += area.low <= 5 / 6 <= area.high
    assert held >= 180


def test_threshold_sweep_is_monotone_and_bounded():
    scores, entailed = sample_calibrated()
    rows = sweep_thresholds(compute_log_odds(scores), entailed)
    assert len(rows) == 100
    for name in ("false_positive", "recall"):
        values = [row[name] for row in rows]
        assert values == sorted(values)
        assert values[-1] == 1.0
