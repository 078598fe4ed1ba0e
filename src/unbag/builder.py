"""What the builders of all challenge sets share: where the pairs come from, the features, and the cache key."""

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import datasets
import pyarrow as pa

from unbag import requirements
from unbag.corpora import CORPORA, corpus
from unbag.files import atomic_write
from unbag.labels import LABELS
from unbag.requirements import Requirement
from unbag.rows import hub_commit, is_hub_id
from unbag.sources import Example, Source, open_corpus, open_data

_COUNTS: Final = "counts"
_PACKAGE: Final = Path(__file__).parent
_MAKES_ROWS: Final = (
    *("labels.py", "corpora.py", "sources.py", "rows.py", "columns.py", "plain.py", "builder.py", "official.py"),
    *("counter_rng.py", "text", "perturb", "lexical", "natlog", "wordnet"),
    *("scoring/bleu.py", "scoring/pos_minitree.py", "scoring/uncertainty_partitions.py"),
)
"""The code that decides what rows a set has; a change of it makes every cached set stale."""


@dataclass
class SourceConfig(datasets.BuilderConfig):
    """Which pairs a set is made from.

    Attributes:
        corpus: a base corpus (`unbag.corpora`), or nothing if `data` is given.
        source_split: the split of the corpus or Hub data set.
        revision: another revision than the pinned one.
        data: a file or Hub data set of the user's own; the fields below say how to read it (`unbag.sources`).
        columns: their names of our columns.
        labels: names of its label ids.
        language: `en` or `zh`.
        data_config: the Hub data set's config.
        FILES: the options that may name a file or folder of the user's, whose content decides the rows.
    """

    FILES: ClassVar[tuple[str, ...]] = ("data",)

    corpus: str = ""
    source_split: str | None = None
    revision: str | None = None
    data: str | None = None
    columns: Mapping[str, str] | None = None
    labels: Sequence[str] | None = None
    language: str = "en"
    data_config: str | None = None

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if neither a corpus nor data is named, or both.
        """
        if bool(self.corpus) == bool(self.data):
            raise ValueError(f"expected either a corpus or data, found corpus={self.corpus!r} and data={self.data!r}")

    def own_options(self) -> dict[str, Any]:
        """Return the set's own options, those that decide its rows beside the pairs they are made from."""
        return {name: getattr(self, name) for name in sorted(own_option_names(type(self)))}

    def read_as(self) -> dict[str, Any]:
        """Return how the pairs are read where it is not as by default, for the record; not where a file is."""
        names = ("columns", "labels", "language", "data_config") if self.data else ("revision",)
        default = type(self)
        return {name: value for name in names if (value := getattr(self, name)) != getattr(default, name)}

    def open(self, *, streaming: bool = False) -> Source:
        """Open the pairs."""
        if self.corpus:
            return open_corpus(corpus(self.corpus), self.source_split, revision=self.revision, streaming=streaming)
        return open_data(
            str(self.data),
            split=self.source_split,
            columns=self.columns,
            labels=self.labels,
            language=self.language,
            config=self.data_config,
            revision=self.revision,
        )


def own_option_names(config: type[SourceConfig]) -> frozenset[str]:
    """Return the names of the options that a set's config class adds."""
    return frozenset(field.name for field in fields(config)) - {field.name for field in fields(SourceConfig)}


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
    """

    SCHEMA: ClassVar[pa.Schema]
    CITATION: ClassVar[str]
    UNFIT: ClassVar[str] = "unfit"
    EVALUATED: ClassVar[str | None] = None

    _span: int  # of the source, by its first row, of which `tables` is making rows

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        module = str(sys.modules[type(self).__module__].__file__)
        if is_hub_id(data := str(kwargs.get("data") or "")):
            # A branch moves: the cache must know where it stood.
            kwargs["revision"] = hub_commit(data, kwargs.get("revision") or "main")
        super().__init__(*args, **{"hash": builder_hash(module, self.BUILDER_CONFIG_CLASS, kwargs), **kwargs})

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterable[pa.Table]:
        """Yield the rows made from some examples of a source, as tables of `SCHEMA`, some thousand rows each."""
        raise NotImplementedError

    def sources(self, *, streaming: bool = False) -> list[Source]:
        """Open what the set is made from."""
        return [self.config.open(streaming=streaming)]

    def made_with(self) -> dict[str, Any]:
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

    def unfit_otherwise(self) -> dict[str, int]:
        """Return how many labelled examples were left out for other reasons than `UNFIT`, by reason, in such words."""
        return {}

    def keep_counts(self, counts: Mapping[str, int]) -> None:
        """Keep what was counted while `tables` made rows, such as why others were not, beside them."""
        if Path(self._output_dir).suffix == ".incomplete":  # being prepared, not streamed
            # A file for each call of `tables`: several processes may share the work.
            with atomic_write(Path(self._output_dir) / f"{_COUNTS}-{self._span}.json") as tmp:
                tmp.write_text(json.dumps(dict(sorted(counts.items()))))

    def kept_counts(self) -> dict[str, int]:
        """Return what `keep_counts` kept when the rows were made, summed up; nothing if it kept nothing."""
        files = Path(self._output_dir).glob(f"{_COUNTS}-*.json")  # where the rows are: they move and are kept with them
        kept: Counter[str] = Counter()
        for file in files:
            kept.update(json.loads(file.read_text()))
        return dict(sorted(kept.items()))

    def _info(self) -> datasets.DatasetInfo:
        self.config.check()  # here, since `datasets` sets options one by one, after a config is made
        base = CORPORA[self.config.corpus] if self.config.corpus else None
        return datasets.DatasetInfo(
            description=sys.modules[type(self).__module__].__doc__,
            features=features(self.SCHEMA),
            citation="\n".join([self.CITATION, *([base.citation] if base else [])]),
            license=base.licence if base else "",
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        [source] = self.sources(streaming=dl_manager.is_streaming)
        # A list is what `datasets` shares out among processes; the rows do not depend on who makes them.
        return [datasets.SplitGenerator(source.split or "data", {"source": source, "spans": list(source.spans)})]

    def _generate_tables(
        self, source: Source, spans: list[tuple[int, int | None]]
    ) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        for start, stop in spans:
            self._span = start
            for number, table in enumerate(self.tables(source, source.examples(start, stop))):
                yield (start, number), table


ConfigT = TypeVar("ConfigT", bound=SourceConfig)


def source_configs(config: type[ConfigT], version: datasets.Version, *, language: str | None = None) -> list[ConfigT]:
    """Return a config `<corpus>-<split>` for each split of each base corpus, or of those in one language."""
    return [
        config(name=f"{corpus.name}-{split}", version=version, corpus=corpus.name, source_split=split)
        for corpus in CORPORA.values()
        if language in (None, corpus.language)
        for split in corpus.splits
    ]


def features(schema: pa.Schema) -> datasets.Features:
    """Return the features of a set with these columns; `label` is a `ClassLabel` of our label names."""
    return datasets.Features(
        {**datasets.Features.from_arrow_schema(schema), "label": datasets.ClassLabel(names=list(LABELS))}
    )


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
        for path in _named(options.get(option) or getattr(config, option)):
            for file in _files(path):
                with file.open("rb") as content:  # which may be gigabytes of word vectors
                    sha256 = hashlib.file_digest(content, "sha256").hexdigest()
                digest.update(f"{option}\0{file.relative_to(path)}\0{sha256}\n".encode())
    return digest.hexdigest()


def _named(value: Any) -> list[Path]:
    """Return the files and folders that an option names; it may name what is on the Hub instead, and a list corpora."""
    # No `isinstance` of `Path` here: `datasets` puts a class of its own in that name's place when a builder is made.
    names = [name for name in value if name not in CORPORA] if isinstance(value, list | tuple) else [value]
    return [Path(os.fspath(name)) for name in names if name and os.path.exists(name)]


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
