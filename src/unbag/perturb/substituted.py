"""The rows of the Breaking NLI set: pairs that differ in one word or phrase (Glockner et al. 2018)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa

from unbag.data import columns
from unbag.data.columns import PAIR, real
from unbag.data.labels import label_id
from unbag.data.sources import Example
from unbag.data.text.grammar import replacement
from unbag.perturb.distinct import distinct
from unbag.perturb.substitution import Substituter

SIMILARITY: Final = real("similarity", 6)
SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source is the example whose premise it is; the official pairs' own
        ("category", pa.string()),
        ("replaced", pa.string()),  # by the difference of the sentences, which may be less than the phrase: "living"
        ("replacement", pa.string()),
        ("relation", pa.string()),  # what the replaced word is to the new one; null in the official pairs
        ("pair_frequency", pa.int64()),  # contradicting training examples with the two words; null where not counted
        SIMILARITY,  # cosine of the two words' embeddings; null where not asked for
        ("annotator_labels", pa.list_(pa.int64())),
    ]
)


class Row(NamedTuple):
    """One pair; the columns of `SCHEMA` that are not measured on the words."""

    id: str
    source_id: str
    premise: str
    hypothesis: str
    label: str
    category: str
    relation: str | None = None
    annotators: Sequence[str] = ()

    def words(self) -> tuple[str, str]:
        """Return what was replaced by what, as the sentences differ; nothing where that is more than one phrase."""
        difference = replacement(self.premise, self.hypothesis)
        return ("", "") if difference is None else (" ".join(difference.old), " ".join(difference.new))


class WordPair(NamedTuple):
    """What is measured on two single words: how often training contradicts with them, and their similarity."""

    frequency: int | None
    similarity: float | None


def generated(examples: Iterable[Example], substituter: Substituter, rejected: Counter[str]) -> Iterator[Row]:
    """Yield the replacements of each different premise, those of the first example that has it.

    Args:
        examples: the corpus, in order.
        substituter: how words are replaced.
        rejected: counts the candidates that were not used, by reason.
    """
    for example in distinct(examples, attrgetter("premise")):
        for number, substitute in enumerate(substituter.of(example.premise, rejected)):
            yield Row(
                id=f"{example.source_id}#{number}",
                source_id=example.source_id,
                premise=example.premise,
                hypothesis=substitute.hypothesis,
                label=substitute.label,
                category=substitute.category,
                relation=substitute.relation,
            )


def tables(rows: Iterable[Row], measure: Callable[[str, str], WordPair]) -> Iterator[pa.Table]:
    """Return rows as tables of `SCHEMA`.

    Args:
        rows: the pairs.
        measure: measures two single words in lower case; phrases of several words are not measured (section 5.2).
    """
    return columns.tables((_record(row, measure) for row in rows), SCHEMA)


def _record(row: Row, measure: Callable[[str, str], WordPair]) -> dict[str, Any]:
    old, new = row.words()
    single = all(word and " " not in word for word in (old, new))
    measured = measure(old.lower(), new.lower()) if single else WordPair(None, None)
    return {
        **row._asdict(),
        "label": label_id(row.label),
        "replaced": old,
        "replacement": new,
        "pair_frequency": measured.frequency,
        "similarity": measured.similarity,
        "annotator_labels": list(map(label_id, row.annotators)),
    }
