"""Detection of duplicate texts by digests on disk, so that memory does not grow with the number of texts."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import numpy as np
from numpy.typing import NDArray

_BATCH: Final = 10_000  # texts that are hashed at a time
_IN_MEMORY: Final = 4_000_000  # digests that are sorted at a time: 32 MB


class DigestFile:
    """Writer of a file with the digests of texts, 64 bits each."""

    def __init__(self, path: Path) -> None:
        """Open the file for writing; replaces an existing one."""
        self._file: IO[bytes] = path.open("wb")
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Add a text."""
        self._waiting.append(text)
        if len(self._waiting) >= _BATCH:
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
    """Compute the digest of each text, shape (n,), the same in every process."""
    from pandas.util import hash_array

    hashes: NDArray[np.uint64] = hash_array(np.array(list(texts), dtype=object), categorize=False)
    return hashes


def may_have_duplicates(files: Iterable[Path]) -> bool:
    """Check whether files of digests have two equal digests.

    Different texts may have equal digests: True means that there may be a duplicate, False that there is none.

    Args:
        files: Files that `DigestFile` wrote; two digests may be in different files.
    """
    maps = [np.memmap(file, dtype=np.uint64, mode="r") for file in files if file.stat().st_size]
    passes = sum(map(len, maps)) // _IN_MEMORY + 1
    for number in range(passes):
        # Each pass sorts the digests with one remainder, to bound memory. Equal digests have equal remainders, so they
        # are compared in the same pass.
        selected = [part[part % np.uint64(passes) == number] for each in maps for part in _parts(each)]
        ascending = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *selected]))
        if (ascending[1:] == ascending[:-1]).any():
            return True
    return False


def _parts(array: NDArray[np.uint64]) -> Iterable[NDArray[np.uint64]]:
    return (array[start : start + _IN_MEMORY] for start in range(0, len(array), _IN_MEMORY))
