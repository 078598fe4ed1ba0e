"""Progress callbacks, and progress bars for the Python API in a terminal or a notebook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

OnProgress = Callable[[str, int, int], None]
"""Callback with `(name, done, total)`. For predictions, the name is the set name (and the model name if there are
several models), and the numbers are rows. For other slow steps, the name is the step name, and the numbers count
units of work."""


@contextmanager
def show_progress_bars(*, visible: bool) -> Iterator[OnProgress | None]:
    """Yield a progress callback that shows one progress bar per name, or None if the bars are not visible."""
    if not visible:
        yield None
        return
    # The Hub's tqdm follows the user's settings, such as HF_HUB_DISABLE_PROGRESS_BARS.
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

    make: Any = tqdm
    by_name: dict[str, Any] = {}

    def update(name: str, done: int, total: int) -> None:
        if name not in by_name:
            by_name[name] = make(desc=name, total=total, unit=" rows", leave=False)
        by_name[name].update(done - by_name[name].n)
        if done >= total:
            by_name[name].close()

    try:
        yield update
    finally:
        for bar in by_name.values():
            bar.close()
