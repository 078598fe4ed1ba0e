"""Configs of the recipes: debiasing, HEX, cross-validation on SICCK, `mend`, and training on a rearranged corpus.

This module imports no heavy package, so that the help pages stay fast. The defaults of `MendConfig` are the only place
with the numbers of the recommended recipe `mend`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.training.config import (
    Count,
    Fraction,
    Limit,
    NotNegative,
    PathText,
    Positive,
    TrainConfig,
    declare_option,
    redeclare_option,
)

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement

_BIAS: Final = "Bias"
_DATA: Final = "Data"
_TRAINING: Final = "Training"
_RUN: Final = "Checkpoints and logging"
WORDS: Final = ("lexical", "hypothesis", "both")  # as in `unbag.training.bias`, too heavy for a help page
SELF: Final = "self"
"""Name of the weak-learner bias: the same model, trained on a few pairs."""


@dataclass(frozen=True, kw_only=True)
class DebiasConfig(TrainConfig):
    """Training options of recipes with a biased model."""

    # A folder holds a model, or its predictions on the training pairs.
    bias: PathText = declare_option(
        "Biased model: lexical, hypothesis, both, self or a model folder.", _BIAS, default="lexical"
    )
    # The factor scales log-probabilities in a product of experts and is the exponent of weights elsewhere.
    bias_strength: NotNegative = declare_option("Strength of the biased model in the loss.", _BIAS, default=1.0)
    anneal: NotNegative | None = declare_option(
        "Final bias strength, reached linearly from --bias-strength (default: constant).", _BIAS, default=None
    )
    weak_examples: Count = declare_option("Number of training pairs for --bias self.", _BIAS, default=2_000)
    weak_epochs: Count = declare_option("Number of training epochs for --bias self.", _BIAS, default=5)
    balance: Fraction = declare_option(
        "Balance of groups by lexically misleading score: 0 (off) to 1 (equal weights).", _BIAS, default=0.0
    )
    alpha: NotNegative = declare_option("Weight of the entropy on permuted pairs; 0 disables it.", _BIAS, default=0.0)
    permutations: Count = declare_option("Number of permutations per pair for --alpha.", _BIAS, default=1)

    def iter_validation_errors(self) -> Iterator[str]:
        """Yield an error message for each invalid option."""
        yield from super().iter_validation_errors()
        if self.bias not in (*WORDS, SELF) and not Path(self.bias).exists():
            yield f"bias: expected one of {', '.join((*WORDS, SELF))}, a folder or a file, got {self.bias!r}"
        if self.hypothesis_only:
            yield (
                "hypothesis_only: not supported by debiasing, because a hypothesis-only model learns only the bias; "
                "use `unbag train finetune`"
            )
        if self.bias == SELF and self.max_examples is not None and self.weak_examples >= self.max_examples:
            yield f"weak_examples: expected fewer than max_examples = {self.max_examples}, got {self.weak_examples}"
        if self.alpha and self.word_order != "natural":
            yield (
                f"word_order: expected natural with alpha, got {self.word_order}, because alpha penalizes other "
                "orders; omit alpha"
            )
        if self.augment and self.reads_predictions:
            yield (
                "augment: expected a biased model, got stored predictions, which lack the added pairs; pass a "
                "model folder as the bias"
            )

    @property
    def reads_predictions(self) -> bool:
        """Whether `bias` is a folder or file with stored predictions."""
        path = Path(self.bias)
        return self.bias not in (*WORDS, SELF) and path.exists() and not (path / "config.json").is_file()

    def build_prerequisite_configs(self, work_dir: Path) -> dict[str, TrainConfig]:
        """Build the configs of models that must be trained first, by purpose, such as `teacher`."""
        if self.bias != SELF:
            return {}
        few = {
            "max_examples": self.weak_examples,
            "num_train_epochs": self.weak_epochs,
            "max_steps": None,
            "early_stopping_patience": None,
        }
        return {"weak": self._plain(work_dir / "weak", **few)}

    def _plain(self, out: Path, **changed: Any) -> TrainConfig:
        """Build the config of a plain fine-tuning of the same model on the same pairs."""
        names = [each.name for each in fields(TrainConfig)]
        same = {
            name: getattr(self, name)
            for name in names
            # These belong to the main run: checkpoints and trackers of two runs must not mix.
            if name not in ("resume_from_checkpoint", "push_checkpoints", "report_to")
        }
        return TrainConfig(**same | {"output_dir": out} | changed)


@dataclass(frozen=True, kw_only=True)
class LearnedMixinConfig(DebiasConfig):
    """Training options of the learned-mixin recipe."""

    # The default for MNLI in the code of Clark et al. 2019 (`train_debiased_mnli.py`).
    entropy_penalty: NotNegative = declare_option(
        "Weight of the entropy penalty on the scaled biased model.", _BIAS, default=0.03
    )


@dataclass(frozen=True, kw_only=True)
class ReweightingConfig(DebiasConfig):
    """Training options of recipes that reweight examples by the predictions of a biased model."""

    def iter_validation_errors(self) -> Iterator[str]:
        """Yield an error message for each invalid option."""
        yield from super().iter_validation_errors()
        if self.balance:
            yield "balance: not supported, because this recipe already weights pairs by the bias; omit balance"


@dataclass(frozen=True, kw_only=True)
class FocalConfig(ReweightingConfig):
    """Training options of the debiased focal loss."""

    # The default in the authors' code.
    gamma: NotNegative = declare_option("Exponent γ of the focal weights.", _BIAS, default=2.0)


@dataclass(frozen=True, kw_only=True)
class ConfidenceConfig(DebiasConfig):
    """Training options of confidence regularization."""

    teacher: PathText | None = declare_option(
        "Folder of the teacher classifier (default: the model after plain fine-tuning).", _BIAS, default=None
    )

    def iter_validation_errors(self) -> Iterator[str]:
        """Yield an error message for each invalid option."""
        yield from super().iter_validation_errors()
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

    bias: PathText = redeclare_option(DebiasConfig, "bias", default=SELF)
    # Utama et al. 2020b anneal from 1 to 0.8 (`BiasProductByTeacherAnnealed` in their code).
    anneal: NotNegative | None = redeclare_option(DebiasConfig, "anneal", default=0.8)


@dataclass(frozen=True, kw_only=True)
class GroupBalancedConfig(DebiasConfig):
    """Training options of the group-balanced recipe. `balance` determines how much the group weights differ from 1."""

    bias_strength: float = field(init=False, default=0.0)
    anneal: None = field(init=False, default=None)
    balance: Fraction = redeclare_option(DebiasConfig, "balance", default=1.0)


_HEX: Final = "HEX"


@dataclass(frozen=True, kw_only=True)
class HexConfig(TrainConfig):
    """Training options of the HEX recipe, most of which the HEX paper does not specify."""

    # With g as wide as its input, W^φ is square and g can represent all of the mean embedding.
    width: Count | None = declare_option(
        "Width of the superficial branch g (default: the embedding width).", _HEX, default=None
    )
    unscaled: bool = declare_option(
        "Do not scale each output of the superficial branch g to a root mean square of 1.", _HEX, default=False
    )
    # The authors give no number. The projection presumes a trained classifier, yet HEX needs most of the steps.
    warm_start: Annotated[
        float, Limit("a fraction of the steps, from 0 to less than 1", lambda value: 0 <= value < 1)
    ] = declare_option(
        "Fraction of initial steps with plain cross-entropy (0 if already fine-tuned).", _HEX, default=0.2
    )
    # A copy, taken before training: g must not follow the encoder.
    embeddings: PathText | None = declare_option(
        "Word vectors for branch g: path, Hub id or pipeline (default: from the model).", _HEX, default=None
    )
    superficial_weight: NotNegative = declare_option(
        "Weight λ of the superficial branch g in the loss; above 0, g learns the labels.", _HEX, default=0.0
    )

    def list_files(self) -> list[Path]:
        """List the local files that contain pairs or word vectors."""
        vectors = Path(self.embeddings or "")
        return [*super().list_files(), *([vectors] if vectors.is_file() else [])]

    def list_requirements(self) -> "list[Requirement]":
        """List the downloads required for training: model, corpora and embeddings."""
        from unbag.challenge_sets import requirements

        return [
            *super().list_requirements(),
            *([requirements.build_embeddings_requirement(self.embeddings)] if self.embeddings else []),
        ]


_MAX_ENTROPY: Final = "Max-entropy"


@dataclass(frozen=True, kw_only=True)
class MaxEntropyConfig(TrainConfig):
    """Training options of the max-entropy recipe."""

    alpha: Positive = declare_option("Weight α of the entropy on permuted pairs.", _MAX_ENTROPY, default=1.0)
    permutations: Count = declare_option("Number n of permutations per pair and epoch.", _MAX_ENTROPY, default=1)


_BEFORE_AND_AFTER: Final = "Before and after"
_MEND_BIAS: Final = "lexical"
_AFTERWARDS: Final = frozenset({"sets", "official_file", "no_evaluate"})  # options without influence on the weights


@dataclass(frozen=True, kw_only=True)
class MendConfig(DebiasConfig):
    """Training options of the `mend` recipe."""

    bias: PathText = redeclare_option(DebiasConfig, "bias", default=_MEND_BIAS)
    bias_strength: NotNegative = redeclare_option(DebiasConfig, "bias_strength", default=0.0)
    alpha: NotNegative = redeclare_option(DebiasConfig, "alpha", default=1.0)
    augment: tuple[str, ...] = redeclare_option(DebiasConfig, "augment", default=("soswap", "addamod", "substituted"))
    augment_pairs: Count = redeclare_option(DebiasConfig, "augment_pairs", default=1_500)
    num_train_epochs: Count = redeclare_option(DebiasConfig, "num_train_epochs", default=1)
    learning_rate: Positive = redeclare_option(DebiasConfig, "learning_rate", default=1e-4)
    distill: Fraction = declare_option(
        "Weight of the original model's predictions as training targets, from 0 to 1.",
        _TRAINING,
        default=0.0,
    )
    # The rule and the grid are in `training.interpolation`.
    interpolate: bool = declare_option(
        "Interpolate old and new weights so that accuracy drops by at most 1 point.",
        _TRAINING,
        default=False,
    )

    sets: tuple[str, ...] = declare_option(
        "Sets to evaluate on their default samples before and after (default: all).", _BEFORE_AND_AFTER, default=()
    )
    # A folder may hold the files of both sets, at any depth.
    official_file: Path | None = declare_option(
        "Original data file of breaking_nli or sicck, or its folder (default: download).",
        _BEFORE_AND_AFTER,
        default=None,
    )
    no_evaluate: bool = declare_option(
        "Skip the evaluation before and after training.", _BEFORE_AND_AFTER, default=False
    )

    def iter_validation_errors(self) -> Iterator[str]:
        """Yield an error message for each invalid option."""
        yield from super().iter_validation_errors()
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
        if self.sets and self.no_evaluate:
            yield f"no_evaluate: cannot be combined with sets ({', '.join(self.sets)}); omit sets or no_evaluate"
        if self.official_file and self.no_evaluate:
            yield (
                f"no_evaluate: cannot be combined with official_file ({self.official_file}); omit official_file or "
                "no_evaluate"
            )

    @property
    def uses_bias(self) -> bool:
        """Whether the loss uses a biased model."""
        return bool(self.bias_strength or self.anneal or self.balance)

    def build_prerequisite_configs(self, work_dir: Path) -> dict[str, TrainConfig]:
        """Build the configs of models that must be trained first. Keys are their purposes, such as `teacher`."""
        return super().build_prerequisite_configs(work_dir) if self.uses_bias else {}

    def select_cache_key_fields(self) -> dict[str, Any]:
        """Select the fields that determine the trained weights, as a JSON object."""
        return {name: value for name, value in super().select_cache_key_fields().items() if name not in _AFTERWARDS}


@dataclass(frozen=True, kw_only=True)
class ProtocolConfig(TrainConfig):
    """Training options of recipes that train several models with a custom `recipes.TrainingProtocol`.

    The protocol fixes the fields that are not constructor arguments. These fields are not options of the command.
    """

    validation: tuple[str, ...] = field(init=False, default=())
    language: Literal["en"] = field(init=False, default="en")
    columns: tuple[str, ...] = field(init=False, default=())
    labels: tuple[str, ...] = field(init=False, default=())
    not_entailment_as: None = field(init=False, default=None)
    word_order: Literal["natural"] = field(init=False, default="natural")
    hypothesis_only: bool = field(init=False, default=False)
    augment: tuple[str, ...] = field(init=False, default=())
    augment_pairs: int = field(init=False, default=TrainConfig.augment_pairs)
    augment_words: Literal["training"] = field(init=False, default="training")
    augment_batches: Literal["random"] = field(init=False, default="random")
    report_to: tuple[str, ...] = field(init=False, default=())  # the folder of a model is deleted after prediction
    resume_from_checkpoint: None = field(init=False, default=None)  # each model resumes from its own checkpoint
    push_checkpoints: None = field(init=False, default=None)


SEEDS: Final = (12345, 34567, 56789, 98765, 76543)
"""Training seeds in the authors' notebook."""
FoldProtocol = Literal["authors", "spread", "whole_seeds"]
"""Assignment of pairs to folds, and selection of training pairs.

`authors`: contiguous folds of the authors' file. Training pairs keep the direction, forward and reverse entailment
are both labelled entailment, and a random tenth is held out. With `spread` and `whole_seeds`, the pairs of each
seed are distributed over all folds, or stay in one fold. Training uses both directions of each pair, each with its own
label. All three protocols predict both directions of the pairs in a fold.
"""
_BOOKKEEPING: Final = ("official_file", "keep_models")  # options without influence on the predictions


@dataclass(frozen=True, kw_only=True)
class KFoldConfig(ProtocolConfig):
    """Training options of k-fold cross-validation."""

    reads_corpora: ClassVar[bool] = False

    corpus: tuple[str, ...] = field(init=False, default=("sicck",))
    max_examples: None = field(init=False, default=None)
    max_validation_examples: None = field(init=False, default=None)
    # The held-out pairs are evaluated once, after the last step, and select no weights.
    eval_steps: int = field(init=False, default=sys.maxsize)
    early_stopping_patience: None = field(init=False, default=None)

    model: PathText = redeclare_option(
        TrainConfig, "model", help="Hub id or folder of an NLI classifier to fine-tune in each fold."
    )
    official_file: Path | None = declare_option(
        "Local copy of SICCK-Ground-Truth-apr24.csv (default: download).", _DATA, default=None
    )
    folds: Annotated[int, Limit("at least 2", lambda value: value >= 2)] = declare_option(
        "Number of folds.", _DATA, default=5
    )
    protocol: FoldProtocol = declare_option(
        "Assignment of pairs to folds: authors, spread or whole_seeds.", _DATA, default="authors"
    )
    num_train_epochs: Count = redeclare_option(
        TrainConfig, "num_train_epochs", help="Number of training epochs; the paper uses 4 or 8.", default=4
    )
    batch_size: Count = redeclare_option(
        TrainConfig,
        "batch_size",
        help="Total batch size, over all processes; the paper uses 8, 16 or 32.",
        default=TrainConfig.batch_size,
    )
    # As in transformers' Trainer, which the authors use.
    warmup_ratio: Fraction = redeclare_option(TrainConfig, "warmup_ratio", default=0.0)
    seed: int = TrainConfig.seed  # the seed of one fold's run; --seeds lists all (`kfold.cross_validate`)
    output_dir: Path = redeclare_option(
        TrainConfig, "output_dir", help="Folder for predictions and scores; kfold.json contains the scores."
    )
    keep_models: bool = declare_option("Keep the trained model of each fold.", _RUN, default=False)

    def select_cache_key_fields(self) -> dict[str, Any]:
        """Select the fields that determine the predictions, as a JSON object."""
        return {name: value for name, value in super().select_cache_key_fields().items() if name not in _BOOKKEEPING}


@dataclass(frozen=True, kw_only=True)
class RearrangedConfig(ProtocolConfig, HexConfig):
    """Training options for experiments on a rearranged corpus."""

    corpus: tuple[str, ...] = redeclare_option(
        TrainConfig,
        "corpus",
        help="Corpus to rearrange, with training, validation and test splits.",
        default=TrainConfig.corpus,
    )
    max_examples: Count | None = redeclare_option(
        TrainConfig,
        "max_examples",
        help="Maximum number of training pairs per corpus version (default: all).",
        default=None,
    )
    test_examples: Count | None = declare_option(
        "Maximum number of test pairs per corpus version (default: all).", _DATA, default=None
    )
    rearranged_by: PathText = declare_option(
        "Embeddings for rearranging the corpus (default: as in the set resnli).", _DATA, default=""
    )
    seed: int = redeclare_option(
        TrainConfig,
        "seed",
        help="Random seed for training (head, sampling, data order, dropout).",
        default=TrainConfig.seed,
    )
    output_dir: Path = redeclare_option(
        TrainConfig, "output_dir", help="Folder for predictions and scores; rearranged.json contains the scores."
    )
    keep_models: bool = declare_option("Keep all trained models.", _RUN, default=False)

    def iter_validation_errors(self) -> Iterator[str]:
        """Yield an error message for each invalid option."""
        yield from super().iter_validation_errors()
        fitting = [
            name
            for name, corpus in CORPORA.items()
            if corpus.train and corpus.validation and corpus.test and len(corpus.labels) == len(LABELS)
        ]
        if len(self.corpus) != 1 or self.corpus[0] not in fitting:
            yield f"corpus: expected exactly one of {', '.join(fitting)}, got {' '.join(self.corpus) or 'none'}"

    def build_recipe_config(self, config: type[TrainConfig], **changed: Any) -> TrainConfig:
        """Build the config of another recipe, which trains one of the models. Shared fields are copied."""
        names = {each.name for each in fields(config) if each.init}
        return config(**{name: getattr(self, name) for name in names} | changed)

    def build_rearrangement_options(self) -> dict[str, Any]:
        """Build the options of the challenge set `resnli`, which rearranges the corpus."""
        return {"embeddings": self.rearranged_by} if self.rearranged_by else {}

    def list_requirements(self) -> "list[Requirement]":
        """List the downloads required for training and rearrangement: models, corpora and embeddings."""
        from unbag.challenge_sets.request import SetRequest
        from unbag.evaluation import prefetch

        return [
            *super().list_requirements(),
            *prefetch.list_run_requirements([SetRequest("resnli", self.corpus[0], self.build_rearrangement_options())]),
        ]
