"""The config of HEX; nothing heavy is imported here, for the help pages' sake."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbag.training.config import TrainConfig, own_name
from unbag.training.options import HexOptions

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement


@dataclass(frozen=True, kw_only=True)
class HexConfig(TrainConfig, HexOptions):
    """The options of HEX, and those of every recipe."""

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        yield from TrainConfig.problems(self)
        yield from HexOptions.problems(self)

    def plain(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().plain() | {"embeddings": own_name(self.embeddings) if self.embeddings else None}

    def files(self) -> list[Path]:
        """Return the files of pairs, and that of word vectors."""
        vectors = Path(self.embeddings or "")
        return [*super().files(), *([vectors] if vectors.is_file() else [])]

    def requirements(self) -> "list[Requirement]":
        """Return what training reads from elsewhere: model and corpora, and g's embeddings."""
        from unbag.challenge_sets import requirements

        return [*super().requirements(), *([requirements.embeddings(self.embeddings)] if self.embeddings else [])]
