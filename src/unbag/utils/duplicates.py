"""Detection of duplicate texts with digests on disk, which take eight bytes per text in memory."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np

_BATCH: Final = 10_000  # texts hashed at a time


@contextmanager
def open_digest_file(path: Path) -> Iterator[Callable[[str], None]]:
    """Create or replace a file of 64-bit digests, and yield a function that adds the digest of a text.

    Equal texts have equal digests in all processes.
    """
    from pandas.util import hash_array

    waiting: list[str] = []

    def add(text: str) -> None:
        waiting.append(text)
        if len(waiting) >= _BATCH:
            write()

    def write() -> None:
        file.write(hash_array(np.array(waiting, dtype=object), categorize=False).tobytes())
        waiting.clear()

    with path.open("wb") as file:
        yield add
        if waiting:
            write()


def has_possible_duplicates(files: Iterable[Path]) -> bool:
    """Check whether two digests in the files of `open_digest_file` are equal, in the same file or in different files.

    Different texts may have equal digests: True means that duplicates are possible, False that there are none.
    """
    digests = [np.fromfile(file, dtype=np.uint64) for file in files]
    ascending = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *digests]))
    return bool((ascending[1:] == ascending[:-1]).any())
