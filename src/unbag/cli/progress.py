"""Progress display: bars for sets and rows of an evaluation, and a bar for building challenge sets before them."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unbag.cli.output import create_cli_console, is_quiet
from unbag.utils.terminal import escape_control_chars

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result
    from unbag.evaluation.outcome import EvaluationCallbacks


class _Display:
    """Progress bars for sets and rows on standard error, with results on standard output above them.

    The bar for rows names the stage, and shows its estimated remaining time. The public methods are the callbacks of
    `evaluation.outcome.EvaluationCallbacks`.
    """

    def __init__(self, num_sets: int, *, quiet: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = create_cli_console(err=True)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        settings: dict[str, Any] = {"console": console, "transient": True, "disable": not console.is_terminal}
        unit, left = TextColumn("{task.fields[unit]}"), TextColumn("{task.fields[left]}")
        self._bars = Progress(*columns, unit, left, TimeElapsedColumn(), redirect_stdout=False, **settings)
        # No thread draws this bar, because worker processes are forked meanwhile. A fork would inherit the locks of the
        # drawing thread and never release them.
        self._building = Progress(
            *columns, TextColumn("sets"), auto_refresh=False, redirect_stdout=False, redirect_stderr=False, **settings
        )
        self._quiet = quiet
        self._sets = self._bars.add_task("sets", total=num_sets, unit="sets", left="", visible=num_sets > 0)
        self._rows: Any = None
        self._description = ""
        self._started = 0

    def on_set(self, name: str) -> None:
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # Not earlier, because a model download shows another bar.
        self._bars.update(self._sets, completed=self._started)  # Failed sets count as completed.
        self._started += 1
        self._show_rows(f"building {name}", None)

    def on_progress(self, name: str, done: int, total: int) -> None:
        from unbag.challenge_sets.request import BUILDING

        if name == BUILDING:  # before the first set
            if not self._building.tasks:
                self._building.start()
                self._building.add_task(name, total=total)
            self._building.update(self._building.tasks[0].id, completed=done)
            self._building.refresh()
            if done >= total:
                self._building.stop()
            return
        self._show_rows(name, total)
        self._bars.update(self._rows, completed=done)
        [task] = [each for each in self._bars.tasks if each.id == self._rows]
        minutes, seconds = divmod(math.ceil(task.time_remaining or 0), 60)
        self._bars.update(self._rows, left=f"{minutes}:{seconds:02d} left" if minutes or seconds else "")

    def _show_rows(self, description: str, total: int | None) -> None:
        """Replace the lower progress bar if its description changes."""
        self._bars.start()
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

    def stop(self) -> None:
        if self._building.tasks:
            self._building.stop()
        self._bars.stop()


@contextmanager
def show_progress(num_sets: int, *, is_visible: bool, quiet: bool = False) -> "Iterator[EvaluationCallbacks]":
    """Show the progress of an evaluation, without results if `quiet`. Yields callbacks that update the display."""
    import datasets

    from unbag.evaluation.outcome import EvaluationCallbacks

    is_visible = is_visible and not is_quiet()
    if is_visible or is_quiet():
        datasets.disable_progress_bars()
    if not is_visible:
        yield EvaluationCallbacks()
        return
    display = _Display(num_sets, quiet=quiet)
    try:
        yield EvaluationCallbacks(display.on_set, display.on_progress, display.on_result)
    finally:
        display.stop()
