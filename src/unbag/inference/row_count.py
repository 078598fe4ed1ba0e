"""How many rows of a run have answers, told while it goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Takes how many rows are done and how many there are to do: once at the start, with the rows found in the store, then
after every batch. With several processes each counts the rows found and its own share."""


class RowCount:
    """How many rows are done, of how many.

    Args:
        done: rows, at the start.
        total: rows there are to do.
        progress: told now, and whenever more are done.
    """

    def __init__(self, done: int, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = done, total, progress
        self._tell()

    def reach(self, done: int) -> None:
        """Tell that so many rows are done, if that is news."""
        if done != self._done:
            self._done = done
            self._tell()

    @contextmanager
    def making(self, rows: int) -> Iterator[Callable[[int], None]]:
        """Give what counts further answers while so many rows are made; all of them are done at the end.

        Of a share it is known about how many rows it has, and not how many of them had answers before.
        """
        end = self._done + rows
        yield lambda further: self.reach(min(self._done + further, end))
        self.reach(end)

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)
