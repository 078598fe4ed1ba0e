"""What the objectives are told beyond the network; nothing heavy is imported here, for the help pages' sake."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

_HEX: Final = "HEX"
_MAX_ENTROPY: Final = "Max-entropy"


def _option(help: str, panel: str, default: Any) -> Any:
    return field(default=default, metadata={"help": help, "panel": panel})


@dataclass(frozen=True, kw_only=True)
class HexOptions:
    """What the HEX paper leaves open.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    # As wide as what it reads, W^φ is square: g can hold all there is in the mean.
    width: int | None = _option("Width of the superficial branch g (default: that of the embeddings).", _HEX, None)
    unscaled: bool = _option("Leave g as it is, not scaled to a root mean square of 1 for each pair.", _HEX, False)
    warm_start: int = _option(
        "Steps of plain cross-entropy first; 0 for a model that was fine-tuned before.", _HEX, 500
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

    alpha: float = _option("α, the weight of the permuted pairs' entropy.", _MAX_ENTROPY, 1.0)
    permutations: int = _option("n, the permutations of each pair, others in each epoch.", _MAX_ENTROPY, 1)

    def __post_init__(self) -> None:
        _check(self)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        if not 0 < self.alpha < math.inf:
            yield f"expected an alpha above 0, found {self.alpha}"
        if self.permutations < 1:
            yield f"expected at least one permutation of each pair, found {self.permutations}"


def _check(options: HexOptions | MaxEntropyOptions) -> None:
    if found := list(options.problems()):
        raise ValueError("; ".join(found))
