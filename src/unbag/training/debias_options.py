"""The options of training beside a biased model; nothing heavy is imported here, for the help pages' sake."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from unbag.training.config import TrainConfig, option, own_name

_BIAS: Final = "What the model shall not learn"
WORDS: Final = ("lexical", "hypothesis", "both")  # as in `unbag.training.bias`, too heavy for a help page
SELF: Final = "self"
"""The bias of a weak learner: the model itself, trained on a few of the pairs."""


@dataclass(frozen=True, kw_only=True)
class DebiasConfig(TrainConfig):
    """The options of training beside a biased model, and those of every recipe.

    Raises:
        ValueError: if values are impossible, or have no meaning together; the message names them all.
    """

    bias: str = option(
        "Whose answers: lexical (words of both sentences), hypothesis (its words), both (their product), self (the "
        "model trained on a few pairs), or a FOLDER: of a model, or of its predictions on the training pairs.",
        _BIAS,
        default="lexical",
    )
    bias_strength: float = option(
        "How far it counts: its log-probabilities, or its weights' exponent, times this.", _BIAS, default=1.0
    )
    anneal: float | None = option(
        "The strength at the last step, linearly from --bias-strength (default: the same throughout).",
        _BIAS,
        default=None,
    )
    weak_examples: int = option("For --bias self: how many pairs the weak learner sees.", _BIAS, default=2_000)
    weak_epochs: int = option("For --bias self: in how many passes.", _BIAS, default=5)
    balance: float = option(
        "From 0 to 1: how far pairs whose words mislead weigh as much, in all, as those whose words tell.",
        _BIAS,
        default=0.0,
    )
    alpha: float = option("Weight of the permuted pairs' entropy, as in max-entropy; 0 for none.", _BIAS, default=0.0)
    permutations: int = option("For --alpha: permutations of each pair.", _BIAS, default=1)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible or meaningless: what was expected, and what was found."""
        yield from super().problems()
        if self.bias not in (*WORDS, SELF) and not Path(self.bias).exists():
            yield f"expected a bias of {', '.join((*WORDS, SELF))}, or a folder or file, found {self.bias!r}"
        for name in ("bias_strength", "anneal", "alpha"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                yield f"expected {name} of at least 0, found {value}"
        if not 0 <= self.balance <= 1:
            yield f"expected balance from 0 to 1, found {self.balance}"
        counts = {name: getattr(self, name) for name in ("weak_examples", "weak_epochs", "permutations")}
        yield from (f"expected {name} of at least 1, found {value}" for name, value in counts.items() if value < 1)
        if self.hypothesis_only:
            yield "hypothesis_only leaves a model nothing but what the bias knows: train it by finetune"
        if self.bias == SELF and self.examples is not None and self.weak_examples >= self.examples:
            yield f"expected weak_examples below examples = {self.examples}, found {self.weak_examples}"
        if self.alpha and self.order != "natural":
            yield f"alpha teaches that no order but the natural one says anything: it does not go with {self.order}"
        if self.augment and self.reads_predictions:
            yield "augment makes pairs that no stored prediction is of: name the model itself as the bias"

    @property
    def reads_predictions(self) -> bool:
        """Whether the bias is predictions that were made before."""
        path = Path(self.bias)
        return self.bias not in (*WORDS, SELF) and path.exists() and not (path / "config.json").is_file()

    def plain(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().plain() | {"bias": own_name(self.bias)}

    def first(self, work: Path) -> dict[str, TrainConfig]:
        """Return the plain fine-tunings that come first, by what their models are for.

        Args:
            work: where their folders are.
        """
        if self.bias != SELF:
            return {}
        few = {"examples": self.weak_examples, "epochs": self.weak_epochs, "max_steps": None, "patience": None}
        return {"weak": self._plain(work / "weak", **few)}

    def _plain(self, out: Path, **changed: Any) -> TrainConfig:
        """Return the config of a plain fine-tuning of the same model on the same pairs."""
        names = [each.name for each in fields(TrainConfig)]
        same = {name: getattr(self, name) for name in names if name not in ("resume", "push_checkpoints", "trackers")}
        return TrainConfig(**same | {"out": out} | changed)


@dataclass(frozen=True, kw_only=True)
class LearnedMixinConfig(DebiasConfig):
    """The options of the learned mixin."""

    # The default for MNLI in the code of Clark et al. 2019 (`train_debiased_mnli.py`).
    entropy_penalty: float = option("w, the weight of the mixed bias's entropy.", _BIAS, default=0.03)

    def problems(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().problems()
        if not 0 <= self.entropy_penalty < math.inf:
            yield f"expected entropy_penalty of at least 0, found {self.entropy_penalty}"


@dataclass(frozen=True, kw_only=True)
class ReweightingConfig(DebiasConfig):
    """The options of weights by the bias."""

    def problems(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().problems()
        if self.balance:
            yield "balance weighs pairs by the bias a second time: this recipe's weights are all there are"


@dataclass(frozen=True, kw_only=True)
class FocalConfig(ReweightingConfig):
    """The options of the debiased focal loss."""

    gamma: float = option("γ, the exponent of the weights.", _BIAS, default=2.0)  # of the authors' code

    def problems(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().problems()
        if not 0 <= self.gamma < math.inf:
            yield f"expected gamma of at least 0, found {self.gamma}"


@dataclass(frozen=True, kw_only=True)
class ConfidenceConfig(DebiasConfig):
    """The options of confidence regularisation."""

    teacher: str | None = option(
        "Folder of a classifier to learn from (default: the model, first fine-tuned plainly with the same options).",
        _BIAS,
        default=None,
    )

    def problems(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().problems()
        if self.teacher is not None and not (Path(self.teacher) / "config.json").is_file():
            yield f"expected a teacher's folder with a config.json, found {self.teacher!r}"

    def plain(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().plain() | {"teacher": own_name(self.teacher) if self.teacher else None}

    def first(self, work: Path) -> dict[str, TrainConfig]:
        """Return the plain fine-tunings that come first, by what their models are for."""
        return super().first(work) | ({} if self.teacher else {"teacher": self._plain(work / "teacher")})


@dataclass(frozen=True, kw_only=True)
class SelfDebiasingConfig(DebiasConfig):
    """The options of self-debiasing: those of a product of experts with a weak learner."""

    bias: str = option(DebiasConfig.__dataclass_fields__["bias"].metadata["help"], _BIAS, default=SELF)
    # Utama et al. 2020b anneal from 1 to 0.8 (`BiasProductByTeacherAnnealed` in their code).
    anneal: float | None = option(DebiasConfig.__dataclass_fields__["anneal"].metadata["help"], _BIAS, default=0.8)


@dataclass(frozen=True, kw_only=True)
class GroupBalancedConfig(DebiasConfig):
    """The options of group-balanced weights: there is no strength but `balance`."""

    bias_strength: float = field(init=False, default=0.0)
    anneal: None = field(init=False, default=None)
    balance: float = option(DebiasConfig.__dataclass_fields__["balance"].metadata["help"], _BIAS, default=1.0)
