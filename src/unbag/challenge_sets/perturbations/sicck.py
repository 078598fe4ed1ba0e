"""SICCK: reader of the official file, and rows of the set.

The official file has 1,304 pairs by Akoju et al. (2023), as the authors published them. The set contains each pair
twice: in its original order, and with premise and hypothesis exchanged.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from unbag.baselines.natlog.relations import Relation, to_four_way_label, to_three_way_label
from unbag.challenge_sets.perturbations.modifiers import (
    SeedPair,
    modify_seed_pair,
)
from unbag.data import columns
from unbag.data.columns import PAIR
from unbag.data.downloads import PinnedFile
from unbag.data.labels import FORWARD_ENTAILMENT, REVERSE_ENTAILMENT, get_label_id
from unbag.data.sources import Example
from unbag.data.text.tagging import Tagger
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
    """A row of the official SICCK file."""

    number: int  # running number in the file
    seed: str  # SICK id of the seed pair
    premise: str  # premise of the file, without surrounding white space
    hypothesis: str  # hypothesis of the file, without surrounding white space
    modifier: str  # name of the modifier in `challenge_sets.perturbations.modifiers`; `none` for the seed itself
    type: str  # `universal`, `existential`, `negation`, `adjective/adverb` or `none`
    position: str  # `premise`, `hypothesis`, `both` or `none`
    part: str  # `subject`, `verb`, `object` or `none`
    relations: tuple[Relation, ...]  # seven-way label, or two labels if the annotators disagreed

    @property
    def four_way(self) -> str | None:
        """Four-way label: forward entailment, reverse entailment, contradiction or neutral.

        None for rows that the paper excludes: those with Equivalence or with two different labels.
        """
        labels = {to_four_way_label(relation) for relation in self.relations}
        return labels.pop() if len(labels) == 1 else None

    @property
    def label(self) -> str:
        """Three-way label that corresponds to the first of `relations`, one of `data.labels.LABELS`."""
        return to_three_way_label(self.relations[0])


def read_sicck(path: Path) -> tuple[list[SicckRow], Counter[str]]:
    """Read the official SICCK file.

    Returns:
        The rows in the order of the file, and the number of normalized cells by kind: `white space` around a sentence,
        `case` of a position or part, `spelling` of a modifier, `stray cell`.
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


def assign_folds(seeds: Sequence[str], n_folds: int = 5, *, method: str = CONTIGUOUS, seed: int = 13) -> list[int]:
    """Assign a fold to each row, for cross-validation (section 4.2 of the SICCK paper).

    Args:
        seeds: Seed pair of each row, in the order of the rows.
        method: Method of assignment (default: `contiguous`):

            - `contiguous`, the authors' release: rows sorted by seed pair and split into blocks. Seed pairs, and the
              rows of each, keep their order of occurrence. Most rows of a block come from seed pairs that no other
              block contains.
            - `spread`: the rows of each seed pair are distributed evenly over all folds.
            - `whole_seeds`: all rows of a seed pair are in one fold, so that the training folds contain none of them.
        seed: Random seed of `spread` and `whole_seeds`; `contiguous` is not random.

    Returns:
        A number from 0 to n - 1 for each row. Fold sizes differ by at most one row, or with `whole_seeds` by at most
        one seed pair. With `contiguous`, the larger folds come first.
    """
    if method not in FOLDINGS:
        raise ValueError(f"folding: expected one of {', '.join(FOLDINGS)}, got {method!r}")
    most = len(set(seeds) if method == WHOLE_SEEDS else seeds)
    if n_folds < 2 or most < n_folds:
        raise ValueError(f"folds: expected a number from 2 to {most}, got {n_folds}")
    if method == CONTIGUOUS:
        first = {name: place for place, name in reversed(list(enumerate(seeds)))}
        # A stable sort by the first occurrence of the seed pair keeps the rows of each seed pair in order.
        order = np.argsort([first[name] for name in seeds], kind="stable")
        blocks = np.zeros(len(seeds), dtype=np.int64)
        for fold, block in enumerate(np.array_split(order, n_folds)):
            blocks[block] = fold
        return [int(fold) for fold in blocks]
    # The order of the seed pairs follows hashes of their names, so it does not depend on the order of the rows.
    names = sorted(set(seeds), key=lambda name: (int(rng.compute_key(seed, "fold", name)), name))
    if method == WHOLE_SEEDS:
        fold_of = {name: index % n_folds for index, name in enumerate(names)}
        return [fold_of[name] for name in seeds]
    folds = [0] * len(seeds)
    n_assigned = 0  # the count continues from one seed pair to the next, so that all folds have equal size
    for name in names:
        rows = np.flatnonzero([other == name for other in seeds])
        order = np.argsort(
            rng.generate_random_numbers(rng.compute_key(seed, "rows", name), np.arange(len(rows))), kind="stable"
        )
        for row in rows[order]:
            folds[row] = n_assigned % n_folds
            n_assigned += 1
    return folds


FOUR_WAY: Final = "four_way"
SEVEN_WAY: Final = "seven_way"
THREE_WAY: Final = "three_way"
SPACES: Final = (FOUR_WAY, SEVEN_WAY, THREE_WAY)

SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source id is that of the seed
        ("pair", pa.string()),  # id of the row in the original order, in both rows of a pair
        ("reverse", pa.bool_()),  # whether premise and hypothesis are exchanged
        ("modifier", pa.string()),
        ("modifier_type", pa.string()),
        ("position", pa.string()),  # modified sentences, by their names in the original order
        ("part", pa.string()),
        ("relation", pa.string()),  # of this row's premise to its hypothesis; two if the annotators disagreed
        ("four_way", pa.string()),  # null if the four-way space has no label for the relation
        ("target", pa.string()),  # label in the requested space
        ("fold", pa.int32()),  # null in generated sets
    ]
)
_CHUNK_SIZE: Final = 1_000  # examples that are tagged together


class SicckPair(NamedTuple):
    """A pair in its original order. The set also contains the pair with premise and hypothesis swapped."""

    # The order of the fields from `premise` on is that of `SicckRow` and `modifiers.ModifiedPair`.
    id: str
    source_id: str
    premise: str
    hypothesis: str
    modifier: str
    modifier_type: str
    position: str
    part: str
    relations: tuple[Relation, ...]
    fold: int | None = None


def build_official_pairs(rows: Sequence[SicckRow], folds: Sequence[int]) -> Iterator[SicckPair]:
    """Convert the rows of the official SICCK file to pairs."""
    for row, fold in zip(rows, folds, strict=True):
        yield SicckPair(f"sicck-{row.number}", build_seed_source_id(row), *row[2:], fold)


def build_seed_source_id(row: SicckRow) -> str:
    """Build the source id of a row of the official file. The id contains the SICK id of the seed pair."""
    return f"sick-{row.seed}"


def generate_sicck_pairs(
    examples: Iterable[Example], *, combinations: bool, tagger: Tagger | None
) -> Iterator[SicckPair]:
    """Generate modified pairs from all labelled pairs that `SeedPair.from_pair` can parse.

    For each example, the unmodified pair comes first. With `combinations`, two parts are modified together too. Without
    a tagger, sentences whose verb has no auxiliary are not seeds.
    """
    stream = iter(examples)
    while chunk := list(islice(stream, _CHUNK_SIZE)):
        tags = None if tagger is None else tagger.tag(text for example in chunk for text in example[1:3])
        for example in chunk:
            seed = SeedPair.from_pair(
                example.premise,
                example.hypothesis,
                example.label,
                tags=None if tags is None else [tags[example.premise], tags[example.hypothesis]],
            )
            if seed is None:
                continue
            for number, modified in enumerate(modify_seed_pair(seed, combinations=combinations)):
                pair_id = f"{example.source_id}#{number}"
                yield SicckPair(pair_id, example.source_id, *modified[:-1], (modified.relation,))


def iter_sicck_tables(pairs: Iterable[SicckPair], label_space: str) -> Iterator[pa.Table]:
    """Build Arrow tables with the schema `SCHEMA` and two rows per pair. Omit pairs without a label in the space."""
    return columns.iter_tables((row for pair in pairs for row in _rows(pair, label_space)), SCHEMA)


def _rows(pair: SicckPair, space: str) -> list[dict[str, Any]]:
    converse = tuple(relation.converse for relation in pair.relations)
    sides = [
        _record(pair, pair.id, pair.premise, pair.hypothesis, pair.relations, reverse=False),
        _record(pair, f"{pair.id}-reverse", pair.hypothesis, pair.premise, converse, reverse=True),
    ]
    return [
        {**row, "label": get_label_id(row[THREE_WAY]), "target": row[space]} for row in sides if row[space] is not None
    ]


def _record(
    pair: SicckPair, name: str, premise: str, hypothesis: str, relations: tuple[Relation, ...], *, reverse: bool
) -> dict[str, Any]:
    four = {to_four_way_label(relation) for relation in relations}
    seven = "|".join(relation.value for relation in relations)
    return {
        **pair._asdict(),
        "id": name,
        "pair": pair.id,
        "premise": premise,
        "hypothesis": hypothesis,
        "reverse": reverse,
        "relation": seven,
        SEVEN_WAY: seven,
        FOUR_WAY: four.pop() if len(four) == 1 else None,
        THREE_WAY: to_three_way_label(relations[0]),
    }
