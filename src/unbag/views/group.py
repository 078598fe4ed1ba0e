"""The models that answered the same rows of a set, side by side."""

from dataclasses import dataclass
from typing import Any

from unbag.results import Result
from unbag.views.examples import ExampleSelection


@dataclass(frozen=True)
class Model:
    """A model of the report: its name there, its record, and whether it is one of the built-in baselines."""

    name: str
    record: dict[str, Any]
    is_baseline: bool


@dataclass(frozen=True)
class Scored:
    """One model's result on the rows of a group, with the examples selected of it, if any were kept."""

    model: Model
    result: Result
    selection: ExampleSelection | None


@dataclass(frozen=True)
class Group:
    """A set built from the same data in the same way, and the models that answered its rows.

    Attributes:
        key: unique, for anchors.
        title: of the data, e.g. "snli validation".
        scored: in the order of the report's models.
    """

    key: str
    title: str
    scored: tuple[Scored, ...]

    @property
    def set(self) -> str:
        """The challenge set."""
        return self.scored[0].result.set

    @property
    def corpus(self) -> str:
        """What the pairs come from, as `papers.counterparts` names it."""
        return self.scored[0].result.corpus
