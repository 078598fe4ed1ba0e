"""SICCK: reader of the official file, and rows of the set.

The official file has 1,304 pairs by Akoju et al. (2023), as the authors published them. The set contains each pair
twice: in its original order, and with premise and hypothesis exchanged.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from unbag.baselines.natlog.relations import Relation, to_four_way_label, to_three_way_label
from unbag.challenge_sets.perturbations.modifiers import BOTH, SeedPair, modify_seed_pair
from unbag.data.downloads import PinnedFile
from unbag.data.labels import get_label_id
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
Folding = Literal["contiguous", "spread", "whole_seeds"]
"""Methods of assigning the pairs to folds; see `assign_folds`."""

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
_SOURCE: Final = "sick-"  # prefix of the source ids of official pairs


class SicckPair(NamedTuple):
    """A pair of the set."""

    # The order of the fields from `premise` to `part` is that of `modifiers.ModifiedPair`.
    id: str
    source_id: str  # id of the seed pair
    premise: str
    hypothesis: str
    modifier: str  # name of the modifier in `challenge_sets.perturbations.modifiers`; `none` for the seed itself
    modifier_type: str  # `universal`, `existential`, `negation`, `adjective/adverb` or `none`
    position: str  # modified sentences, by their names in the original order: `premise`, `hypothesis`, `both` or `none`
    part: str  # `subject`, `verb`, `object`, two of them joined by `+`, or `none`
    relations: tuple[Relation, ...]  # of the premise to the hypothesis; two relations if the annotators disagreed
    fold: int | None = None  # None in generated sets

    @property
    def four_way(self) -> str | None:
        """Four-way label: forward entailment, reverse entailment, contradiction or neutral.

        None for pairs that the paper excludes: those with Equivalence or with two different labels.
        """
        labels = {to_four_way_label(relation) for relation in self.relations}
        return labels.pop() if len(labels) == 1 else None

    @property
    def label(self) -> str:
        """Three-way label that corresponds to the first of `relations`, one of `data.labels.LABELS`."""
        return to_three_way_label(self.relations[0])


def read_sicck(path: Path) -> list[SicckPair]:
    """Read the official SICCK file, and normalize white space, spelling and case. The pairs have no folds yet."""
    # `utf-8-sig` drops a byte order mark, and `newline=""` leaves line breaks inside quoted cells to the CSV reader.
    with path.open(encoding="utf-8-sig", newline="") as file:
        # Only the first lines of column names are unambiguous: two names contain a line break.
        rows = [{name.split("\n")[0].strip(): cell for name, cell in row.items()} for row in csv.DictReader(file)]
    return [
        SicckPair(
            id=f"sicck-{row['Sno']}",
            source_id=f"{_SOURCE}{row['SICK_id']}",
            premise=row["Premise"].strip(),
            hypothesis=row["Hypothesis"].strip(),
            modifier=_MODIFIERS.get(row["Modifier"], row["Modifier"]),
            modifier_type=_TYPES[row["Modifier Type"]],
            # Row 892 has the value of another column, but modifies both sentences, as the sentences themselves show.
            position=BOTH if row["Sno"] == "892" else row["Premise/Hypothesis/Both"].strip().lower(),
            part=row["Part of Premise/Hypothesis Modified"].strip().lower(),
            relations=tuple(_RELATIONS[name] for name in row["Ground Truth"].strip().split("|")),
        )
        for row in rows
    ]


def assign_folds(
    pairs: Sequence[SicckPair], n_folds: int = 5, *, method: str = CONTIGUOUS, seed: int = 13
) -> list[int]:
    """Assign a fold to each official pair, for cross-validation (section 4.2 of the SICCK paper).

    Args:
        pairs: Pairs in the order of the file.
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
    seeds = np.array([pair.source_id.removeprefix(_SOURCE) for pair in pairs])
    names = list(dict.fromkeys(seeds.tolist()))
    if method != CONTIGUOUS:
        # The order follows hashes of the names, so that it does not depend on the order of the rows.
        names.sort(key=lambda name: (int(rng.compute_key(seed, "fold", name)), name))
    if method == WHOLE_SEEDS:
        return [names.index(name) % n_folds for name in seeds.tolist()]
    by_seed = [np.flatnonzero(seeds == name) for name in names]
    folds = np.zeros(len(pairs), dtype=np.int64)
    if method == CONTIGUOUS:
        for fold, block in enumerate(np.array_split(np.concatenate(by_seed), n_folds)):
            folds[block] = fold
    else:
        for place, (name, rows) in enumerate(zip(names, by_seed, strict=True)):
            draws = rng.generate_random_numbers(rng.compute_key(seed, "rows", name), np.arange(len(rows)))
            by_seed[place] = rows[np.argsort(draws, kind="stable")]
        # The count continues from one seed pair to the next, so that all folds have equal size.
        folds[np.concatenate(by_seed)] = np.arange(len(pairs)) % n_folds
    return [int(fold) for fold in folds]


FOUR_WAY: Final = "four_way"
SEVEN_WAY: Final = "seven_way"
THREE_WAY: Final = "three_way"
Space = Literal["four_way", "seven_way", "three_way"]
SPACES: Final = get_args(Space)

_CHUNK_SIZE: Final = 1_000  # examples that are tagged together


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
            own = None if tags is None else [tags[example.premise], tags[example.hypothesis]]
            seed = SeedPair.from_pair(example.premise, example.hypothesis, example.label, tags=own)
            if seed is None:
                continue
            for number, modified in enumerate(modify_seed_pair(seed, combinations=combinations)):
                pair_id = f"{example.source_id}#{number}"
                yield SicckPair(pair_id, example.source_id, *modified[:-1], (modified.relation,))


def iter_sicck_rows(pairs: Iterable[SicckPair], label_space: str) -> Iterator[dict[str, Any]]:
    """Build the rows of both orders of each pair. Omit rows without a label in the space, one of `SPACES`."""
    for pair in pairs:
        exchanged = pair._replace(
            id=f"{pair.id}-reverse",
            premise=pair.hypothesis,
            hypothesis=pair.premise,
            relations=tuple(relation.converse for relation in pair.relations),
        )
        for side in (pair, exchanged):
            relation, four_way, label = "|".join(each.value for each in side.relations), side.four_way, side.label
            target = {SEVEN_WAY: relation, FOUR_WAY: four_way, THREE_WAY: label}[label_space]
            if target is not None:
                yield {
                    **side._asdict(),
                    "label": get_label_id(label),
                    "pair": pair.id,
                    "reverse": side is exchanged,
                    "relation": relation,
                    "four_way": four_way,
                    "target": target,
                }
