"""The options of the objectives; nothing heavy is imported here, for the help pages' sake."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from unbag.training.config import option
from unbag.utils.options import require

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
    # The authors name no number. What is projected should be a classifier already, but most steps should be HEX's.
    warm_start: float = option(
        "Share of the steps that are plain cross-entropy, first; 0 for a model that was fine-tuned before.",
        _HEX,
        default=0.2,
    )
    embeddings: str | None = option(
        "Fixed embeddings for g: a file of word vectors, a model of the Hub or a folder, a spaCy pipeline (default: a "
        "copy of the model's input embeddings as they are before training).",
        _HEX,
        default=None,
    )
    superficial_weight: float = option(
        "λ of the authors' second form, the cross-entropy of F_L + λ F_G: above 0, g learns to predict the label.",
        _HEX,
        default=0.0,
    )

    def __post_init__(self) -> None:
        _check(self)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        if self.width is not None and self.width < 1:
            yield f"expected a width of at least 1, found {self.width}"
        if not 0 <= self.warm_start < 1:
            yield (
                f"expected a warm start of at least 0 and less than 1, a share of the steps, found {self.warm_start} "
                "(earlier versions counted it in steps)"
            )
        if not 0 <= self.superficial_weight < math.inf:
            yield f"expected a superficial weight of at least 0, found {self.superficial_weight}"


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
    require(type(options), vars(options))
    if problems := list(options.problems()):
        raise ValueError("; ".join(problems))
