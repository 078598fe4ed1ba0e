"""Matching of published predictions with the rows of a challenge set, and with its labels.

Rows match by unbag's ids, by the ids of the corpus (`pairID`, `uid`, …), or by the texts of the pair. Labels match by
name, by the user's `labels`, or by the gold labels of the file, which are compared with those of the set.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from unbag import challenge_sets
from unbag.challenge_sets.request import BuiltSet
from unbag.data.columns import read_column, read_column_values, read_numeric_column
from unbag.data.corpora import CORPORA
from unbag.data.labels import (
    LABEL_SPACES,
    LABELS,
    TWO_WAY,
    LabelError,
    map_label_to_space,
    resolve_gold_label,
    resolve_label,
)
from unbag.data.predictions import NONE, SetPredictions
from unbag.data.readers import open_hub_table
from unbag.inference.prediction_files import (
    EXACT,
    NORMALISED,
    NUMBER,
    Hashes,
    ModelColumn,
    PublishedPredictions,
    hash_key,
    hash_pair,
)
from unbag.utils.safe_io import DataError

SAME_TEXTS: Final = 0.9
"""Minimum share of equal texts among rows with equal ids. Below it, the ids are of other rows."""

SAME_GOLD: Final = 0.99
"""Minimum share of equal gold labels for matching by row number, and for the meaning of unnamed labels."""

COVERAGE_LEVEL: Final = 0.001
"""Level of the test whether coverage depends on the gold label. Most files with partial coverage are random samples, so
that a false alarm is rare."""

_OFFICIAL: Final = ("pairID", "uid", "promptID", "id", "idx", "guid")
_INITIALS: Final = {label[0]: label for label in LABELS}
_NUMBERED: Final = re.compile(r"(?P<corpus>[^-]+)-(?P<split>.+)-(?P<row>\d+)")

logger = logging.getLogger(__name__)


class RowMatch(NamedTuple):
    """Rows of a table of predictions for the n rows of a set.

    Attributes:
        positions: Row of the table for each row of the set, shape (n,); -1 without a match.
        by: What the rows match by.
        ambiguous: Number of rows of the set that match rows with different predictions, and therefore none.
    """

    positions: NDArray[np.intp]
    by: str
    ambiguous: int = 0

    @property
    def is_matched(self) -> NDArray[np.bool_]:
        """Mask of the matched rows, shape (n,)."""
        return self.positions >= 0


def match_rows(published: PublishedPredictions, built: BuiltSet, *, by_order: bool = False) -> RowMatch:
    """Find the row of a table of predictions for each row of a set.

    The ids, the ids of the corpus and the texts are tried in this order. The one with the most matches is used. Ids of
    rows with other texts do not count. If a key occurs repeatedly, its rows match in order, provided that they have
    the same predictions and gold labels; otherwise none of them matches.

    Args:
        published: Table of predictions.
        built: The set.
        by_order: Whether to match by row number instead. The gold labels of the table must then be those of the set.

    Raises:
        DataError: If no row matches, or with `by_order` if the gold labels differ.
    """
    gold = read_column(built.rows, "label").to_numpy()
    answers = _code_answers(published.models)
    if by_order:
        return _match_by_order(published, built, gold, answers)
    best = RowMatch(np.full(len(gold), -1), "")
    for ours, theirs, by in _iter_keys(published, built):
        found = _join(ours, theirs, gold, answers, by)
        if by == EXACT:
            found = _add_normalised(found, published, built, gold, answers)
        elif not _has_same_texts(found, published, built):
            continue
        if found.is_matched.sum() > best.is_matched.sum():
            best = found
        if best.is_matched.all():
            break
    if not best.is_matched.any():
        keys = ", ".join(each for each in published.keys if each not in (NORMALISED, NUMBER)) or "none"
        raise DataError(
            f"{published.name}: expected rows of the set {built.name} of {built.data['name']} {built.data['split']}, "
            f"got no row with the same id or texts (compared: {keys}); choose the corpus and split that were "
            "predicted, add the columns premise and hypothesis, or pass --by-order if the rows are in their order"
        )
    return best


def _iter_keys(published: PublishedPredictions, built: BuiltSet) -> Iterator[tuple[Hashes, Hashes, str]]:
    """Iterate over comparable keys of the set and of the table: ids, ids of the corpus, texts."""
    names = [name for name in published.keys if name not in (EXACT, NORMALISED, NUMBER)]
    for name in names:
        yield _hash_column(built, "id"), published.keys[name], name
    official = _read_official_ids(built) if names else {}
    for ours, hashes in official.items():
        for name in names:
            # Small whole numbers are often row numbers, so that their columns must have the same name.
            if name not in published.numeric or _bare(name) == _bare(ours):
                yield hashes, published.keys[name], name
    if EXACT in published.keys:
        yield _hash_texts(built)[0], published.keys[EXACT], EXACT


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _hash_column(built: BuiltSet, name: str) -> Hashes:
    return np.fromiter(map(hash_key, read_column_values(built.rows, name)), np.uint64, count=len(built.rows))


def _hash_texts(built: BuiltSet) -> tuple[Hashes, Hashes]:
    pairs = zip(*(read_column_values(built.rows, side) for side in ("premise", "hypothesis")), strict=True)
    hashes = np.array([hash_pair(*pair) for pair in pairs], dtype=np.uint64)
    return hashes[:, 0], hashes[:, 1]


def _find_original_rows(built: BuiltSet) -> NDArray[np.bool_]:
    """Compute a mask of the rows that are pairs of the corpus, shape (n,): all of a set with one row per example."""
    sources = read_column(built.rows, "source_id")
    if len(sources.unique()) == len(sources):
        return np.ones(len(sources), dtype=np.bool_)
    wanted = challenge_sets.get_challenge_set(built.name).corpus_pairs
    chosen = np.full(len(sources), wanted is not None)
    for name, value in (wanted or {}).items():
        chosen &= read_numeric_column(built.rows, name) == value
    return chosen


def _list_row_numbers(built: BuiltSet) -> list[tuple[str, int] | None]:
    """List the split and row number in the corpus of each row of a set; None for rows that are not of a corpus."""
    found = [_NUMBERED.fullmatch(each) for each in read_column_values(built.rows, "source_id")]
    return [
        (each["split"], int(each["row"])) if each and original else None
        for each, original in zip(found, _find_original_rows(built), strict=True)
    ]


def _read_official_ids(built: BuiltSet) -> dict[str, Hashes]:
    """Read the id columns of the corpus that a set was built from. Rows without an id get distinct hashes."""
    corpus = CORPORA.get(built.data["name"])
    if corpus is None:
        return {}
    places = _list_row_numbers(built)
    ids: dict[str, list[int | None]] = {}
    try:
        for split in sorted({place[0] for place in places if place}):
            table, _ = open_hub_table(corpus.hub_id, corpus.config, split, built.data["revision"])
            for name in set(_OFFICIAL) & set(table.columns):
                hashes = [hash_key(str(value)) for value in table.data[name]]
                column = ids.setdefault(name, [None] * len(places))
                for row, place in enumerate(places):
                    if place and place[0] == split:
                        column[row] = hashes[place[1]]
    except (DataError, LookupError) as error:  # the corpus is not available: texts may still match
        logger.debug("the ids of %s are not available", corpus.name, exc_info=error)
        return {}
    return {
        name: np.array([row if value is None else value for row, value in enumerate(column)], dtype=np.uint64)
        for name, column in ids.items()
    }


def _code_answers(models: Sequence[ModelColumn]) -> NDArray[np.intp]:
    """Compute a code of the predicted labels of all models for each row of a table, shape (m,)."""
    columns = []
    for model in models:
        values = model.values if model.values is not None else np.nan_to_num(model.scores).argmax(axis=1)
        columns.append(np.unique(np.asarray(values), return_inverse=True)[1])
    codes: NDArray[np.intp] = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return codes


def _join(ours: Hashes, theirs: Hashes, gold: NDArray[Any], answers: NDArray[np.intp], by: str) -> RowMatch:
    """Find the row with the same key for each row of a set."""
    order = np.argsort(theirs, kind="stable")
    in_order = theirs[order]
    first, end = (np.searchsorted(in_order, ours, side) for side in ("left", "right"))
    _, group, size = np.unique(ours, return_inverse=True, return_counts=True)
    is_found = end > first
    is_simple = is_found & (end - first == 1) & (size[group] == 1)
    positions = np.full(len(ours), -1)
    positions[is_simple] = order[first[is_simple]]
    ambiguous = 0
    repeated: dict[int, list[int]] = {}
    for row in np.flatnonzero(is_found & ~is_simple).tolist():
        repeated.setdefault(int(ours[row]), []).append(row)
    for rows in repeated.values():
        candidates = order[first[rows[0]] : end[rows[0]]]
        if len(set(answers[candidates].tolist())) > 1 or len(set(gold[rows].tolist())) > 1:
            ambiguous += len(rows)
            continue
        for row, candidate in zip(rows, candidates, strict=False):
            positions[row] = candidate
    return RowMatch(positions, by, ambiguous)


def _add_normalised(
    found: RowMatch, published: PublishedPredictions, built: BuiltSet, gold: NDArray[Any], answers: NDArray[np.intp]
) -> RowMatch:
    """Match the remaining rows by their normalized texts."""
    missing = np.flatnonzero(~found.is_matched)
    left = np.setdiff1d(np.arange(len(published)), found.positions)
    if not len(missing) or not len(left):
        return found
    more = _join(_hash_texts(built)[1][missing], published.keys[NORMALISED][left], gold[missing], answers[left], EXACT)
    if not more.is_matched.any():
        return found
    positions = found.positions.copy()
    positions[missing[more.is_matched]] = left[more.positions[more.is_matched]]
    return RowMatch(
        positions, f"{EXACT}, {int(more.is_matched.sum()):,} of them normalized", found.ambiguous + more.ambiguous
    )


def _has_same_texts(found: RowMatch, published: PublishedPredictions, built: BuiltSet) -> bool:
    """Check whether rows with equal ids have equal texts, if the table has texts."""
    if NORMALISED not in published.keys or not found.is_matched.any():
        return True
    ours = _hash_texts(built)[1][found.is_matched]
    return bool((ours == published.keys[NORMALISED][found.positions[found.is_matched]]).mean() >= SAME_TEXTS)


def _match_by_order(
    published: PublishedPredictions, built: BuiltSet, gold: NDArray[Any], answers: NDArray[np.intp]
) -> RowMatch:
    """Match by row number: that in the corpus, or that among the rows of the set (without unlabelled pairs)."""
    if published.gold is None:
        raise DataError(
            f"--by-order: expected gold labels in {published.name}, with which the order is checked, got none; add the "
            "column label, or the columns premise and hypothesis"
        )
    places = _list_row_numbers(built)
    in_corpus = np.array([len(published) + row if place is None else place[1] for row, place in enumerate(places)])
    names = np.array(built.rows.features["label"].names)
    shares = []
    for numbers in (in_corpus, np.arange(len(gold))):
        found = _join(numbers.astype(np.uint64), published.keys[NUMBER], gold, answers, NUMBER)
        rows = found.is_matched
        theirs = [published.gold[position] for position in found.positions[rows]]
        share = _compute_gold_agreement(theirs, names[gold[rows]].tolist()) if rows.any() else 0.0
        if share >= SAME_GOLD:
            return found
        shares.append(share)
    raise DataError(
        f"--by-order: expected the gold labels of {published.name} to be those of the set in the same order, got "
        f"{max(shares):.1%} equal labels; use ids or texts instead"
    )


def _compute_gold_agreement(theirs: Sequence[str], ours: Sequence[str]) -> float:
    """Compute the share of equal gold labels, under the best meaning of unnamed labels."""
    known = [(their, our) for their, our in zip(theirs, ours, strict=True) if their]
    meanings = _infer_meanings(known, minimum=0.0)
    return sum(meanings.get(their) == our for their, our in known) / len(known) if known else 0.0


def _infer_meanings(pairs: Sequence[tuple[str, str]], *, minimum: float = SAME_GOLD) -> dict[str, str]:
    """Infer the meaning of labels from (their label, our label) of many rows: named ones, or the most frequent ones.

    Returns no meanings if they are not distinct, or if less than `minimum` of the rows have them.
    """
    counts = Counter(pairs)
    theirs = {their for their, _ in counts}
    meanings = {their: label for their in theirs if (label := _resolve(their, resolve_gold_label))}
    for their in theirs - meanings.keys():
        meanings[their] = max((n, our) for (each, our), n in counts.items() if each == their)[1]
    equal = sum(n for (their, our), n in counts.items() if meanings[their] == our)
    if len(set(meanings.values())) < len(meanings) or equal < minimum * len(pairs):
        return {}
    return meanings


def _resolve(text: str, resolve: Callable[[str], str]) -> str | None:
    try:
        return resolve(text)
    except LabelError:
        return None


class ResolvedAnswers(NamedTuple):
    """Predictions of a model for the matched rows of a set, with a record of how they were read.

    Attributes:
        predictions: Predictions of the rows with a prediction, in the order of the set.
        is_predicted: Mask of these rows, shape (n,).
        record: Fields of the model's record: the order of the labels, and the agreement of the gold labels.
        warnings: Sentences for the user.
    """

    predictions: SetPredictions
    is_predicted: NDArray[np.bool_]
    record: Mapping[str, Any]
    warnings: Sequence[str]


def resolve_answers(
    published: PublishedPredictions,
    model: ModelColumn,
    match: RowMatch,
    gold: Sequence[str],
    *,
    labels: Sequence[str] = (),
    is_unaltered: bool = True,
) -> ResolvedAnswers:
    """Find the meaning of the labels of a model, and arrange its predictions in the order of a set.

    Args:
        published: Table of predictions.
        model: One of its models.
        match: Rows of the table for the rows of the set.
        gold: Names of the gold labels of the set, n rows.
        labels: Names of the labels 0, 1, …, or the meaning of each label (`E=entailment`; `none` for no answer).
        is_unaltered: Whether the rows are pairs of the corpus, so that a model is expected to be right.

    Raises:
        DataError: If the meaning of a label is unknown, or contradicts the gold labels of the table.
    """
    is_predicted = match.is_matched.copy()
    is_predicted[is_predicted] = model.is_predicted[match.positions[is_predicted]]
    rows = match.positions[is_predicted]
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
    known_golds = [(their, our) for their, our in zip(golds, ours, strict=False) if their]
    inferred = _infer_meanings(known_golds)
    stated = _parse_labels(labels) or {str(number): name for number, name in enumerate(published.id_names or ())}
    named = {each: label for each in distinct if (label := _find_name(each, distinct))}
    meanings = {each: inferred[each] for each in distinct if each in inferred} | named | stated
    if unknown := [each for each in distinct if each not in meanings]:
        raise DataError(
            f"{model.name}: expected labels such as {', '.join(LABELS)}, got {', '.join(map(repr, unknown[:5]))} "
            f"({published.locate(int(rows[answers.index(unknown[0])]))}); pass their meanings with --labels "
            f"{','.join(f'{each}=…' for each in unknown[:3])}{_list_accuracies(answers, ours, distinct)}"
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
    warnings = []
    if is_unaltered and (better := _describe_better_orders(answers, ours, meanings)):
        warnings.append(better)
    if known_golds and (equal := _count_equal_golds(known_golds)) < len(known_golds) * SAME_GOLD:
        warnings.append(
            f"has {len(known_golds) - equal:,} of {len(known_golds):,} gold labels that differ from those of the set, "
            "which are used"
        )
    predictions, note = _build_predictions(model, answers, scores, columns, meanings)
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
    if {each.lower() for each in distinct} <= {*_INITIALS, NONE}:
        return _INITIALS[text.lower()]
    return _resolve(text, resolve_label)


def _count_equal_golds(pairs: Sequence[tuple[str, str]]) -> int:
    meanings = _infer_meanings(pairs, minimum=0.0)
    return sum(meanings.get(their) == our for their, our in pairs)


def _compute_accuracies(
    answers: Sequence[str], gold: Sequence[str], theirs: Sequence[str], space: Sequence[str]
) -> dict[tuple[str, ...], float]:
    """Compute the accuracy for each assignment of the labels of a space to `theirs`."""
    counts = Counter(zip(answers, (map_label_to_space(label, space) for label in gold), strict=True))
    return {
        order: sum(counts[their, our] for their, our in zip(theirs, order, strict=True)) / len(answers)
        for order in permutations(space, len(theirs))
    }


def _list_accuracies(answers: Sequence[str], gold: Sequence[str], theirs: Sequence[str]) -> str:
    """List the accuracy for each order of unnamed labels; "" if their number differs from that of all label spaces."""
    if not 2 <= len(theirs) <= len(LABELS):
        return ""
    accuracies = _compute_accuracies(answers, gold, theirs, LABELS if len(theirs) == len(LABELS) else TWO_WAY)
    return f". Accuracy by order: {_format_accuracies(accuracies, theirs)}"


def _format_accuracies(accuracies: Mapping[tuple[str, ...], float], theirs: Sequence[str]) -> str:
    ranked = sorted(accuracies.items(), key=lambda each: -each[1])
    return "; ".join(
        f"{','.join(f'{their}={our}' for their, our in zip(theirs, order, strict=True))} {value:.1%}"
        for order, value in ranked
    )


def _describe_better_orders(answers: Sequence[str], gold: Sequence[str], meanings: Mapping[str, str]) -> str:
    """Describe the accuracies of all orders of the labels if another one fits better; otherwise ""."""
    used = {their: our for their, our in meanings.items() if our != NONE}
    space = find_smallest_space(used.values())
    if len(set(used.values())) < len(used):  # several spellings of a label
        answers, used = [meanings[each] for each in answers], {our: our for our in used.values()}
    accuracies = _compute_accuracies(answers, gold, list(used), space)
    stated = accuracies[tuple(used.values())]
    if max(accuracies.values()) <= stated:
        return ""
    return (
        f"the labels have an accuracy of {stated:.1%}, and more in another order. Accuracy by order: "
        f"{_format_accuracies(accuracies, list(used))}; if the labels are wrong, pass --labels"
    )


def find_smallest_space(labels: Iterable[str]) -> tuple[str, ...]:
    """Find the label space with all of the given labels.

    Raises:
        DataError: If there is none.
    """
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
) -> tuple[SetPredictions, str]:
    """Build the predictions from labels and scores. Returns a note if the scores contradict the labels."""
    note = ""
    named = [meanings[each] for each in answers]
    if scores is not None and model.values is not None:
        column_labels = _name_columns(scores, columns, named, meanings)
        if column_labels is None:
            scores, note = None, "the scores are not used, because the largest one is not that of the predicted label"
    elif scores is not None:
        column_labels = [meanings[each] for each in columns]
    space = find_smallest_space(meanings.values() if scores is None else column_labels or ())
    unanswered = np.array([label == NONE for label in named], dtype=np.bool_)
    if scores is None:
        places = [0 if label == NONE else space.index(label) for label in named]
        probabilities = np.eye(len(space), dtype=np.float32)[places]
    else:
        probabilities = scores[:, [(column_labels or []).index(label) for label in space]].astype(np.float32)
    return (
        SetPredictions(probabilities, space, scores is not None, unanswered if unanswered.any() else None),
        note,
    )


def _name_columns(
    scores: NDArray[np.float64], columns: Sequence[str], named: Sequence[str], meanings: Mapping[str, str]
) -> list[str] | None:
    """Find the labels of the columns of scores from the predicted labels. None if they do not agree in all rows."""
    likeliest = scores.argmax(axis=1)
    space = find_smallest_space(meanings.values())
    if len(space) != scores.shape[1]:
        return None
    labels = [meanings.get(each) or _resolve(each, resolve_label) for each in columns]
    if sorted(filter(None, labels)) != sorted(space):
        pairs = Counter(zip(likeliest.tolist(), named, strict=True))
        labels = [
            max(((n, label) for (place, label), n in pairs.items() if place == each), default=(0, None))[1]
            for each in range(len(columns))
        ]
        left = [label for label in space if label not in labels]
        labels = [left[0] if label is None and len(left) == 1 else label for label in labels]
    if sorted(map(str, labels)) != sorted(space):
        return None
    places = np.array([labels.index(label) if label in labels else -1 for label in named])
    is_tie = scores[np.arange(len(places)), places] == scores.max(axis=1)
    return None if not is_tie.all() else [str(label) for label in labels]


def describe_coverage(match: NDArray[np.bool_], gold: NDArray[Any], names: Sequence[str]) -> str:
    """Describe how coverage depends on the gold label; "" if it does not, or if a test cannot show it.

    The test is a chi-squared test of independence with at least five expected rows per cell.

    Args:
        match: Mask of the rows with a prediction, shape (n,).
        gold: Gold label ids, shape (n,).
        names: Names of the ids.
    """
    table = np.array([np.bincount(gold[rows], minlength=len(names)) for rows in (match, ~match)])
    table = table[:, table.sum(axis=0) > 0]
    if table.sum(axis=1).min() == 0 or table.shape[1] < 2:
        return ""
    p, expected = stats.chi2_contingency(table, correction=False)[1:4:2]
    if expected.min() < 5 or p >= COVERAGE_LEVEL:
        return ""
    shares = table[0] / table.sum(axis=0)
    present = [name for number, name in enumerate(names) if (gold == number).any()]
    listed = ", ".join(f"{share:.1%} of {name}" for name, share in zip(present, shares, strict=True))
    return (
        f"coverage depends on the gold label ({listed}; p = {p:.1g}), so that the scores are not those of the whole set"
    )
