"""The config of training on a rearranged corpus; nothing heavy is imported here, for the help pages' sake."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.training.config import TrainConfig, option, own_name
from unbag.training.hex_config import HexConfig
from unbag.training.protocol_config import ProtocolConfig

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement

_PANELS: Final = {each.name: each.metadata["panel"] for each in fields(TrainConfig)}


@dataclass(frozen=True, kw_only=True)
class RearrangedConfig(ProtocolConfig, HexConfig):
    """How each model is trained, and what on.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    corpus: tuple[str, ...] = option(
        "The corpus that is rearranged; one with training, validation and test data.",
        _PANELS["corpus"],
        default=("snli",),
    )
    examples: int | None = option(
        "Draw this many training pairs of each arrangement instead of taking all.", _PANELS["examples"], default=None
    )
    test_examples: int | None = option(
        "Likewise of each arrangement's test pairs.", _PANELS["validation_examples"], default=None
    )
    rearranged_by: str = option(
        "Embeddings of the model of words that rearranges, as resnli's option embeddings (default: resnli's own).",
        _PANELS["corpus"],
        default="",
    )
    seed: int = option(
        "Decides head, what is drawn, order and dropout; the arrangement does not depend on it.",
        _PANELS["seed"],
        default=TrainConfig.seed,
    )
    out: Path = option("Folder for answers and scores; rearranged.json appears at the end.", _PANELS["out"])
    keep_models: bool = option("Keep each model, not only its answers.", _PANELS["out"], default=False)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        yield from super().problems()
        fitting = [
            name
            for name, corpus in CORPORA.items()
            if corpus.train and corpus.validation and corpus.test and len(corpus.labels) == len(LABELS)
        ]
        if len(self.corpus) != 1 or self.corpus[0] not in fitting:
            yield f"expected one corpus of {', '.join(fitting)}, found {' '.join(self.corpus) or 'none'}"
        if self.test_examples is not None and self.test_examples < 1:
            yield f"expected at least 1, found test_examples = {self.test_examples}"

    def for_recipe(self, config: type[TrainConfig], **changed: Any) -> TrainConfig:
        """Return the config of one recipe for one of the models."""
        names = {each.name for each in fields(config) if each.init}
        return config(**{name: getattr(self, name) for name in names} | changed)

    def plain(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().plain() | {"rearranged_by": own_name(self.rearranged_by) if self.rearranged_by else ""}

    def rearrangement(self) -> dict[str, Any]:
        """Return the options of the set `resnli`, which rearranges."""
        return {"embeddings": self.rearranged_by} if self.rearranged_by else {}

    def requirements(self) -> "list[Requirement]":
        """Return what training reads from elsewhere, and what the rearranged corpus is made of."""
        from unbag.challenge_sets.request import Request
        from unbag.evaluation import prefetch

        return [*super().requirements(), *prefetch.of_run([Request("resnli", self.corpus[0], self.rearrangement())])]
