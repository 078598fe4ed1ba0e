"""The options of the objectives; nothing heavy is imported here, for the help pages' sake."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from unbag.training.config import option

_HEX: Final = "HEX"
_MAX_ENTROPY: Final = "Max-entropy"


@dataclass(frozen=True, kw_only=True)
class HexOptions:
    """What the HEX paper leaves open.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    # As wide as what it reads, W^φ is square: g can hold all there is in the mean.
    width: int | None = option(
        "Width of the superficial branch g (default: that of the embeddings).", _HEX, default=None
    )
    unscaled: bool = option(
        "Leave g as it is, not scaled to a root mean square of 1 for each pair.", _HEX, default=False
    )
    # The authors name no number. What is projected should be a classifier already: of SNLI pairs a MiniLM with a new
    # head gets 61 % right after 100 steps of 32, and 81 % after 1,400.
    warm_start: int = option(
        "Steps of plain cross-entropy first; 0 for a model that was fine-tuned before.", _HEX, default=500
    )

    def __post_init__(self) -> None:
        _check(self)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        if self.width is not None and self.width < 1:
            yield f"expected a width of at least 1, found {self.width}"
        if self.warm_start < 0:
            yield f"expected a warm start of at least 0 steps, found {self.warm_start}"


@dataclass(frozen=True, kw_only=True)
class MaxEntropyOptions:
    """The weights of the entropy term.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    alpha: float = option("α, the weight of the permuted pairs' entropy.", _MAX_ENTROPY, default=1.0)
    permutations: int = option("n, the permutations of each pair, others in each epoch.", _MAX_ENTROPY, default=1)

    def __post_init__(self) -> None:
        _check(self)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        if not 0 < self.alpha < math.inf:
            yield f"expected an alpha above 0, found {self.alpha}"
        if self.permutations < 1:
            yield f"expected at least one permutation of each pair, found {self.permutations}"


def _check(options: HexOptions | MaxEntropyOptions) -> None:
    if problems := list(options.problems()):
        raise ValueError("; ".join(problems))
