# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Fine-tune a sequence classifier with a biased model, so that it learns more than the bias.

  unbag train product-of-experts --model ORG/MODEL --corpus snli --output-dir runs/a

or without the command:

  python trainers/debias.py product-of-experts --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/debias.py product-of-experts --model ORG/MODEL --output-dir runs/a
  accelerate launch trainers/debias.py product-of-experts --model ORG/MODEL --output-dir runs/a
  hf jobs uv run -s HF_TOKEN trainers/debias.py product-of-experts --model ORG/MODEL --output-dir a --push-results ORG
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from unbag.training.config import PathText, TrainConfig, option
from unbag.training.recipes import SELF, DebiasConfig
from unbag.utils.options import Fraction, NonNegativeFloat

_CLARK = "[Clark et al. 2019](https://aclanthology.org/D19-1418)"
_MAHABADI = "[Mahabadi et al. 2020](https://aclanthology.org/2020.acl-main.769)"
_SELF = "[Utama et al. 2020b](https://aclanthology.org/2020.emnlp-main.613)"
_PRODUCT = "training minimizes the cross-entropy of the product of the model and a biased model"
_BIAS = "The biased model is fixed. By default, it is a bag of words, cross-fitted to the training pairs."
_HELP = """{summary}

  unbag train {command} --model ORG/MODEL --corpus snli --output-dir runs/a

or without the command:

  python trainers/debias.py {command} --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/debias.py {command} --model ORG/MODEL --output-dir runs/a
"""


class _DebiasingRecipe(DebiasConfig):
    """Recipe of this file, whose docstring is the summary of its command."""

    @classmethod
    def build_help(cls) -> str:
        """Build the text of the help page."""
        return _HELP.format(summary=cls.__doc__, command=cls.recipe.replace("_", "-"))


class ProductOfExperts(_DebiasingRecipe):
    """Train a product of experts with a bag of words or another biased model."""

    recipe = "product_of_experts"
    about = (
        f"Product of experts: {_PRODUCT}, so that the model learns only what the biased model does not predict. "
        f"The model predicts without the biased model (Hinton 2002, {_CLARK}, "
        f"[He et al. 2019](https://aclanthology.org/D19-6115), {_MAHABADI}). {_BIAS}"
    )


@dataclass(frozen=True, kw_only=True)
class LearnedMixin(_DebiasingRecipe):
    """Train a product of experts with a learned weight per pair for the biased model."""

    recipe = "learned_mixin"
    trainer = "unbag.training.losses:LearnedMixinTrainer"
    about = (
        f"Learned mixin +H: {_PRODUCT}, raised to a power that is learned for each pair, with an entropy penalty "
        f"on the biased model ({_CLARK}). {_BIAS}"
    )

    # The default for MNLI in the code of Clark et al. 2019 (`train_debiased_mnli.py`).
    entropy_penalty: NonNegativeFloat = option(
        "Weight of the entropy penalty on the scaled biased model.", 0.03, panel="Bias"
    )


@dataclass(frozen=True, kw_only=True)
class Reweighting(_DebiasingRecipe):
    """Weight each pair by the biased model's uncertainty about the gold label."""

    recipe = "reweighting"
    trainer = "unbag.training.losses:ReweightedTrainer"
    about = (
        "Reweighting: the weight of each pair in the cross-entropy is 1 minus the biased model's probability of "
        f"the gold label ({_CLARK}). {_BIAS}"
    )

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.balance:
            yield "--balance: not supported, because this recipe already weights pairs by the bias; omit --balance"


@dataclass(frozen=True, kw_only=True)
class Focal(Reweighting):
    """Weight each pair by a power of the biased model's uncertainty about the gold label."""

    recipe = "focal"
    about = (
        "Debiased focal loss: the weight of each pair in the cross-entropy is a power of 1 minus the biased "
        f"model's probability of the gold label ({_MAHABADI}). {_BIAS}"
    )

    # The default in the authors' code.
    gamma: NonNegativeFloat = option("Exponent γ of the focal weights.", 2.0, panel="Bias")


@dataclass(frozen=True, kw_only=True)
class ConfidenceRegularization(_DebiasingRecipe):
    """Distill a teacher whose predictions are smoothed where the biased model is confident."""

    recipe = "confidence_regularization"
    trainer = "unbag.training.losses:ConfidenceRegularizationTrainer"
    about = (
        "Confidence regularization: the model learns the predictions of a plainly fine-tuned teacher, which are "
        "flatter for pairs on which a biased model is confident about the gold label ([Utama et al. "
        f"2020a](https://aclanthology.org/2020.acl-main.770)). {_BIAS}"
    )

    teacher: PathText | None = option(
        "Folder of the teacher classifier (default: the model after plain fine-tuning).", None, panel="Bias"
    )

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.teacher is not None and not (Path(self.teacher) / "config.json").is_file():
            yield f"--teacher: expected a model folder with config.json, got {self.teacher!r}"

    def build_prerequisite_configs(self, work_dir: Path) -> dict[str, TrainConfig]:
        """Build the configs of models that must be trained first, by purpose, such as `teacher`."""
        return super().build_prerequisite_configs(work_dir) | (
            {} if self.teacher else {"teacher": self._plain(work_dir / "teacher")}
        )


@dataclass(frozen=True, kw_only=True)
class SelfDebiasing(_DebiasingRecipe):
    """Train a product of experts with a weak learner, trained on a few pairs."""

    recipe = "self_debiasing"
    about = (
        f"Self-debiasing: {_PRODUCT}. The biased model is a copy of the model, trained on a few pairs. For these "
        f"pairs, its probabilities are set to uniform. The bias strength decreases during training ({_SELF})."
    )

    bias: PathText = SELF
    # Utama et al. 2020b anneal from 1 to 0.8 (`BiasProductByTeacherAnnealed` in their code).
    anneal: NonNegativeFloat | None = 0.8


@dataclass(frozen=True, kw_only=True)
class GroupBalanced(_DebiasingRecipe):
    """Weight pairs so that all groups, formed by lexically misleading score, have equal total weight."""

    recipe = "group_balanced"
    about = (
        "Group-balanced weights: pairs are grouped by the lexically misleading score of a bag of words, and all "
        "groups have the same total weight (after [Sagawa et al. 2020](https://arxiv.org/abs/1911.08731) and "
        f"[Liu et al. 2021](https://arxiv.org/abs/2107.09044)). {_BIAS}"
    )

    FIXED: ClassVar[frozenset[str]] = frozenset({"bias_strength", "anneal"})

    bias_strength: NonNegativeFloat = 0.0
    balance: Fraction = 1.0


RECIPES = (
    ProductOfExperts,
    LearnedMixin,
    Reweighting,
    Focal,
    ConfidenceRegularization,
    SelfDebiasing,
    GroupBalanced,
)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
