"""The official SICCK file: 1,304 pairs by Akoju et al. (2023), as the authors published them."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from unbag.baselines.natlog.relations import Relation, four_way, three_way
from unbag.data.downloads import PinnedFile
from unbag.data.labels import FORWARD_ENTAILMENT, REVERSE_ENTAILMENT
from unbag.utils import rng

COMMIT: Final = "05e41251ddc30ca463d1f2daba92b1444cc9e969"
"""Of the authors' repository, https://github.com/clulab/releases."""
FILE: Final = PinnedFile(
    url=(
        f"https://raw.githubusercontent.com/clulab/releases/{COMMIT}/acl2023-nlrse-sicck/data/SICCK/"
        "SICCK-Ground-Truth-apr24.csv"
    ),
    sha256="e1161c19e7340bc01a16c7d6cde262399056569a17a2517a5f89a0a8621fa9d8",
    name="SICCK-Ground-Truth-apr24.csv",
)
PAIRS: Final = 1304
"""That the file has."""
SEED_PAIRS: Final = 15
"""That they were made from."""

CONTIGUOUS: Final = "contiguous"
SPREAD: Final = "spread"
WHOLE_SEEDS: Final = "whole_seeds"
FOLDINGS: Final = (CONTIGUOUS, SPREAD, WHOLE_SEEDS)
"""Ways to cut the pairs into folds; see `folds`."""

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
"""Ours: the first words of theirs (two of theirs go on over a line break)."""
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
"""Cells that are in the wrong column, by row: row 892 modifies both of its sentences, and both are what they say."""


class SicckRow(NamedTuple):
    """One pair of the file.

    Attributes:
        number: its running number in the file.
        seed: SICK's id of the pair it was made from.
        premise: as in the file, but for white space around it.
        hypothesis: likewise.
        modifier: by its name in `challenge_sets.perturbations.modifiers`; `none` in a seed itself.
        type: `universal`, `existential`, `negation`, `adjective/adverb` or `none`.
        position: `premise`, `hypothesis`, `both` or `none`.
        part: `subject`, `verb`, `object` or `none`.
        relations: the seven-way label, or two where the annotators did not agree.
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
        """The four-way label; None for what the paper leaves out of the four: Equivalence, and two that differ."""
        labels = {four_way(relation) for relation in self.relations}
        return labels.pop() if len(labels) == 1 else None

    @property
    def label(self) -> str:
        """One of `data.labels.LABELS`; that of the first relation, should two differ."""
        return three_way(self.relations[0])


def read_sicck(path: Path) -> tuple[list[SicckRow], Counter[str]]:
    """Read the file.

    Returns:
        The rows in its order, and how many cells were normalised, by what was done: `white space` around a sentence,
        `case` of a position or part, `spelling` of a modifier, `stray cell`.

    Raises:
        ValueError: if columns are missing, a value is unknown, or a four-way label is not the one its relations give.
    """
    counts: Counter[str] = Counter()
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = {name.split("\n")[0].strip(): name for name in reader.fieldnames or ()}
        if missing := sorted(set(_COLUMNS.values()) - set(names)):
            raise ValueError(f"{path.name}: expected the columns {missing}, found {sorted(names)}")
        rows = [_row({ours: cells[names[theirs]] for ours, theirs in _COLUMNS.items()}, counts) for cells in reader]
    return rows, counts


def _row(cells: Mapping[str, str], counts: Counter[str]) -> SicckRow:
    number = cells["number"]
    values = {}
    for name, known in (("position", ("premise", "hypothesis", "both")), ("part", ("subject", "verb", "object"))):
        value = cells[name].strip()
        if (stray := _STRAY.get((number, name, value))) is not None:
            counts["stray cell"] += 1
            value = stray
        elif value.lower() == value:  # most are capitalised
            counts["case"] += 1
        if value.lower() not in (*known, "none"):
            raise ValueError(f"row {number}: expected one of {(*known, 'none')} as {name}, found {value!r}")
        values[name] = value.lower()
    sentences = {name: cells[name].strip() for name in ("premise", "hypothesis")}
    counts["white space"] += sum(cells[name] != sentence for name, sentence in sentences.items())
    modifier = _MODIFIERS.get(cells["modifier"], cells["modifier"])
    counts["spelling"] += modifier != cells["modifier"] and modifier != "none"
    try:
        relations = tuple(_RELATIONS[name] for name in cells["relations"].strip().split("|"))
        kind = _TYPES[cells["type"]]
    except KeyError as error:
        raise ValueError(f"row {number}: unknown relation or modifier type {error}") from None
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
        raise ValueError(f"row {number}: the relations {cells['relations']!r} give {row.four_way}, found {declared!r}")
    return row


def assign_folds(seeds: Sequence[str], n: int = 5, *, folding: str = CONTIGUOUS, seed: int = 13) -> list[int]:
    """Return a fold for each row, for cross-validation (section 4.2).

    Args:
        seeds: the seed pair each row was made from, in the order of the rows.
        n: how many folds.
        folding: `contiguous`, what the authors released: the rows sorted by seed pair, seed pairs and the rows of each
            in the order they come in, cut into blocks, so that most rows of a block come from seed pairs that no other
            block has. `spread`: the rows of every seed pair dealt to all folds evenly. `whole_seeds`: all rows of a
            seed pair in one fold, so that training on the others meets none of them.
        seed: decides the folds that are dealt; contiguous ones leave nothing to chance.

    Returns:
        A number from 0 to n - 1 for each row. Folds differ in size by one row at most, or with `whole_seeds` by one
        seed pair at most; of contiguous ones the first are the larger.

    Raises:
        ValueError: if there are fewer seed pairs, or rows, than folds, or no such folding.
    """
    if folding not in FOLDINGS:
        raise ValueError(f"expected a folding of {', '.join(FOLDINGS)}, found {folding!r}")
    most = len(set(seeds) if folding == WHOLE_SEEDS else seeds)
    if n < 2 or most < n:
        raise ValueError(f"expected from 2 to {most} folds, found {n}")
    if folding == CONTIGUOUS:
        first = {name: place for place, name in reversed(list(enumerate(seeds)))}
        order = np.argsort([first[name] for name in seeds], kind="stable")
        blocks = np.zeros(len(seeds), dtype=np.int64)
        for fold, block in enumerate(np.array_split(order, n)):
            blocks[block] = fold
        return [int(fold) for fold in blocks]
    names = sorted(set(seeds), key=lambda name: (int(rng.key(seed, "fold", name)), name))
    if folding == WHOLE_SEEDS:
        fold_of = {name: index % n for index, name in enumerate(names)}
        return [fold_of[name] for name in seeds]
    folds = [0] * len(seeds)
    dealt = 0  # dealing goes on from one seed pair to the next, so that the folds end up even
    for name in names:
        rows = np.flatnonzero([other == name for other in seeds])
        order = np.argsort(rng.numbers(rng.key(seed, "rows", name), np.arange(len(rows))), kind="stable")
        for row in rows[order]:
            folds[row] = dealt % n
            dealt += 1
    return folds


def group_sizes(rows: Iterable[SicckRow]) -> dict[str, Counter[str]]:
    """Return how many rows there are by modifier type and by part (Tables 5 and 6)."""
    rows = list(rows)
    return {"type": Counter(row.type for row in rows), "part": Counter(row.part for row in rows)}
