"""The bar of sets that are built ahead, by forks of this process.

No thread draws it, as one does other bars: a fork would have the locks of a drawing thread, and nobody to open them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


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
