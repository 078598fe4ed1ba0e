"""The pairs that a challenge set is built from, with the options of the set."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from unbag.data.corpora import OFFICIAL
from unbag.data.downloads import PinnedFile, fetch_pinned_file, find_local_copy
from unbag.data.sources import Example, PairSource, open_data
from unbag.utils.files import atomic_write, get_cache_folder


@dataclass
class SetOptions:
    """Base class of the options of a set. A subclass is a dataclass whose `Attributes` are the help of the options.

    The values that a set reads also have the fields of `config.SourceConfig`, such as `corpus` and `text`.

    Attributes:
        FILES: Options that may name a file or folder of the user, whose content changes the rows.
    """

    FILES: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # fields of `config.SourceConfig`, which the options of a set may read
        name: ClassVar[str]
        corpus: ClassVar[str]
        source_split: ClassVar[str | None]
        data: ClassVar[str | None]
        language: ClassVar[str]
        sentence_language: ClassVar[str]
        is_official: ClassVar[bool]

    def validate(self) -> None:
        """Validate the options of the set. Those of the pairs have been validated before."""


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
