"""Sentences read by several processes, ahead of whoever needs what is in them: all leave it in one store."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Final

from unbag.utils import parallel

Reader = Callable[[Sequence[str]], None]
"""Finds out what is in some sentences and keeps it."""

_AT_ONCE: Final = 2_000  # sentences: some seconds of work
_WAITING: Final = 2  # lots of them a process that wait to be read

_read: Reader | None = None  # of this process


def read_ahead(make: Callable[[], Reader], sentences: Iterable[str]) -> None:
    """Read sentences by as many processes as may work (`processes.num_proc`); by one it would gain nothing.

    Args:
        make: makes a reader, in each process its own.
        sentences: any; one that comes again is not read again, but where two processes have it at once.

    Raises:
        ValueError: if a process died; what a reader raises.
    """
    if parallel.num_proc() == 1:
        return
    stream = iter(sentences)
    waiting: deque[Future[None]] = deque()
    try:
        with ProcessPoolExecutor(parallel.num_proc(), initializer=_begin, initargs=(make,)) as pool:
            try:
                while some := list(islice(stream, _AT_ONCE)):
                    if len(waiting) == _WAITING * parallel.num_proc():
                        waiting.popleft().result()
                    waiting.append(pool.submit(_take, some))
                for each in waiting:
                    each.result()
            except BaseException:  # Ctrl-C too: what has not begun is not waited for
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except BrokenProcessPool as error:
        raise ValueError(
            "a process that reads sentences died, killed for want of memory perhaps; take fewer of them (--num-proc), "
            "and begin again: what was read is kept"
        ) from error


def _begin(make: Callable[[], Reader]) -> None:
    global _read
    _read = make()


def _take(sentences: list[str]) -> None:
    assert _read is not None
    _read(list(dict.fromkeys(sentences)))
