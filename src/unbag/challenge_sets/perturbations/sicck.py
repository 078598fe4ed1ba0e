"""Reader of the official SICCK file: 1,304 pairs by Akoju et al. (2023), as the authors published them."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from unbag.baselines.natlog.relations import Relation, to_four_way_label, to_three_way_label
from unbag.data.downloads import PinnedFile
from unbag.data.labels import FORWARD_ENTAILMENT, REVERSE_ENTAILMENT
from unbag.utils import rng

COMMIT: Final = "05e41251ddc30ca463d1f2daba92b1444cc9e969"
"""Commit of the authors' repository, https://github.com/clulab/releases."""
FILE: Final = PinnedFile(
    url=(
        f"https://raw.githubusercontent.com/clulab/releases/{COMMIT}/acl2023-nlrse-sicck/data/SICCK/"
        "SICCK-Ground-Truth-apr24.csv"
    ),
    sha256="e1161c19e7340bc01a16c7d6cde262399056569a17a2517a5f89a0a8621fa9d8",
    name="SICCK-Ground-Truth-apr24.csv",
)
PAIRS: Final = 1304
"""Number of pairs in the file."""
SEED_PAIRS: Final = 15
"""Number of seed pairs from which the authors generated the pairs."""

CONTIGUOUS: Final = "contiguous"
SPREAD: Final = "spread"
WHOLE_SEEDS: Final = "whole_seeds"
FOLDINGS: Final = (CONTIGUOUS, SPREAD, WHOLE_SEEDS)
"""Methods of assigning the pairs to folds; see `assign_folds`."""

_COLUMNS: Final = {
    "number": "Sno",
    "seed": "SICK_id",
    "premise": "Premise",
    "hypothesis": "Hypothesis",
    "modifier": "Modifier",
    "position": "Premise/Hypothesis/Both",
    "part": "Part of Premise/Hypothesis Modified",
    "type": "Modifier Type",
    "relations": "Ground Truth",
    "four_way": "CompressedGT",
}
"""Our column names, mapped to the first line of the authors' names. Two of their names contain a line break."""
_MODIFIERS: Final = {"everyone of": "every one of", "an abnormal": "abnormal", "an elegant": "elegant", "NONE": "none"}
_TYPES: Final = {
    "Universal": "universal",
    "Existential": "existential",
    "Negation": "negation",
    "Adjectives/Adverbs": "adjective/adverb",
    "No Modifiers": "none",
}
_RELATIONS: Final = {
    "FE": Relation.FORWARD_ENTAILMENT,
    "RE": Relation.REVERSE_ENTAILMENT,
    "Negation": Relation.NEGATION,
    "Alternation": Relation.ALTERNATION,
    "Cover": Relation.COVER,
    "Neutral": Relation.INDEPENDENCE,
    "Equivalence": Relation.EQUIVALENCE,
}
_STRAY: Final = {("892", "position", "FE"): "both"}
"""Corrections of cells with the value of another column, by (row, column, value). Row 892 modifies both sentences, as
the sentences themselves show."""


class SicckRow(NamedTuple):
    """A row of the official SICCK file.

    Attributes:
        number: Running number in the file.
        seed: SICK id of the seed pair.
        premise: Premise of the file, without surrounding white space.
        hypothesis: Hypothesis of the file, without surrounding white space.
        modifier: Name of the modifier in `challenge_sets.perturbations.modifiers`; `none` for the seed itself.
        type: `universal`, `existential`, `negation`, `adjective/adverb` or `none`.
        position: `premise`, `hypothesis`, `both` or `none`.
        part: `subject`, `verb`, `object` or `none`.
        relations: Seven-way label, or two labels if the annotators disagreed.
    """

    number: int
    seed: str
    premise: str
    hypothesis: str
    modifier: str
    type: str
    position: str
    part: str
    relations: tuple[Relation, ...]

    @property
    def four_way(self) -> str | None:
        """Four-way label.

        None for rows that the paper excludes: those with Equivalence or with two different labels.
        """
        labels = {to_four_way_label(relation) for relation in self.relations}
        return labels.pop() if len(labels) == 1 else None

    @property
    def label(self) -> str:
        """Three-way label of the first relation, one of `data.labels.LABELS`."""
        return to_three_way_label(self.relations[0])


def read_sicck(path: Path) -> tuple[list[SicckRow], Counter[str]]:
    """Read the official SICCK file.

    Returns:
        The rows in the order of the file, and the number of normalized cells by kind: `white space` around a sentence,
        `case` of a position or part, `spelling` of a modifier, `stray cell`.

    Raises:
        ValueError: If columns are missing, a value is unknown, or a four-way label contradicts the row's relations.
    """
    counts: Counter[str] = Counter()
    # `utf-8-sig` drops a byte order mark, and `newline=""` leaves line breaks inside quoted cells to the CSV reader.
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = {name.split("\n")[0].strip(): name for name in reader.fieldnames or ()}
        if missing := sorted(set(_COLUMNS.values()) - set(names)):
            raise ValueError(f"{path.name}: expected the columns {missing}, got {sorted(names)}; use the authors' file")
        rows = [_row({ours: cells[names[theirs]] for ours, theirs in _COLUMNS.items()}, counts) for cells in reader]
    return rows, counts


def _row(cells: Mapping[str, str], counts: Counter[str]) -> SicckRow:
    number = cells["number"]
    values = {}
    for name, options in (("position", ("premise", "hypothesis", "both")), ("part", ("subject", "verb", "object"))):
        value = cells[name].strip()
        if (stray := _STRAY.get((number, name, value))) is not None:
            counts["stray cell"] += 1
            value = stray
        elif value.lower() == value:  # most cells are capitalized
            counts["case"] += 1
        if value.lower() not in (*options, "none"):
            raise ValueError(f"row {number}, {name}: expected one of {', '.join((*options, 'none'))}, got {value!r}")
        values[name] = value.lower()
    sentences = {name: cells[name].strip() for name in ("premise", "hypothesis")}
    counts["white space"] += sum(cells[name] != sentence for name, sentence in sentences.items())
    modifier = _MODIFIERS.get(cells["modifier"], cells["modifier"])
    counts["spelling"] += modifier != cells["modifier"] and modifier != "none"
    try:
        relations = tuple(_RELATIONS[name] for name in cells["relations"].strip().split("|"))
        kind = _TYPES[cells["type"]]
    except KeyError as error:
        raise ValueError(f"row {number}: expected a known relation and modifier type, got {error}") from None
    row = SicckRow(
        number=int(number),
        seed=cells["seed"],
        premise=sentences["premise"],
        hypothesis=sentences["hypothesis"],
        modifier=modifier,
        type=kind,
        position=values["position"],
        part=values["part"],
        relations=relations,
    )
    declared = {"FE": FORWARD_ENTAILMENT, "RE": REVERSE_ENTAILMENT}.get(cells["four_way"], cells["four_way"].lower())
    if row.four_way is not None and row.four_way != declared:
        raise ValueError(
            f"row {number}: expected the four-way label {row.four_way!r} for the relations {cells['relations']!r}, got "
            f"{declared!r}"
        )
    return row


def assign_folds(seeds: Sequence[str], n: int = 5, *, folding: str = CONTIGUOUS, seed: int = 13) -> list[int]:
    """Assign a fold to each row, for cross-validation (section 4.2).

    Args:
        seeds: Seed pair of each row, in the order of the rows.
        n: Number of folds (default: 5).
        folding: Method of assignment (default: `contiguous`):

            - `contiguous`, the authors' release: rows sorted by seed pair and split into blocks. Seed pairs, and the
              rows of each, keep their order of occurrence. Most rows of a block come from seed pairs that no other
              block contains.
            - `spread`: the rows of each seed pair are distributed evenly over all folds.
            - `whole_seeds`: all rows of a seed pair are in one fold, so that the training folds contain none of them.
        seed: Random seed of `spread` and `whole_seeds` (default: 13); `contiguous` is not random.

    Returns:
        A number from 0 to n - 1 for each row. Fold sizes differ by at most one row, or with `whole_seeds` by at most
        one seed pair. With `contiguous`, the larger folds come first.

    Raises:
        ValueError: If there are fewer seed pairs or rows than folds, or if the method is unknown.
    """
    if folding not in FOLDINGS:
        raise ValueError(f"folding: expected one of {', '.join(FOLDINGS)}, got {folding!r}")
    most = len(set(seeds) if folding == WHOLE_SEEDS else seeds)
    if n < 2 or most < n:
        raise ValueError(f"folds: expected a number from 2 to {most}, got {n}")
    if folding == CONTIGUOUS:
        first = {name: place for place, name in reversed(list(enumerate(seeds)))}
        # A stable sort by the first occurrence of the seed pair keeps the rows of each seed pair in order.
        order = np.argsort([first[name] for name in seeds], kind="stable")
        blocks = np.zeros(len(seeds), dtype=np.int64)
        for fold, block in enumerate(np.array_split(order, n)):
            blocks[block] = fold
        return [int(fold) for fold in blocks]
    # The order of the seed pairs follows hashes of their names, so it does not depend on the order of the rows.
    names = sorted(set(seeds), key=lambda name: (int(rng.compute_key(seed, "fold", name)), name))
    if folding == WHOLE_SEEDS:
        fold_of = {name: index % n for index, name in enumerate(names)}
        return [fold_of[name] for name in seeds]
    folds = [0] * len(seeds)
    n_assigned = 0  # the count continues from one seed pair to the next, so that all folds have equal size
    for name in names:
        rows = np.flatnonzero([other == name for other in seeds])
        order = np.argsort(
            rng.generate_numbers(rng.compute_key(seed, "rows", name), np.arange(len(rows))), kind="stable"
        )
        for row in rows[order]:
            folds[row] = n_assigned % n
            n_assigned += 1
    return folds


def count_by_group(rows: Iterable[SicckRow]) -> dict[str, Counter[str]]:
    """Count the rows by modifier type and by part (Tables 5 and 6)."""
    rows = list(rows)
    return {"type": Counter(row.type for row in rows), "part": Counter(row.part for row in rows)}
