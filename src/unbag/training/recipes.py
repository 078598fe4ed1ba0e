"""Registry of the recipes in `trainers/`, and the options that several of them share.

This module imports no heavy package, so that the help pages stay fast.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from unbag import scripts
from unbag.training.config import PathText, TrainConfig, option
from unbag.utils.options import Fraction, NonNegativeFloat, OptionError, PositiveInt, ProperFraction

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement

WORDS: Final = ("lexical", "hypothesis", "both")
"""Biased models that are a bag of words: of both sentences, of the hypothesis, and the product of these two."""
SELF: Final = "self"
"""Name of the weak-learner bias: the same model, trained on a few pairs."""
PROTOCOL_FIXED: Final = frozenset(
    {
        *("validation", "language", "columns", "labels", "not_entailment_as", "word_order", "hypothesis_only"),
        *("augment", "augment_pairs", "augment_words", "augment_batches"),
        "report_to",  # the folder of a model is deleted after prediction
        "resume_from_checkpoint",  # each model resumes from its own checkpoint
        "push_checkpoints",
    }
)
"""Fields that a recipe that trains several models determines."""


@cache
def load_recipes() -> dict[str, type[TrainConfig]]:
    """Load all recipes, by name. Each file in `trainers/` lists its own in `RECIPES`."""
    files = scripts.list_script_files("trainers")
    return {recipe.recipe: recipe for file in files for recipe in scripts.import_script_file("trainers", file).RECIPES}


def find_recipe(name: str) -> type[TrainConfig]:
    """Find a recipe by name. Raises an `OptionError` if there is none."""
    if name not in load_recipes():
        raise OptionError(f"expected one of the recipes {', '.join(load_recipes())}, got {name!r}")
    return load_recipes()[name]


@dataclass(frozen=True, kw_only=True)
class DebiasConfig(TrainConfig):
    """Training options of recipes with a biased model."""

    trainer = "unbag.training.losses:DebiasedTrainer"

    # A folder holds a model, or its predictions on the training pairs.
    bias: PathText = option("Biased model: lexical, hypothesis, both, self or a model folder.", "lexical", panel="Bias")
    # The factor scales log-probabilities in a product of experts and is the exponent of weights elsewhere.
    bias_strength: NonNegativeFloat = option("Strength of the biased model in the loss.", 1.0)
    anneal: NonNegativeFloat | None = option(
        "Final bias strength, reached linearly from --bias-strength (default: constant).", None
    )
    weak_examples: PositiveInt = option("Number of training pairs for --bias self.", 2_000)
    weak_epochs: PositiveInt = option("Number of training epochs for --bias self.", 5)
    balance: Fraction = option("Balance of groups by lexically misleading score: 0 (off) to 1 (equal weights).", 0.0)
    alpha: NonNegativeFloat = option("Weight of the entropy on permuted pairs; 0 disables it.", 0.0)
    permutations: PositiveInt = option("Number of permutations per pair for --alpha.", 1)

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.bias not in (*WORDS, SELF) and not Path(self.bias).is_dir():
            yield f"--bias: expected {', '.join((*WORDS, SELF))} or a folder, got {self.bias!r}"
        if self.hypothesis_only:
            yield (
                "--hypothesis-only: not supported by debiasing, because a hypothesis-only model learns only the bias; "
                "use `unbag train finetune`"
            )
        if self.bias == SELF and self.max_examples is not None and self.weak_examples >= self.max_examples:
            yield f"--weak-examples: expected fewer than --max-examples {self.max_examples}, got {self.weak_examples}"
        if self.augment and self.reads_predictions:
            yield (
                "--augment: not supported with stored predictions, which lack the added pairs; pass a model folder to "
                "--bias"
            )

    @property
    def uses_bias(self) -> bool:
        """Whether the loss uses a biased model."""
        return True

    @property
    def reads_predictions(self) -> bool:
        """Whether `bias` is a folder with stored predictions."""
        path = Path(self.bias)
        return self.bias not in (*WORDS, SELF) and path.is_dir() and not (path / "config.json").is_file()

    def build_prerequisite_configs(self, work_dir: Path) -> dict[str, TrainConfig]:
        """Build the configs of models that must be trained first, by purpose, such as `teacher`."""
        if self.bias != SELF or not self.uses_bias:
            return {}
        few = {"max_examples": self.weak_examples, "num_train_epochs": self.weak_epochs}
        unlimited = {"max_steps": None, "early_stopping_patience": None}
        return {"weak": self._plain(work_dir / "weak", **few, **unlimited)}

    def _plain(self, output_dir: Path, **changed: Any) -> TrainConfig:
        """Build the config of a plain fine-tuning of the same model on the same pairs."""
        # Checkpoints and trackers of two runs must not mix.
        own = {"output_dir": output_dir, "resume_from_checkpoint": None, "push_checkpoints": None, "report_to": ()}
        return self.build_recipe_config(TrainConfig, **own | changed)


@dataclass(frozen=True, kw_only=True)
class HexConfig(TrainConfig):
    """Training options of HEX, most of which the HEX paper does not specify."""

    recipe = "hex"
    trainer = "unbag.training.hex:HexTrainer"

    # With g as wide as its input, W^φ is square and g can represent all of the mean embedding.
    width: PositiveInt | None = option(
        "Width of the superficial branch g (default: the embedding width).", None, panel="HEX"
    )
    unscaled: bool = option("Do not scale each output of the superficial branch g to a root mean square of 1.", False)
    # The authors give no number. The projection presumes a trained classifier, yet HEX needs most of the steps.
    warm_start: ProperFraction = option(
        "Fraction of initial steps with plain cross-entropy (0 if already fine-tuned).", 0.2
    )
    # A copy, taken before training: g must not follow the encoder.
    embeddings: PathText | None = option(
        "Word vectors for branch g: path, Hub id or pipeline (default: from the model).", None
    )
    superficial_weight: NonNegativeFloat = option(
        "Weight λ of the superficial branch g in the loss; above 0, g learns the labels.", 0.0
    )

    def list_files(self) -> list[Path]:
        """List the local files that contain pairs or word vectors."""
        vectors = Path(self.embeddings or "")
        return [*super().list_files(), *([vectors] if vectors.is_file() else [])]

    def list_requirements(self) -> "list[Requirement]":
        """List the downloads required for training, also those of the embeddings."""
        from unbag.challenge_sets import requirements

        return [
            *super().list_requirements(),
            *([requirements.build_embeddings_requirement(self.embeddings)] if self.embeddings else []),
        ]
