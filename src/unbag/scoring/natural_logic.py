"""The metric of SICCK: macro F1, precision, recall and accuracy over the labels of natural logic."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import ENTAILMENT, FORWARD_ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, REVERSE_ENTAILMENT
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, RATIO, Estimate, Sample
from unbag.scoring.intervals import effective_sizes, share_limits

Measure = Literal["f1", "precision", "recall", "accuracy"]
MEASURES: Final[tuple[Measure, ...]] = ("f1", "precision", "recall", "accuracy")
CROSSED: Final = "+"  # between the names of crossed columns, and their values
_TABLE_CELLS: Final = 4_000_000  # resampling weights held at a time: 32 MB

_Counts = NDArray[np.int64 | np.float64]


class MacroScores(TypedDict):
    """The four measures of some pairs: `Estimate`s (value, low, high, n) from 0 to 1, higher is better.

    With TP, FP and FN of one label against the others; f1, precision and recall are each 0 where they would divide by
    0, then averaged over the labels that occur in the references or the predictions, all weighing the same (macro
    average).

    Attributes:
        f1: 2 TP / (2 TP + FP + FN).
        precision: TP / (TP + FP).
        recall: TP / (TP + FN).
        accuracy: share predicted right.
    """

    f1: Estimate
    precision: Estimate
    recall: Estimate
    accuracy: Estimate


class LabelScores(TypedDict):
    """The measures of one label, and how often it is `gold` and `predicted`."""

    f1: float
    precision: float
    recall: float
    gold: int
    predicted: int


class GroupScores(MacroScores):
    """The measures of some pairs, and what came out for which label.

    Attributes:
        confusion: by gold label, how many of its pairs each label was predicted for; labels that were not are left out.
    """

    confusion: dict[str, dict[str, int]]


class NaturalLogicScores(GroupScores):
    """The measures of all pairs, of each label, and of each group of pairs.

    Attributes:
        n_examples: how many pairs there are.
        by_label: `LabelScores` by label.
        by: by name of a column in `groups` and each of its values, `GroupScores`; likewise by names and values of
            `crossed` columns with + between, such as `modifier_type+part` and `negation+verb`.
    """

    n_examples: int
    by_label: dict[str, LabelScores]
    by: dict[str, dict[str, GroupScores]]


def four_way(predictions: ArrayLike, reverse_predictions: ArrayLike) -> NDArray[np.str_]:
    """Return the four-way labels of a model that predicts three, by the reverse rule.

    Akoju et al. (2023), section 4.1, 1: predicted neutral, and the hypothesis predicted to entail the premise, is
    reverse entailment; entailment is forward entailment; the rest stays. A two-label model's `not_entailment` is
    treated as neutral is.

    Args:
        predictions: names of the labels predicted for (premise, hypothesis), shape (n,).
        reverse_predictions: those predicted for (hypothesis, premise), shape (n,).

    >>> four_way(["entailment", "neutral", "neutral"], ["neutral", "entailment", "contradiction"]).tolist()
    ['forward_entailment', 'reverse_entailment', 'neutral']
    """
    forward, back = np.asarray(predictions, dtype=np.str_), np.asarray(reverse_predictions, dtype=np.str_)
    if forward.shape != back.shape or forward.ndim != 1:
        raise ValueError(
            f"expected as many predictions for (hypothesis, premise) as for (premise, hypothesis), found the shapes "
            f"{back.shape} and {forward.shape}"
        )
    undecided = (forward == NEUTRAL) | (forward == NOT_ENTAILMENT)
    labels = np.where(forward == ENTAILMENT, FORWARD_ENTAILMENT, forward)
    turned: NDArray[np.str_] = np.where(undecided & (back == ENTAILMENT), REVERSE_ENTAILMENT, labels)
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
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> NaturalLogicScores:
    """Score labels of natural logic.

    Akoju et al. (2023), section 4, Tables 8 and 11-17: macro F1, precision and recall, and accuracy. A model
    that always answers one label has accuracy a, the share of that label, precision a / m, recall 1 / m and f1
    2a / (1 + a) / m, for m labels: Table 8's third row is that (a = 259 / 1304, m = 4). Table 10 and the shares of
    section 5 (neutral pairs with a negation, or with a universal at the verb, that were taken for something else) are
    in the `confusion` of the groups, with type of modifier and part `crossed`.

    Args:
        predictions: names of the predicted labels, shape (n,): four-way (`data.labels.FOUR_WAY`), or any others;
            three-way where `pair` and `reverse` are given, of which four-way ones are made by the reverse rule
            (`four_way`).
        references: names of the gold labels, shape (n,). With `pair` and `reverse`, those of reversed rows are not
            read, and a pair whose label is None, since the four have none for it, is left out.
        pair: which pair each row is, shape (n,).
        reverse: whether premise and hypothesis are exchanged in a row, shape (n,): each pair is there both ways round.
        groups: columns by name, shape (n,) each, by whose values all is repeated.
        crossed: names of some of these columns each, by whose values together all is repeated too.
        source_id: the example each pair was made from, shape (n,); intervals then take those for independent. By
            default each pair is an example.
        resamples: bootstrap draws of the 95 % intervals of F1, precision and recall; 0 for no intervals.
        seed: decides the draws.

    Raises:
        ValueError: if lengths differ, there is no example, a pair is not there both ways round, or a crossed column is
            none of `groups`.

    >>> scores = natural_logic(["neutral", "neutral"], ["neutral", "contradiction"])
    >>> [scores[name].value for name in MEASURES]
    [0.3333333333333333, 0.25, 0.5, 0.5]
    """
    predicted, gold = np.asarray(predictions, dtype=np.str_), np.asarray(references, dtype=object)
    columns = {name: np.asarray(column, dtype=np.str_) for name, column in (groups or {}).items()}
    for names in crossed:
        if unknown := sorted(set(names) - set(groups or {})):
            raise ValueError(f"expected crossed columns of {', '.join(groups or {}) or 'groups'}, found {unknown}")
        values = zip(*(columns[name].tolist() for name in names), strict=True)
        columns[CROSSED.join(names)] = np.asarray([CROSSED.join(each) for each in values], dtype=np.str_)
    sources = np.arange(len(gold)) if source_id is None else np.asarray(source_id, dtype=np.str_)
    lengths = {"predictions": len(predicted), "references": len(gold), "source_id": len(sources)}
    ways = {"pair": pair, "reverse": reverse}
    lengths |= {name: len(np.asarray(column)) for name, column in ways.items() if column is not None}
    lengths |= {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected the same number of examples everywhere, found {lengths}")
    if pair is not None or reverse is not None:
        if pair is None or reverse is None:
            alone = "pair" if reverse is None else "reverse"
            raise ValueError(f"expected pair and reverse together, found {alone} alone")
        scored, back = both_ways(pair, reverse, gold)
        predicted = four_way(predicted[scored], predicted[back])
        gold, sources = gold[scored], sources[scored]
        columns = {name: column[scored] for name, column in columns.items()}
    if not len(gold):
        raise ValueError("expected at least one example, found none")
    gold = gold.astype(np.str_)

    def measured(inside: NDArray[np.bool_]) -> GroupScores:
        macro_scores = _macro_estimates(gold[inside], predicted[inside], sources[inside], resamples, seed)
        return {**macro_scores, "confusion": _confusion(gold[inside], predicted[inside])}

    everything = np.ones(len(gold), dtype=bool)
    return {
        "n_examples": len(gold),
        **measured(everything),
        "by_label": _by_label(gold, predicted),
        "by": {
            name: {str(value): measured(column == value) for value in dict.fromkeys(column.tolist())}
            for name, column in columns.items()
        },
    }


def both_ways(
    pair: Sequence[Hashable] | NDArray[Any], reverse: ArrayLike, gold: Sequence[str | None] | NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that are scored, those not reversed whose label is not None, and of each the reversed one.

    Args:
        pair: which pair each row is, shape (n,).
        reverse: whether premise and hypothesis are exchanged in a row, shape (n,).
        gold: the label of each row, shape (n,); those of reversed rows are not read.

    Raises:
        ValueError: if a pair is there twice the same way round, or a scored one not reversed.
    """
    reversed_ = np.asarray(reverse, dtype=np.bool_)
    names = list(pair)
    rows = {ways: np.flatnonzero(reversed_ == ways).tolist() for ways in (False, True)}
    back = {names[row]: row for row in rows[True]}
    scored = [row for row in rows[False] if gold[row] is not None]
    if len(back) < len(rows[True]) or len({names[row] for row in rows[False]}) < len(rows[False]):
        raise ValueError("expected each pair once as it is and once reversed, found one of them twice")
    if lacking := [names[row] for row in scored if names[row] not in back]:
        raise ValueError(f"expected each pair reversed too, found no such row of {lacking[0]!r}")
    return np.array(scored, dtype=np.intp), np.array([back[names[row]] for row in scored], dtype=np.intp)


def _tables(gold: NDArray[np.str_], predicted: NDArray[np.str_]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the labels and, for each example, the cell of the confusion table (gold by predicted) it falls into."""
    labels, codes = np.unique(np.concatenate([gold, predicted]), return_inverse=True)
    return labels.tolist(), codes[: len(gold)] * len(labels) + codes[len(gold) :]


def _confusion(gold: NDArray[np.str_], predicted: NDArray[np.str_]) -> dict[str, dict[str, int]]:
    confusion: dict[str, dict[str, int]] = {}
    for (label, answer), n in sorted(Counter(zip(gold.tolist(), predicted.tolist(), strict=True)).items()):
        confusion.setdefault(label, {})[answer] = n
    return confusion


def _macro_estimates(
    gold: NDArray[np.str_], predicted: NDArray[np.str_], sources: NDArray[Any], resamples: int, seed: int
) -> MacroScores:
    labels, cells = _tables(gold, predicted)
    k, n = len(labels), len(gold)
    names, source = np.unique(sources, return_inverse=True)
    values = _measures(np.bincount(cells, minlength=k * k).reshape(1, k, k))[0]
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(MEASURES)
    samples: dict[str, Sample] = {}
    if len(names) < n:
        by_source = np.zeros((len(names), k * k))
        np.add.at(by_source, (source, cells), 1)
        samples = _samples_by_source(by_source, k)
    if resamples:
        rng = np.random.default_rng(seed)
        if len(names) == n:  # drawing examples is drawing cells of the table, each as likely as it is frequent
            counts = np.bincount(cells, minlength=k * k)
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
        low, high = np.percentile(_measures(drawn.reshape(-1, k, k)), [2.5, 97.5], axis=0)
        right = np.bincount(source, weights=cells % (k + 1) == 0, minlength=len(names)).astype(np.float64)[:, None]
        rows = np.bincount(source, minlength=len(names)).astype(np.float64)[:, None]
        # The accuracy is a proportion. An average that no draw moves, as of a model that is always right, has the
        # limits of a proportion too: draws cannot tell what other pairs would do to it.
        shares = (low == high) | (np.array(MEASURES) == "accuracy")
        low[shares], high[shares] = share_limits(values[shares], np.repeat(effective_sizes(right, rows), shares.sum()))
        bounds = [(float(one), float(two)) for one, two in zip(low, high, strict=True)]
    f1, precision, recall, accuracy = (
        Estimate(float(value), *bound, n).of(samples.get(name))
        for name, value, bound in zip(MEASURES, values, bounds, strict=True)
    )
    return {"f1": f1, "precision": precision, "recall": recall, "accuracy": accuracy}


def _samples_by_source(by_source: NDArray[np.float64], k: int) -> dict[str, Sample]:
    """Return the examples behind each measure: the confusion table of each source, shape (sources, k * k)."""
    right = by_source[:, :: k + 1].sum(axis=1)  # the diagonal
    of_macro: dict[str, Sample] = {name: Sample(f"macro_{name}", by_source) for name in MEASURES[:3]}
    return of_macro | {"accuracy": Sample(RATIO, np.stack([right, by_source.sum(axis=1)], axis=1))}


def macro(tables: NDArray[np.float64], measure: Measure) -> NDArray[np.float64]:
    """Return the macro `f1`, `precision` or `recall` of flat confusion tables (m, k * k), shape (m,)."""
    k = round(tables.shape[1] ** 0.5)
    values: NDArray[np.float64] = _measures(tables.reshape(-1, k, k))[:, MEASURES.index(measure)]
    return values


def _measures(tables: _Counts) -> NDArray[np.float64]:
    """Return macro F1, precision, recall, and accuracy of confusion tables (m, k, k), gold by predicted: (m, 4)."""
    f1, precision, recall, occurs = _per_label(tables)
    number = occurs.sum(axis=1)
    macro = [np.where(occurs, values, 0.0).sum(axis=1) / number for values in (f1, precision, recall)]
    accuracy = np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2))
    return np.stack([*macro, accuracy], axis=1)


def _per_label(tables: _Counts) -> tuple[NDArray[np.float64], ...]:
    """Return F1, precision and recall of each label, and whether it occurs at all, shape (m, k) each."""
    right = np.diagonal(tables, axis1=1, axis2=2).astype(np.float64)
    gold, predicted = tables.sum(axis=2), tables.sum(axis=1)

    def ratio(above: _Counts, below: _Counts) -> NDArray[np.float64]:
        ratios: NDArray[np.float64] = np.divide(above, below, out=np.zeros(right.shape), where=below > 0)
        return ratios

    return ratio(2 * right, gold + predicted), ratio(right, predicted), ratio(right, gold), gold + predicted > 0


def _by_label(gold: NDArray[np.str_], predicted: NDArray[np.str_]) -> dict[str, LabelScores]:
    labels, cells = _tables(gold, predicted)
    table = np.bincount(cells, minlength=len(labels) ** 2).reshape(1, len(labels), len(labels))
    f1, precision, recall, _ = _per_label(table)
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
