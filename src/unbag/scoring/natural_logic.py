"""Metric of SICCK: accuracy and macro-averaged F1, precision and recall over natural-logic labels."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import (
    CONTRADICTION,
    ENTAILMENT,
    FORWARD_ENTAILMENT,
    NEUTRAL,
    NOT_CONTRADICTION,
    NOT_ENTAILMENT,
    REVERSE_ENTAILMENT,
)
from unbag.data.predictions import NONE, Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Estimate, Sample, estimate_ratio
from unbag.scoring.intervals import compute_effective_sizes, compute_proportion_limits
from unbag.scoring.validation import validate_lengths

MACROS: Final = ("f1", "precision", "recall")
MEASURES: Final = (*MACROS, "accuracy")
CROSSED: Final = "+"  # separator of the names of crossed columns, and of their values
GROUPS: Final = ("modifier_type", "part", "modifier", "position", "relation")
_CROSSED: Final = ("modifier_type", "part")  # Table 10, section 5
_TABLE_CELLS: Final = 4_000_000  # resampling weights in memory at a time: 32 MB

_Counts = NDArray[np.int64 | np.float64]


def apply_reverse_rule(predictions: ArrayLike, reverse_predictions: ArrayLike) -> NDArray[np.str_]:
    """Convert three-way predictions for both directions of a pair to one four-way label per pair.

    Akoju et al. (2023), https://aclanthology.org/2023.nlrse-1.12, section 4.1, rule 1. A neutral prediction becomes
    reverse entailment if the model predicts entailment for the reversed pair. Entailment becomes forward entailment.
    Other predictions are unchanged. `not_entailment` of a two-label model is treated as neutral. The label names are
    those predicted for (premise, hypothesis) and for (hypothesis, premise), shape (n,) each.

    >>> apply_reverse_rule(["entailment", "neutral", "neutral"], ["neutral", "entailment", "contradiction"]).tolist()
    ['forward_entailment', 'reverse_entailment', 'neutral']
    """
    forward, back = np.asarray(predictions, dtype=np.str_), np.asarray(reverse_predictions, dtype=np.str_)
    is_neutral = (forward == NEUTRAL) | (forward == NOT_ENTAILMENT)
    labels = np.where(forward == ENTAILMENT, FORWARD_ENTAILMENT, forward)
    turned: NDArray[np.str_] = np.where(is_neutral & (back == ENTAILMENT), REVERSE_ENTAILMENT, labels)
    return turned


def natural_logic(
    predictions: ArrayLike,
    references: ArrayLike,
    *,
    pair: Sequence[Hashable] | NDArray[Any] | None = None,
    reverse: ArrayLike | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    crossed: Sequence[Sequence[str]] = (),
    source_id: Sequence[str] | NDArray[Any] | None = None,
    missing: str | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute accuracy and macro-averaged F1, precision and recall over natural-logic labels.

    Akoju et al. (2023), https://aclanthology.org/2023.nlrse-1.12, section 4, Tables 8 and 11-17. For m labels, a model
    that always predicts the same label has accuracy a (the share of that label), precision a / m, recall 1 / m and F1
    2a / (1 + a) / m. The `confusion` of groups with modifier type and part `crossed` contains Table 10 and the shares
    of section 5.

    Args:
        predictions: Predicted label names, shape (n,): four-way (`data.labels.FOUR_WAY`) or any others. With `pair` and
            `reverse`: three-way names, which are converted by the reverse rule (`apply_reverse_rule`).
        references: Gold label names, shape (n,). With `pair` and `reverse`, the labels of reversed rows are ignored. A
            pair whose label is None has none of the four labels and is excluded.
        pair: Pair of each row, shape (n,). Requires `reverse`; every pair must occur in both directions.
        reverse: Whether premise and hypothesis are exchanged in each row, shape (n,).
        groups: Columns by name, shape (n,) each; scores are also computed for each value of each column.
        crossed: Tuples of column names of `groups`; scores are also computed for each combination of their values.
        source_id: Source example of each pair, shape (n,) (default: one source per pair).
        missing: Name that stands for a missing prediction. It counts as a wrong prediction of every other label, so
            that it never improves a score (default: no such name).
        resamples: Number of bootstrap resamples for the 95 % intervals of F1, precision and recall; 0 for no intervals.

    Returns:
        The scores of the card `metrics/natural_logic/README.md`, as `Estimate`s in [0, 1]; higher is better. Each label
        counts against all others, and 0 / 0 is 0. Combinations of `crossed` columns have names such as
        `modifier_type+part` and `negation+verb`.

    >>> scores = natural_logic(["neutral", "neutral"], ["neutral", "contradiction"])
    >>> [scores[name].value for name in MEASURES]
    [0.3333333333333333, 0.25, 0.5, 0.5]
    """
    predicted, gold = np.asarray(predictions, dtype=np.str_), np.asarray(references, dtype=object)
    columns = {name: np.asarray(column, dtype=np.str_) for name, column in (groups or {}).items()}
    for names in crossed:
        if unknown := sorted(set(names) - set(groups or {})):
            raise ValueError(
                f"crossed: expected column names from groups ({', '.join(groups or {}) or 'none'}), got {unknown}"
            )
        values = zip(*(columns[name].tolist() for name in names), strict=True)
        columns[CROSSED.join(names)] = np.asarray([CROSSED.join(each) for each in values], dtype=np.str_)
    sources = np.arange(len(gold)) if source_id is None else np.asarray(source_id, dtype=np.str_)
    given = {"predictions": predicted, "references": gold, "source_id": sources, "pair": pair, "reverse": reverse}
    validate_lengths(given | columns)
    if pair is not None or reverse is not None:
        if pair is None or reverse is None:
            alone = "pair" if reverse is None else "reverse"
            raise ValueError(f"natural_logic: expected both pair and reverse, got only {alone}; pass both columns")
        scored, back = match_reversed_rows(pair, reverse, gold)
        predicted = apply_reverse_rule(predicted[scored], predicted[back])
        gold, sources = gold[scored], sources[scored]
        columns = {name: column[scored] for name, column in columns.items()}
    if not len(gold):
        raise ValueError("natural_logic: expected at least one example, got none; pass the rows of the set")
    gold = gold.astype(np.str_)

    def score(inside: NDArray[np.bool_]) -> dict[str, Any]:
        macro_scores = _estimate_macro_scores(
            gold[inside], predicted[inside], sources[inside], missing, resamples, seed
        )
        confusion: dict[str, dict[str, int]] = {}
        pairs = zip(gold[inside].tolist(), predicted[inside].tolist(), strict=True)
        for (label, answer), n in sorted(Counter(pairs).items()):
            confusion.setdefault(label, {})[answer] = n
        return {**macro_scores, "confusion": confusion}

    return {
        "n_examples": len(gold),
        **score(np.ones(len(gold), dtype=bool)),
        "by_label": _score_labels(gold, predicted, missing),
        "by": {
            name: {str(value): score(column == value) for value in dict.fromkeys(column.tolist())}
            for name, column in columns.items()
        },
    }


def match_reversed_rows(
    pair: Sequence[Hashable] | NDArray[Any], reverse: ArrayLike, gold: Sequence[str | None] | NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the rows to score, and match each of them with the row of the reversed pair.

    The scored rows, shape (k,), are those in the original order (`reverse` is false) that have a label in `gold`.
    """
    reversed_ = np.asarray(reverse, dtype=np.bool_)
    names = pair.tolist() if isinstance(pair, np.ndarray) else list(pair)
    rows = {ways: np.flatnonzero(reversed_ == ways).tolist() for ways in (False, True)}
    back = {names[row]: row for row in rows[True]}
    scored = [row for row in rows[False] if gold[row] is not None]
    if len(back) < len(rows[True]) or len({names[row] for row in rows[False]}) < len(rows[False]):
        raise ValueError(
            "pair: expected each pair once per direction, got a pair twice in one direction; remove repeated rows"
        )
    if lacking := [names[row] for row in scored if names[row] not in back]:
        raise ValueError(
            f"pair: expected a reversed row for each pair, got none for {lacking[0]!r}; pass all rows of the set"
        )
    return np.array(scored, dtype=np.intp), np.array([back[names[row]] for row in scored], dtype=np.intp)


def _tables(gold: NDArray[np.str_], predicted: NDArray[np.str_]) -> tuple[list[str], NDArray[np.int64]]:
    """List the labels, and compute the index of each example in the flattened confusion table (gold × predicted)."""
    labels, codes = np.unique(np.concatenate([gold, predicted]), return_inverse=True)
    return labels.tolist(), codes[: len(gold)] * len(labels) + codes[len(gold) :]


def _count_missing(labels: Sequence[str], missing: str | None) -> NDArray[np.float64]:
    """Build the matrix that counts a missing prediction for each wrong label, shape (k * k, k * k)."""
    # It multiplies confusion counts. The gold row of the missing name, which is not a gold label, receives these
    # predictions.
    k = len(labels)
    counts = np.eye(k * k)
    if missing in labels:
        none = labels.index(missing)
        for gold, predicted in product(range(k), range(k)):
            counts[gold * k + none, none * k + predicted] += none not in (gold, predicted) and gold != predicted
    return counts


def _estimate_macro_scores(
    gold: NDArray[np.str_],
    predicted: NDArray[np.str_],
    sources: NDArray[Any],
    missing: str | None,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    labels, cells = _tables(gold, predicted)
    k, n = len(labels), len(gold)
    counting = _count_missing(labels, missing)
    counts = np.bincount(cells, minlength=k * k)
    names, source = np.unique(sources, return_inverse=True)
    # Not from the confusion table, in which a missing prediction counts several times.
    accuracy = estimate_ratio(gold == predicted, source=source, is_count_of_rows=True, resamples=resamples)
    values = _macro_averages(counts @ counting)[0]
    by_source = None
    if len(names) < n:
        by_source = np.zeros((len(names), k * k))
        np.add.at(by_source, (source, cells), 1)
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(values)
    if resamples:
        rng = np.random.default_rng(seed)
        # Without repeated sources, drawing examples is equivalent to drawing table cells in proportion to their counts.
        if by_source is None:
            drawn = rng.multinomial(n, counts / n, size=resamples)
        else:
            block = max(1, _TABLE_CELLS // len(names))
            share = np.full(len(names), 1 / len(names))
            drawn = np.concatenate(
                [
                    rng.multinomial(len(names), share, size=min(block, resamples - start)) @ by_source
                    for start in range(0, resamples, block)
                ]
            )
        low, high = np.percentile(_macro_averages(drawn @ counting), [2.5, 97.5], axis=0)
        # A macro average that is equal in all resamples (for example, of a model that is always correct) gets the
        # limits of a proportion, because resamples cannot show the effect of other pairs.
        equal = low == high
        assert accuracy.sample is not None
        size = compute_effective_sizes(*np.hsplit(accuracy.sample.columns, 2))
        low[equal], high[equal] = compute_proportion_limits(values[equal], np.repeat(size, equal.sum()))
        bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    tables = None if by_source is None else by_source @ counting
    scores = {}
    for name, value, bound in zip(MACROS, values.tolist(), bounds, strict=True):
        sample = None if tables is None else Sample(f"macro_{name}", tables)
        scores[name] = Estimate(value, *bound, n).copy_with_sample(sample)
    return {**scores, "accuracy": accuracy}


def compute_macro_average(confusion_matrices: NDArray[np.float64], measure: str) -> NDArray[np.float64]:
    """Compute macro-averaged F1, precision or recall, shape (m,), from flattened confusion matrices.

    The matrices (gold × predicted) have shape (m, k * k).
    """
    values: NDArray[np.float64] = _macro_averages(confusion_matrices)[:, MACROS.index(measure)]
    return values


def _macro_averages(tables: _Counts) -> NDArray[np.float64]:
    """Compute macro-averaged F1, precision and recall, shape (m, 3), from flattened tables, shape (m, k * k)."""
    k = round(tables.shape[-1] ** 0.5)
    *values, occurs = _per_label(tables.reshape(-1, k, k))
    return np.stack([np.where(occurs, each, 0.0).sum(axis=1) / occurs.sum(axis=1) for each in values], axis=1)


def _per_label(tables: _Counts) -> tuple[NDArray[np.float64], ...]:
    """Compute F1, precision and recall of each label, and whether the label occurs, shape (m, k) each."""
    right = np.diagonal(tables, axis1=1, axis2=2).astype(np.float64)
    gold, predicted = tables.sum(axis=2), tables.sum(axis=1)

    def ratio(above: _Counts, below: _Counts) -> NDArray[np.float64]:
        ratios: NDArray[np.float64] = np.divide(above, below, out=np.zeros(right.shape), where=below > 0)
        return ratios

    return ratio(2 * right, gold + predicted), ratio(right, predicted), ratio(right, gold), gold + predicted > 0


def _score_labels(gold: NDArray[np.str_], predicted: NDArray[np.str_], missing: str | None) -> dict[str, Any]:
    labels, cells = _tables(gold, predicted)
    table = np.bincount(cells, minlength=len(labels) ** 2).reshape(1, len(labels), len(labels))
    f1, precision, recall, _ = _per_label((table.ravel() @ _count_missing(labels, missing)).reshape(table.shape))
    return {
        label: {
            "f1": float(f1[0, i]),
            "precision": float(precision[0, i]),
            "recall": float(recall[0, i]),
            "gold": int(table[0, i].sum()),
            "predicted": int(table[0, :, i].sum()),
        }
        for i, label in enumerate(labels)
    }


def score_sicck(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute accuracy, macro F1, precision and recall of four-way labels, with intervals over seed pairs.

    A model with the labels entailment and not entailment has three gold labels: entailment in either direction, or
    neither. A model that only detects contradictions has two, and the reverse rule does not change its predictions. A
    row without an answer counts as the predicted label `data.predictions.NONE`, which is wrong and lowers the precision
    of every other label. If the rows are a part of the set, only pairs with both orders count.
    """
    scored, predicted, gold = build_four_way_labels(columns, predictions, partial=partial)
    if not len(scored):
        return {}
    groups = {name: [columns[name][row] for row in scored] for name in GROUPS if name in columns}
    return natural_logic(
        predicted,
        gold,
        groups=groups or None,
        crossed=[_CROSSED] if groups.keys() >= set(_CROSSED) else (),
        source_id=[columns["source_id"][row] for row in scored] if "source_id" in columns else None,
        missing=NONE,
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )


def build_four_way_labels(
    columns: Columns, predictions: SetPredictions, *, partial: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.str_], NDArray[np.str_]]:
    """Find the scored rows, and build their four-way predictions and gold labels, shape (m,) each.

    The columns are `pair`, `reverse` and `four_way`. If the rows are a part of the set (`partial`), only pairs with
    both orders count.
    """
    pairs, four = columns["pair"], columns["four_way"]
    if partial:
        reversed_pairs = {pairs[row] for row in np.flatnonzero(columns["reverse"]).tolist()}
        four = [label if pair in reversed_pairs else None for pair, label in zip(pairs, four, strict=True)]
    scored, back = match_reversed_rows(pairs, columns["reverse"], four)
    forward, reverse = predictions.label_names[scored], predictions.label_names[back]
    # A neutral pair whose reversed pair has no answer has no four-way label.
    is_open = np.isin(forward, [NEUTRAL, NOT_ENTAILMENT]) & (reverse == NONE)
    predicted: NDArray[np.str_] = np.where(is_open, NONE, apply_reverse_rule(forward, reverse))
    gold = np.array([map_four_way_label(columns["four_way"][row], predictions) for row in scored], dtype=np.str_)
    return scored, predicted, gold


def map_four_way_label(label: str, predictions: SetPredictions) -> str:
    """Map a four-way label to the closest label in a model's label space."""
    if NOT_CONTRADICTION in predictions.label_space:
        return label if label == CONTRADICTION else NOT_CONTRADICTION
    two_way = NOT_ENTAILMENT in predictions.label_space
    return NOT_ENTAILMENT if two_way and label in (CONTRADICTION, NEUTRAL) else label
