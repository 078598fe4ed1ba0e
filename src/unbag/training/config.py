"""The config of a training run and the options of its objectives. A field's help line is also the command's.

Nothing heavy is imported here, so that `unbag train … --help` answers at once.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from unbag.data.corpora import CORPORA, LANGUAGES
from unbag.utils.options import COLUMNS_GIVEN, by_name, require

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement


KINDS: Final = ("soswap", "addamod", "reversed", "swapped", "negated", "substituted")
"""Kinds of pairs; `training.augmented`, too heavy for a help page, makes them."""
OF_WORDNET: Final = frozenset({"reversed", "negated", "substituted"})
"""Those that are made, or proved, with WordNet."""


def numbered(entry: str) -> tuple[str, float | None]:
    """Split a kind from how many: a number, a share of the training pairs below 1, or None.

    Raises:
        ValueError: if there is no such kind, or what follows it is neither.

    >>> numbered("soswap=1500"), numbered("negated=0.1"), numbered("swapped")
    (('soswap', 1500.0), ('negated', 0.1), ('swapped', None))
    """
    kind, equals, text = entry.partition("=")
    if kind not in KINDS:
        raise ValueError(f"expected augment of {', '.join(KINDS)}, found {entry}")
    if not equals:
        return kind, None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 < number < 1 or (number >= 1 and number.is_integer())):
        raise ValueError(f"expected a number of pairs after {kind}=, or a share between 0 and 1, found {text!r}")
    return kind, number


def validation_errors(entries: Sequence[str]) -> Iterator[str]:
    """Yield what is impossible: what was expected, and what was found."""
    kinds = []
    for entry in entries:
        try:
            kinds.append(numbered(entry)[0])
        except ValueError as error:
            yield str(error)
    if twice := sorted({kind for kind in kinds if kinds.count(kind) > 1}):
        yield f"expected each kind of augment once, found {', '.join(twice)} several times"


def asks_wordnet(kinds: Iterable[str]) -> bool:
    """Tell whether some kinds, with or without their numbers, are made with WordNet."""
    return not OF_WORDNET.isdisjoint(kind.partition("=")[0] for kind in kinds)


def validate_english(languages: Collection[str]) -> None:
    """Refuse pairs in other languages than the one that pairs can be made in.

    Raises:
        ValueError: naming what they are in.
    """
    if set(languages) != {"en"}:
        raise ValueError(f"augment makes pairs of English sentences only; found {', '.join(sorted(languages))}")


def pairs_of(entries: Sequence[str], default: int, training_pairs: int) -> dict[str, int]:
    """Return how many pairs an epoch has of each kind.

    Args:
        entries: what `--augment` says.
        default: of a kind that names no number.
        training_pairs: an epoch's, which a share is of.

    >>> pairs_of(["soswap=30", "negated=0.1", "swapped"], 500, 1000)
    {'soswap': 30, 'negated': 100, 'swapped': 500}
    """
    numbers = {kind: default if n is None else n for kind, n in map(numbered, entries)}
    return {kind: max(1, round(n * training_pairs)) if n < 1 else int(n) for kind, n in numbers.items()}


_MODEL: Final = "Which model"
_PAIRS: Final = "Which pairs"
_STEPS: Final = "How it is trained"
_RUN: Final = "Checkpoints and records"

Order = Literal["natural", "shuffled", "permuted"]
"""How the words of training pairs stand. `shuffled`: both sentences' words in random order, another each epoch (Nie et
al. 2019, section 3.2). `permuted`: each pair replaced by one permuted pair, always the same (Sinha et al. 2021,
Appendix F)."""
Precision = Literal["no", "bf16", "fp16"]
Half = Literal["training", "all"]
TRACKERS: Final = ("mlflow", "tensorboard", "trackio", "wandb")

_AT_LEAST_ONE: Final = (
    *("epochs", "max_steps", "batch_size", "accumulation", "examples", "validation_examples", "augment_pairs"),
    *("max_length", "evaluate_every", "patience", "checkpoint_every", "log_every"),
)
_BOOKKEEPING: Final = frozenset(
    {"out", "checkpoint_every", "log_every", "trackers", "workers", "resume", "push_checkpoints"}
)


def option(help: str, panel: str, **default: Any) -> Any:
    """Declare a field of a config: its help line, and the panel of the help page where it stands."""
    return field(metadata={"help": help, "panel": panel}, **default)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The options of every recipe.

    An objective with options of its own extends it, and its `problems` where values can be impossible.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    model: str = option("Hub id or folder: a pre-trained model, or an NLI classifier to train further.", _MODEL)
    revision: str | None = option("Branch, tag or commit of the model.", _MODEL, default=None)
    label_map: str | None = option(
        "A classifier's labels in output order, comma-separated, where its config does not tell.", _MODEL, default=None
    )
    max_length: int | None = option(
        "Most tokens of a pair; the longer sentence is cut (default: what the model reads).", _MODEL, default=None
    )

    corpus: tuple[str, ...] = option(
        "Corpora (their train splits) or files; snli=2 mnli takes SNLI's pairs twice an epoch.",
        _PAIRS,
        default=("snli",),
    )
    validation: tuple[str, ...] = option(
        "What it is evaluated on: corpora (their validation splits) or files (default: those of the corpora; a "
        "twentieth of the premises is held out of what has none).",
        _PAIRS,
        default=(),
    )
    examples: int | None = option("Draw this many training pairs instead of taking all.", _PAIRS, default=None)
    validation_examples: int | None = option("Likewise of each validation split.", _PAIRS, default=None)
    language: str = option("Of files: en, zh, or another of XNLI's by its code.", _PAIRS, default="en")
    columns: tuple[str, ...] = option(
        "Of files: columns with unusual names, as in premise=text label=gold.", _PAIRS, default=()
    )
    labels: tuple[str, ...] = option("Of files: their labels 0, 1, 2 by name.", _PAIRS, default=())
    not_entailment_as: Literal["neutral"] | None = option(
        "Label that not_entailment of two-label data is read as; needed to train on it.", _PAIRS, default=None
    )
    order: Order = option(
        "The words of training pairs: natural, shuffled anew each epoch, or permuted once.", _PAIRS, default="natural"
    )
    hypothesis_only: bool = option("Leave the premise out, in evaluation too.", _PAIRS, default=False)
    augment: tuple[str, ...] = option(
        "Add pairs made of the training pairs, other ones each epoch: "
        + ", ".join(KINDS)
        + "; soswap=1500 negated=0.1 takes so many, or such a share of the training pairs.",
        _PAIRS,
        default=(),
    )
    augment_pairs: int = option("How many of each that names no number, an epoch.", _PAIRS, default=20_000)
    augment_words: Half = option(
        "Make them with the training half of the vocabulary, so that -o words=held_out tests on other words; or all.",
        _PAIRS,
        default="training",
    )

    epochs: int = option("Passes over the pairs.", _STEPS, default=3)
    max_steps: int | None = option("Take this many steps instead, in as many epochs as needed.", _STEPS, default=None)
    batch_size: int = option("Pairs a step learns from, over all processes.", _STEPS, default=32)
    accumulation: int = option(
        "Parts in which each process takes its share of a batch, one after the other, to save memory.",
        _STEPS,
        default=1,
    )
    learning_rate: float = option("Peak learning rate (linear decay to 0).", _STEPS, default=5e-5)
    warmup: float = option("Share of the steps in which it rises.", _STEPS, default=0.06)
    weight_decay: float = option("AdamW's; biases and norms are spared.", _STEPS, default=0.01)
    clip: float = option("Largest norm of the gradient; 0 for no limit.", _STEPS, default=1.0)
    precision: Precision | None = option(
        "no (float32), bf16 or fp16 (default: as accelerate is configured, else no).", _STEPS, default=None
    )
    seed: int = option("Decides the new head, what is drawn, the order and the dropout.", _STEPS, default=13)
    evaluate_every: int | None = option("Steps between evaluations (default: an epoch).", _STEPS, default=None)
    patience: int | None = option(
        "Stop after so many evaluations without better accuracy, and keep the best model.", _STEPS, default=None
    )

    out: Path = option("Folder for the trained model; it appears at the end, whole.", _RUN)
    checkpoint_every: int = option("Steps between checkpoints; the last two are kept.", _RUN, default=500)
    log_every: int = option("Steps between two values of the loss in trackers and progress bar.", _RUN, default=20)
    trackers: tuple[str, ...] = option(f"Of {', '.join(TRACKERS)}; one or more.", _RUN, default=())
    workers: int = option("Processes that prepare batches beside the training.", _RUN, default=0)
    push_checkpoints: str | None = option(
        "Keep the last checkpoint in this Hub repository too, made private where there is none.", _RUN, default=None
    )
    resume: str | None = option(
        "Go on from a checkpoint elsewhere: a folder, or a Hub repository it was pushed to. Given the same command "
        "again, a stopped run finds its own.",
        _RUN,
        default=None,
    )

    reads_corpora: ClassVar[bool] = True
    """Whether `corpus` and `validation` name what is read; a protocol may make its own pairs."""

    def __post_init__(self) -> None:
        require(type(self), vars(self))
        if problems := list(self.validation_errors()):
            raise ValueError("; ".join(problems))

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        counts = {name: getattr(self, name) for name in _AT_LEAST_ONE if getattr(self, name) is not None}
        if low := {name: value for name, value in counts.items() if value < 1}:
            yield f"expected at least 1, found {_formatted(low)}"
        if not (self.learning_rate > 0 and math.isfinite(self.learning_rate)):
            yield f"expected a learning rate above 0, found {self.learning_rate}"
        if not 0 <= self.warmup <= 1:
            yield f"expected a warm-up of 0 to 1, a share of the steps, found {self.warmup}"
        low = {name: getattr(self, name) for name in ("weight_decay", "clip", "workers")}
        if low := {name: value for name, value in low.items() if not 0 <= value < math.inf}:
            yield f"expected at least 0, found {_formatted(low)}"
        if self.accumulation > self.batch_size:
            yield f"expected at most batch_size = {self.batch_size} parts of a batch, found {self.accumulation}"
        yield from _choices(self)
        if self.language not in LANGUAGES:
            yield f"expected language of {', '.join(LANGUAGES)}, found {self.language!r}"
        if not self.corpus:
            yield "expected a corpus or a file to train on, found none"
        for entry in self.corpus:
            try:
                parse_weighted(entry)
            except ValueError as error:
                yield str(error)
        try:
            by_name(self.columns, COLUMNS_GIVEN)
        except ValueError as error:
            yield str(error)
        named = [name for name in ("columns", "labels") if getattr(self, name)]
        if named and self.reads_corpora and not self._of_files():
            yield f"expected a file in corpus or validation for {' and '.join(named)}, found corpora only"
        yield from validation_errors(self.augment)
        if self.augment and (self.order != "natural" or self.hypothesis_only):
            yield "augment adds pairs of whole sentences in order: it goes with natural, whole pairs"
        if unknown := sorted(set(self.trackers) - set(TRACKERS)):
            yield f"expected trackers of {', '.join(TRACKERS)}, found {', '.join(unknown)}"

    def _of_files(self) -> list[str]:
        """Return what is read that is no corpus."""
        names = [entry.rpartition("=")[0] or entry for entry in self.corpus]
        return [name for name in (*names, *self.validation) if name not in CORPORA]

    def named_columns(self) -> dict[str, str]:
        """Return the names that files have of our columns."""
        return by_name(self.columns, COLUMNS_GIVEN)

    def cache_key_config(self) -> dict[str, Any]:
        """Return the fields that decide the weights, as JSON holds them; the rest is bookkeeping."""
        return {name: value for name, value in self.to_json().items() if name not in _BOOKKEEPING}

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON holds them; files and folders by their own names, wherever they lie."""
        values = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        values["model"] = display_name(self.model)
        for name in ("corpus", "validation"):
            values[name] = [display_name(parse_weighted(entry)[0], entry) for entry in values[name]]
        return values

    def prerequisite_runs(self, work: Path) -> "Mapping[str, TrainConfig]":
        """Return the plain fine-tunings that come first, by what their models are for; by default none.

        Args:
            work: where their folders are to be; it goes once the model stands.
        """
        return {}

    def files(self) -> list[Path]:
        """Return the files of pairs among what is trained and evaluated on."""
        named = [Path(parse_weighted(entry)[0]) for entry in (*self.corpus, *self.validation)]
        return [path for path in named if path.is_file()]

    def requirements(self) -> "list[Requirement]":
        """Return what training reads from elsewhere: the model, the corpora, and what cuts up sentences to augment."""
        from unbag.challenge_sets import requirements
        from unbag.evaluation import prefetch

        corpora = [parse_weighted(entry)[0] for entry in (*self.corpus, *self.validation)]
        return [
            *prefetch.of_training(str(self.model), corpora, revision=self.revision),
            *([requirements.pipeline("")] if self.augment else []),
            *([requirements.wordnet()] if asks_wordnet(self.augment) else []),
        ]


def parse_weighted(entry: str) -> tuple[str, float]:
    """Split a corpus from its weight.

    Raises:
        ValueError: if the weight is not a number above 0.

    >>> parse_weighted("snli=2"), parse_weighted("mnli"), parse_weighted("my=pairs.csv")
    (('snli', 2.0), ('mnli', 1.0), ('my=pairs.csv', 1.0))
    """
    name, equals, text = entry.rpartition("=")
    if not equals or (Path(entry).suffix and not _is_number(text)):
        return entry, 1.0
    if not _is_number(text) or not 0 < float(text) < math.inf:
        raise ValueError(f"expected a weight above 0 after {name}=, found {text!r}")
    return name, float(text)


def display_name(text: str, entry: str | None = None) -> str:
    """Return the name of a file or folder without what it lies in, and what follows it in an entry.

    >>> display_name("org/name"), display_name("snli", "snli=2")
    ('org/name', 'snli=2')
    """
    path = Path(text)
    return (path.name if path.exists() else text) + (entry or text)[len(text) :]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _choices(config: TrainConfig) -> Iterator[str]:
    from typing import get_args, get_type_hints

    for name, hint in get_type_hints(type(config)).items():
        literals = [part for part in (hint, *get_args(hint)) if getattr(part, "__origin__", None) is Literal]
        value = getattr(config, name)
        if literals and value is not None and value not in get_args(literals[0]):
            yield f"expected {name} of {', '.join(get_args(literals[0]))}, found {value!r}"


def _formatted(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


_HEX: Final = "HEX"
_MAX_ENTROPY: Final = "Max-entropy"


@dataclass(frozen=True, kw_only=True)
class HexOptions:
    """What the HEX paper leaves open.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    # As wide as what it reads, W^φ is square: g can hold all there is in the mean.
    width: int | None = option(
        "Width of the superficial branch g (default: that of the embeddings).", _HEX, default=None
    )
    unscaled: bool = option(
        "Leave g as it is, not scaled to a root mean square of 1 for each pair.", _HEX, default=False
    )
    # The authors name no number. What is projected should be a classifier already, but most steps should be HEX's.
    warm_start: float = option(
        "Share of the steps that are plain cross-entropy, first; 0 for a model that was fine-tuned before.",
        _HEX,
        default=0.2,
    )
    embeddings: str | None = option(
        "Fixed embeddings for g: a file of word vectors, a model of the Hub or a folder, a spaCy pipeline (default: a "
        "copy of the model's input embeddings as they are before training).",
        _HEX,
        default=None,
    )
    superficial_weight: float = option(
        "λ of the authors' second form, the cross-entropy of F_L + λ F_G: above 0, g learns to predict the label.",
        _HEX,
        default=0.0,
    )

    def __post_init__(self) -> None:
        _check(self)

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        if self.width is not None and self.width < 1:
            yield f"expected a width of at least 1, found {self.width}"
        if not 0 <= self.warm_start < 1:
            yield (
                f"expected a warm start of at least 0 and less than 1, a share of the steps, found {self.warm_start} "
                "(earlier versions counted it in steps)"
            )
        if not 0 <= self.superficial_weight < math.inf:
            yield f"expected a superficial weight of at least 0, found {self.superficial_weight}"


@dataclass(frozen=True, kw_only=True)
class MaxEntropyOptions:
    """The weights of the entropy term.

    Raises:
        ValueError: if values are impossible; the message names them all.
    """

    alpha: float = option("α, the weight of the permuted pairs' entropy.", _MAX_ENTROPY, default=1.0)
    permutations: int = option("n, the permutations of each pair, others in each epoch.", _MAX_ENTROPY, default=1)

    def __post_init__(self) -> None:
        _check(self)

    def validation_errors(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        if not 0 < self.alpha < math.inf:
            yield f"expected an alpha above 0, found {self.alpha}"
        if self.permutations < 1:
            yield f"expected at least one permutation of each pair, found {self.permutations}"


def _check(options: HexOptions | MaxEntropyOptions) -> None:
    require(type(options), vars(options))
    if problems := list(options.validation_errors()):
        raise ValueError("; ".join(problems))
