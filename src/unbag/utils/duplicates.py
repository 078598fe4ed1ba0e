"""Whether any of many texts comes twice, told by digests on disk: memory does not grow with the texts."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import numpy as np
from numpy.typing import NDArray

_AT_ONCE: Final = 10_000  # texts that wait to be digested
_IN_MEMORY: Final = 4_000_000  # digests that are sorted at a time: 32 MB


class DigestFile:
    """A file of the digests of texts, 64 bits each, to be written once."""

    def __init__(self, path: Path) -> None:
        """Begin the file, in the place of one that is there."""
        self._file: IO[bytes] = path.open("wb")
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Add a text."""
        self._waiting.append(text)
        if len(self._waiting) >= _AT_ONCE:
            self._write()

    def _write(self) -> None:
        if self._waiting:
            self._file.write(digests(self._waiting).tobytes())
            self._waiting.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write()
        self._file.close()


def digests(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return the digest of each text, shape (n,); the same in every process."""
    from pandas.util import hash_array

    found: NDArray[np.uint64] = hash_array(np.array(list(texts), dtype=object), categorize=False)
    return found


def may_repeat(files: Iterable[Path]) -> bool:
    """Tell whether a text may be in some files of digests twice: False is sure, True means that two digests agree."""
    maps = [np.memmap(file, dtype=np.uint64, mode="r") for file in files if file.stat().st_size]
    passes = sum(map(len, maps)) // _IN_MEMORY + 1
    for number in range(passes):
        # Equal digests have equal remainders, so they meet in one pass.
        some = [part[part % np.uint64(passes) == number] for each in maps for part in _parts(each)]
        ascending = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *some]))
        if (ascending[1:] == ascending[:-1]).any():
            return True
    return False


def _parts(digests_of: NDArray[np.uint64]) -> Iterable[NDArray[np.uint64]]:
    return (digests_of[start : start + _IN_MEMORY] for start in range(0, len(digests_of), _IN_MEMORY))
