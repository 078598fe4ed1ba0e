"""The pairs that a challenge set is built from, with the options of the set."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from unbag.data.sources import Example, PairSource


@dataclass
class SetOptions:
    """Base class of the options of a set. A subclass is a dataclass whose `Attributes` are the help of the options.

    The values that a set reads also have the fields of `config.SourceConfig`, such as `corpus` and `text`.

    Attributes:
        FILES: Options that may name a file or folder of the user, whose content changes the rows.
    """

    FILES: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # fields of `config.SourceConfig`, which the options of a set may read
        corpus: ClassVar[str]
        data: ClassVar[str | None]
        language: ClassVar[str]
        sentence_language: ClassVar[str]

    def validate(self) -> None:
        """Validate the options of the set. Those of the pairs have been validated before."""


@dataclass(frozen=True)
class Pairs:
    """Labelled pairs of one range of a source, which `ChallengeSet.rows` reads once."""

    examples: Iterator[Example]
    source: PairSource  # source of the pairs, for sets that read all of it first
    options: Any
    counts: Counter[str]  # counts to store with the set, such as excluded pairs by reason

    def __iter__(self) -> Iterator[Example]:
        return self.examples
