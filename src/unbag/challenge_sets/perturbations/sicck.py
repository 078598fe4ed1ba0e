"""SICCK: reader of the official file, rows of the set, and agreement of the labeller with the official labels.

The official file has 1,304 pairs by Akoju et al. (2023), as the authors published them. The set contains each pair
twice: in its original order, and with premise and hypothesis exchanged.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from unbag.baselines.natlog.model_checking import compute_relation
from unbag.baselines.natlog.parsing import PairLogicalForm
from unbag.baselines.natlog.relations import Relation, to_four_way_label, to_three_way_label
from unbag.baselines.natlog.seeds import SeedConstituents
from unbag.challenge_sets.perturbations.modifiers import (
    ADJECTIVE_ADVERB,
    BOTH,
    HYPOTHESIS,
    MODIFIERS_BY_NAME,
    NONE,
    VERB,
    Change,
    SeedPair,
    build_modified_logical_form,
    build_modified_sentence,
    modify_seed_pair,
    split_change_by_sentence,
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
        n_folds: Number of folds (default: 5).
        method: Method of assignment (default: `contiguous`):

            - `contiguous`, the authors' release: rows sorted by seed pair and split into blocks. Seed pairs, and the
              rows of each, keep their order of occurrence. Most rows of a block come from seed pairs that no other
              block contains.
            - `spread`: the rows of each seed pair are distributed evenly over all folds.
            - `whole_seeds`: all rows of a seed pair are in one fold, so that the training folds contain none of them.
        seed: Random seed of `spread` and `whole_seeds` (default: 13); `contiguous` is not random.

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


def count_by_group(rows: Iterable[SicckRow]) -> dict[str, Counter[str]]:
    """Count the rows by modifier type and by modified part (Tables 5 and 6 of the SICCK paper)."""
    rows = list(rows)
    return {"type": Counter(row.type for row in rows), "part": Counter(row.part for row in rows)}


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
        yield SicckPair(
            id=f"sicck-{row.number}",
            source_id=build_seed_source_id(row),
            premise=row.premise,
            hypothesis=row.hypothesis,
            modifier=row.modifier,
            modifier_type=row.type,
            position=row.position,
            part=row.part,
            relations=row.relations,
            fold=fold,
        )


def build_seed_source_id(row: SicckRow) -> str:
    """Build the source id of a row of the official file. The id contains the SICK id of the seed pair."""
    return f"sick-{row.seed}"


def generate_sicck_pairs(
    examples: Iterable[Example], *, combinations: bool, tagger: Tagger | None
) -> Iterator[SicckPair]:
    """Generate modified pairs from all examples that `SeedPair.from_pair` can parse.

    For each example, the unmodified pair comes first.

    Args:
        examples: Labelled pairs.
        combinations: Whether two parts are modified together too.
        tagger: Tagger for sentences whose verb has no auxiliary. If None, such sentences are not seeds.
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
                yield SicckPair(
                    id=f"{example.source_id}#{number}",
                    source_id=example.source_id,
                    premise=modified.premise,
                    hypothesis=modified.hypothesis,
                    modifier=modified.modifier,
                    modifier_type=modified.type,
                    position=modified.position,
                    part=modified.part,
                    relations=(modified.relation,),
                )


def iter_sicck_tables(pairs: Iterable[SicckPair], label_space: str) -> Iterator[pa.Table]:
    """Build Arrow tables with the schema `SCHEMA` and two rows per pair. Omit pairs without a label in `label_space`.

    Args:
        pairs: Pairs.
        label_space: Label space, one of `SPACES`.
    """
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


def parse_official_seed_pairs(rows: Iterable[SicckRow]) -> dict[str, SeedPair]:
    """Parse the seed pairs of the official SICCK file, i.e. its rows without a modifier.

    Returns a dict from seed ids to seed pairs.
    """
    seeds = {}
    for row in rows:
        if row.type == NONE:
            seed = SeedPair.from_pair(row.premise, row.hypothesis, row.label)
            if seed is None:
                raise ValueError(
                    f"row {row.number}: expected a seed pair that can be parsed, got the premise {row.premise!r}"
                )
            seeds[row.seed] = seed
    return seeds


def build_official_logical_forms(rows: Sequence[SicckRow]) -> list[PairLogicalForm]:
    """Build the logical form of each row by adding its modifier to the logical form of its seed pair."""
    seeds = parse_official_seed_pairs(rows)
    return [build_modified_logical_form(seeds[row.seed].shape, *_changes(row)) for row in rows]


def _changes(row: SicckRow) -> tuple[Change, Change]:
    """Determine the changes of a row's premise and hypothesis."""
    return split_change_by_sentence(
        () if row.type == NONE else ((row.part, MODIFIERS_BY_NAME[row.modifier]),), row.position
    )


class AnnotatorDisagreement(NamedTuple):
    """A group of rows in which the four-way labels of the annotators and of natural logic differ in the same way.

    A modifier on the hypothesis is the mirror image of one on the premise. The two cases count as one, with the
    converse of both labels. Modifiers with the same logical reading count as one.

    Attributes:
        part: `subject`, `verb` or `object`.
        reading: Reading of the modifier in natural logic: a quantifier, `not`, `always`, `never`, `adjective`,
            `adverb`.
        sentences: `one` or `both`, the number of modified sentences.
        annotators: Four-way label of the annotators; None for two different labels.
        labeller: Four-way label of the labeller; None for equivalence.
    """

    part: str
    reading: str
    sentences: str
    annotators: str | None
    labeller: str | None


def _disagreement(row: SicckRow, labeller_label: str | None) -> AnnotatorDisagreement:
    modifier = MODIFIERS_BY_NAME[row.modifier]
    reading = modifier.name if modifier.quantifier is None else modifier.quantifier.value
    if modifier.type == ADJECTIVE_ADVERB:
        reading = "adverb" if row.part == VERB else "adjective"
    converse = {FORWARD_ENTAILMENT: REVERSE_ENTAILMENT, REVERSE_ENTAILMENT: FORWARD_ENTAILMENT}
    annotators, labeller = (
        converse.get(label, label) if label is not None and row.position == HYPOTHESIS else label
        for label in (row.four_way, labeller_label)
    )
    return AnnotatorDisagreement(row.part, reading, BOTH if row.position == BOTH else "one", annotators, labeller)


def count_annotator_agreement(rows: Sequence[SicckRow]) -> dict[str, Any]:
    """Count the rows on which the natural-logic labeller agrees with the annotators.

    Returns:
        A dictionary with these keys:

        - `n`: number of rows;
        - `seven_way`: number of agreements, where either label of a double one counts;
        - `four_way`: number of agreements;
        - `confusion`: counts of (relations of the annotators, relation of the labeller);
        - `disagreements`: number of rows with different four-way labels, by class.
    """
    both = [(row, compute_relation(shape)) for row, shape in zip(rows, build_official_logical_forms(rows), strict=True)]
    return {
        "n": len(rows),
        "seven_way": sum(relation in row.relations for row, relation in both),
        "four_way": sum(to_four_way_label(relation) == row.four_way for row, relation in both),
        "confusion": Counter(("|".join(one.value for one in row.relations), relation.value) for row, relation in both),
        "disagreements": Counter(
            _disagreement(row, to_four_way_label(relation))
            for row, relation in both
            if to_four_way_label(relation) != row.four_way
        ),
    }


SAME: Final = "identical"
ELSE: Final = "other differences"
NOT_MADE: Final = "not generated by us (isn't never, exactly one waves)"

_ADJECTIVES: Final = "green|happy|sad|good|bad"
_CAUSES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "no article before an adjective (green man)": ((rf"^(?:an?|the) (?=(?:{_ADJECTIVES}) )", ""),),
    "two articles (a an abnormal)": (
        (r"\ban (?=abnormal|elegant)", "a an "),
        (r"\bthe (?=abnormal|elegant)", "the an "),
    ),
    "an for the or for no article (an elegant waves)": ((r"\b(?:the|(of)) (?=abnormal|elegant)", r"\1 an "),),
    "the article of the next word (an good empty)": ((rf"\ba (?=(?:{_ADJECTIVES}) [aeiou])", "an "),),
    "is n't in two words": ((r"(?<=\w)n't", " n't"),),
    "is not for isn't": ((r"n't", " not"),),
    "at least without number (at least man)": ((r"\bat least one ", "at least "),),
    "at least before an article (at least a man)": ((r"\bat least one ", "at least a "),),
    "of without article (exactly two of children)": ((r"\b(exactly|all but) two ", r"\1 two of "),),
    "the modifier before the verb (not is full)": ((r"\b(is|are) (not|never|always|\w+ly) ", r"\2 \1 "),),
    "every before a plural (every waves)": ((r"\ball (?!but )", "every "),),
    "an article lost inside a noun phrase (girl with black bag)": ((r" with an? ", " with "),),
}
"""Differences between our sentences and the authors': regular expressions that convert ours to theirs."""
EVERYONE: Final = "everyone of man"


def count_reproduced_pairs(rows: Sequence[SicckRow]) -> Counter[str]:
    """Count the pairs of the official SICCK file that `modify_seed_pair` reproduces, and the causes of differences.

    The comparison ignores case and white space. A cause counts only if it, alone or with one other cause, converts our
    sentences to the authors'.
    """
    seeds = parse_official_seed_pairs(rows)
    generated = {name: {pair[:2] for pair in modify_seed_pair(seed)} for name, seed in seeds.items()}
    counts: Counter[str] = Counter()
    for row in rows:
        if row.type != NONE:
            seed = seeds[row.seed]
            ours = [
                (parts, build_modified_sentence(parts, change))
                for parts, change in zip((seed.premise, seed.hypothesis), _changes(row), strict=True)
            ]
            cause = _cause(ours, (row.premise, row.hypothesis))
            if cause == SAME and tuple(text for _, text in ours) not in generated[row.seed]:
                cause = NOT_MADE
            counts[cause] += 1
    return counts


def _cause(ours: Sequence[tuple[SeedConstituents, str]], theirs: Sequence[str]) -> str:
    """Find the smallest combination of causes that converts our sentences to the authors'."""
    names = (EVERYONE, *_CAUSES)
    for causes in chain([()], combinations(names, 1), combinations(names, 2)):
        if all(
            any(_normalize(_apply(subset, parts, text)) == _normalize(other) for subset in _subsets(causes))
            for (parts, text), other in zip(ours, theirs, strict=True)
        ):
            return " and ".join(causes) or SAME
    return ELSE


def _subsets(causes: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """Build all subsets of the causes, since each of the two sentences may show only some of them."""
    return chain.from_iterable(combinations(causes, n) for n in range(len(causes) + 1))


def _apply(causes: Sequence[str], parts: SeedConstituents, text: str) -> str:
    for cause in causes:
        if cause == EVERYONE:
            if text.startswith("every one of the "):
                # The authors prepend the modifier to the seed's sentence and change neither its noun nor its verb.
                text = "everyone of " + re.sub(r"^(?:an?|the) ", "", build_modified_sentence(parts))
        else:
            for pattern, instead in _CAUSES[cause]:
                text = re.sub(pattern, instead, text)
    return text


def _normalize(text: str) -> str:
    return " ".join(text.lower().split())
