"""The config of `unbag train mend`: the numbers of the recommended recipe are its defaults, and nowhere else."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from unbag.training.config import TrainConfig, option
from unbag.training.debias_options import DebiasConfig

_BEFORE_AND_AFTER: Final = "Before and after"
_BIAS: Final = "lexical"
_AFTERWARDS: Final = frozenset({"sets", "file", "no_evaluate"})  # the weights do not depend on them
_OF_TRAINING: Final = TrainConfig.__dataclass_fields__
_OF_BIAS: Final = DebiasConfig.__dataclass_fields__


def _default(name: str, value: Any) -> Any:
    """Declare an option as other recipes have it, with a default of its own."""
    metadata = (_OF_BIAS.get(name) or _OF_TRAINING[name]).metadata
    return option(metadata["help"], metadata["panel"], default=value)


@dataclass(frozen=True, kw_only=True)
class MendConfig(DebiasConfig):
    """The options of mend, and those of every recipe."""

    bias: str = _default("bias", _BIAS)
    bias_strength: float = _default("bias_strength", 0.0)
    alpha: float = _default("alpha", 1.0)
    augment: tuple[str, ...] = _default("augment", ("soswap", "addamod", "substituted"))
    augment_pairs: int = _default("augment_pairs", 1_500)
    epochs: int = _default("epochs", 1)
    learning_rate: float = _default("learning_rate", 1e-4)

    sets: tuple[str, ...] = option(
        "Challenge sets to evaluate the model on, before and after (default: a sample of each).",
        _BEFORE_AND_AFTER,
        default=(),
    )
    file: Path | None = option(
        "The authors' file of breaking_nli or sicck, or a folder with both somewhere in it; downloaded else.",
        _BEFORE_AND_AFTER,
        default=None,
    )
    no_evaluate: bool = option("Leave the evaluation and the comparison out.", _BEFORE_AND_AFTER, default=False)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().problems()
        if self.bias != _BIAS and not self.asks_bias:
            yield f"a bias of strength 0 changes nothing: expected bias_strength above 0 for {self.bias!r}, found 0"
        if self.sets and self.no_evaluate:
            yield f"no_evaluate leaves out the sets that are named: {', '.join(self.sets)}"
        if self.file and self.no_evaluate:
            yield f"no_evaluate leaves out the sets of the file {self.file}"

    @property
    def asks_bias(self) -> bool:
        """Whether a biased model is asked anything."""
        return bool(self.bias_strength or self.anneal or self.balance)

    def first(self, work: Path) -> dict[str, TrainConfig]:
        """Return the plain fine-tunings that come first, by what their models are for."""
        return super().first(work) if self.asks_bias else {}

    def deciding(self) -> dict[str, Any]:
        """Return the fields that decide the weights, as JSON holds them."""
        return {name: value for name, value in super().deciding().items() if name not in _AFTERWARDS}
