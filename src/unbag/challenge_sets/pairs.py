"""The pairs that a challenge set is built from, with the options of the set."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeVar

from unbag.data.corpora import CORPORA, OFFICIAL, get_corpus, validate_language_code
from unbag.data.downloads import PinnedFile, fetch_pinned_file, find_local_copy
from unbag.data.sources import Example, PairSource, open_corpus, open_data
from unbag.data.text.tagging import PIPELINE
from unbag.data.user_text import LANGUAGE, build_text_file_names, open_text
from unbag.utils.files import atomic_write, get_cache_folder

OFFICIAL_FILE: Final = "file"
"""Option of the sets with authors' published pairs."""


@dataclass
class SetOptions:
    """Options that select the source pairs of a set and describe their format.

    The options of a set are a dataclass derived from this one. Its `Attributes` are their help. The builder derives the
    configs of the set from it (`builder.create_builder_class`).
    """

    # Options that may name a file or folder of the user, whose content changes the rows. A subclass lists its own.
    FILES: ClassVar[tuple[str, ...]] = ("data", "text")

    name: str = "default"  # name of the config, as in `datasets.BuilderConfig`
    corpus: str = ""  # base corpus (`unbag.data.corpora`); empty if `data` or `text` is given
    source_split: str | None = None  # split of the corpus or Hub data set
    revision: str | None = None  # revision to use instead of the pinned one
    # File, folder or Hub data set with your own pairs. The fields below describe its format (`unbag.data.sources`).
    data: str | None = None
    # Files or folders of your own text, or one Hub data set with a text column (`unbag.data.user_text`).
    text: Sequence[str] | None = None
    columns: Mapping[str, str] | None = None  # names of the columns in `data`, by unbag's names of the columns
    # Names of the label ids in `data`, or the meaning of each label (`E=entailment`).
    labels: Sequence[str] | None = None
    language: str = "en"  # language of the sentences in `data`, a code such as `de`
    data_config: str | None = None  # config of the Hub data set
    encoding: str | None = None  # encoding of a text file in `data` without a byte-order mark (default: UTF-8)
    join_passages: bool = False  # whether to join a premise that is a list of passages by blank lines

    def validate(self) -> None:
        """Validate combinations of options. The builder has validated each value, and the options of the pairs."""

    def validate_pairs(self) -> None:
        """Validate the options that select the pairs."""
        given = {"corpus": self.corpus, "data": self.data, "text": self.text}
        if sum(map(bool, given.values())) != 1:
            values = ", ".join(f"{name}={value!r}" for name, value in given.items())
            raise ValueError(f"expected one of corpus, data and text, got {values}; pass exactly one")
        validate_language_code(self.language)
        if self.text and self.language != LANGUAGE:
            raise ValueError(
                f"text: expected English text, got the language {self.language!r}, which is not supported; "
                "omit the language"
            )

    @property
    def is_official(self) -> bool:
        """Whether the config selects the authors' published pairs."""
        return self.name.split("-")[0] == OFFICIAL

    @property
    def sentence_language(self) -> str:
        """Language of the pairs, given by the corpus or by the option `language`."""
        return CORPORA[self.corpus].language if self.corpus in CORPORA else self.language

    @property
    def parser_name(self) -> str:
        """Name of the spaCy pipeline that parses text: the option `pipeline` if the set has one, else the default."""
        # Only sets that parse or tag have the option, but a text is always split into sentences by a pipeline.
        return str(getattr(self, "pipeline", PIPELINE))

    def load_options(self) -> dict[str, Any]:
        """Collect the data loading options to store in the results: those with non-default values, except paths."""
        if self.data:
            # Paths are omitted: they differ between machines, and the hash of the rows identifies the data.
            names: tuple[str, ...] = ("columns", "labels", "language", "data_config", "encoding", "join_passages")
        else:
            names = ("columns", "data_config") if self.text else ("revision",)
        given = {name: value for name in names if (value := getattr(self, name)) != getattr(SetOptions, name)}
        return {"text": build_text_file_names(self.text), **given} if self.text else given

    def open_pairs(self) -> PairSource:
        """Open the source of the pairs: the corpus, the text or the user's data."""
        if self.corpus:
            return open_corpus(get_corpus(self.corpus), self.source_split, revision=self.revision)
        how: dict[str, Any] = {
            "split": self.source_split,
            "columns": self.columns,
            "config": self.data_config,
            "revision": self.revision,
        }
        if self.text:
            return open_text(self.text, pipeline=self.parser_name, **how)
        return open_data(
            str(self.data),
            labels=self.labels,
            language=self.language,
            encoding=self.encoding,
            join_passages=self.join_passages,
            **how,
        )


def list_own_options(options: type[SetOptions]) -> list[str]:
    """List the options of a set that do not select its pairs."""
    return [field.name for field in fields(options) if field.name not in SetOptions.__dataclass_fields__]


@dataclass(frozen=True)
class Pairs:
    """Labelled pairs of one range of a source, which `ChallengeSet.rows` reads once."""

    examples: Iterator[Example]
    source: PairSource  # source of the pairs, for sets that read all of it first
    options: Any
    counts: Counter[str]  # counts to store with the set, such as excluded pairs by reason

    def __iter__(self) -> Iterator[Example]:
        return self.examples


T = TypeVar("T")


def deduplicate(items: Iterable[T], get_sentence: Callable[[T], str]) -> Iterator[T]:
    """Iterate over items in order, and drop items whose sentence has already occurred.

    The function stores a hash of 64 bits per sentence, which is the same in every process. All premises of SNLI take
    some MB. The probability of any collision among a million sentences is 3 in 100 million.

    >>> list(deduplicate(["A dog", "a dog", "A dog"], str))
    ['A dog', 'a dog']
    """
    seen: set[bytes] = set()
    for item in items:
        # Not Python's `hash`, whose values for strings differ between processes.
        key = blake2b(get_sentence(item).encode(), digest_size=8).digest()
        if key not in seen:
            seen.add(key)
            yield item


PairPart = Literal["sentences", "labels"]
"""Parts of a pair with creators in the dataset card."""


@dataclass
class OfficialOptions(SetOptions):
    """Options of a set whose config `official` has the authors' published pairs.

    Attributes:
        file: Official configs only. Your copy of the authors' file, or a folder that has the file under its own name,
            also in a subfolder (default: download).
    """

    FILES: ClassVar[tuple[str, ...]] = ("file",)

    file: str | None = None


@dataclass(frozen=True)
class OfficialPairs:
    """The authors' published pairs of a set."""

    file: PinnedFile
    license: str
    creators: Mapping[PairPart, Sequence[str]]
    variants: tuple[str, Sequence[str]] | None = None  # option whose values have configs, as `config_variants` of a set

    def resolve_file_option(self, file: Any, config: str) -> str:
        """Find the authors' file by the value of the option `file`, for a config."""
        if not config.startswith(OFFICIAL):
            # Raised here, since the builder would first open the file and complain about its format.
            raise ValueError(
                f"file: expected the config {OFFICIAL!r}, which reads the authors' pairs from a file, got "
                f"{file!r:.200} with the config {config!r}; omit the file, or the corpus or data"
            )
        # Resolve a folder to the file itself: otherwise all of the folder would enter the cache key. A wrong file also
        # raises here, before any work is done.
        return str(fetch_pinned_file(self.file, local_copy=find_local_copy(self.file, Path(file))))

    def find_file(self, options: Any) -> Path:
        """Locate the authors' file: the user's copy, the cached copy or a new download."""
        return fetch_pinned_file(self.file, local_copy=Path(options.file) if options.file else None)

    def open_source(self, name: str, lines: bytes, columns: Mapping[str, str] | None = None) -> PairSource:
        """Write the authors' pairs, as JSON lines, to the cache, and open them as a data source.

        `columns` maps our column names to those of the lines (`unbag.data.sources`).
        """
        path = get_cache_folder("files") / self.file.sha256[:16] / name
        with atomic_write(path) as tmp:
            tmp.write_bytes(lines)
        source = open_data(path, columns=columns)
        return replace(source, name=OFFICIAL, license=self.license, origin=self.file.url, revision=self.file.sha256)
