"""Statistics of `published_predictions.py`: the loss of two groups of systems on CS_λ at equal accuracy elsewhere.

CS_λ is selected by a lexical model, so no error of a system influences the selection. Two further effects could look
like a difference between groups:

- A less accurate system may lose less. The groups are therefore compared at equal accuracy on the pairs *outside* CS_λ.
  These pairs and CS_λ are disjoint, so a system with good luck on one part has no better luck on the other. The
  accuracy on all pairs would contain CS_λ itself.
- The accuracy outside CS_λ is also a sample. Its sampling error flattens the regression slope, and systems of a less
  accurate group that match a better group are partly those with good luck. `compute_reliability` measures this.

Prompts, shots and training variants of one model are not independent. Each model is therefore one observation, the mean
of its variants (Donald & Lang 2007, "Inference with difference-in-differences and other panel data",
https://doi.org/10.1162/rest.89.2.221). The systems also share their pairs. The variance of the pairs comes from a
bootstrap of the premises. Its sum with the variance between models counts the sampling error of single systems twice,
so the intervals are conservative.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from unbag.scoring.bootstrap import RATIO, Estimate, Sample
from unbag.scoring.significance import compute_paired_difference, extract_binary_outcomes, mcnemar_test

RESAMPLES: Final = 1000
POWER: Final = 0.8

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Predictions(NamedTuple):
    """Correct predictions of several systems on the rows of one set."""

    right: Floats  # 1 if correct, 0 if wrong, NaN without a prediction, shape (systems, rows)
    model: NDArray[np.str_]  # shape (systems,); variants of one model have the same name
    in_group: Flags  # whether each system belongs to the first group, shape (systems,)
    label: NDArray[np.int64]  # gold label of each row, shape (rows,)
    source: NDArray[np.int64]  # source index of each row, such as that of its premise, shape (rows,)

    def select(self, systems: Flags) -> "Predictions":
        """Select some of the systems."""
        return self._replace(right=self.right[systems], model=self.model[systems], in_group=self.in_group[systems])

    def select_rows(self, rows: Flags) -> "Predictions":
        """Select some of the rows."""
        return self._replace(right=self.right[:, rows], label=self.label[rows], source=self.source[rows])


class GroupEffect(NamedTuple):
    """Difference in the loss between two groups of models at equal accuracy, first group minus second group."""

    estimate: Estimate  # with its 95 % interval; `n` is the number of models
    p: float  # two-sided
    slope: float  # change of the loss per unit of accuracy
    error_models: float  # standard error from the variation between models
    error_rows: float  # standard error from the sampling of pairs
    detectable: float  # smallest true difference that the test detects with a probability of 80 %


def compute_accuracies(
    predictions: Predictions, rows: Flags, *, weights: Floats | None = None, balanced: bool = False
) -> Floats:
    """Compute the accuracy of each system on the selected rows that it predicts; NaN for a system without predictions.

    The result has the shape (systems,), or (draws, systems) with weights of shape (draws, rows). If `balanced`, the
    result is the mean over the gold labels, not over the rows.
    """
    has_prediction = ~np.isnan(predictions.right)
    right = np.where(has_prediction, predictions.right, 0.0)
    every = np.ones((1, len(rows))) if weights is None else weights
    parts = (
        [rows & (predictions.label == label) for label in np.unique(predictions.label[rows])] if balanced else [rows]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [every[:, part] @ right[:, part].T / (every[:, part] @ has_prediction[:, part].T) for part in parts]
    accuracies: Floats = np.mean(shares, axis=0)
    return accuracies[0] if weights is None else accuracies


def draw_source_weights(source: NDArray[np.int64], resamples: int, seed: int) -> Floats:
    """Draw bootstrap weights of rows, shape (resamples, rows), that are equal within a source."""
    names, index = np.unique(source, return_inverse=True)
    counts = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    weights: Floats = counts[:, index].astype(np.float64)
    return weights


def average_models(values: Floats, predictions: Predictions) -> Floats:
    """Average the values of the variants of each model, shape (…, systems) to (…, models)."""
    names, index = np.unique(predictions.model, return_inverse=True)
    members = np.eye(len(names))[index]
    means: Floats = values @ (members / members.sum(axis=0))
    return means


def fit_group_difference(
    x: Floats, y: Floats, in_group: Flags, *, slope: float | None = None
) -> tuple[float, float, float, int]:
    """Fit y = a + b x + c group by least squares, one observation per model.

    Args:
        x: Accuracy outside CS_λ, shape (models,).
        y: Loss, shape (models,).
        in_group: Whether each model belongs to the first group, shape (models,).
        slope: Value of b; None to estimate it.

    Returns:
        c, its standard error (NaN without degrees of freedom), b, and the degrees of freedom.

    >>> c, error, b, freedom = fit_group_difference(
    ...     np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 8.0, 9.0]), np.array([False, False, True, True]))
    >>> round(c, 9), round(error, 9), round(b, 9), freedom
    (5.0, 0.0, 1.0, 1)
    """
    ones = np.ones(len(x))
    group = in_group.astype(np.float64)
    design = np.stack([group, ones] if slope is not None else [group, ones, x], axis=1)
    target = y - slope * x if slope is not None else y
    coefficients, *_ = np.linalg.lstsq(design, target, rcond=None)
    freedom = len(x) - design.shape[1]
    if freedom < 1:
        return float(coefficients[0]), float("nan"), float(coefficients[-1]) if slope is None else slope, freedom
    residuals = target - design @ coefficients
    variance = residuals @ residuals / freedom * np.linalg.inv(design.T @ design)[0, 0]
    return (
        float(coefficients[0]),
        float(np.sqrt(variance)),
        float(coefficients[-1]) if slope is None else slope,
        freedom,
    )


def compute_loss(
    predictions: Predictions,
    weights: Floats | None = None,
    *,
    subset: Flags,
    balanced: bool = False,
    logit: bool = False,
) -> tuple[Floats, Floats]:
    """Compute the accuracy of each system outside CS_λ, and its loss: this accuracy minus the accuracy on CS_λ.

    The mask `subset` selects the rows in CS_λ. With `logit`, the values are log odds instead of accuracies. For weights
    and `balanced`, see `compute_accuracies`.
    """
    pair = []
    for rows in (~subset, subset):
        share = compute_accuracies(predictions, rows, weights=weights, balanced=balanced)
        if logit:
            n = (~np.isnan(predictions.right[:, rows])).sum(axis=1)
            # Half a row is added on each side, so that the odds of 0 and 1 are finite.
            share = np.log((share * n + 0.5) / ((1 - share) * n + 0.5))
        pair.append(share)
    return pair[0], pair[0] - pair[1]


def compute_loss_by_slope(
    predictions: Predictions, weights: Floats | None = None, *, lms: Floats, subset: Flags
) -> tuple[Floats, Floats]:
    """Compute the accuracy of each system, and its loss from a regression of correctness on the LMS of all rows.

    The loss is the fitted difference between the mean LMS outside and that in CS_λ. It uses all rows instead of a
    threshold. Accuracy and slope of a regression have uncorrelated errors.
    """
    has_prediction = (~np.isnan(predictions.right)).astype(np.float64)
    right = np.nan_to_num(predictions.right)
    every = np.ones((1, len(lms))) if weights is None else weights
    n, by_lms, by_square, hits, hits_by_lms = (
        every @ part.T for part in (has_prediction, has_prediction * lms, has_prediction * lms**2, right, right * lms)
    )
    slope = (hits_by_lms / n - by_lms / n * hits / n) / (by_square / n - (by_lms / n) ** 2)
    loss = slope * (lms[~subset].mean() - lms[subset].mean())
    return (hits / n, loss) if weights is not None else ((hits / n)[0], loss[0])


def fit_clustered_difference(
    x: Floats, y: Floats, in_group: Flags, model: NDArray[np.str_]
) -> tuple[float, float, float, int]:
    """Fit the same equation with one observation per system, and with errors clustered by model.

    The errors are those of Liang & Zeger (1986, "Longitudinal data analysis using generalized linear models",
    https://doi.org/10.1093/biomet/73.1.13) with the correction G / (G - 1) · (N - 1) / (N - K). With few models, they
    tend to be too small. A model with many variants has more weight than others.

    Arguments and result are those of `fit_group_difference`, but with systems instead of models. The degrees of freedom
    are the number of models minus the number of coefficients.
    """
    design = np.stack([in_group.astype(np.float64), np.ones(len(x)), x], axis=1)
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    names, index = np.unique(model, return_inverse=True)
    scores = np.zeros((len(names), design.shape[1]))
    np.add.at(scores, index, design * (y - design @ coefficients)[:, np.newaxis])
    inverse = np.linalg.inv(design.T @ design)
    (n, k), clusters = design.shape, len(names)
    variance = inverse @ scores.T @ scores @ inverse * clusters / (clusters - 1) * (n - 1) / (n - k)
    return float(coefficients[0]), float(np.sqrt(variance[0, 0])), float(coefficients[2]), clusters - k


Loss: TypeAlias = Callable[[Predictions, Floats | None], tuple[Floats, Floats]]
"""Function that computes an accuracy and a loss of each system."""


def estimate_group_effect(
    predictions: Predictions,
    loss: Loss,
    *,
    slope: float | None = None,
    clustered: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> GroupEffect:
    """Estimate how much more the models of the first group lose than those of the second group at equal accuracy.

    Args:
        predictions: Predictions of the systems of both groups.
        loss: Function that computes accuracy and loss, such as `compute_loss` for one CS_λ.
        slope: Change of the loss per unit of accuracy; None to estimate it, 0 for the plain difference of the losses.
        clustered: Whether each system is one observation, with clustered errors, instead of each model.
        resamples: Number of bootstrap resamples of the sources.
        seed: Random seed for the resamples.

    Raises:
        ValueError: If a group has no models, or there are no more models than coefficients.
    """
    names, first = np.unique(predictions.model, return_index=True)
    in_group = predictions.in_group[first]
    if len(set(in_group.tolist())) < 2 or len(names) < 4:
        raise ValueError(
            f"group effect: expected at least 4 models in two groups, got {int(in_group.sum())} and "
            f"{int((~in_group).sum())} models; add systems with a `kind`"
        )

    def fit(weights: Floats | None) -> list[tuple[float, float, float, int]]:
        values = [np.atleast_2d(each) for each in loss(predictions, weights)]
        if clustered:
            return [
                fit_clustered_difference(x, y, predictions.in_group, predictions.model)
                for x, y in zip(*values, strict=True)
                if np.isfinite(y).all()
            ]
        means = [average_models(each, predictions) for each in values]
        return [
            fit_group_difference(x, y, in_group, slope=slope)
            for x, y in zip(*means, strict=True)
            if np.isfinite(y).all()
        ]

    [(value, error_models, fitted_slope, freedom)] = fit(None)
    draws = [each[0] for each in fit(draw_source_weights(predictions.source, resamples, seed))]
    error_rows = float(np.std(draws, ddof=1))
    error = float(np.hypot(error_models, error_rows))
    reach, reach_of_power = stdtrit(freedom, [0.975, POWER]).tolist()
    return GroupEffect(
        Estimate(value, value - reach * error, value + reach * error, len(names)),
        float(2 * stdtr(freedom, -abs(value / error))),
        fitted_slope,
        error_models,
        error_rows,
        (reach + reach_of_power) * error,
    )


def compute_reliability(predictions: Predictions, subset: Flags) -> float:
    """Compute the share of the variance between systems, within groups, that is not sampling error of the accuracy."""
    accuracies = compute_accuracies(predictions, ~subset)
    n = (~np.isnan(predictions.right) & ~subset).sum(axis=1)
    models, group = average_models(accuracies, predictions), predictions.in_group
    names, first = np.unique(predictions.model, return_index=True)
    within = np.concatenate(
        [models[group[first] == side] - models[group[first] == side].mean() for side in (True, False)]
    )
    variance = float(within @ within) / max(1, len(names) - 2)
    noise = float(average_models(accuracies * (1 - accuracies) / n, predictions).mean())
    return max(0.0, 1 - noise / variance)


class MatchedPair(NamedTuple):
    """Two systems with the same accuracy outside CS_λ."""

    first: int  # index of the system of the first group
    second: int  # index of the system of the second group
    elsewhere: float  # difference of the accuracies outside CS_λ on common rows, first minus second
    on_subset: Estimate  # difference of the accuracies on CS_λ on common rows; `n` counts the pairs
    p: float  # of McNemar's test on CS_λ


def match_systems(predictions: Predictions, subset: Flags, *, tolerance: float, min_rows: int) -> list[MatchedPair]:
    """Find all pairs of systems of different groups with the same accuracy outside CS_λ, and compare them on CS_λ.

    The accuracies differ by at most `tolerance`. The systems have at least `min_rows` common rows in CS_λ, the rows of
    the mask `subset`.
    """
    pairs = []
    has_prediction = ~np.isnan(predictions.right)
    for first in np.flatnonzero(predictions.in_group).tolist():
        for second in np.flatnonzero(~predictions.in_group).tolist():
            common = has_prediction[first] & has_prediction[second]
            one, two = predictions.right[first], predictions.right[second]
            if (common & subset).sum() < min_rows:
                continue
            elsewhere = float((one - two)[common & ~subset].mean())
            if abs(elsewhere) > tolerance:
                continue
            rows = common & subset
            samples = [Sample(RATIO, np.stack([side[rows], np.ones(rows.sum())], axis=1)) for side in (one, two)]
            difference, _ = compute_paired_difference(samples[1], samples[0], resamples=1)
            outcomes = extract_binary_outcomes(*samples)
            assert outcomes is not None
            pairs.append(MatchedPair(first, second, elsewhere, difference, mcnemar_test(*outcomes)))
    return pairs


def average_matched_pairs(
    predictions: Predictions,
    subset: Flags,
    pairs: Sequence[MatchedPair],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Average the differences on CS_λ over matched pairs, with equal weight for each pair of models.

    The interval covers the sampling of pairs of sentences, not of systems. `n` is the number of pairs of models.
    """
    has_prediction = ~np.isnan(predictions.right)
    by_models: dict[tuple[str, str], list[Floats]] = {}
    weights = np.vstack([np.ones((1, len(subset))), draw_source_weights(predictions.source, resamples, seed)])
    for pair in pairs:
        rows = subset & has_prediction[pair.first] & has_prediction[pair.second]
        gaps = (predictions.right[pair.first] - predictions.right[pair.second])[rows]
        key = (str(predictions.model[pair.first]), str(predictions.model[pair.second]))
        by_models.setdefault(key, []).append(weights[:, rows] @ gaps / weights[:, rows].sum(axis=1))
    value, *draws = np.mean([np.mean(each, axis=0) for each in by_models.values()], axis=0).tolist()
    low, high = np.percentile(draws, [2.5, 97.5]).tolist()
    return Estimate(value, low, high, len(by_models))
