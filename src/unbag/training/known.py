"""What is known of each pair of an epoch beside its label: what a biased model says of it, a teacher, its weight."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import label_id
from unbag.data.sources import Example
from unbag.training.bias import Bias
from unbag.training.groups import group_weights

BIAS: Final = "bias"
TEACHER: Final = "teacher"
WEIGHT: Final = "weight"

Columns = Mapping[str, NDArray[np.float32]]


class Known(Protocol):
    """What tells it, the same in every process."""

    @property
    def identity(self) -> str:
        """All that decides it."""
        ...

    def __call__(self, examples: Sequence[Example]) -> Columns:
        """Return numbers for the pairs of one epoch, by name: shape (n,), or (n, 3) for `labels.LABELS`."""
        ...


@dataclass(frozen=True)
class FromModels:
    """What biased models and a teacher say.

    Attributes:
        bias: gives `BIAS`, log-probabilities.
        teacher: gives `TEACHER`, likewise; None for none.
        balanced: whether each pair has a `WEIGHT` by its group (`group_weights`).
    """

    bias: Bias
    teacher: Bias | None = None
    balanced: bool = False

    @property
    def identity(self) -> str:
        """All that decides it."""
        return self.bias.identity + (f"; teacher {self.teacher.identity}" if self.teacher else "")

    def __call__(self, examples: Sequence[Example]) -> Columns:
        """Return what is known of the pairs of one epoch."""
        found = {BIAS: self.bias.log_probabilities(examples)}
        if self.teacher is not None:
            found[TEACHER] = self.teacher.log_probabilities(examples)
        if self.balanced:
            gold = np.array([label_id(example.label) for example in examples], dtype=np.int64)
            found[WEIGHT] = group_weights(np.exp(found[BIAS]), gold)
        return found
