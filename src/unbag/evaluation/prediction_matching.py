"""Matching of published predictions with the rows of a challenge set.

Rows match by unbag's ids, by the ids of the corpus (`pairID`, `uid`, …), by the texts of the pair, or by their number.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets.request import BuiltSet
from unbag.data.columns import read_column, read_column_values, read_numeric_column
from unbag.data.corpora import CORPORA
from unbag.data.readers import open_hub_table
from unbag.evaluation.prediction_labels import SAME_GOLD, count_equal_golds
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

COVERAGE_LEVEL: Final = 0.001
"""Level of the test whether coverage depends on the gold label. Most files with partial coverage are random samples, so
that a false alarm is rare."""

_OFFICIAL: Final = ("pairID", "uid", "promptID", "id", "idx", "guid")
_NUMBERED: Final = re.compile(r"(?P<corpus>[^-]+)-(?P<split>.+)-(?P<row>\d+)")

logger = logging.getLogger(__name__)


class RowMatch(NamedTuple):
    """Rows of a table of predictions for the n rows of a set."""

    positions: NDArray[np.intp]  # row of the table for each row of the set, shape (n,); -1 without a match
    by: str  # what the rows match by
    ambiguous: int = 0  # number of rows of the set that match rows with different predictions, and therefore none

    @property
    def is_matched(self) -> NDArray[np.bool_]:
        """Mask of the matched rows, shape (n,)."""
        return self.positions >= 0


def match_rows(published: PublishedPredictions, built: BuiltSet, *, by_order: bool = False) -> RowMatch:
    """Find the row of a table of predictions for each row of a set.

    The ids, the ids of the corpus and the texts are tried in this order. The one with the most matches is used. Ids of
    rows with other texts do not count. If a key occurs repeatedly, its rows match in order, provided that they have the
    same predictions and gold labels; otherwise none of them matches.

    With `by_order`, rows match by their number instead. The gold labels of the table must then be those of the set.
    """
    gold = read_column(built.rows, "label").to_numpy()
    answers = _code_answers(published.models)
    if by_order:
        return _match_by_order(published, built, gold, answers)
    best = RowMatch(np.full(len(gold), -1), "")
    texts = _hash_texts(built) if EXACT in published.keys else None
    for ours, theirs, by in _iter_keys(published, built, texts):
        found = _join(ours, theirs, gold, answers, by)
        if texts is not None and by == EXACT:
            found = _add_normalised(found, published, texts[1], gold, answers)
        elif texts is not None and (rows := found.is_matched).any():
            # Rows with equal ids must have equal texts.
            same = texts[1][rows] == published.keys[NORMALISED][found.positions[rows]]
            if same.mean() < SAME_TEXTS:
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


def _iter_keys(
    published: PublishedPredictions, built: BuiltSet, texts: tuple[Hashes, Hashes] | None
) -> Iterator[tuple[Hashes, Hashes, str]]:
    """Iterate over comparable keys of the set and of the table: ids, ids of the corpus, texts."""
    names = [name for name in published.keys if name not in (EXACT, NORMALISED, NUMBER)]
    ids = np.fromiter(map(hash_key, read_column_values(built.rows, "id")), np.uint64, count=len(built.rows))
    for name in names:
        yield ids, published.keys[name], name
    official = _read_official_ids(built) if names else {}
    for ours, hashes in official.items():
        for name in names:
            # Small whole numbers are often row numbers, so that their columns must have the same name.
            if name not in published.numeric or _bare(name) == _bare(ours):
                yield hashes, published.keys[name], name
    if texts is not None:
        yield texts[0], published.keys[EXACT], EXACT


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _hash_texts(built: BuiltSet) -> tuple[Hashes, Hashes]:
    pairs = zip(*(read_column_values(built.rows, side) for side in ("premise", "hypothesis")), strict=True)
    hashes = np.array([hash_pair(*pair) for pair in pairs], dtype=np.uint64)
    return hashes[:, 0], hashes[:, 1]


def find_original_rows(built: BuiltSet) -> NDArray[np.bool_]:
    """Compute a mask of the rows that are pairs of the corpus, shape (n,): all of a set with one row per example."""
    sources = read_column(built.rows, "source_id")
    return np.ones(len(sources), np.bool_) if len(sources.unique()) == len(sources) else find_corpus_pairs(built)


def find_corpus_pairs(built: BuiltSet) -> NDArray[np.bool_]:
    """Compute a mask of the unaltered, unselected pairs of the corpus (`ChallengeSet.corpus_pairs`), shape (n,)."""
    is_selected = bool(built.config.get("min_lms"))
    wanted = None if is_selected else challenge_sets.get_challenge_set(built.name).corpus_pairs
    found = np.full(len(built.rows), wanted is not None)
    for name, value in (wanted or {}).items():
        found &= read_numeric_column(built.rows, name) == value
    return found


def _list_row_numbers(built: BuiltSet) -> list[tuple[str, int] | None]:
    """List the split and row number in the corpus of each row of a set; None for rows that are not of a corpus."""
    found = [_NUMBERED.fullmatch(each) for each in read_column_values(built.rows, "source_id")]
    return [
        (each["split"], int(each["row"])) if each and original else None
        for each, original in zip(found, find_original_rows(built), strict=True)
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
            table = open_hub_table(corpus.hub_id, corpus.config, split, built.data["revision"])
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
        values: Any = model.values
        if values is None and model.scores is not None:
            values = np.nan_to_num(model.scores).argmax(axis=1)
        columns.append(np.unique(np.asarray(values), return_inverse=True)[1])
    codes: NDArray[np.intp] = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return codes


def _join(ours: Hashes, theirs: Hashes, gold: NDArray[Any], answers: NDArray[np.intp], by: str) -> RowMatch:
    """Find the row with the same key for each row of a set."""
    sides = [pd.DataFrame({"key": keys, "value": values}) for keys, values in ((ours, gold), (theirs, answers))]
    differing = []
    for side in sides:
        by_key = side.groupby("key")
        side["number"] = by_key.cumcount()  # repeated keys match in order
        n_values = by_key["value"].nunique()
        differing.append(n_values[n_values > 1].index)
    found = sides[0].merge(sides[1].reset_index(), on=["key", "number"], how="left")["index"]
    is_ambiguous = np.isin(ours, theirs) & np.isin(ours, np.concatenate(differing))
    positions = np.where(is_ambiguous, -1, found.fillna(-1)).astype(np.intp)
    return RowMatch(positions, by, int(is_ambiguous.sum()))


def _add_normalised(
    found: RowMatch, published: PublishedPredictions, ours: Hashes, gold: NDArray[Any], answers: NDArray[np.intp]
) -> RowMatch:
    """Match the remaining rows by their normalized texts."""
    missing = np.flatnonzero(~found.is_matched)
    left = np.setdiff1d(np.arange(len(published)), found.positions)
    if not len(missing) or not len(left):
        return found
    more = _join(ours[missing], published.keys[NORMALISED][left], gold[missing], answers[left], EXACT)
    if not more.is_matched.any():
        return found
    positions = found.positions.copy()
    positions[missing[more.is_matched]] = left[more.positions[more.is_matched]]
    return RowMatch(
        positions, f"{EXACT}, {int(more.is_matched.sum()):,} of them normalized", found.ambiguous + more.ambiguous
    )


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
    # Rows that are not of the corpus get numbers beyond the end of the table.
    in_corpus = np.array([len(published) + row if place is None else place[1] for row, place in enumerate(places)])
    names = np.array(built.rows.features["label"].names)
    shares = []
    for numbers in (in_corpus, np.arange(len(gold))):
        found = _join(numbers.astype(np.uint64), published.keys[NUMBER], gold, answers, NUMBER)
        rows = found.is_matched
        theirs = [published.gold[position] for position in found.positions[rows]]
        known = [(their, our) for their, our in zip(theirs, names[gold[rows]].tolist(), strict=True) if their]
        # The share of equal gold labels, under the best meaning of unnamed labels.
        shares.append(count_equal_golds(known) / len(known) if known else 0.0)
        if shares[-1] >= SAME_GOLD:
            return found
    raise DataError(
        f"--by-order: expected the gold labels of {published.name} to be those of the set in the same order, got "
        f"{max(shares):.1%} equal labels; use ids or texts instead"
    )


def describe_coverage(match: NDArray[np.bool_], gold: NDArray[Any], names: Sequence[str]) -> str:
    """Describe how coverage depends on the gold label; "" if it does not, or if a test cannot show it.

    The test is a chi-squared test of independence with at least five expected rows per cell.

    Args:
        match: Mask of the rows with a prediction, shape (n,).
        gold: Gold label ids, shape (n,).
    """
    table = np.array([np.bincount(gold[rows], minlength=len(names)) for rows in (match, ~match)])
    table = table[:, table.sum(axis=0) > 0]
    if table.sum(axis=1).min() == 0 or table.shape[1] < 2:
        return ""
    from scipy.stats import chi2_contingency  # slow to import

    _, p, _, expected = chi2_contingency(table, correction=False)
    if expected.min() < 5 or p >= COVERAGE_LEVEL:
        return ""
    shares = table[0] / table.sum(axis=0)
    present = [name for number, name in enumerate(names) if (gold == number).any()]
    listed = ", ".join(f"{share:.1%} of {name}" for name, share in zip(present, shares, strict=True))
    return (
        f"coverage depends on the gold label ({listed}; p = {p:.1g}), so that the scores are not those of the whole set"
    )
