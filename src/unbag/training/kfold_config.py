"""The config of cross-validation on SICCK; nothing heavy is imported here, for the help pages' sake."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from unbag.training.config import TrainConfig, option
from unbag.training.protocol_config import ProtocolConfig

_PANELS: Final = {each.name: each.metadata["panel"] for each in fields(TrainConfig)}
SEEDS: Final = (12345, 34567, 56789, 98765, 76543)
"""The authors' training seeds."""
Protocol = Literal["authors", "spread", "whole_seeds"]
"""Which pairs a fold has, and what is learnt of the others. `authors`: contiguous folds of the authors' file; pairs as
they are, forward and reverse entailment both as entailment, but for a random tenth that is held out. `spread` and
`whole_seeds`, ours: each seed's pairs over all folds, or in one; both directions of each pair, each with its own label.
All three predict both directions of a fold's pairs."""
_BOOKKEEPING: Final = ("file", "keep_models")  # where things lie, or stay, decides nothing


@dataclass(frozen=True, kw_only=True)
class KFoldConfig(ProtocolConfig):
    """How each fold's model is trained, and which folds there are.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    reads_corpora: ClassVar[bool] = False

    corpus: tuple[str, ...] = field(init=False, default=("sicck",))
    examples: None = field(init=False, default=None)
    validation_examples: None = field(init=False, default=None)
    # What is held out is looked at once, at the end, and chooses nothing.
    evaluate_every: int = field(init=False, default=sys.maxsize)
    patience: None = field(init=False, default=None)

    model: str = option("Hub id or folder of an NLI classifier, which each fold trains further.", _PANELS["model"])
    file: Path | None = option(
        "Your copy of the authors' SICCK-Ground-Truth-apr24.csv (default: downloaded).",
        _PANELS["corpus"],
        default=None,
    )
    folds: int = option("Each is predicted by a model trained on the others.", _PANELS["corpus"], default=5)
    protocol: Protocol = option(
        "authors: contiguous folds, one direction learnt; spread: each seed's pairs in all folds, both directions "
        "learnt; whole_seeds: a seed's pairs in one fold, so that training meets none of them.",
        _PANELS["corpus"],
        default="authors",
    )
    epochs: int = option("Passes over the pairs of the other folds; 4 or 8 in the paper.", _PANELS["epochs"], default=4)
    batch_size: int = option(
        "Pairs a step learns from, over all processes; 8, 16 or 32 in the paper.", _PANELS["batch_size"], default=32
    )
    warmup: float = option(
        "Share of the steps in which it rises; none by default, as in transformers' Trainer.",
        _PANELS["warmup"],
        default=0.0,
    )
    seed: int = TrainConfig.seed  # of one fold's run: which there are is told apart (`kfold.cross_validate`)
    out: Path = option("Folder for predictions and scores; kfold.json appears at the end.", _PANELS["out"])
    keep_models: bool = option("Keep each fold's model, not only its predictions.", _PANELS["out"], default=False)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        yield from TrainConfig.problems(self)
        if self.folds < 2:
            yield f"expected at least 2 folds, found {self.folds}"

    def deciding(self) -> dict[str, Any]:
        """Return the fields that decide the predictions, as JSON holds them; the rest is bookkeeping."""
        return {name: value for name, value in super().deciding().items() if name not in _BOOKKEEPING}
