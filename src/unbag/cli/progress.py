"""The progress display of an evaluation, and the bar of sets that are built ahead.

No thread draws the bar of forks of this process: a fork would inherit the locks of a drawing thread, and nothing in the
fork would release them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unbag.cli.output import console, is_quiet
from unbag.utils.terminal import escape_control_chars

if TYPE_CHECKING:
    from rich.console import Console

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result


class BuildingBar:
    """A bar that is there from the first set to the last; on no terminal there is none.

    Args:
        console: where it is drawn.
    """

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        self._bars = Progress(
            *columns,
            TextColumn("sets"),
            console=console,
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not console.is_terminal,
        )
        self._task: Any = None

    def update(self, what: str, done: int, total: int) -> None:
        """Draw how many of how many are built; all of them end it, so that the models' own bars have the terminal."""
        if self._task is None:
            self._bars.start()
            self._task = self._bars.add_task(what, total=total)
        self._bars.update(self._task, completed=done)
        self._bars.refresh()
        if done >= total:
            self.stop()

    def stop(self) -> None:
        """Wipe it, wherever the building has come to."""
        if self._task is not None:
            self._bars.stop()


class ProgressDisplay:
    """Follows a run of so many sets: told what goes on, it does nothing. `_Display` shows it."""

    def on_set(self, name: str) -> None:
        """Take up a set (`evaluation.evaluator.OnSet`)."""

    def progress_callback(self, name: str, done: int, total: int) -> None:
        """Follow its predictions (`evaluation.evaluator.OnProgress`)."""

    def on_result(self, result: "Result") -> None:
        """Take its result (`evaluation.evaluator.OnResult`)."""


class _Display(ProgressDisplay):
    """Two bars on standard error, the sets and the rows of this one; results on standard output above them."""

    def __init__(self, bars: Any, sets: int, *, building: BuildingBar, quiet: bool) -> None:
        self._bars, self._building, self._quiet = bars, building, quiet
        self._all = bars.add_task("sets", total=sets, unit="sets")
        self._rows: Any = None
        self._shown = ""
        self._begun = 0

    def on_set(self, name: str) -> None:
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # not before: the download of a model shows itself
        self._bars.start()
        self._bars.update(self._all, completed=self._begun)  # of how many sets are behind us, whatever came of them
        self._begun += 1
        self._show(f"making {name}", None)

    def progress_callback(self, name: str, done: int, total: int) -> None:
        from unbag.challenge_sets.request import BUILDING

        if name == BUILDING:  # before the first set
            self._building.update(name, done, total)
            return
        self._show(name, total)
        self._bars.update(self._rows, completed=done)

    def _show(self, what: str, total: int | None) -> None:
        """Make the lower bar one of something else, unless it is of that already."""
        if what != self._shown:
            if self._rows is not None:
                self._bars.remove_task(self._rows)
            self._rows, self._shown = self._bars.add_task(escape_control_chars(what), total=total, unit="rows"), what

    def on_result(self, result: "Result") -> None:
        if self._quiet:
            return
        from unbag.reports import terminal

        # Standard output may be another file than the display's: they must not write at the same time. When the display
        # begins again it wipes the line above it, which is therefore an empty one.
        self._bars.stop()
        terminal.show([terminal.view(result)], console())
        self._bars.start()


@contextmanager
def watch(sets: int, *, visible: bool, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """Give what follows a run.

    Args:
        sets: how many sets there are.
        visible: whether to show anything.
        quiet: show no result, only how far it is.
    """
    if is_quiet():
        import datasets

        datasets.disable_progress_bars()
    if not visible or is_quiet():
        yield ProgressDisplay()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
    )
    to = console(err=True)
    bars = Progress(
        *columns, TimeElapsedColumn(), console=to, transient=True, redirect_stdout=False, disable=not to.is_terminal
    )
    building = BuildingBar(to)
    import datasets

    datasets.disable_progress_bars()
    try:
        yield _Display(bars, sets, building=building, quiet=quiet)
    finally:
        building.stop()
        bars.stop()
