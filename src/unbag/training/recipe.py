"""What a file in `trainers/` says of itself; nothing heavy is imported until it runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unbag.training.config import TrainConfig

if TYPE_CHECKING:
    from unbag.inference.loading import Classifier
    from unbag.training.data import TrainingData
    from unbag.training.objective import Objective

MakeObjective = Callable[["Classifier", Any, "TrainingData"], "Objective"]
"""Makes the objective from the network to train, the recipe's own config, and what it will be trained on."""


@dataclass(frozen=True)
class Recipe:
    """A way to train.

    Attributes:
        name: what `unbag train` calls it: the name of its file.
        summary: its page of help.
        objective: see `MakeObjective`.
        config: the class of its config.
    """

    name: str
    summary: str
    objective: MakeObjective
    config: type[TrainConfig] = TrainConfig

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run the command of the recipe alone, without `unbag train`; return its exit code."""
        from unbag.cli.training import main

        return main(self, arguments)
