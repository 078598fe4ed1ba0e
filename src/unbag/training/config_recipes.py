"""The configs of the recipes: debiasing, HEX, cross-validation on SICCK, mending, and training on a rearranged corpus.

Nothing heavy is imported here, so that the help pages stay fast. The numbers of the recommended recipe `mend` are the
defaults of its config, and stand nowhere else.
"""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.training.config import HexOptions, TrainConfig, display_name, option

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement


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

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible or meaningless: what was expected, and what was found."""
        yield from super().validation_errors()
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

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().to_json() | {"bias": display_name(self.bias)}

    def prerequisite_runs(self, work: Path) -> dict[str, TrainConfig]:
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

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().validation_errors()
        if not 0 <= self.entropy_penalty < math.inf:
            yield f"expected entropy_penalty of at least 0, found {self.entropy_penalty}"


@dataclass(frozen=True, kw_only=True)
class ReweightingConfig(DebiasConfig):
    """The options of weights by the bias."""

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().validation_errors()
        if self.balance:
            yield "balance weighs pairs by the bias a second time: this recipe's weights are all there are"


@dataclass(frozen=True, kw_only=True)
class FocalConfig(ReweightingConfig):
    """The options of the debiased focal loss."""

    gamma: float = option("γ, the exponent of the weights.", _BIAS, default=2.0)  # of the authors' code

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().validation_errors()
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

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().validation_errors()
        if self.teacher is not None and not (Path(self.teacher) / "config.json").is_file():
            yield f"expected a teacher's folder with a config.json, found {self.teacher!r}"

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().to_json() | {"teacher": display_name(self.teacher) if self.teacher else None}

    def prerequisite_runs(self, work: Path) -> dict[str, TrainConfig]:
        """Return the plain fine-tunings that come first, by what their models are for."""
        return super().prerequisite_runs(work) | ({} if self.teacher else {"teacher": self._plain(work / "teacher")})


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


@dataclass(frozen=True, kw_only=True)
class HexConfig(TrainConfig, HexOptions):
    """The options of HEX, and those of every recipe."""

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        yield from TrainConfig.validation_errors(self)
        yield from HexOptions.validation_errors(self)

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().to_json() | {"embeddings": display_name(self.embeddings) if self.embeddings else None}

    def files(self) -> list[Path]:
        """Return the files of pairs, and that of word vectors."""
        vectors = Path(self.embeddings or "")
        return [*super().files(), *([vectors] if vectors.is_file() else [])]

    def requirements(self) -> "list[Requirement]":
        """Return what training reads from elsewhere: model and corpora, and g's embeddings."""
        from unbag.challenge_sets import requirements

        return [*super().requirements(), *([requirements.embeddings(self.embeddings)] if self.embeddings else [])]


_BEFORE_AND_AFTER: Final = "Before and after"
_MEND_BIAS: Final = "lexical"
_AFTERWARDS: Final = frozenset({"sets", "file", "no_evaluate"})  # the weights do not depend on them
_OF_TRAINING: Final = TrainConfig.__dataclass_fields__
_OF_BIAS: Final = DebiasConfig.__dataclass_fields__


def _default(name: str, value: Any) -> Any:
    """Declare an option as other recipes have it, with a default of its own."""
    metadata = (_OF_BIAS.get(name) or _OF_TRAINING[name]).metadata
    return option(metadata["help"], metadata["panel"], default=value)


@dataclass(frozen=True, kw_only=True)
class MendConfig(DebiasConfig):
    """The options of mend, and those of every recipe."""

    bias: str = _default("bias", _MEND_BIAS)
    bias_strength: float = _default("bias_strength", 0.0)
    alpha: float = _default("alpha", 1.0)
    augment: tuple[str, ...] = _default("augment", ("soswap", "addamod", "substituted"))
    augment_pairs: int = _default("augment_pairs", 1_500)
    epochs: int = _default("epochs", 1)
    learning_rate: float = _default("learning_rate", 1e-4)

    sets: tuple[str, ...] = option(
        "Challenge sets to evaluate the model on, before and after (default: a sample of each).",
        _BEFORE_AND_AFTER,
        default=(),
    )
    file: Path | None = option(
        "The authors' file of breaking_nli or sicck, or a folder with both somewhere in it; downloaded else.",
        _BEFORE_AND_AFTER,
        default=None,
    )
    no_evaluate: bool = option("Leave the evaluation and the comparison out.", _BEFORE_AND_AFTER, default=False)

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible or meaningless."""
        yield from super().validation_errors()
        if self.bias != _MEND_BIAS and not self.asks_bias:
            yield f"a bias of strength 0 changes nothing: expected bias_strength above 0 for {self.bias!r}, found 0"
        if self.sets and self.no_evaluate:
            yield f"no_evaluate leaves out the sets that are named: {', '.join(self.sets)}"
        if self.file and self.no_evaluate:
            yield f"no_evaluate leaves out the sets of the file {self.file}"

    @property
    def asks_bias(self) -> bool:
        """Whether a biased model is asked anything."""
        return bool(self.bias_strength or self.anneal or self.balance)

    def prerequisite_runs(self, work: Path) -> dict[str, TrainConfig]:
        """Return the plain fine-tunings that come first, by what their models are for."""
        return super().prerequisite_runs(work) if self.asks_bias else {}

    def cache_key_config(self) -> dict[str, Any]:
        """Return the fields that decide the weights, as JSON holds them."""
        return {name: value for name, value in super().cache_key_config().items() if name not in _AFTERWARDS}


@dataclass(frozen=True, kw_only=True)
class ProtocolConfig(TrainConfig):
    """The config of a recipe with a `recipes.Protocol`: it says itself what is trained on, and where each model lies.

    Fields that are no arguments say what the protocol leaves no choice of, and are no options of the command.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    validation: tuple[str, ...] = field(init=False, default=())
    language: Literal["en"] = field(init=False, default="en")
    columns: tuple[str, ...] = field(init=False, default=())
    labels: tuple[str, ...] = field(init=False, default=())
    not_entailment_as: None = field(init=False, default=None)
    order: Literal["natural"] = field(init=False, default="natural")
    hypothesis_only: bool = field(init=False, default=False)
    augment: tuple[str, ...] = field(init=False, default=())
    augment_pairs: int = field(init=False, default=TrainConfig.augment_pairs)
    augment_words: Literal["training"] = field(init=False, default="training")
    trackers: tuple[str, ...] = field(init=False, default=())  # a model's folder goes once it has answered
    resume: None = field(init=False, default=None)  # each model finds its own
    push_checkpoints: None = field(init=False, default=None)


_PANELS: Final = {each.name: each.metadata["panel"] for each in fields(TrainConfig)}
SEEDS: Final = (12345, 34567, 56789, 98765, 76543)
"""The authors' training seeds."""
Protocol = Literal["authors", "spread", "whole_seeds"]
"""Which pairs a fold has, and what is learnt of the others. `authors`: contiguous folds of the authors' file; pairs as
they are, forward and reverse entailment both as entailment, but for a random tenth that is held out. `spread` and
`whole_seeds`, ours: each seed's pairs over all folds, or in one; both directions of each pair, each with its own label.
All three predict both directions of a fold's pairs."""
_BOOKKEEPING: Final = ("file", "keep_models")  # where things lie, or stay, decides nothing


@dataclass(frozen=True, kw_only=True)
class KFoldConfig(ProtocolConfig):
    """How each fold's model is trained, and which folds there are.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    reads_corpora: ClassVar[bool] = False

    corpus: tuple[str, ...] = field(init=False, default=("sicck",))
    examples: None = field(init=False, default=None)
    validation_examples: None = field(init=False, default=None)
    # What is held out is looked at once, at the end, and chooses nothing.
    evaluate_every: int = field(init=False, default=sys.maxsize)
    patience: None = field(init=False, default=None)

    model: str = option("Hub id or folder of an NLI classifier, which each fold trains further.", _PANELS["model"])
    file: Path | None = option(
        "Your copy of the authors' SICCK-Ground-Truth-apr24.csv (default: downloaded).",
        _PANELS["corpus"],
        default=None,
    )
    folds: int = option("Each is predicted by a model trained on the others.", _PANELS["corpus"], default=5)
    protocol: Protocol = option(
        "authors: contiguous folds, one direction learnt; spread: each seed's pairs in all folds, both directions "
        "learnt; whole_seeds: a seed's pairs in one fold, so that training meets none of them.",
        _PANELS["corpus"],
        default="authors",
    )
    epochs: int = option("Passes over the pairs of the other folds; 4 or 8 in the paper.", _PANELS["epochs"], default=4)
    batch_size: int = option(
        "Pairs a step learns from, over all processes; 8, 16 or 32 in the paper.", _PANELS["batch_size"], default=32
    )
    warmup: float = option(
        "Share of the steps in which it rises; none by default, as in transformers' Trainer.",
        _PANELS["warmup"],
        default=0.0,
    )
    seed: int = TrainConfig.seed  # of one fold's run: which there are is told apart (`kfold.cross_validate`)
    out: Path = option("Folder for predictions and scores; kfold.json appears at the end.", _PANELS["out"])
    keep_models: bool = option("Keep each fold's model, not only its predictions.", _PANELS["out"], default=False)

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        yield from TrainConfig.validation_errors(self)
        if self.folds < 2:
            yield f"expected at least 2 folds, found {self.folds}"

    def cache_key_config(self) -> dict[str, Any]:
        """Return the fields that decide the predictions, as JSON holds them; the rest is bookkeeping."""
        return {name: value for name, value in super().cache_key_config().items() if name not in _BOOKKEEPING}


_REARRANGED_PANELS: Final = {each.name: each.metadata["panel"] for each in fields(TrainConfig)}


@dataclass(frozen=True, kw_only=True)
class RearrangedConfig(ProtocolConfig, HexConfig):
    """How each model is trained, and what on.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    corpus: tuple[str, ...] = option(
        "The corpus that is rearranged; one with training, validation and test data.",
        _REARRANGED_PANELS["corpus"],
        default=("snli",),
    )
    examples: int | None = option(
        "Draw this many training pairs of each arrangement instead of taking all.",
        _REARRANGED_PANELS["examples"],
        default=None,
    )
    test_examples: int | None = option(
        "Likewise of each arrangement's test pairs.", _REARRANGED_PANELS["validation_examples"], default=None
    )
    rearranged_by: str = option(
        "Embeddings of the model of words that rearranges, as resnli's option embeddings (default: resnli's own).",
        _REARRANGED_PANELS["corpus"],
        default="",
    )
    seed: int = option(
        "Decides head, what is drawn, order and dropout; the arrangement does not depend on it.",
        _REARRANGED_PANELS["seed"],
        default=TrainConfig.seed,
    )
    out: Path = option("Folder for answers and scores; rearranged.json appears at the end.", _REARRANGED_PANELS["out"])
    keep_models: bool = option("Keep each model, not only its answers.", _REARRANGED_PANELS["out"], default=False)

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        yield from super().validation_errors()
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

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        return super().to_json() | {"rearranged_by": display_name(self.rearranged_by) if self.rearranged_by else ""}

    def rearrangement(self) -> dict[str, Any]:
        """Return the options of the set `resnli`, which rearranges."""
        return {"embeddings": self.rearranged_by} if self.rearranged_by else {}

    def requirements(self) -> "list[Requirement]":
        """Return what training reads from elsewhere, and what the rearranged corpus is made of."""
        from unbag.challenge_sets.request import Request
        from unbag.evaluation import prefetch

        return [*super().requirements(), *prefetch.of_run([Request("resnli", self.corpus[0], self.rearrangement())])]
