"""Configs of the recipes: debiasing, HEX, cross-validation on SICCK, `mend`, and training on a rearranged corpus.

This module imports no heavy package, so that the help pages stay fast. The defaults of `MendConfig` are the only place
with the numbers of the recommended recipe `mend`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.training.config import (
    Count,
    Fraction,
    Limit,
    NotNegative,
    Option,
    PathText,
    Positive,
    TrainConfig,
    option,
)

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement

WORDS: Final = ("lexical", "hypothesis", "both")  # as in `unbag.training.bias`, too heavy for a help page
SELF: Final = "self"
"""Name of the weak-learner bias: the same model, trained on a few pairs."""


@dataclass(frozen=True, kw_only=True)
class DebiasConfig(TrainConfig):
    """Training options of recipes with a biased model."""

    # A folder holds a model, or its predictions on the training pairs.
    bias: PathText = option("Biased model: lexical, hypothesis, both, self or a model folder.", "lexical", panel="Bias")
    # The factor scales log-probabilities in a product of experts and is the exponent of weights elsewhere.
    bias_strength: NotNegative = option("Strength of the biased model in the loss.", 1.0)
    anneal: NotNegative | None = option(
        "Final bias strength, reached linearly from --bias-strength (default: constant).", None
    )
    weak_examples: Count = option("Number of training pairs for --bias self.", 2_000)
    weak_epochs: Count = option("Number of training epochs for --bias self.", 5)
    balance: Fraction = option("Balance of groups by lexically misleading score: 0 (off) to 1 (equal weights).", 0.0)
    alpha: NotNegative = option("Weight of the entropy on permuted pairs; 0 disables it.", 0.0)
    permutations: Count = option("Number of permutations per pair for --alpha.", 1)

    @property
    def permuted_copies(self) -> int:
        """Number of permuted copies of each training pair."""
        return self.permutations if self.alpha else 0

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.bias not in (*WORDS, SELF) and not Path(self.bias).is_dir():
            yield f"bias: expected {', '.join((*WORDS, SELF))} or a folder, got {self.bias!r}"
        if self.hypothesis_only:
            yield (
                "hypothesis_only: not supported by debiasing, because a hypothesis-only model learns only the bias; "
                "use `unbag train finetune`"
            )
        if self.bias == SELF and self.max_examples is not None and self.weak_examples >= self.max_examples:
            yield f"weak_examples: expected fewer than max_examples = {self.max_examples}, got {self.weak_examples}"
        if self.augment and self.reads_predictions:
            yield (
                "augment: expected a biased model, got stored predictions, which lack the added pairs; pass a "
                "model folder as the bias"
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
class LearnedMixinConfig(DebiasConfig):
    """Training options of the learned-mixin recipe."""

    # The default for MNLI in the code of Clark et al. 2019 (`train_debiased_mnli.py`).
    entropy_penalty: NotNegative = option(
        "Weight of the entropy penalty on the scaled biased model.", 0.03, panel="Bias"
    )


@dataclass(frozen=True, kw_only=True)
class ReweightingConfig(DebiasConfig):
    """Training options of recipes that reweight examples by the predictions of a biased model."""

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.balance:
            yield "balance: not supported, because this recipe already weights pairs by the bias; omit balance"


@dataclass(frozen=True, kw_only=True)
class FocalConfig(ReweightingConfig):
    """Training options of the debiased focal loss."""

    # The default in the authors' code.
    gamma: NotNegative = option("Exponent γ of the focal weights.", 2.0, panel="Bias")


@dataclass(frozen=True, kw_only=True)
class ConfidenceConfig(DebiasConfig):
    """Training options of confidence regularization."""

    teacher: PathText | None = option(
        "Folder of the teacher classifier (default: the model after plain fine-tuning).", None, panel="Bias"
    )

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.teacher is not None and not (Path(self.teacher) / "config.json").is_file():
            yield f"teacher: expected a model folder with config.json, got {self.teacher!r}"

    def build_prerequisite_configs(self, work_dir: Path) -> dict[str, TrainConfig]:
        """Build the configs of models that must be trained first, by purpose, such as `teacher`."""
        return super().build_prerequisite_configs(work_dir) | (
            {} if self.teacher else {"teacher": self._plain(work_dir / "teacher")}
        )


@dataclass(frozen=True, kw_only=True)
class SelfDebiasingConfig(DebiasConfig):
    """Training options of self-debiasing: a product of experts with a weak learner as the biased model."""

    bias: PathText = SELF
    # Utama et al. 2020b anneal from 1 to 0.8 (`BiasProductByTeacherAnnealed` in their code).
    anneal: NotNegative | None = 0.8


@dataclass(frozen=True, kw_only=True)
class GroupBalancedConfig(DebiasConfig):
    """Training options of the group-balanced recipe. `balance` determines how much the group weights differ from 1."""

    FIXED: ClassVar[frozenset[str]] = frozenset({"bias_strength", "anneal"})

    bias_strength: NotNegative = 0.0
    balance: Fraction = 1.0


@dataclass(frozen=True, kw_only=True)
class HexConfig(TrainConfig):
    """Training options of the HEX recipe, most of which the HEX paper does not specify."""

    # With g as wide as its input, W^φ is square and g can represent all of the mean embedding.
    width: Count | None = option("Width of the superficial branch g (default: the embedding width).", None, panel="HEX")
    unscaled: bool = option("Do not scale each output of the superficial branch g to a root mean square of 1.", False)
    # The authors give no number. The projection presumes a trained classifier, yet HEX needs most of the steps.
    warm_start: Annotated[
        float, Limit("a fraction of the steps, from 0 to less than 1", lambda value: 0 <= value < 1)
    ] = option("Fraction of initial steps with plain cross-entropy (0 if already fine-tuned).", 0.2)
    # A copy, taken before training: g must not follow the encoder.
    embeddings: PathText | None = option(
        "Word vectors for branch g: path, Hub id or pipeline (default: from the model).", None
    )
    superficial_weight: NotNegative = option(
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


@dataclass(frozen=True, kw_only=True)
class MaxEntropyConfig(TrainConfig):
    """Training options of the max-entropy recipe."""

    alpha: Positive = option("Weight α of the entropy on permuted pairs.", 1.0, panel="Max-entropy")
    permutations: Count = option("Number n of permutations per pair and epoch.", 1)

    @property
    def permuted_copies(self) -> int:
        """Number of permuted copies of each training pair."""
        return self.permutations


_MEND_BIAS: Final = "lexical"


@dataclass(frozen=True, kw_only=True)
class MendConfig(DebiasConfig):
    """Training options of the `mend` recipe."""

    bias: PathText = _MEND_BIAS
    bias_strength: NotNegative = 0.0
    alpha: NotNegative = 1.0
    augment: tuple[str, ...] = ("soswap", "addamod", "substituted")
    augment_pairs: Count = 1_500
    num_train_epochs: Count = 1
    learning_rate: Positive = 1e-4
    distill: Fraction = option(
        "Weight of the original model's predictions as training targets, from 0 to 1.", 0.0, panel="Training"
    )
    # The rule and the grid are in `training.interpolation`.
    interpolate: bool = option("Interpolate old and new weights so that accuracy drops by at most 1 point.", False)

    sets: tuple[str, ...] = option(
        "Sets to evaluate on their default samples before and after (default: all).",
        (),
        panel="Before and after",
        is_bookkeeping=True,
    )
    # A folder may hold the files of both sets, at any depth.
    official_file: Path | None = option(
        "Original data file of breaking_nli or sicck, or its folder (default: download).", None, is_bookkeeping=True
    )
    no_evaluate: bool = option("Skip the evaluation before and after training.", False, is_bookkeeping=True)

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.bias != _MEND_BIAS and not self.uses_bias:
            yield (
                f"bias_strength: expected a number above 0 for bias = {self.bias!r}, got 0; set bias_strength, or omit "
                "bias"
            )
        if self.distill and self.word_order != "natural":
            yield (
                f"word_order: expected natural with distill, got {self.word_order}, because the original model "
                "predicts pairs in natural order; omit distill"
            )
        for name, given in (("sets", ", ".join(self.sets)), ("official_file", self.official_file)):
            if given and self.no_evaluate:
                yield f"no_evaluate: cannot be combined with {name} ({given}); omit {name} or no_evaluate"

    @property
    def uses_bias(self) -> bool:
        """Whether the loss uses a biased model."""
        return bool(self.bias_strength or self.anneal or self.balance)


PROTOCOL_FIXED: Final = frozenset(
    {
        *("validation", "language", "columns", "labels", "not_entailment_as", "word_order", "hypothesis_only"),
        *("augment", "augment_pairs", "augment_words", "augment_batches"),
        "report_to",  # the folder of a model is deleted after prediction
        "resume_from_checkpoint",  # each model resumes from its own checkpoint
        "push_checkpoints",
    }
)
"""Fields that a custom `recipes.TrainingProtocol`, which trains several models, determines."""


SEEDS: Final = (12345, 34567, 56789, 98765, 76543)
"""Training seeds in the authors' notebook."""
FoldProtocol = Literal["authors", "spread", "whole_seeds"]
"""Assignment of pairs to folds, and selection of training pairs.

`authors`: contiguous folds of the authors' file. Training pairs keep the direction, forward and reverse entailment
are both labelled entailment, and a random tenth is held out. With `spread` and `whole_seeds`, the pairs of each
seed are distributed over all folds, or stay in one fold. Training uses both directions of each pair, each with its own
label. All three protocols predict both directions of the pairs in a fold.
"""


@dataclass(frozen=True, kw_only=True)
class KFoldConfig(TrainConfig):
    """Training options of k-fold cross-validation."""

    reads_corpora: ClassVar[bool] = False
    # The held-out pairs are evaluated once, after the last step, and select no weights.
    FIXED: ClassVar[frozenset[str]] = PROTOCOL_FIXED | {
        *("corpus", "max_examples", "max_validation_examples", "eval_steps", "early_stopping_patience")
    }

    corpus: tuple[str, ...] = ("sicck",)
    eval_steps: Count | None = sys.maxsize
    model: PathText = option("Hub id or folder of an NLI classifier to fine-tune in each fold.")
    official_file: Path | None = option(
        "Local copy of SICCK-Ground-Truth-apr24.csv (default: download).", None, panel="Data", is_bookkeeping=True
    )
    folds: Annotated[int, Limit("at least 2", lambda value: value >= 2)] = option("Number of folds.", 5)
    protocol: FoldProtocol = option("Assignment of pairs to folds: authors, spread or whole_seeds.", "authors")
    num_train_epochs: Count = option("Number of training epochs; the paper uses 4 or 8.", 4)
    batch_size: Count = option(
        "Total batch size, over all processes; the paper uses 8, 16 or 32.", TrainConfig.batch_size
    )
    # As in transformers' Trainer, which the authors use.
    warmup_ratio: Fraction = 0.0
    output_dir: Path = option("Folder for predictions and scores; kfold.json contains the scores.", is_bookkeeping=True)
    keep_models: bool = option(
        "Keep the trained model of each fold.", False, panel="Checkpoints and logging", is_bookkeeping=True
    )

    @classmethod
    def list_options(cls) -> list[Option]:
        """List the options of the command. Its option --seeds lists all seeds (`kfold.cross_validate`)."""
        return [each for each in super().list_options() if each.name != "seed"]


@dataclass(frozen=True, kw_only=True)
class RearrangedConfig(HexConfig):
    """Training options for experiments on a rearranged corpus."""

    FIXED: ClassVar[frozenset[str]] = PROTOCOL_FIXED

    corpus: tuple[str, ...] = option(
        "Corpus to rearrange, with training, validation and test splits.", TrainConfig.corpus
    )
    max_examples: Count | None = option("Maximum number of training pairs per corpus version (default: all).", None)
    test_examples: Count | None = option(
        "Maximum number of test pairs per corpus version (default: all).", None, panel="Data"
    )
    rearranged_by: PathText = option("Embeddings for rearranging the corpus (default: as in the set resnli).", "")
    seed: int = option("Random seed for training (head, sampling, data order, dropout).", TrainConfig.seed)
    output_dir: Path = option(
        "Folder for predictions and scores; rearranged.json contains the scores.", is_bookkeeping=True
    )
    keep_models: bool = option("Keep all trained models.", False, panel="Checkpoints and logging", is_bookkeeping=True)

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        fitting = [
            name
            for name, corpus in CORPORA.items()
            if corpus.train and corpus.validation and corpus.test and len(corpus.labels) == len(LABELS)
        ]
        if len(self.corpus) != 1 or self.corpus[0] not in fitting:
            yield f"corpus: expected exactly one of {', '.join(fitting)}, got {' '.join(self.corpus) or 'none'}"

    def build_rearrangement_options(self) -> dict[str, Any]:
        """Build the options of the challenge set `resnli`, which rearranges the corpus."""
        return {"embeddings": self.rearranged_by} if self.rearranged_by else {}

    def list_requirements(self) -> "list[Requirement]":
        """List the downloads required for training and rearrangement."""
        from unbag.challenge_sets.request import SetRequest
        from unbag.evaluation import prefetch

        return [
            *super().list_requirements(),
            *prefetch.list_run_requirements([SetRequest("resnli", self.corpus[0], self.build_rearrangement_options())]),
        ]
