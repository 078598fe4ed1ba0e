"""How far a run is: who is told, and bars that show it where it is started from Python, in a terminal or a notebook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

OnProgress = Callable[[str, int, int], None]
"""Called with the set's name, and who is asked where several are, and how many of how many rows are predicted; or with
what else takes its time, and how many of how many are done."""


@contextmanager
def bars(*, visible: bool) -> Iterator[OnProgress | None]:
    """Give a function of a name, how many are done and how many there are, which moves a bar of that name.

    Args:
        visible: whether to show any; else there is no function.
    """
    if not visible:
        yield None
        return
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]  # as users have set it for the Hub

    make: Any = tqdm
    shown: dict[str, Any] = {}

    def move(name: str, done: int, total: int) -> None:
        if name not in shown:
            shown[name] = make(desc=name, total=total, unit=" rows", leave=False)
        shown[name].update(done - shown[name].n)
        if done >= total:
            shown[name].close()

    try:
        yield move
    finally:
        for bar in shown.values():
            bar.close()
