"""Training options shared by all recipes. The help text of a field is also the help text of its command-line option.

This module imports no heavy package, so that `unbag train … --help` starts fast.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from inspect import get_annotations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, get_args, get_type_hints

from unbag.data.corpora import CORPORA, validate_language_code
from unbag.utils.options import (
    COLUMNS_GIVEN,
    Fraction,
    NonNegativeFloat,
    NonNegativeInt,
    OptionError,
    PositiveFloat,
    PositiveInt,
    format_flag,
    parse_name_values,
    validate_options,
)

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement

AUGMENT_KINDS: Final = (
    *("soswap", "addamod", "reversed", "swapped", "negated", "substituted", "negation", "recombined", "contrast"),
)
"""Kinds of augmented pairs. `training.augmented` builds them, but its import is too slow for a help page."""
WORDNET_KINDS: Final = frozenset({"reversed", "negated", "substituted", "contrast"})
"""Kinds that use WordNet to build or verify pairs."""
UNSPLIT_KINDS: Final = frozenset({"reversed", "swapped", "recombined"})
"""Kinds that combine sentences and phrases of training pairs, without a restriction to half of the vocabulary."""


def parse_augmentation(entry: str) -> tuple[str, float | None]:
    """Parse an entry of `--augment` into the kind of augmentation and the number of pairs.

    A number below 1 is a fraction of the training pairs. It is None where the entry has no number.

    >>> parse_augmentation("soswap=1500"), parse_augmentation("negated=0.1"), parse_augmentation("swapped")
    (('soswap', 1500.0), ('negated', 0.1), ('swapped', None))
    """
    kind, equals, text = entry.partition("=")
    if kind not in AUGMENT_KINDS:
        raise ValueError(f"--augment: expected one of {', '.join(AUGMENT_KINDS)}, got {entry}")
    if not equals:
        return kind, None
    number = _parse_float(text)
    if not (0 < number < 1 or (number >= 1 and number.is_integer())):
        raise ValueError(
            f"--augment: expected a number of pairs or a fraction between 0 and 1 after {kind}=, got {text!r}"
        )
    return kind, number


def is_wordnet_required(entries: Iterable[str]) -> bool:
    """Check whether any entry of `--augment` needs WordNet."""
    return not WORDNET_KINDS.isdisjoint(kind.partition("=")[0] for kind in entries)


WordOrder = Literal["natural", "shuffled", "permuted"]
"""Word order of training pairs. `shuffled`: random word order in both sentences, redrawn each epoch (Nie et al.
2019, section 3.2). `permuted`: one fixed permutation of each pair (Sinha et al. 2021, Appendix F)."""
Precision = Literal["no", "bf16", "fp16"]
AugmentWords = Literal["training", "all"]
AugmentBatches = Literal["random", "stratified"]
"""Batching of added pairs. `stratified`: every batch has about the same number of pairs per kind and label."""
Tracker = Literal["mlflow", "tensorboard", "trackio", "wandb"]
PathText = Annotated[str, "path"]
"""Text that may be a path, whose parent folders are not recorded."""


def option(help: str, default: Any = MISSING, *, panel: str = "", is_bookkeeping: bool = False) -> Any:
    """Declare a config field that is an option of the command, with the text of its help page.

    A recipe that changes only the default declares a plain field with this default.

    Args:
        panel: Panel of the help page, for this option and those declared after it in the class. An option that a
            subclass declares again stays in its panel.
        is_bookkeeping: Whether the option has no influence on the weights.
    """
    return field(default=default, metadata={"help": help, "panel": panel, "is_bookkeeping": is_bookkeeping})


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Recipe with its options: plain fine-tuning, and the base class of all other recipes.

    A subclass describes its recipe by class attributes, declares further options, and extends `_iter_errors`. Invalid
    options raise an `OptionError`: it lists all invalid values or, if there are none, all invalid combinations of
    options. It names the options of the command.
    """

    recipe: ClassVar[str] = "finetune"  # `unbag train NAME`
    about: ClassVar[str] = "Plain fine-tuning: training minimizes the cross-entropy of the gold label."
    """One or two sentences for the card of a trained model, with the paper."""
    # Names instead of functions and classes, because importing them imports PyTorch, which help pages do not need.
    trainer: ClassVar[str] = "unbag.training.trainer:PairTrainer"
    """Subclass of `training.trainer.PairTrainer`."""
    procedure: ClassVar[str] = ""
    """Function that trains several models or evaluates one, with the config, the seeds, and the keyword arguments
    `on_step` and `progress_callback` of `seeds.run_seeds`. It writes its record to `output_dir` and returns it."""
    view: ClassVar[str] = ""
    """Function that builds the terminal's view of the record of `procedure`."""
    excluded_options: ClassVar[tuple[str, ...]] = ()
    """Options of all recipes that this one does not have."""

    model: PathText = option("Hub id or folder of a pretrained model or an NLI classifier.", panel="Model")
    revision: str | None = option("Branch, tag or commit of the model.", None)
    label_map: str | None = option("Labels of the outputs, in order, if the model config has generic names.", None)
    max_length: PositiveInt | None = option("Maximum number of tokens per pair (default: the model's maximum).", None)

    corpus: tuple[str, ...] = option(
        "Training corpora or files; snli=2 uses the pairs of snli twice per epoch.", ("snli",), panel="Data"
    )
    # A corpus or file without a validation split holds out a twentieth of its premises (`training.data`).
    validation: tuple[str, ...] = option(
        "Validation corpora or files (default: the validation splits of --corpus).", ()
    )
    max_examples: PositiveInt | None = option(
        "Maximum number of training pairs, sampled at random (default: all).", None
    )
    max_validation_examples: PositiveInt | None = option(
        "Maximum number of pairs per validation split (default: all).", None
    )
    language: str = option("Language code of your files, such as en or zh.", "en")
    encoding: str | None = option(
        "Encoding of your files without byte-order mark, such as cp1252 (default: utf-8).", None
    )
    join_passages: bool = option("Join premises that are lists of passages by blank lines.", False)
    columns: tuple[str, ...] = option("Column names in your files, such as premise=text label=gold.", ())
    labels: tuple[str, ...] = option("Label names for ids 0, 1, 2 in your files.", ())
    not_entailment_as: Literal["neutral"] | None = option(
        "Training label for not_entailment pairs; required for data with two labels.", None
    )
    word_order: WordOrder = option("Word order: natural, shuffled (every epoch) or permuted (once).", "natural")
    hypothesis_only: bool = option("Train and evaluate on hypotheses only.", False)
    # An entry may have a number: soswap=1500 adds 1,500 pairs per epoch, negated=0.1 a tenth of the training pairs.
    augment: tuple[str, ...] = option(
        "Added pairs: KIND or KIND=NUMBER, such as soswap=1500,contrast (see the guide).", ()
    )
    augment_pairs: PositiveInt = option(
        "Number of added pairs per epoch for each KIND without =NUMBER in --augment.", 20_000
    )
    augment_words: AugmentWords = option("Words in added pairs: training (without held-out words) or all.", "training")
    augment_batches: AugmentBatches = option(
        "Batching of added pairs: random, or stratified by kind and label.", "random"
    )

    num_train_epochs: PositiveInt = option("Number of training epochs.", 3, panel="Training")
    max_steps: PositiveInt | None = option("Number of training steps; overrides --num-train-epochs.", None)
    batch_size: PositiveInt = option("Total batch size per step, over all processes.", 32)
    gradient_accumulation_steps: PositiveInt = option(
        "Number of forward passes per step and process; more passes use less memory.", 1
    )
    learning_rate: PositiveFloat = option("Peak learning rate; decays linearly to 0.", 5e-5)
    warmup_ratio: Fraction = option("Fraction of training steps for learning-rate warm-up.", 0.06)
    weight_decay: NonNegativeFloat = option("Weight decay of AdamW; not applied to biases and norms.", 0.01)
    max_grad_norm: NonNegativeFloat = option("Maximum gradient norm; 0 disables clipping.", 1.0)
    precision: Precision | None = option(
        "Mixed precision: no, bf16 or fp16 (default: from accelerate's config, else no).", None
    )
    seed: int = option("Random seed for head initialization, sampling, data order and dropout.", 13)
    eval_steps: PositiveInt | None = option("Number of steps between evaluations (default: one epoch).", None)
    early_stopping_patience: PositiveInt | None = option(
        "Number of evaluations without accuracy gain before a stop (default: no limit).", None
    )

    output_dir: Path = option(
        "Folder for the trained model; created when training finishes.",
        panel="Checkpoints and logging",
        is_bookkeeping=True,
    )
    save_steps: PositiveInt = option(
        "Number of steps between checkpoints; the last two are kept.", 500, is_bookkeeping=True
    )
    logging_steps: PositiveInt = option("Number of steps between log entries of the loss.", 20, is_bookkeeping=True)
    report_to: tuple[Tracker, ...] = option(
        f"Experiment trackers: {', '.join(get_args(Tracker))}.", (), is_bookkeeping=True
    )
    dataloader_num_workers: NonNegativeInt = option(
        "Number of data-loading processes; 0 loads in the main process.", 0, is_bookkeeping=True
    )
    push_checkpoints: str | None = option(
        "Hub repository for the last checkpoint; created as private if missing.", None, is_bookkeeping=True
    )
    # A rerun of the same command needs no option: it resumes from the checkpoints beside `output_dir`.
    resume_from_checkpoint: str | None = option(
        "Checkpoint of another run to resume from: folder or Hub repository.", None, is_bookkeeping=True
    )

    FIXED: ClassVar[frozenset[str]] = frozenset()
    """Fields whose values a recipe determines. They are not options of its command."""
    reads_corpora: ClassVar[bool] = True
    """Whether training reads `corpus` and `validation`; a protocol may build its own pairs."""

    @classmethod
    def build_help(cls) -> str:
        """Build the text of the help page of the command. By default, it is the docstring of the recipe's file."""
        return sys.modules[cls.__module__].__doc__ or ""

    @classmethod
    def collect_declarations(cls) -> dict[str, dict[str, Any]]:
        """Collect what `option` declares of each field, by name."""
        declarations: dict[str, dict[str, Any]] = {}
        for config in reversed(cls.__mro__):
            panel = ""
            for name in get_annotations(config):
                if declared := vars(config)["__dataclass_fields__"][name].metadata:
                    panel = declared["panel"] or panel
                    first = declarations.get(name, {"panel": panel})
                    declarations[name] = {**declared, "panel": first["panel"]}
        return declarations

    def __post_init__(self) -> None:
        validate_options(type(self), vars(self), format_flag)
        if errors := list(self._iter_errors()):
            raise OptionError("; ".join(errors))

    def _iter_errors(self) -> Iterator[str]:
        """Yield an error message for each rule that the type hints do not express."""
        for each in fields(self):
            if each.name in self.FIXED and (value := getattr(self, each.name)) != each.default:
                yield f"{each.name}: expected the default of this recipe, got {value!r}; omit {each.name}"
        if self.gradient_accumulation_steps > self.batch_size:
            steps = self.gradient_accumulation_steps
            yield f"--gradient-accumulation-steps: expected at most --batch-size {self.batch_size}, got {steps}"
        yield from _list_errors(validate_language_code, self.language)
        yield from _list_errors(parse_name_values, self.columns, COLUMNS_GIVEN)
        if not self.corpus:
            yield "--corpus: expected at least one corpus or file, got none"
        invalid = [error for entry in self.corpus for error in _list_errors(parse_weighted_corpus, entry)]
        yield from invalid
        for entry in self.augment:
            yield from _list_errors(parse_augmentation, entry)
        kinds = [entry.partition("=")[0] for entry in self.augment]
        if twice := sorted({kind for kind in kinds if kinds.count(kind) > 1}):
            yield f"--augment: expected each kind once, got {', '.join(twice)} several times"
        of_files = ("columns", "labels", "encoding", "join_passages")
        named = [format_flag(name) for name in of_files if getattr(self, name)]
        if named and self.reads_corpora and not invalid and {*self.corpus_names, *self.validation} <= CORPORA.keys():
            yield f"{' and '.join(named)}: expected a file in --corpus or --validation, got only named corpora"
        if self.augment and (self.word_order != "natural" or self.hypothesis_only):
            yield (
                "--augment: expected --word-order natural and no --hypothesis-only, because added pairs consist of "
                "complete sentences; omit --augment"
            )
        if self.permuted_copies and self.word_order != "natural":
            yield (
                f"--word-order: expected natural with --alpha, got {self.word_order}, because --alpha penalizes other "
                "orders; omit --word-order"
            )

    def parse_columns(self) -> dict[str, str]:
        """Parse `columns` into a mapping from unbag's column names to those of the files."""
        return parse_name_values(self.columns, COLUMNS_GIVEN)

    def select_cache_key_fields(self) -> dict[str, Any]:
        """Select the fields that determine the trained weights, as a JSON object."""
        bookkeeping = {name for name, declared in self.collect_declarations().items() if declared["is_bookkeeping"]}
        return {name: value for name, value in self.to_json().items() if name not in bookkeeping}

    def to_json(self) -> dict[str, Any]:
        """Convert the config to a JSON object. Paths are replaced by file and folder names."""
        values: dict[str, Any] = {
            name: str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            if hint in (PathText, PathText | None) and values[name]:
                values[name] = strip_parent_folders(values[name])
        for name in ("corpus", "validation"):
            values[name] = [strip_parent_folders(parse_weighted_corpus(entry)[0], entry) for entry in values[name]]
        return values

    def build_prerequisite_configs(self, work_dir: Path) -> "Mapping[str, TrainConfig]":
        """Build the configs of models that must be trained first, by purpose, such as `teacher` (default: none).

        The folder `work_dir` holds their results. It is deleted once this model is complete.
        """
        return {}

    def build_recipe_config(self, config: "type[TrainConfig]", **changed: Any) -> "TrainConfig":
        """Build the config of another recipe. Shared fields are copied."""
        return config(**{each.name: getattr(self, each.name) for each in fields(config)} | changed)

    def compute_augmentation_counts(self, n_training_pairs: int) -> dict[str, int]:
        """Compute the number of augmented pairs per epoch for each kind. Fractions refer to `n_training_pairs`."""
        numbers = {kind: n or self.augment_pairs for kind, n in map(parse_augmentation, self.augment)}
        return {kind: max(1, round(n * n_training_pairs)) if n < 1 else int(n) for kind, n in numbers.items()}

    @property
    def permuted_copies(self) -> int:
        """Number of permuted copies of each training pair, whose entropy the loss contains with the weight `alpha`."""
        return getattr(self, "permutations", 0) if getattr(self, "alpha", 0.0) else 0

    @property
    def corpus_names(self) -> list[str]:
        """Entries of `corpus` without weights."""
        return [parse_weighted_corpus(entry)[0] for entry in self.corpus]

    def list_files(self) -> list[Path]:
        """List the entries of `corpus` and `validation` that are local files."""
        return [path for path in map(Path, (*self.corpus_names, *self.validation)) if path.is_file()]

    def list_requirements(self) -> "list[Requirement]":
        """List the downloads required for training: model, corpora and, for augmentation, a parser and WordNet."""
        from unbag.challenge_sets import requirements
        from unbag.evaluation import prefetch

        corpora = [*self.corpus_names, *self.validation]
        return [
            *prefetch.list_training_requirements(str(self.model), corpora, revision=self.revision),
            *([requirements.build_pipeline_requirement("")] if self.augment else []),
            *([requirements.build_wordnet_requirement()] if is_wordnet_required(self.augment) else []),
        ]


def parse_weighted_corpus(entry: str) -> tuple[str, float]:
    """Parse an entry of `--corpus` into a corpus and its weight (default: 1).

    >>> parse_weighted_corpus("snli=2"), parse_weighted_corpus("mnli"), parse_weighted_corpus("my=pairs.csv")
    (('snli', 2.0), ('mnli', 1.0), ('my=pairs.csv', 1.0))
    """
    name, equals, text = entry.rpartition("=")
    weight = _parse_float(text)
    # In `my=pairs.csv` the equals sign is part of a file name.
    if not equals or (Path(entry).suffix and math.isnan(weight)):
        return entry, 1.0
    if not 0 < weight < math.inf:
        raise ValueError(f"--corpus: expected a weight above 0 after {name}=, got {text!r}")
    return name, weight


def strip_parent_folders(text: str, entry: str | None = None) -> str:
    """Remove the parent folders of a local path in an option value such as `data/snli.csv=2`.

    Hub ids and the rest of the value are unchanged.

    >>> strip_parent_folders("org/name"), strip_parent_folders("snli", "snli=2")
    ('org/name', 'snli=2')
    """
    path = Path(text)
    return (path.name if path.exists() else text) + (entry or text)[len(text) :]


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _list_errors(parse: Callable[..., Any], *arguments: Any) -> list[str]:
    try:
        parse(*arguments)
    except ValueError as error:
        return [str(error)]
    return []
