"""The base class of all builders, and the part of the cache key that `datasets` does not know of."""

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
from unbag.challenge_sets.requirements import Requirement
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.readers import hub_commit, is_hub_id, open_file
from unbag.data.sources import LONGEST_SENTENCE, Example, Source, validate_corpus_names
from unbag.data.text import tagging as pipelines
from unbag.data.text.tagging import ALL
from unbag.utils import checksums, parallel
from unbag.utils.hashing import file_hash
from unbag.utils.safe_io import validate_file

_PACKAGE: Final = Path(__file__).parents[1]
_MAKES_ROWS: Final = (
    *(f"data/{name}" for name in ("labels.py", "corpora.py", "sources.py", "columns.py", "readers.py", "text")),
    *(f"challenge_sets/{name}.py" for name in ("builder", "build_stats", "config", "official", "plain/rows")),
    *("utils/rng.py", "challenge_sets/perturbations", "baselines"),
    *("scoring/bleu.py", "scoring/pos_minitree.py", "scoring/uncertainty_partitions.py"),
)
"""The code that decides what rows a set has; a change of it makes every cached set stale."""


def builder_hash(builder_file: str, config: type[SourceConfig], options: Mapping[str, Any]) -> str:
    """Return the part of the cache key that `datasets` leaves out: the code, the tokenizer, the user's files.

    Args:
        builder_file: the builder's module; what else is in its folder counts too.
        config: the builder's config class.
        options: the builder's; one of `config.FILES` that names a file or folder counts with its content.
    """
    digest = hashlib.sha256()
    for file in sorted(Path(builder_file).parent.glob("*.py")):  # a set of another package may make its rows there
        digest.update(file.read_bytes())
    for name in _MAKES_ROWS:
        for file in _files(_PACKAGE / name):
            if file.suffix == ".py":
                digest.update(file.read_bytes())
    for package in ("spacy", "jieba"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"absent")
    for option in config.FILES:
        for path in named_files(options.get(option) or getattr(config, option)):
            for file in _files(path) if path.is_dir() else [validate_file(path)]:
                digest.update(f"{option}\0{file.relative_to(path)}\0{file_hash(file)}\n".encode())
    return digest.hexdigest()


def named_files(value: Any) -> list[Path]:
    """Return the files and folders that an option names; it may name what is on the Hub instead, and a list corpora."""
    # No `isinstance` of `Path` here: `datasets` puts a class of its own in that name's place when a builder is made.
    names = [name for name in value if name not in CORPORA] if isinstance(value, list | tuple) else [value]
    return [Path(os.fspath(name)) for name in names if name and os.path.exists(name)]


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


Made = Literal["sentences", "labels"]
"""What of a pair somebody made."""

_MACHINE: Final = "machine-generated"
_UNNAMED: Final = "data"  # the split of a file
_COUNTS: Final = "counts"
_OF_FOLDERS: Final = ("meta.json", "config.json", "config.cfg")  # of a pipeline, a model, embeddings
_TEXTS: Final = (".txt", ".txt.gz")


class ChallengeSetBuilder(datasets.ArrowBasedBuilder):
    """The builder of a challenge set that is made from the pairs of a corpus or of a user's own.

    A set says what it is with the class attributes, and makes its rows in `tables`. Its config class holds its options
    (`SourceConfig`), its `BUILDER_CONFIGS` the configs by name.

    Attributes:
        SCHEMA: its columns: `id` (unique), `source_id` (the example a row is made from), `premise`, `hypothesis`,
            `label` (an id), then its own.
        CITATION: BibTeX of its paper; the corpus's is added.
        UNFIT: why a labelled example may be left out, in words that follow a number ("too short to permute").
        EVALUATED: the split that models are evaluated on, for a set that has several.
        LONGEST: the most characters of a sentence; None for a set that takes sentences as they are.
        MACHINE_MADE: whether a set makes sentences, or labels, of its own, rather than take the corpus's.
        LABEL_NAMES: Names of the gold label ids, for a set with labels of its own; None for those of the corpus.
    """

    SCHEMA: ClassVar[pa.Schema]
    CITATION: ClassVar[str]
    UNFIT: ClassVar[str] = "unfit"
    EVALUATED: ClassVar[str | None] = None
    LONGEST: ClassVar[int | None] = LONGEST_SENTENCE
    MACHINE_MADE: ClassVar[frozenset[Made]] = frozenset()
    LABEL_NAMES: ClassVar[Sequence[str] | None] = None

    _span: int  # of the source, by its first row, of which `tables` is making rows

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        module = str(sys.modules[type(self).__module__].__file__)
        if is_hub_id(data := str(kwargs.get("data") or "")):
            # A branch moves: the cache must know where it stood.
            kwargs["revision"] = hub_commit(data, kwargs.get("revision") or "main")
        elif data and Path(data).exists():
            open_file(Path(data))  # or gigabytes of something else would be hashed
        for option in self.BUILDER_CONFIG_CLASS.FILES:
            for path in named_files(kwargs.get(option)):
                if not any((path / name).is_file() for name in _OF_FOLDERS):
                    validate_file(path)  # any other folder may be the whole disk
        super().__init__(*args, **{"hash": builder_hash(module, self.BUILDER_CONFIG_CLASS, kwargs), **kwargs})

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterable[pa.Table]:
        """Yield the rows made from some examples of a source, as tables of `SCHEMA`, some thousand rows each."""
        raise NotImplementedError

    def sources(self, *, streaming: bool = False) -> list[Source]:
        """Open what the set is made from."""
        return [replace(self.config.open(streaming=streaming), longest=self.LONGEST)]

    def validate_names(self) -> None:
        """Refuse, before any pair is read, an option that names what is not there.

        Raises:
            ValueError: if the data, a pipeline, or a file or corpus of a list is none.
        """
        pipeline = getattr(self.config, "pipeline", None)
        if pipeline and pipeline != ALL:
            pipelines.require(pipeline)
        if self.config.data and not is_hub_id(self.config.data):
            self.config.open()  # its first row, columns and labels
        for option in self.config.FILES:
            names = getattr(self.config, option)
            for name in names if isinstance(names, list | tuple) else ():
                if name.endswith(_TEXTS):
                    validate_file(Path(name))
                else:
                    validate_corpus_names([name])

    def warm_caches(self, source: Source) -> None:
        """Make, before several processes begin, what each would else make for itself, and leave it in a cache."""

    def provenance(self) -> dict[str, Any]:
        """Return what else decides the rows (a fitted model, say), for the record; no more than JSON can hold."""
        return {}

    def requirements(self) -> Iterator[Requirement]:
        """Yield what the rows are made from that is elsewhere; a set adds what else it reads."""
        config = self.config
        if config.corpus:
            base = CORPORA[config.corpus]
            splits = [config.source_split] if config.source_split else [*base.train, *base.validation, *base.test]
            yield from requirements.of_corpus(config.corpus, splits, config.revision)
        elif not config.data or is_hub_id(str(config.data)):
            yield Requirement(f"the pairs {config.data or config.name} of {self.dataset_name}", self.sources)

    def exclusion_counts(self) -> dict[str, int]:
        """Return how many labelled examples were left out for other reasons than `UNFIT`, by reason, in such words."""
        return {}

    def creators(self) -> dict[Made, list[str]]:
        """Return who made the sentences and the labels, in the Hub's terms; of a user's own pairs that is not known."""
        base = CORPORA.get(self.config.corpus)
        sentences, labels = (base.sentences_by, base.labels_by) if base else ((), ())
        made = (_MACHINE,)
        return {
            "sentences": [*sentences, *(made if "sentences" in self.MACHINE_MADE else ())],
            "labels": list(made if "labels" in self.MACHINE_MADE else labels),
        }

    def split_name(self, source: Source) -> str:
        """Return what the split of the rows made from a source is called."""
        return source.split or _UNNAMED

    def keep_counts(self, counts: Mapping[str, int]) -> None:
        """Keep what was counted while `tables` made rows, such as why others were not, beside them."""
        if self._is_prepared:
            build_stats.keep(Path(self._output_dir), _COUNTS, self._span, counts)

    def kept_counts(self) -> dict[str, int]:
        """Return what `keep_counts` kept when the rows were made, summed up; nothing if it kept nothing."""
        return dict(
            sorted(build_stats.kept(Path(self._output_dir), _COUNTS).items())
        )  # beside the rows, wherever they are

    def read_counts(self) -> Counter[str]:
        """Return how many rows were read when the set was made, how many were left out by reason, and of what kinds.

        A builder that makes its tables in another way than by `tables` keeps them
        (`challenge_sets.build_stats.keep_read`).
        """
        return build_stats.read(Path(self._output_dir))

    def _build_cache_dir(self) -> str:
        folder = Path(str(super()._build_cache_dir()))
        # Before `datasets` reads a byte of it: rows with one changed are other rows, or the end of the process.
        if folder.is_dir() and (damage := checksums.damage(folder)):
            checksums.set_aside(folder, damage)
        return str(folder)

    def _save_info(self) -> None:
        super()._save_info()  # the last file of a set, before its folder gets its name
        checksums.seal(Path(self._output_dir))

    def _info(self) -> datasets.DatasetInfo:
        self.config.check()  # here, since `datasets` sets options one by one, after a config is made
        base = CORPORA[self.config.corpus] if self.config.corpus else None
        return datasets.DatasetInfo(
            description=sys.modules[type(self).__module__].__doc__,
            features=features(self.SCHEMA, self.LABEL_NAMES or (TWO_WAY if base and base.is_two_way else LABELS)),
            citation="\n".join([self.CITATION, *([base.citation] if base else [])]),
            license=base.licence if base else "",
        )

    @property
    def _is_prepared(self) -> bool:
        """Whether rows are being made to be kept, and not to be streamed."""
        return Path(self._output_dir).suffix == ".incomplete"

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        [source] = self.sources(streaming=dl_manager.is_streaming)
        if not dl_manager.is_streaming:
            self.warm_caches(source)
        # A list is what `datasets` shares out among processes; the rows do not depend on who makes them.
        return [datasets.SplitGenerator(self.split_name(source), {"source": source, "spans": list(source.spans)})]

    def _prepare_split(self, split_generator: datasets.SplitGenerator, *args: Any, **how: Any) -> None:
        if how.get("num_proc"):
            # `datasets` would warn that there are fewer spans, or none.
            how["num_proc"] = min(how["num_proc"], len(split_generator.gen_kwargs.get("spans") or [None]))
        try:
            with parallel.worker_count(1):  # a process that makes rows starts none
                super()._prepare_split(split_generator, *args, **how)
        except Exception as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # Ctrl-C, and then its pool's complaint
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
            raise RowsError(error.__cause__) from error.__cause__

    def _generate_tables(
        self, source: Source, spans: list[tuple[int, int | None]]
    ) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        for start, stop in _joined(spans):  # what `tables` does before its first row, it does once a process
            self._span = start
            examples = source.examples(start, stop)
            if self._is_prepared:
                examples = build_stats.examples(source, start, stop, Path(self._output_dir))
            for number, table in enumerate(self.tables(source, examples)):
                yield (start, number), table
            deque(examples, maxlen=0)  # those that no row was made of count too


def _joined(spans: Iterable[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """Return spans with neighbours as one.

    >>> _joined([(0, 500), (500, 1000), (2000, None)])
    [(0, 1000), (2000, None)]
    """
    joined: list[tuple[int, int | None]] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            start, _ = joined.pop()
        joined.append((start, stop))
    return joined


class RowsError(DatasetGenerationError):
    """Rows could not be made; `cause` says why, and goes along from one process to another, as `__cause__` does not."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause

    def __reduce__(self) -> tuple[type["RowsError"], tuple[BaseException]]:
        return type(self), (self.cause,)


def features(schema: pa.Schema, labels: Sequence[str] = LABELS) -> datasets.Features:
    """Return the features of a set with these columns; `label` is a `ClassLabel` of these names."""
    return datasets.Features(
        {**datasets.Features.from_arrow_schema(schema), "label": datasets.ClassLabel(names=list(labels))}
    )
