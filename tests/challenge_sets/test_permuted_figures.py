"""Tests of the additional scores of the permuted set, and of its figures in a report."""

import numpy as np
import pytest

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.scoring.permutation_acceptance import score_permuted

permuted = challenge_sets.get_challenge_set("permuted")
Q = 40


def _build_columns(**more):
    """Return the columns of two examples with q permutations each. The gold labels are entailment and neutral."""
    n = 2 * (Q + 1)
    base = {
        "source_id": ["a"] * (Q + 1) + ["b"] * (Q + 1),
        "permutation": np.tile(np.arange(-1, Q), 2),
        "label": np.repeat([0, 1], Q + 1),
    }
    sides = ("premise", "hypothesis")
    bleu = {f"{side}_bleu_{order}": np.full(n, 1 / order) for side in sides for order in (2, 3, 4)}
    return base | bleu | {f"{side}_words": np.full(n, 9) for side in sides} | more


def _build_predictions(probability):
    """Return predictions of entailment with the same probability for all rows."""
    rest = (1 - probability) / 2
    return SetPredictions(np.tile([probability, rest, rest], (2 * (Q + 1), 1)), LABELS, True)


def _build_group(scores, mode):
    data = {"name": "snli", "split": "validation"}
    result = Result("permuted", {"mode": mode}, {"name": "m"}, data, scores, {})
    return ResultGroup("g", "snli validation", (ScoredModel(ReportModel("m", {}, False), result, None),))


def _list_titles(mode, columns):
    scores = score_permuted(columns, _build_predictions(0.5), resamples=0)
    return {figure.title: figure for figure in permuted.build_figures(_build_group(scores, mode)) if figure is not None}


def test_minitree_ratio_uses_means_of_both_sentences():
    # original .5 and 1, permuted .5 and .7: 1.2 / 1.5 = .8, while the mean of the ratios is (1 + .7) / 2
    premise, hypothesis = np.full(2 * (Q + 1), 0.5), np.where(np.tile(np.arange(Q + 1), 2) == 0, 1.0, 0.7)
    columns = _build_columns(premise_minitree=premise, hypothesis_minitree=hypothesis)
    [row] = score_permuted(columns, _build_predictions(0.5), resamples=0)["by_minitree"]
    assert (row["low"], row["n"], row["acceptance"]) == (0.8, 2 * Q, 0.5)


def test_pair_without_original_overlap_has_no_minitree_ratio():
    overlap = np.where(np.arange(2 * (Q + 1)) == 0, 0.0, 0.5)  # the original order of the first example
    columns = _build_columns(premise_minitree=overlap, hypothesis_minitree=overlap)
    [row] = score_permuted(columns, _build_predictions(0.5), resamples=0)["by_minitree"]
    assert (row["low"], row["n"]) == (1.0, Q)
    nothing = np.full(2 * (Q + 1), np.nan)
    assert "by_minitree" not in score_permuted(
        _build_columns(premise_minitree=nothing, hypothesis_minitree=nothing), _build_predictions(0.5), resamples=0
    )


def test_uniform_model_has_maximum_entropy():
    [box] = _list_titles("both", _build_columns())["Entropy of accepted permutations"].series
    assert [point.x for point in box.points] == ["correct in order"]  # the second example is never accepted
    # all permutations of one example have .5, .25, .25: log 2 · 1.5, divided by log 3
    share = 1.5 * np.log(2) / np.log(3)
    assert list(box.points[0].estimate) == pytest.approx([share, share, share, 1])


def test_clumped_mode_has_figures_of_longer_ngrams(monkeypatch):
    monkeypatch.setattr("unbag.scripts.dataset_scripts.permuted.permuted._MIN_EXAMPLES", 1)
    assert "Acceptance by BLEU-2" in (both := _list_titles("both", _build_columns()))
    assert not {"Acceptance by BLEU-3", "Acceptance by BLEU-4"} & set(both)
    clumped = _list_titles("clumped_50", _build_columns())
    for order, place in ((2, 0.5), (3, 0.3), (4, 0.2)):
        [point] = clumped[f"Acceptance by BLEU-{order}"].series[0].points
        assert (point.x, point.estimate.value) == (place, 0.5)


def test_scores_without_probabilities_have_no_box_plots():
    answers = _build_predictions(0.5)._replace(has_probabilities=False)
    scores = score_permuted(_build_columns(), answers, resamples=0)
    assert "entropy_quartiles_c" not in scores
    assert all(
        "sure" not in figure.title
        for figure in permuted.build_figures(_build_group(scores, "both"))
        if figure is not None
    )
