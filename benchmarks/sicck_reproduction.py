"""How far unbag reproduces SICCK: its pairs, and the labels of its annotators.

    python benchmarks/sicck_reproduction.py SICCK-Ground-Truth-apr24.csv

The script prints how many pairs `modify_seed_pair` reproduces, with the causes of differences, and how often the
natural-logic labeller agrees with the annotators (Akoju et al. 2023, Tables 5 and 6).
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.baselines.natlog.model_checking import compute_relation
from unbag.baselines.natlog.parsing import PairLogicalForm
from unbag.baselines.natlog.relations import to_four_way_label
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
from unbag.challenge_sets.perturbations.sicck import SicckPair, read_sicck
from unbag.data.labels import FORWARD_ENTAILMENT, REVERSE_ENTAILMENT


def count_by_group(rows: Iterable[SicckPair]) -> dict[str, Counter[str]]:
    """Count the rows by modifier type and by modified part (Tables 5 and 6 of the SICCK paper)."""
    rows = list(rows)
    return {"type": Counter(row.modifier_type for row in rows), "part": Counter(row.part for row in rows)}


def parse_official_seed_pairs(rows: Iterable[SicckPair]) -> dict[str, SeedPair]:
    """Parse the seed pairs of the official SICCK file, i.e. its rows without a modifier, by seed id."""
    seeds = {}
    for row in rows:
        if row.modifier_type == NONE:
            seed = SeedPair.from_pair(row.premise, row.hypothesis, row.label)
            if seed is None:
                raise ValueError(f"{row.id}: expected a seed pair that can be parsed, got the premise {row.premise!r}")
            seeds[row.source_id] = seed
    return seeds


def build_official_logical_forms(rows: Sequence[SicckPair]) -> list[PairLogicalForm]:
    """Build the logical form of each row by adding its modifier to the logical form of its seed pair."""
    seeds = parse_official_seed_pairs(rows)
    return [build_modified_logical_form(seeds[row.source_id].shape, *_changes(row)) for row in rows]


def _changes(row: SicckPair) -> tuple[Change, Change]:
    """Determine the changes of a row's premise and hypothesis."""
    return split_change_by_sentence(
        () if row.modifier_type == NONE else ((row.part, MODIFIERS_BY_NAME[row.modifier]),), row.position
    )


class AnnotatorDisagreement(NamedTuple):
    """A group of rows in which the four-way labels of the annotators and of natural logic differ in the same way.

    A modifier on the hypothesis is the mirror image of one on the premise. The two cases count as one, with the
    converse of both labels. Modifiers with the same logical reading count as one.
    """

    part: str  # `subject`, `verb` or `object`
    reading: str  # of the modifier: a quantifier, `not`, `always`, `never`, `adjective`, `adverb`
    sentences: str  # `one` or `both`, the number of modified sentences
    annotators: str | None  # None for two different labels
    labeller: str | None  # None for equivalence


def _disagreement(row: SicckPair, labeller_label: str | None) -> AnnotatorDisagreement:
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


def count_annotator_agreement(rows: Sequence[SicckPair]) -> dict[str, Any]:
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


def count_reproduced_pairs(rows: Sequence[SicckPair]) -> Counter[str]:
    """Count the pairs of the official SICCK file that `modify_seed_pair` reproduces, and the causes of differences.

    The comparison ignores case and white space. A cause counts only if it, alone or with one other cause, converts our
    sentences to the authors'.
    """
    seeds = parse_official_seed_pairs(rows)
    generated = {name: {pair[:2] for pair in modify_seed_pair(seed)} for name, seed in seeds.items()}
    counts: Counter[str] = Counter()
    for row in rows:
        if row.modifier_type != NONE:
            seed = seeds[row.source_id]
            ours = [
                (parts, build_modified_sentence(parts, change))
                for parts, change in zip((seed.premise, seed.hypothesis), _changes(row), strict=True)
            ]
            cause = _cause(ours, (row.premise, row.hypothesis))
            if cause == SAME and tuple(text for _, text in ours) not in generated[row.source_id]:
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


def main() -> None:
    """Print the counts for the authors' file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    rows = read_sicck(parser.parse_args().file)
    for name, n in count_reproduced_pairs(rows).most_common():
        print(f"{n:>5} {name}")
    agreement = count_annotator_agreement(rows)
    print(f"{agreement['n']} rows, agreement {agreement['four_way']} (four-way), {agreement['seven_way']} (seven-way)")
    for column, counts in count_by_group(rows).items():
        print(column, dict(counts))


if __name__ == "__main__":
    main()
