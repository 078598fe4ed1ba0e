"""The recipes in `trainers/`.

A file has one, `RECIPE`, or several, `RECIPES`. Nothing heavy is imported until one runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from unbag import scripts
from unbag.training.config import TrainConfig

if TYPE_CHECKING:
    from pathlib import Path

    from unbag.inference.loading import Classifier
    from unbag.training.bias import PairFeatures
    from unbag.training.data import TrainingData
    from unbag.training.objective import Objective


MakeObjective = Callable[["Classifier", Any, "TrainingData"], "Objective"]
"""Makes the objective from the network to train, the recipe's own config, and what it will be trained on."""


MakePairFeatures = Callable[[Any, "TrainingData", "Mapping[str, Path]"], "PairFeatures | None"]
"""Makes what tells more of the training pairs than their labels, from the recipe's own config, the pairs as they were
read, and the folders of the models that were trained first (`TrainConfig.prerequisite_runs`); None where the config
asks none."""


class Protocol(NamedTuple):
    """How a recipe is run that does more than train once for each seed and evaluate (`seeds.run_seeds`).

    Attributes:
        run: takes the recipe, its config, the seeds, and by name `on_step` and `on_progress` as `seeds.run_seeds`;
            returns the record, and leaves it in `config.output_dir`.
        view: returns what a terminal shows of that record.
    """

    run: Callable[..., dict[str, Any]]
    view: Callable[[dict[str, Any]], Any]


def cross_entropy(classifier: "Classifier", config: TrainConfig, data: "TrainingData") -> "Objective":
    """Return what ordinary fine-tuning minimises."""
    from unbag.training.cross_entropy import CrossEntropy

    return CrossEntropy(classifier.network)


@dataclass(frozen=True)
class Recipe:
    """A way to train.

    Attributes:
        name: what `unbag train` calls it: the name of its file.
        summary: its page of help.
        objective: see `MakeObjective`.
        config: the class of its config; a field that is no argument of it, or not declared by
            `config.option`, is no option of the command.
        protocol: see `Protocol`; None for what all other recipes do.
        about: what it does, in a sentence or two for the card of a model it made, and the paper it is from.
        pair_features: see `MakePairFeatures`; None where labels are all there is.
    """

    name: str
    summary: str
    objective: MakeObjective = cross_entropy
    config: type[TrainConfig] = TrainConfig
    protocol: Protocol | None = None
    about: str = ""
    pair_features: MakePairFeatures | None = None


PLAIN: Final = Recipe("finetune", "Fine-tune a sequence classifier on NLI pairs with cross-entropy.")
"""What trains the models that other recipes start with."""


ROOM: Final = "trainers"


@cache
def recipes() -> dict[str, Recipe]:
    """Return every recipe by name."""
    found: dict[str, Recipe] = {}
    for file in scripts.files(ROOM):
        module = scripts.file(ROOM, file)
        found |= {recipe.name: recipe for recipe in getattr(module, "RECIPES", None) or (module.RECIPE,)}
    return found


def find_recipe(name: str) -> Recipe:
    """Return one recipe.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in recipes():
        raise ValueError(f"expected a recipe of {', '.join(recipes())}, got {name!r}")
    return recipes()[name]
