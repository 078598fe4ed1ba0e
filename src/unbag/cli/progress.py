"""Progress display of an evaluation, and a progress bar for building challenge sets before the evaluation.

No thread draws the bar while worker processes are forked. A fork would inherit the locks of the drawing thread and
never release them.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unbag.cli.output import create_cli_console, is_quiet
from unbag.utils.terminal import escape_control_chars

if TYPE_CHECKING:
    from rich.console import Console

    from unbag.challenge_sets.results import Result
    from unbag.evaluation.outcome import EvaluationCallbacks


class BuildProgressBar:
    """Progress bar for building challenge sets. It is hidden if the console is not a terminal."""

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

    def update(self, description: str, done: int, total: int) -> None:
        """Update the number of built sets. After the last set, the bar is removed."""
        if self._task is None:
            self._bars.start()
            self._task = self._bars.add_task(description, total=total)
        self._bars.update(self._task, completed=done)
        self._bars.refresh()
        if done >= total:
            self.stop()

    def stop(self) -> None:
        """Stop the progress bar and remove it from the display."""
        if self._task is not None:
            self._bars.stop()


def format_time_left(seconds: float | None) -> str:
    """Format the estimated remaining time. Return an empty string if the time is unknown or zero.

    >>> format_time_left(75.2), format_time_left(3.0), format_time_left(0.0), format_time_left(None)
    ('1:16 left', '0:03 left', '', '')
    """
    if not seconds:
        return ""
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes}:{rest:02d} left"


class _Display:
    """Progress bars for sets and rows on standard error, with results on standard output above them.

    The bar for rows names the stage, and shows its estimated remaining time. The public methods are the callbacks of
    `evaluation.outcome.EvaluationCallbacks`.
    """

    def __init__(self, bars: Any, num_sets: int, *, building: BuildProgressBar, quiet: bool) -> None:
        self._bars, self._building, self._quiet = bars, building, quiet
        self._sets = bars.add_task("sets", total=num_sets, unit="sets", left="")
        self._rows: Any = None
        self._description = ""
        self._started = 0

    def on_set(self, name: str) -> None:
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # Not earlier, because a model download shows another bar.
        self._bars.start()
        self._bars.update(self._sets, completed=self._started)  # Failed sets count as completed.
        self._started += 1
        self._show_rows(f"building {name}", None)

    def on_progress(self, name: str, done: int, total: int) -> None:
        from unbag.challenge_sets.request import BUILDING

        if name == BUILDING:  # before the first set
            self._building.update(name, done, total)
            return
        self._show_rows(name, total)
        self._bars.update(self._rows, completed=done)
        [task] = [each for each in self._bars.tasks if each.id == self._rows]
        self._bars.update(self._rows, left=format_time_left(task.time_remaining))

    def _show_rows(self, description: str, total: int | None) -> None:
        """Replace the lower progress bar if its description changes."""
        if description != self._description:
            if self._rows is not None:
                self._bars.remove_task(self._rows)
            self._rows = self._bars.add_task(escape_control_chars(description), total=total, unit="rows", left="")
            self._description = description

    def on_result(self, result: "Result") -> None:
        if self._quiet:
            return
        from unbag.reports import terminal

        # Tables go to standard output and bars to standard error. Both may be the same terminal, so only one of them
        # may write at a time. The table ends with an empty line, because the display clears the line above on restart.
        self._bars.stop()
        terminal.print_views([terminal.build_result_view(result)], create_cli_console())
        self._bars.start()


@contextmanager
def show_progress(num_sets: int, *, is_visible: bool, quiet: bool = False) -> "Iterator[EvaluationCallbacks]":
    """Show the progress of an evaluation, without results if `quiet`. Yields callbacks that update the display."""
    from unbag.evaluation.outcome import EvaluationCallbacks

    if is_quiet():
        import datasets

        datasets.disable_progress_bars()
    if not is_visible or is_quiet():
        yield EvaluationCallbacks()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TextColumn("{task.fields[left]}"),
    )
    to = create_cli_console(err=True)
    bars = Progress(
        *columns, TimeElapsedColumn(), console=to, transient=True, redirect_stdout=False, disable=not to.is_terminal
    )
    building = BuildProgressBar(to)
    import datasets

    datasets.disable_progress_bars()
    try:
        display = _Display(bars, num_sets, building=building, quiet=quiet)
        yield EvaluationCallbacks(display.on_set, display.on_progress, display.on_result)
    finally:
        building.stop()
        bars.stop()
