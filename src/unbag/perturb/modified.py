"""The rows of the SICCK set: each pair twice, as it is and with premise and hypothesis exchanged."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import pyarrow as pa

from unbag.data import columns
from unbag.data.columns import PAIR
from unbag.data.labels import label_id
from unbag.data.sources import Example
from unbag.data.text.tagging import Tagger
from unbag.natlog.relations import Relation, four_way, three_way
from unbag.perturb.modifiers import Seed, modify
from unbag.perturb.sicck import Row

FOUR_WAY: Final = "four_way"
SEVEN_WAY: Final = "seven_way"
THREE_WAY: Final = "three_way"
SPACES: Final = (FOUR_WAY, SEVEN_WAY, THREE_WAY)

SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source is the seed
        ("pair", pa.string()),  # the id of the pair as it is, for both of its rows
        ("reverse", pa.bool_()),  # whether premise and hypothesis are exchanged
        ("modifier", pa.string()),
        ("modifier_type", pa.string()),
        ("position", pa.string()),  # which sentences are modified, by their names in the pair as it is
        ("part", pa.string()),
        ("relation", pa.string()),  # of this row's premise to its hypothesis; two where annotators did not agree
        ("four_way", pa.string()),  # null where the four have no label for it
        ("target", pa.string()),  # the label in the space asked for
        ("fold", pa.int32()),  # null in generated sets
    ]
)
_TAGGED_AT_ONCE: Final = 1_000  # examples


class Pair(NamedTuple):
    """A pair as it is."""

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


def official(rows: Sequence[Row], folds: Sequence[int]) -> Iterator[Pair]:
    """Yield the pairs of the authors' file."""
    for row, fold in zip(rows, folds, strict=True):
        yield Pair(
            id=f"sicck-{row.number}",
            source_id=source_id(row),
            premise=row.premise,
            hypothesis=row.hypothesis,
            modifier=row.modifier,
            modifier_type=row.type,
            position=row.position,
            part=row.part,
            relations=row.relations,
            fold=fold,
        )


def source_id(row: Row) -> str:
    """Return the id of the seed that a row of the authors' file was made from."""
    return f"sick-{row.seed}"


def generated(examples: Iterable[Example], *, combinations: bool, tagger: Tagger | None) -> Iterator[Pair]:
    """Yield every example that can be read as a seed, as it is and modified (`perturb.modifiers`).

    Args:
        examples: pairs with their labels.
        combinations: also modify two parts at a time.
        tagger: tags sentences whose verb has no auxiliary; without one these are no seeds.
    """
    stream = iter(examples)
    while some := list(islice(stream, _TAGGED_AT_ONCE)):
        tags = None if tagger is None else tagger.tags(text for example in some for text in example[1:3])
        for example in some:
            seed = Seed.of(
                example.premise,
                example.hypothesis,
                example.label,
                tags=None if tags is None else [tags[example.premise], tags[example.hypothesis]],
            )
            if seed is None:
                continue
            for number, modified in enumerate(modify(seed, combinations=combinations)):
                yield Pair(
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


def tables(pairs: Iterable[Pair], space: str) -> Iterator[pa.Table]:
    """Yield two rows a pair as tables of `SCHEMA`; pairs that the space has no label for are left out.

    Args:
        pairs: the pairs.
        space: one of `SPACES`.
    """
    return columns.tables((row for pair in pairs for row in _both(pair, space)), SCHEMA)


def _both(pair: Pair, space: str) -> list[dict[str, Any]]:
    converse = tuple(relation.converse for relation in pair.relations)
    sides = [
        _record(pair, pair.id, pair.premise, pair.hypothesis, pair.relations, reverse=False),
        _record(pair, f"{pair.id}-reverse", pair.hypothesis, pair.premise, converse, reverse=True),
    ]
    return [{**row, "label": label_id(row[THREE_WAY]), "target": row[space]} for row in sides if row[space] is not None]


def _record(
    pair: Pair, name: str, premise: str, hypothesis: str, relations: tuple[Relation, ...], *, reverse: bool
) -> dict[str, Any]:
    four = {four_way(relation) for relation in relations}
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
        THREE_WAY: three_way(relations[0]),
    }
