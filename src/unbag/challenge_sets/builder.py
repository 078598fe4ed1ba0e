"""Base class of all dataset builders, and the hash that unbag adds to the cache key of `datasets`."""

import hashlib
import os
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import datasets
import pyarrow as pa
from datasets.exceptions import DatasetGenerationError

from unbag.challenge_sets import build_stats, requirements
from unbag.challenge_sets.config import SourceConfig
from unbag.challenge_sets.requirements import Requirement, UnsuitablePairsError
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.readers import DATASET_FOLDER_FILES, is_dataset_folder, is_hub_id, open_data_file, resolve_hub_commit
from unbag.data.sources import MAX_SENTENCE_CHARACTERS, Example, PairSource, validate_corpus_names
from unbag.data.text import tagging
from unbag.data.text.tagging import ALL
from unbag.data.user_text import list_text_files
from unbag.utils import checksums, parallel
from unbag.utils.hashing import hash_file
from unbag.utils.safe_io import validate_file

_PACKAGE: Final = Path(__file__).parents[1]
_MAKES_ROWS: Final = (
    *(
        f"data/{name}"
        for name in (
            "labels.py",
            "corpora.py",
            "sources.py",
            "columns.py",
            "readers.py",
            "text_layout.py",
            "user_text.py",
            "text",
        )
    ),
    *(f"challenge_sets/{name}.py" for name in ("builder", "build_stats", "config", "official", "pairs", "set_builder")),
    *("utils/rng.py", "challenge_sets/perturbations", "baselines"),
    *("scoring/bleu.py", "scoring/pos_minitree.py", "scoring/uncertainty_partitions.py"),
)
"""Source files that determine the rows of a set. A change to any of these files invalidates every cached set."""


def compute_builder_hash(builder_file: str, config: type[SourceConfig], options: Mapping[str, Any]) -> str:
    """Compute a hash of the code, the tokenizer versions and the user's files that affect the rows of a set.

    The hash becomes part of the cache key of `datasets`. It covers all modules in the folder of `builder_file`, and the
    content of the files and folders that the options in `config.FILES` name.
    """
    digest = hashlib.sha256()
    for file in sorted(Path(builder_file).parent.glob("*.py")):  # a set of another package may compute its rows there
        digest.update(file.read_bytes())
    for name in _MAKES_ROWS:
        for file in _files(_PACKAGE / name):
            if file.suffix == ".py":
                digest.update(file.read_bytes())
    # Another version of a tokenizer may split sentences differently.
    for package in ("spacy", "rjieba"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"absent")
    for option in config.FILES:
        for path in list_option_files(options.get(option) or getattr(config, option)):
            for file in _files(path) if path.is_dir() else [validate_file(path)]:
                digest.update(f"{option}\0{file.relative_to(path)}\0{hash_file(file)}\n".encode())
    return digest.hexdigest()


def list_option_files(value: Any) -> list[Path]:
    """List the existing files and folders that an option names. Hub repositories and corpora are omitted."""
    # No `isinstance(…, Path)` here: `datasets` replaces `Path` in a builder's module by a class of its own.
    names = [name for name in value if name not in CORPORA] if isinstance(value, list | tuple) else [value]
    return [Path(os.fspath(name)) for name in names if name and os.path.exists(name)]


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


PairPart = Literal["sentences", "labels"]
"""Parts of a pair with creators in the dataset card."""

_MACHINE: Final = "machine-generated"
_UNNAMED_SPLIT: Final = "data"  # the split of a file, which has no name of its own
_COUNTS: Final = "counts"
# In the folder of a pipeline, model, embeddings or data set.
_FOLDER_MARKERS: Final = ("meta.json", "config.json", "config.cfg", *DATASET_FOLDER_FILES)
_TEXT_SUFFIXES: Final = (".txt", ".txt.gz")


class ChallengeSetBuilder(datasets.ArrowBasedBuilder):
    """Base class of `datasets` builders that create a challenge set from a corpus or from user-provided data.

    Most builders are made from a set (`set_builder`). A subclass builds rows in `iter_tables`. Its config declares
    the options (`SourceConfig`). `BUILDER_CONFIGS` lists the configs by name. Class attributes without a comment are
    explained in `base.ChallengeSet`.
    """

    SCHEMA: ClassVar[pa.Schema]  # all columns
    EXAMPLE_ID: ClassVar[str] = "source_id"
    CITATION: ClassVar[str]
    EXCLUSION_REASON: ClassVar[str] = "unfit"
    EVALUATION_SPLIT: ClassVar[str | None] = None  # split that models are evaluated on, if the set has several
    # Maximum number of characters of a sentence; None for a set that does not tokenize.
    MAX_SENTENCE_CHARACTERS: ClassVar[int | None] = MAX_SENTENCE_CHARACTERS
    MACHINE_MADE: ClassVar[frozenset[PairPart]] = frozenset()
    LABEL_NAMES: ClassVar[Sequence[str] | None] = None
    # Whether the set parses sentences as English, so that it excludes your own pairs in other languages.
    REQUIRES_ENGLISH: ClassVar[bool] = False
    ACCEPTS_CONTRADICTION_LABELS: ClassVar[bool] = False

    _span: int  # first row of the span of the source that `iter_tables` is processing

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        module = str(sys.modules[type(self).__module__].__file__)
        data = str(kwargs.get("data") or "")
        if data and not is_hub_id(data) and Path(data).exists():
            if not is_dataset_folder(Path(data)):
                # Rejects a wrong file before its gigabytes are hashed.
                open_data_file(Path(data), kwargs.get("encoding"), has_option=True)
        if texts := kwargs.get("text"):
            kwargs["text"] = list_text_files(texts)
        for name in (data, *(kwargs.get("text") or ())):
            if is_hub_id(name):  # a branch may move, so the cache key needs the commit
                kwargs["revision"] = resolve_hub_commit(name, kwargs.get("revision") or "main")
        for option in self.BUILDER_CONFIG_CLASS.FILES:
            for path in list_option_files(kwargs.get(option)):
                if not any((path / name).is_file() for name in _FOLDER_MARKERS):
                    validate_file(path)  # rejects any other folder, which may be the whole disk, before it is hashed
        super().__init__(*args, **{"hash": compute_builder_hash(module, self.BUILDER_CONFIG_CLASS, kwargs), **kwargs})

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterable[pa.Table]:
        """Build rows from the examples of one range of the source, as tables with a few thousand rows each."""
        raise NotImplementedError

    def open_sources(self, *, streaming: bool = False) -> list[PairSource]:
        """Open the data sources that the set is built from."""
        return [self.open_pairs(streaming=streaming)]

    def open_pairs(self, *, streaming: bool = False, split: str | None = None) -> PairSource:
        """Open the corpus or the user-provided data of the options. A given split replaces that of the options."""
        config = self.config if split is None else replace(self.config, source_split=split)
        source: PairSource = replace(
            config.open_pairs(streaming=streaming),
            max_characters=self.MAX_SENTENCE_CHARACTERS,
            requires_english=self.REQUIRES_ENGLISH and config.data is not None,
        )
        if self.config.data and len(source.labels) == len(TWO_WAY):
            if not (self.has_two_label_config() if source.labels == TWO_WAY else self.ACCEPTS_CONTRADICTION_LABELS):
                why = "to identify contradictions" if source.labels == TWO_WAY else "to identify entailments"
                raise UnsuitablePairsError(
                    f"{source.name}: expected three labels, {why}, got two labels ({', '.join(source.labels)}); label "
                    f"the pairs {', '.join(LABELS[:-1])} or {LABELS[-1]}, or omit the set"
                )
            self.info.features = build_features(self.SCHEMA, self.LABEL_NAMES or source.labels)
        return source

    @classmethod
    def has_two_label_config(cls) -> bool:
        """Check whether the set supports two-label pairs, i.e. whether one of its configs uses a two-label corpus."""
        return any(CORPORA[name].is_two_way for config in cls.BUILDER_CONFIGS if (name := config.corpus) in CORPORA)

    def validate_resources(self) -> None:
        """Validate that the files, pipelines and corpora in the options exist, and that the first row is valid."""
        pipeline = getattr(self.config, "pipeline", None)
        if pipeline and pipeline != ALL:
            tagging.validate_pipeline(pipeline)
        if self.config.data and not is_hub_id(self.config.data):
            for source in self.open_sources():
                source.validate_first_row()
        own = [option for option in self.config.FILES if option not in SourceConfig.FILES]  # pairs are validated above
        for option in own:
            names = getattr(self.config, option)
            for name in names if isinstance(names, list | tuple) else ():
                if name.endswith(_TEXT_SUFFIXES):
                    validate_file(Path(name))
                else:
                    validate_corpus_names([name])

    def warm_caches(self, source: PairSource) -> None:
        """Fill caches in the main process, so that the worker processes do not repeat the same work."""

    def describe_provenance(self) -> dict[str, Any]:
        """Build a JSON record of inputs other than the source pairs that affect the rows, e.g. a fitted model."""
        return {}

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the external resources that are needed to build the rows. Subclasses add further resources."""
        config = self.config
        if config.corpus:
            base = CORPORA[config.corpus]
            splits = [config.source_split] if config.source_split else [*base.train, *base.validation, *base.test]
            yield from requirements.iter_corpus_requirements(config.corpus, splits, config.revision)
        elif config.text:
            if is_hub_id(config.text[0]):
                yield Requirement(f"the text {config.text[0]} of {self.dataset_name}", self.open_sources)
            yield requirements.build_pipeline_requirement(str(getattr(config, "pipeline", "")))
        elif not config.data or is_hub_id(str(config.data)):
            yield Requirement(f"the pairs {config.data or config.name} of {self.dataset_name}", self.open_sources)

    def get_exclusion_counts(self) -> dict[str, int]:
        """Count the labelled examples that were excluded for a specific reason, by reason.

        All other excluded examples have the general reason `EXCLUSION_REASON`, which is not counted here.
        """
        return {}

    def list_creators(self) -> dict[PairPart, list[str]]:
        """List the creators of the sentences and labels for the dataset card. User-provided data adds none."""
        base = CORPORA.get(self.config.corpus)
        sentences, labels = (base.sentence_creators, base.label_creators) if base else ((), ())
        made = (_MACHINE,)
        return {
            "sentences": [*sentences, *(made if "sentences" in self.MACHINE_MADE else ())],
            "labels": list(made if "labels" in self.MACHINE_MADE else labels),
        }

    def get_split_name(self, source: PairSource) -> str:
        """Return the name of the split for the rows that are built from a source."""
        return source.split or _UNNAMED_SPLIT

    def save_build_counts(self, counts: Mapping[str, int]) -> None:
        """Store counts from `iter_tables` next to the rows, e.g. the number of rejected candidates by reason."""
        if self._is_prepared:
            build_stats.save_range_counts(Path(self._output_dir), _COUNTS, self._span, counts)

    def load_build_counts(self) -> dict[str, int]:
        """Load the counts that `save_build_counts` stored, summed over all processes; empty if none are stored."""
        return dict(sorted(build_stats.load_total_counts(Path(self._output_dir), _COUNTS).items()))

    def load_row_counts(self) -> Counter[str]:
        """Load how many source rows were read, excluded for each reason, labelled and annotated.

        A builder that overrides `_generate_tables` stores them with `build_stats.save_row_counts`.
        """
        return build_stats.load_row_counts(Path(self._output_dir))

    def _build_cache_dir(self) -> str:
        folder = Path(str(super()._build_cache_dir()))
        # Verify the checksums before `datasets` maps the files: a flipped byte silently changes rows or crashes Arrow.
        if folder.is_dir() and (damage := checksums.find_corruption(folder)):
            checksums.remove_damaged(folder, damage)
        return str(folder)

    def _save_info(self) -> None:
        super()._save_info()  # writes the last file of a set; afterwards `datasets` renames the folder
        checksums.write_folder_checksums(Path(self._output_dir))

    def _info(self) -> datasets.DatasetInfo:
        self.config.validate()  # not in `__post_init__`: `datasets` sets the options after it has created the config
        base = CORPORA[self.config.corpus] if self.config.corpus else None
        return datasets.DatasetInfo(
            description=sys.modules[type(self).__module__].__doc__,
            features=build_features(self.SCHEMA, self.LABEL_NAMES or (TWO_WAY if base and base.is_two_way else LABELS)),
            citation="\n".join([self.CITATION, *([base.citation] if base else [])]),
            license=base.license if base else "",
        )

    @property
    def _is_prepared(self) -> bool:
        """Whether rows are being written to the cache, not streamed."""
        # `datasets` builds in a folder `….incomplete` and renames it when the set is complete.
        return Path(self._output_dir).suffix == ".incomplete"

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        [source] = self.open_sources(streaming=dl_manager.is_streaming)
        if not dl_manager.is_streaming:
            self.warm_caches(source)
        # `datasets` distributes list arguments over its processes. The rows do not depend on the distribution.
        return [datasets.SplitGenerator(self.get_split_name(source), {"source": source, "spans": list(source.spans)})]

    def _prepare_split(self, split_generator: datasets.SplitGenerator, *args: Any, **how: Any) -> None:
        if how.get("num_proc"):
            # `datasets` warns if there are fewer spans than processes.
            how["num_proc"] = min(how["num_proc"], len(split_generator.gen_kwargs.get("spans") or [None]))
        try:
            with parallel.set_num_proc(1):  # worker processes start no further processes
                super()._prepare_split(split_generator, *args, **how)
        except Exception as error:
            # After Ctrl-C the process pool raises an error of its own, which hides the interrupt.
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise
        if (source := split_generator.gen_kwargs.get("source")) is not None:
            build_stats.validate_unique_ids(source, Path(self._output_dir))

    def _prepare_split_single(self, *args: Any, **how: Any) -> Iterator[Any]:
        try:
            yield from super()._prepare_split_single(*args, **how)
        except DatasetGenerationError as error:
            if error.__cause__ is None:
                raise
            raise RowBuildError(error.__cause__) from error.__cause__

    def _generate_tables(
        self, source: PairSource, spans: list[tuple[int, int | None]]
    ) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        # Joined, so that the work that `iter_tables` does before its first row is done once per process.
        for start, stop in _join_spans(spans):
            self._span = start
            examples = source.iter_examples(start, stop)
            if self._is_prepared:
                examples = build_stats.iter_and_count_examples(source, start, stop, Path(self._output_dir))
            for number, table in enumerate(self.iter_tables(source, examples)):
                yield (start, number), table
            deque(examples, maxlen=0)  # exhausts the iterator, so that examples after the last row are counted too


def _join_spans(spans: Iterable[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """Join adjacent spans.

    >>> _join_spans([(0, 500), (500, 1000), (2000, None)])
    [(0, 1000), (2000, None)]
    """
    joined: list[tuple[int, int | None]] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            start, _ = joined.pop()
        joined.append((start, stop))
    return joined


class RowBuildError(DatasetGenerationError):
    """Raised when the rows of a set cannot be built."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause

    def __reduce__(self) -> tuple[type["RowBuildError"], tuple[BaseException]]:
        # The default would pass the message as `cause`, since `args` holds only the message.
        return type(self), (self.cause,)


def build_features(schema: pa.Schema, labels: Sequence[str] = LABELS) -> datasets.Features:
    """Convert an Arrow schema to `datasets.Features`. The column `label` becomes a `ClassLabel` with names `labels`."""
    return datasets.Features(
        {**datasets.Features.from_arrow_schema(schema), "label": datasets.ClassLabel(names=list(labels))}
    )
