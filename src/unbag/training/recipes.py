"""Training recipes, which are defined in the files of `trainers/`.

A file defines `RECIPE` or a tuple `RECIPES`. Heavy packages are imported only when a recipe runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from unbag import scripts
from unbag.training.config import TrainConfig

if TYPE_CHECKING:
    from unbag.training.trainer import PairTrainer


def defer(reference: str) -> Callable[..., Any]:
    """Build a function that imports another one, `module:name`, at its first call, because its module needs PyTorch."""
    return lambda *arguments, **options: resolve_name(reference)(*arguments, **options)


class TrainingProtocol(NamedTuple):
    """Custom training procedure of a recipe, used instead of the default `seeds.run_seeds`."""

    # Function of the recipe, its config, the seeds, and the keyword arguments `on_step` and `progress_callback` of
    # `seeds.run_seeds`. It writes the record to `config.output_dir` and returns it.
    run: Callable[..., dict[str, Any]]
    view: Callable[[dict[str, Any]], Any]  # builds the terminal's view of the record
    has_one_model: bool = False  # whether it trains one model, in `config.output_dir`, that can be published


@dataclass(frozen=True)
class Recipe:
    """Training recipe: a subclass of `transformers.Trainer` with its options and documentation."""

    name: str  # `unbag train NAME`
    summary: str  # text of its help page
    # Text instead of the class, because importing the class imports PyTorch, which help pages do not need.
    trainer: str = "unbag.training.trainer:PairTrainer"
    config: type[TrainConfig] = TrainConfig
    protocol: TrainingProtocol | None = None  # None for one run per seed
    about: str = ""  # one or two sentences for the card of a trained model, with the paper

    def load_trainer(self) -> "type[PairTrainer]":
        """Import the trainer class."""
        trainer: type[PairTrainer] = resolve_name(self.trainer)
        return trainer


PLAIN: Final = Recipe("finetune", "Fine-tune a sequence classifier on NLI pairs with cross-entropy.")
"""Recipe for the models that other recipes train first."""


@cache
def load_recipes() -> dict[str, Recipe]:
    """Load all recipes, by name."""
    by_name: dict[str, Recipe] = {}
    for file in scripts.list_script_files("trainers"):
        module = scripts.import_script_file("trainers", file)
        by_name |= {recipe.name: recipe for recipe in getattr(module, "RECIPES", None) or (module.RECIPE,)}
    return by_name


def find_recipe(name: str) -> Recipe:
    """Find a recipe by name. Raises a `ValueError` if there is none."""
    if name not in load_recipes():
        raise ValueError(f"expected one of the recipes {', '.join(load_recipes())}, got {name!r}")
    return load_recipes()[name]
