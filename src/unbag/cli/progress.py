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
        self.bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            # No thread draws the bars, because worker processes are forked meanwhile. A fork would inherit the locks of
            # the drawing thread and never release them.
            auto_refresh=False,
            redirect_stdout=False,
        )
        self._quiet = quiet
        self._sets = self.bars.add_task("sets", total=num_sets, unit="sets", left="", visible=False)
        self._rows: Any = None
        self._description = ""
        self._started = 0

    def on_set(self, name: str) -> None:
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # Not earlier, because a model download shows another bar.
        self.bars.update(self._sets, completed=self._started, visible=True)  # Failed sets count as completed.
        self._started += 1
        self._show(f"building {name}", None)

    def on_progress(self, name: str, done: int, total: int) -> None:
        from unbag.challenge_sets.request import BUILDING

        self._show(name, total, unit="sets" if name == BUILDING else "rows")
        self.bars.update(self._rows, completed=done)
        [task] = [each for each in self.bars.tasks if each.id == self._rows]
        minutes, seconds = divmod(math.ceil(task.time_remaining or 0), 60)
        left = f"{minutes}:{seconds:02d} left" if minutes or seconds else ""
        self.bars.update(self._rows, left=left, refresh=True)

    def _show(self, description: str, total: int | None, *, unit: str = "rows") -> None:
        """Replace the lower progress bar if its description changes."""
        self.bars.start()
        if description != self._description:
            if self._rows is not None:
                self.bars.remove_task(self._rows)
            self._rows = self.bars.add_task(escape_control_chars(description), total=total, unit=unit, left="")
            self._description = description
        self.bars.refresh()

    def on_result(self, result: "Result") -> None:
        if self._quiet:
            return
        from unbag.reports import terminal

        # Tables go to standard output and bars to standard error. Both may be the same terminal, so only one of them
        # may write at a time. The table ends with an empty line, because the display clears the line above on restart.
        self.bars.stop()
        terminal.print_views([terminal.build_result_view(result)], create_cli_console())
        self.bars.start()


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
        display.bars.stop()
