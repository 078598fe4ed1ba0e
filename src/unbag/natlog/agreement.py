"""How the labeller's relations agree with the labels that people gave to the official SICCK."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from unbag.natlog.clauses import Shape
from unbag.natlog.labeller import relate
from unbag.natlog.relations import four_way
from unbag.natlog.sicck import Row
from unbag.perturb.modifiers import (
    ADJECTIVE_ADVERB,
    BOTH,
    BY_NAME,
    HYPOTHESIS,
    NONE,
    PREMISE,
    SUBJECT,
    VERB,
    Modified,
    Seed,
    modified_shape,
    modify,
)


def official_seeds(rows: Iterable[Row]) -> dict[str, Seed]:
    """Return the seeds of the file: its pairs without modifier, with the labels they have there.

    Raises:
        ValueError: if a seed cannot be read.
    """
    found = {}
    for row in rows:
        if row.type == NONE:
            seed = Seed.of(row.premise, row.hypothesis, row.label)
            if seed is None:
                raise ValueError(f"row {row.number}: expected a seed that can be read, found {row.premise!r}")
            found[row.seed] = seed
    return found


def official_shapes(rows: Sequence[Row]) -> list[Shape]:
    """Return what natural logic sees of each row: its seed, with the row's modifier put to the row's part."""
    seeds = official_seeds(rows)
    shapes = []
    for row in rows:
        change = () if row.type == NONE else ((row.part, BY_NAME[row.modifier]),)
        shapes.append(
            modified_shape(
                seeds[row.seed].shape,
                change if row.position in (PREMISE, BOTH) else (),
                change if row.position in (HYPOTHESIS, BOTH) else (),
            )
        )
    return shapes


def agreement(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how many of the rows the labeller gives the annotators' label.

    Returns:
        `n`; `seven_way`, either label of a double one counting; `four_way`; `confusion`, how often each pair of the
        annotators' relations and the labeller's comes; `disagreements`, the rows and relations that differ four-way,
        by part, modifier, position, the annotators' label and the labeller's.
    """
    relations = [relate(shape) for shape in official_shapes(rows)]
    both = list(zip(rows, relations, strict=True))
    return {
        "n": len(rows),
        "seven_way": sum(relation in row.relations for row, relation in both),
        "four_way": sum(four_way(relation) == row.four_way for row, relation in both),
        "confusion": Counter(("|".join(one.value for one in row.relations), relation.value) for row, relation in both),
        "disagreements": Counter(
            (row.part, row.modifier, row.position, row.four_way, four_way(relation))
            for row, relation in both
            if four_way(relation) != row.four_way
        ),
    }


def reproduced(rows: Sequence[Row]) -> Counter[str]:
    """Return how many of the modified pairs of the file our operator makes to the letter, and why not the others.

    Case and white space do not count. The causes are what the authors' sentences have and ours have not.
    """
    made = {
        (name, pair.modifier, pair.position, pair.part): pair
        for name, seed in official_seeds(rows).items()
        for pair in modify(seed)
    }
    found: Counter[str] = Counter()
    for row in rows:
        if row.type != NONE:
            pair = made.get((row.seed, row.modifier, row.position, row.part))
            found[_cause(row, pair)] += 1
    return found


SAME: Final = "to the letter"


def _cause(row: Row, pair: Modified | None) -> str:
    if pair is None:
        return "a second negation of the verb"
    if all(
        _plain(ours) == _plain(theirs) for ours, theirs in zip(pair[:2], (row.premise, row.hypothesis), strict=True)
    ):
        return SAME
    if " n't" in row.premise + row.hypothesis:
        return "is n't in two words"
    if row.modifier in ("abnormal", "elegant"):
        return "another article before abnormal or elegant (a an abnormal)"
    if row.type == ADJECTIVE_ADVERB and row.part == SUBJECT:
        return "no article before an adjective (green man)"
    causes = {"at least": "at least without number", "every one of": "everyone of man"}
    if row.part == VERB:
        return "the modifier before the auxiliary (not is)"
    if row.modifier in ("exactly one", "all but one") and " of " in row.premise + row.hypothesis:
        return "of without article (exactly two of children)"
    return causes.get(row.modifier, "anything else")


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
