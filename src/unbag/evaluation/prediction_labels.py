"""Meaning of the labels in published predictions: by name, by the user's `labels`, or by gold labels.

The gold labels of a file are compared with those of the set, which shows the meaning of numbers and other words. The
accuracy under every order of the labels reveals a wrong order.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import (
    CONTRADICTION,
    ENTAILMENT,
    LABEL_SPACES,
    LABELS,
    NEUTRAL,
    NOT_CONTRADICTION,
    NOT_ENTAILMENT,
    TWO_WAY,
    LabelError,
    parse_truth_value,
    resolve_gold_label,
    resolve_label,
)
from unbag.data.predictions import NONE, SetPredictions
from unbag.inference.prediction_files import INITIALS, ModelColumn, PublishedPredictions
from unbag.scoring.significance import mcnemar_test
from unbag.utils.safe_io import DataError

SAME_GOLD: Final = 0.99
"""Minimum share of equal gold labels for matching by row number, and for the meaning of unnamed labels."""

ORDER_LEVEL: Final = 0.001
"""Level of the test whether another order of named labels fits better. The best of six orders is compared."""

ENOUGH: Final = 10 / 12
"""Minimum accuracy of another order of unnamed labels that makes the stated order an error, as in the label probe."""

MARGIN: Final = 0.2
"""Minimum gain in accuracy of such an order. A two-label model that separates entailment from the rest loses 0.25 if
its labels are interpreted as contradiction versus the rest."""


_MERGED: Final = {NOT_ENTAILMENT: (NEUTRAL, CONTRADICTION), NOT_CONTRADICTION: (ENTAILMENT, NEUTRAL)}


def _infer_meanings(pairs: Sequence[tuple[str, str]], *, minimum: float = SAME_GOLD) -> dict[str, str]:
    """Infer the meaning of labels from (their label, our label) of many rows: named ones, or the most frequent ones.

    Returns no meanings if they are not distinct, or if less than `minimum` of the rows have them.
    """
    counts = Counter(pairs)
    theirs = {their for their, _ in counts}
    meanings = {their: label for their in theirs if (label := _resolve(their, resolve_gold_label))}
    for their in theirs - meanings.keys():
        # Ties go to the last label in alphabetical order, so that the order of the rows does not matter.
        meanings[their] = max((n, our) for (each, our), n in counts.items() if each == their)[1]
    equal = sum(n for (their, our), n in counts.items() if are_equal_labels(meanings[their], our))
    if len(set(meanings.values())) < len(meanings) or equal < minimum * len(pairs):
        return {}
    return meanings


def _resolve(text: str, resolve: Callable[[str], str]) -> str | None:
    try:
        return resolve(text)
    except LabelError:
        return None


class ResolvedAnswers(NamedTuple):
    """Predictions of a model for the matched rows of a set, with a record of how they were read."""

    predictions: SetPredictions  # predictions of the rows with a prediction, in the order of the set
    is_predicted: NDArray[np.bool_]  # mask of these rows, shape (n,)
    # Fields of the model's record: the order of the labels, and the agreement of the gold labels.
    record: Mapping[str, Any]
    warnings: Sequence[str]


def resolve_answers(
    published: PublishedPredictions,
    model: ModelColumn,
    positions: NDArray[np.intp],
    gold: Sequence[str],
    *,
    labels: Sequence[str] = (),
    is_original: NDArray[np.bool_] | None = None,
    has_threshold: bool = False,
) -> ResolvedAnswers:
    """Find the meaning of the labels of a model, and arrange its predictions in the order of a set.

    Args:
        positions: Row of the table for each of the n rows of the set; -1 without one.
        gold: Names of the gold labels of the set, n rows.
        labels: Names of the labels 0, 1, …, or the meaning of each label (`E=entailment`; `none` for no answer).
        is_original: Mask of the rows that are unaltered, unselected pairs of the corpus, on which a model is expected
            to be right, shape (n,) (default: all). On other pairs, a wrong order may fit better than the right one.
        has_threshold: Whether a threshold replaces the labels of the table, which may then contradict its scores.
    """
    is_predicted = positions >= 0
    is_predicted[is_predicted] = model.is_predicted[positions[is_predicted]]
    rows = positions[is_predicted]
    if not len(rows):
        raise DataError(f"{model.name}: expected predictions of rows of the set, got none; check the file")
    ours = [label for label, is_given in zip(gold, is_predicted, strict=True) if is_given]
    columns = [] if model.scores is None else list(model.score_labels or map(str, range(model.scores.shape[1])))
    scores = None if model.scores is None else model.scores[rows]
    if model.values is not None:
        answers = [model.values[row] for row in rows]
    else:
        assert scores is not None
        answers = [columns[place] for place in scores.argmax(axis=1)]
    distinct = sorted({*answers, *(columns if model.values is None else ())})
    golds = [] if published.gold is None else [published.gold[row] for row in rows]
    # Not strict, because `golds` is empty for a table without gold labels.
    known_golds = [(their, our) for their, our in zip(golds, ours, strict=False) if their]
    inferred = _infer_meanings(known_golds)
    stored = [_resolve(name, resolve_gold_label) for name in published.id_names or ()]
    stated = _parse_labels(labels) or {str(number): name for number, name in enumerate(stored) if name}
    if set(stated) == {"0", "1"}:  # two names are also those of false and true, as for the data
        stated |= {each: stated[str(int(truth))] for each in distinct if (truth := parse_truth_value(each)) is not None}
    named = {each: label for each in distinct if (label := _find_name(each, distinct))}
    # Explicit meanings override names, and names override what the gold labels suggest.
    meanings = {each: inferred[each] for each in distinct if each in inferred} | named | stated
    if unknown := [each for each in distinct if each not in meanings]:
        wanted = ",".join(f"{each}=…" for each in unknown[:3])
        # A column of scores may be the largest one in no row.
        first = next((row for row, answer in zip(rows, answers, strict=True) if answer in unknown), rows[0])
        raise DataError(
            f"{model.name}: expected labels such as {', '.join(LABELS)}, got {', '.join(map(repr, unknown[:5]))} "
            f"({published.locate(int(first))}); pass their meanings with --labels "
            f"{shlex.quote(wanted) if ' ' in wanted else wanted}{_list_accuracies(answers, ours, distinct)}"
        )
    meanings = {each: meanings[each] for each in distinct}
    contradicted = [
        each for each in distinct if each not in named and inferred.get(each, meanings[each]) != meanings[each]
    ]
    if contradicted:
        raise DataError(
            f"{model.name}: expected {', '.join(f'{each}={inferred[each]}' for each in contradicted)}, as in the "
            f"gold labels of {published.name}, got {', '.join(f'{each}={meanings[each]}' for each in contradicted)}; "
            f"correct --labels{_list_accuracies(answers, ours, distinct)}"
        )
    checked = range(len(rows)) if is_original is None else np.flatnonzero(is_original[is_predicted]).tolist()
    better = _describe_better_orders(
        model.name,
        [answers[row] for row in checked],
        [ours[row] for row in checked],
        meanings,
        are_named=len(named) == len(distinct),
    )
    warnings = [better] if better else []
    if known_golds and (equal := count_equal_golds(known_golds)) < len(known_golds) * SAME_GOLD:
        warnings.append(
            f"has {len(known_golds) - equal:,} of {len(known_golds):,} gold labels that differ from those of the set, "
            "which are used"
        )
    confidence = None if model.confidence is None else model.confidence[rows]
    predictions, note = _build_predictions(
        model, answers, scores, columns, meanings, confidence, has_threshold=has_threshold
    )
    warnings += [note] if note else []
    record = {"label_order": ",".join(f"{their}={our}" for their, our in meanings.items() if their not in named)}
    return ResolvedAnswers(predictions, is_predicted, record if record["label_order"] else {}, warnings)


def _parse_labels(labels: Sequence[str]) -> dict[str, str]:
    """Parse the meanings of labels: names of the labels 0, 1, …, or pairs such as `E=entailment`."""
    pairs = [each.partition("=") for each in labels]
    if any(equals for _, equals, _ in pairs) and not all(equals for _, equals, _ in pairs):
        raise DataError(
            f"--labels: expected either names of the labels 0, 1, 2 or pairs such as E=entailment, got a mixture "
            f"({','.join(labels)}); use one form"
        )
    meanings = {}
    for number, (theirs, equals, ours) in enumerate(pairs):
        name = (ours if equals else theirs).strip()
        if name != NONE and (resolved := _resolve(name, resolve_gold_label)) is None:
            raise DataError(f"--labels: expected {', '.join(LABELS)}, … or {NONE}, got {name!r}; use one of these")
        meanings[theirs.strip() if equals else str(number)] = NONE if name == NONE else str(resolved)
    return meanings


def _find_name(text: str, distinct: Sequence[str]) -> str | None:
    """Find the label that a text names; initials only if all labels are initials."""
    if text.lower() == NONE:
        return NONE
    if {each.lower() for each in distinct} <= {*INITIALS, NONE}:
        return INITIALS[text.lower()]
    return _resolve(text, resolve_label)


def count_equal_golds(pairs: Sequence[tuple[str, str]]) -> int:
    """Count the equal pairs (gold label of a table, gold label of a set), under the best meaning of unnamed labels."""
    meanings = _infer_meanings(pairs, minimum=0.0)
    return sum(are_equal_labels(meanings.get(their, NONE), our) for their, our in pairs)


def _list_accuracies(answers: Sequence[str], gold: Sequence[str], theirs: Sequence[str]) -> str:
    """List the accuracy for each order of unnamed labels; "" if their number differs from that of all label spaces."""
    if not 2 <= len(theirs) <= len(LABELS):
        return ""
    space = LABELS if len(theirs) == len(LABELS) else TWO_WAY
    return f". Accuracy by order: {_format_accuracies(_compare_orders(answers, gold, theirs, space))}"


_Orders = Mapping[tuple[tuple[str, str], ...], NDArray[np.bool_]]


def _compare_orders(
    answers: Sequence[str], gold: Sequence[str], theirs: Sequence[str], space: Sequence[str]
) -> _Orders:
    """Compute a mask of the right predictions, shape (n,), for each assignment of labels of a space to `theirs`."""
    pairs = list(zip(answers, gold, strict=True))
    orders = [dict(zip(theirs, order, strict=True)) for order in permutations(space, len(theirs))]
    return {
        tuple(order.items()): np.array([are_equal_labels(order.get(their, NONE), our) for their, our in pairs])
        for order in orders
    }


def _format_accuracies(right: _Orders) -> str:
    ranked = sorted(right.items(), key=lambda each: -each[1].mean())
    return "; ".join(f"{','.join(f'{a}={b}' for a, b in order)} {mask.mean():.1%}" for order, mask in ranked)


def _describe_better_orders(
    model: str, answers: Sequence[str], gold: Sequence[str], meanings: Mapping[str, str], *, are_named: bool
) -> str:
    """Describe the accuracies of all orders of the labels if another one fits better; otherwise ""."""
    used = {their: our for their, our in meanings.items() if our != NONE}
    if len(set(used.values())) < len(used):  # several spellings of a label
        answers, used = [meanings[each] for each in answers], {our: our for our in used.values()}
    if len(used) < 2 or not answers:
        return ""
    right = _compare_orders(answers, gold, list(used), find_smallest_space(used.values()))
    stated = right[tuple(used.items())]
    best = max(right.values(), key=lambda mask: int(mask.sum()))
    # Names of labels are rarely wrong. For them, another order counts only if it is significantly better, since chance
    # decides between the orders of a model that guesses.
    if best.sum() <= stated.sum() or (are_named and mcnemar_test(stated, best) >= ORDER_LEVEL):
        return ""
    if not are_named and best.mean() >= ENOUGH and best.mean() - stated.mean() >= MARGIN:
        raise DataError(
            f"{model}: expected the order of labels in which the predictions fit the gold labels, got another order "
            f"({','.join('='.join(each) for each in used.items())}); correct --labels. Accuracy by order: "
            f"{_format_accuracies(right)}"
        )
    return (
        f"has an accuracy of {stated.mean():.1%}, and more if its labels have another order. Accuracy by order: "
        f"{_format_accuracies(right)}; if the labels are wrong, pass --labels"
    )


def are_equal_labels(one: str, other: str) -> bool:
    """Check whether two labels are equal, or one of them merges labels that include the other.

    >>> are_equal_labels("neutral", "not_entailment"), are_equal_labels("neutral", "entailment")
    (True, False)
    """
    return one == other or other in _MERGED.get(one, ()) or one in _MERGED.get(other, ())


def find_smallest_space(labels: Iterable[str]) -> tuple[str, ...]:
    """Find the label space with all of the given labels. Raises `DataError` if there is none."""
    used = set(labels) - {NONE}
    space = next((space for space in LABEL_SPACES if used <= set(space)), None)
    if space is None:
        raise DataError(
            f"expected labels of {', '.join(LABELS)}, or two labels, got {', '.join(sorted(used))}; correct them"
        )
    return space


def _build_predictions(
    model: ModelColumn,
    answers: Sequence[str],
    scores: NDArray[np.float64] | None,
    columns: Sequence[str],
    meanings: Mapping[str, str],
    confidence: NDArray[np.float64] | None,
    *,
    has_threshold: bool,
) -> tuple[SetPredictions, str]:
    """Build the predictions from labels and scores. Returns a note if the scores contradict the labels."""
    note = ""
    column_labels: list[str] | None = None
    named = [meanings[each] for each in answers]
    if scores is not None and np.isnan(scores).any():
        scores, note = None, "the scores are not used, because some rows have none"
    if scores is not None and model.values is not None:
        column_labels = _name_columns(scores, columns, named, meanings, has_threshold=has_threshold)
        if column_labels is None:
            scores, note = None, "the scores are not used, because the largest one is not that of the predicted label"
    elif scores is not None:
        column_labels = [meanings[each] for each in columns]
    space = find_smallest_space(meanings.values() if scores is None else column_labels or ())
    has_probabilities = scores is not None
    unanswered = np.array([label == NONE for label in named], dtype=np.bool_)
    places = np.array([0 if label == NONE else space.index(label) for label in named])
    if scores is None:
        probabilities = np.eye(len(space))[places]
        probabilities[unanswered] = 1 / len(space)
        # The probability of one of three labels does not determine the other two.
        is_known = confidence is not None and len(space) == len(TWO_WAY) and not unanswered.any()
        if confidence is not None and is_known and ((confidence >= 0.5) & (confidence <= 1)).all():
            probabilities = np.where(probabilities == 1, confidence[:, None], 1 - confidence[:, None])
            has_probabilities = True
    else:
        probabilities = scores[:, [(column_labels or []).index(label) for label in space]]
        if model.values is not None:
            # The smallest possible step makes the stated label the predicted one if other labels have the same score.
            largest = probabilities == probabilities.max(axis=1, keepdims=True)
            tied = np.flatnonzero(largest[np.arange(len(places)), places] & (largest.sum(axis=1) > 1))
            probabilities[tied, places[tied]] = np.nextafter(probabilities[tied, places[tied]], 1)
    # In float64, which keeps the order of nearly equal probabilities and of logits above 87.
    return SetPredictions(probabilities, space, has_probabilities, unanswered if unanswered.any() else None), note


def _name_columns(
    scores: NDArray[np.float64],
    columns: Sequence[str],
    named: Sequence[str],
    meanings: Mapping[str, str],
    *,
    has_threshold: bool,
) -> list[str] | None:
    """Find the labels of the columns of scores from the predicted labels. None if they do not agree in all rows."""
    likeliest = scores.argmax(axis=1)
    space = find_smallest_space(meanings.values())
    if len(space) != scores.shape[1]:
        return None
    labels = [meanings.get(each) or _resolve(each, resolve_label) for each in columns]
    if sorted(filter(None, labels)) == sorted(space):
        if has_threshold:  # the labels of the file may result from another threshold
            return [str(label) for label in labels]
    else:
        pairs = Counter(zip(likeliest.tolist(), named, strict=True))
        counts = [{label: n for (place, label), n in pairs.items() if place == each} for each in range(len(columns))]
        labels = [max(each, key=each.__getitem__) if each else None for each in counts]
        left = [label for label in space if label not in labels]
        labels = [left[0] if label is None and len(left) == 1 else label for label in labels]
    if sorted(map(str, labels)) != sorted(space):
        return None
    places = np.array([labels.index(label) if label in labels else -1 for label in named])
    is_tie = scores[np.arange(len(places)), places] == scores.max(axis=1)
    return None if not is_tie.all() else [str(label) for label in labels]
