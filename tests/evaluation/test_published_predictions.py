"""Tests of the study of published predictions: its statistics, and its figures against those of the sources."""

import importlib
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from benchmarks.published_predictions_statistics import (
    Predictions,
    average_matched_pairs,
    average_models,
    compute_accuracies,
    compute_loss,
    compute_loss_by_slope,
    estimate_group_effect,
    fit_clustered_difference,
    fit_group_difference,
    match_systems,
)
from tests.fake_hub.client_process import runs_in
from tests.fake_hub.fixtures import SHARED_HUB
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PREDICTIONS = SHARED_HUB.parent / "data" / "published_predictions"
NONE = np.nan


@pytest.fixture
def script(monkeypatch):
    """Import the script, which imports a module of its folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("published_predictions")


def build_predictions(right, model, in_group, label=None):
    right = np.asarray(right, dtype=float)
    rows = np.arange(right.shape[1])
    label = rows % 3 if label is None else np.array(label)
    return Predictions(right, np.array(list(model)), np.array(in_group, dtype=bool), label, rows)


def simulate(rng, *, loss=(0.1, 0.1), models=(5, 6), variants=3, rows=400, misled=120):
    """Simulate models whose variants are alike, on pairs of different difficulty; `loss` is that of each group."""
    difficulty = np.sort(rng.normal(0, 0.15, rows))
    right, names, groups = [], [], []
    for group, (count, own) in enumerate(zip(models, loss, strict=True)):
        for number in range(count):
            accuracy, own_loss = rng.uniform(0.75, 0.9), own + rng.normal(0, 0.03)
            chance = accuracy - own_loss * (np.arange(rows) < misled) + rng.permutation(difficulty)
            for _ in range(variants):
                right.append(rng.random(rows) < np.clip(chance, 0, 1))
                names.append(f"{group}-{number}")
                groups.append(group == 0)
    return build_predictions(right, names, groups), np.arange(rows) < misled


def test_accuracies_ignore_rows_without_prediction():
    predictions = build_predictions([[1, 0, NONE, 1], [NONE, NONE, 1, 0]], ["a", "b"], [1, 0], label=[0, 0, 0, 1])
    every, last = np.ones(4, dtype=bool), np.array([0, 0, 1, 1], dtype=bool)
    assert compute_accuracies(predictions, every).tolist() == [2 / 3, 1 / 2]
    assert compute_accuracies(predictions, last).tolist() == [1, 1 / 2]
    # Label 0: 1/2 and 1; label 1: 1 and 0.
    assert compute_accuracies(predictions, every, balanced=True).tolist() == [3 / 4, 1 / 2]
    weights = np.array([[3.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    assert compute_accuracies(predictions, every, weights=weights)[:, 0].tolist() == [3 / 4, 2 / 3]


def test_loss_of_hand_made_systems_is_their_difference():
    subset = np.array([True, True, False, False])
    predictions = build_predictions([[1, 0, 1, 1], [0, 0, 1, 0]], ["a", "b"], [1, 0])
    accuracy, loss = compute_loss(predictions, subset=subset)
    assert accuracy.tolist() == [1, 0.5]
    assert loss.tolist() == [0.5, 0.5]
    _, log_odds = compute_loss(predictions, subset=subset, logit=True)
    assert log_odds[1] == pytest.approx(np.log(1.5 / 1.5) - np.log(0.5 / 2.5))


def test_slope_loss_of_linear_correctness_is_exact():
    lms = np.linspace(0, 1, 11)
    subset = lms >= 0.5
    predictions = build_predictions([0.9 - 0.4 * lms, np.full(11, 0.3)], ["a", "b"], [1, 0])
    accuracy, loss = compute_loss_by_slope(predictions, lms=lms, subset=subset)
    assert accuracy == pytest.approx([0.7, 0.3])
    assert loss == pytest.approx([0.4 * (lms[subset].mean() - lms[~subset].mean()), 0])
    weights = np.ones((2, 11))
    assert compute_loss_by_slope(predictions, weights, lms=lms, subset=subset)[1] == pytest.approx(np.array([loss] * 2))


def test_group_difference_agrees_with_regression_of_residuals():
    rng = np.random.default_rng(1)
    x, y, group = rng.random(9), rng.random(9), np.arange(9) % 2 == 0
    value, error, slope, freedom = fit_group_difference(x, y, group)
    lines = [(each, stats.linregress(x, each)) for each in (group.astype(float), y)]
    expected = stats.linregress(*(each - line.intercept - line.slope * x for each, line in lines))
    assert (value, freedom) == (pytest.approx(expected.slope), 6)
    assert error == pytest.approx(expected.stderr * np.sqrt(7 / 6))  # linregress has one degree of freedom more
    assert slope == pytest.approx(stats.linregress(x, y - value * group).slope)


def test_group_difference_without_slope_is_students_t_test():
    rng = np.random.default_rng(2)
    y, group = rng.random(10), np.arange(10) < 4
    value, error, _, freedom = fit_group_difference(rng.random(10), y, group, slope=0.0)
    expected = stats.ttest_ind(y[group], y[~group])
    assert (value / error, freedom) == (pytest.approx(expected.statistic), expected.df)


def test_clustered_errors_of_single_systems_are_robust_errors():
    rng = np.random.default_rng(7)
    x, y, group = rng.random(9), rng.random(9), np.arange(9) % 2 == 0
    value, error, slope, freedom = fit_clustered_difference(x, y, group, np.arange(9).astype(str))
    expected, _, expected_slope, _ = fit_group_difference(x, y, group)
    assert (value, slope, freedom) == (pytest.approx(expected), pytest.approx(expected_slope), 6)
    # HC1 for one coefficient by the residuals of the group on the other columns (Frisch, Waugh and Lovell).
    line = stats.linregress(x, group.astype(float))
    rest = group - line.intercept - line.slope * x
    residuals = y - value * group - slope * x
    residuals -= residuals.mean()
    assert error == pytest.approx(np.sqrt((rest**2 * residuals**2).sum() * 9 / 6) / (rest @ rest))


def test_variants_of_a_model_do_not_count_as_independent():
    rng = np.random.default_rng(3)
    predictions, subset = simulate(rng, variants=1)
    loss = partial(compute_loss, subset=subset)
    once = estimate_group_effect(predictions, loss, resamples=50)
    fields = {name: np.repeat(getattr(predictions, name), 4, axis=0) for name in ("right", "model", "in_group")}
    again = estimate_group_effect(predictions._replace(**fields), loss, resamples=50)
    assert [*again.estimate, *again[1:]] == pytest.approx([*once.estimate, *once[1:]])
    assert once.estimate.n == 11
    variants = build_predictions(np.ones((4, 1)), ["b", "a", "b", "a"], [1] * 4)
    assert average_models(np.arange(4.0), variants).tolist() == [2, 1]


@pytest.mark.nightly
def test_group_effect_interval_covers_planted_difference():
    rng = np.random.default_rng(4)
    covered, detected = [], []
    for planted in (0.0, 0.2):
        for _ in range(60):
            predictions, subset = simulate(rng, loss=(0.1 + planted, 0.1))
            effect = estimate_group_effect(predictions, partial(compute_loss, subset=subset), resamples=60)
            covered.append(effect.estimate.low <= planted <= effect.estimate.high)
            detected.append(effect.p < 0.05)
            assert (effect.p < 0.05) == (not effect.estimate.low <= 0 <= effect.estimate.high)
    assert np.mean(covered) >= 0.92
    assert np.mean(detected[:60]) <= 0.1
    assert np.mean(detected[60:]) >= 0.9


def test_matched_systems_have_equal_accuracy_outside_the_subset():
    subset = np.arange(12) < 4
    right = [
        [1, 1, 0, 0] + [1] * 6 + [0, 0],  # first group: 6 of 8 outside
        [1, 1, 1, 0] + [0, 0] + [1] * 6,  # second group: 6 of 8 outside, one more inside
        [1, 1, 1, 1] + [1] * 8,  # more accurate outside
        [NONE] * 4 + [1] * 6 + [0, 0],  # no common rows inside
    ]
    predictions = build_predictions(right, ["a", "b", "c", "d"], [1, 0, 0, 0])
    [pair] = match_systems(predictions, subset, tolerance=0.01, min_rows=3)
    assert (pair.first, pair.second, pair.elsewhere, pair.on_subset.n) == (0, 1, 0, 4)
    assert pair.p == 0.5  # mid-p of one discordant pair
    assert pair.on_subset.value == -0.25
    mean = average_matched_pairs(predictions, subset, [pair, pair], resamples=100)
    assert (mean.value, mean.n) == (-0.25, 1)
    assert mean.low <= -0.25 <= mean.high


def test_comparison_uses_rows_of_both_systems(script):
    lms = np.array([0.9] * 4 + [0.1] * 8)
    right = [[NONE, 1, 1, 0] + [1] * 8, [1, 1, 0, 0] + [1, 1, 1, 0] * 2]
    systems = [script.System("a"), script.System("b")]
    split = script.Split("snli_dev", systems, [], build_predictions(right, "ab", [1, 0]), lms, 0.5)
    compared = script.compare_systems(split, 0, 1, "size")
    assert compared.n == (11, 3)
    assert compared.accuracy.value == pytest.approx(10 / 11 - 7 / 11)
    assert compared.drops[0.5].value == pytest.approx((10 / 11 - 2 / 3) - (7 / 11 - 1 / 3))
    assert compared.drops[0.7].n == 3
    drop = compared.drops[0.5]
    z = abs(drop.low + drop.high) / 2 / ((drop.high - drop.low) / 3.92)
    assert compared.p == pytest.approx(2 * stats.norm.sf(z), rel=1e-3)


@pytest.mark.nightly
def test_script_fills_all_blocks_of_a_new_page(script, monkeypatch, tmp_path):
    predictions, misled = simulate(np.random.default_rng(9))
    lms = np.where(misled, np.linspace(1, 0.5, len(misled)), 0.1)
    kinds = [script.ENCODER if first else script.PROMPTED for first in predictions.in_group]
    systems = [
        script.System(f"s{number}", "owner/name", kind, model, f"variant {number}", stated={"mnli_matched": 80.0})
        for number, (kind, model) in enumerate(zip(kinds, predictions.model, strict=True))
    ]
    gold = predictions.label
    results = [
        SimpleNamespace(scores=compositionality_sensitivity(np.where(right, gold, (gold + 1) % 3), gold, lms))
        for right in predictions.right.astype(bool)
    ]
    split = script.Split("mnli_matched", systems, results, predictions, lms, 0.4)
    monkeypatch.setattr(script, "score_split", lambda *_: split)
    (tmp_path / "mnli_matched.parquet").touch()
    page = tmp_path / "page.md"
    monkeypatch.setattr("sys.argv", ["script", str(tmp_path), "--page", str(page)])
    script.main()
    text = page.read_text(encoding="utf-8")
    blocks = {match["name"]: match[0] for match in script.BLOCK.finditer(text)}
    assert set(blocks) == {"summary", "lexical", "systems", "test", "pairs", "comparisons", "resnli", "sources"}
    assert f"5 encoders, 6 language models and {len(lms)} pairs, of which 120 are in CS_0.5" in blocks["summary"]
    assert blocks["systems"].count("| encoder |") == 15
    assert "no predictions of SNLI" in blocks["resnli"]
    assert blocks["comparisons"].count("encoder, language model") == 30
    assert page.with_suffix(".svg").read_text(encoding="utf-8").startswith("<svg")
    script.main()
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.nightly
@runs_in("shared_hub_client")
def test_accuracies_are_those_of_sources():
    import unbag

    with pytest.MonkeyPatch.context() as patch:  # other tests run in this process
        patch.syspath_prepend(str(BENCHMARKS))
        from published_predictions import SPLITS

    text = (PREDICTIONS / "SOURCES.md").read_text(encoding="utf-8")
    row = r"^\| `unified/(\w+?)__(\S+)\.csv` \|[^|]*\|[^|]*\| (\d+) \| ([\d.]+) "
    stated = {tuple(names): (int(n), float(share)) for *names, n, share in re.findall(row, text, re.MULTILINE)}
    compared = 0
    for split, (corpus, part, _) in SPLITS.items():
        file = PREDICTIONS / f"{split}.parquet"
        report = unbag.score(file, "plain", corpus=corpus, split=part, lexical_baseline=False, progress=False)
        for result in report.results:
            n, accuracy = stated[split, result.model["name"]]
            value = result.scores["accuracy"]
            assert 0 <= n - value.n <= 2  # the files lack one row of MNLI matched and two of SNLI
            assert 100 * value.value == pytest.approx(accuracy, abs=0.02)
            compared += 1
    assert compared == 131
