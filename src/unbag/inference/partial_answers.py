"""The answers to some rows of a part, as a process that was killed or makes a share of it leaves them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PartialAnswers:
    """What there is of a part that is being made.

    Attributes:
        probabilities: shape (r, labels), NaN where there is no answer yet.
        has_probabilities: False if an answer was a label only.
        truncated: as far as it is known, how many of the r pairs the model could not read to their ends.
    """

    probabilities: NDArray[np.float32]
    has_probabilities: bool
    truncated: int

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have an answer, shape (r,)."""
        known: NDArray[np.bool_] = np.logical_not(np.isnan(self.probabilities).any(axis=1))
        return known

    def and_also(self, other: "PartialAnswers") -> "PartialAnswers":
        """Return what there is here, and where there is nothing, what there is in another."""
        return PartialAnswers(
            np.where(self.known[:, np.newaxis], self.probabilities, other.probabilities),
            self.has_probabilities and other.has_probabilities,
            max(self.truncated, other.truncated),
        )
