"""The report of one model's run in Python: results, verdict, and export to files and pandas."""

import io
import shutil
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from rich.console import RenderableType

from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result, SkippedSet
from unbag.evaluation import quantities, report_examples, verdict
from unbag.evaluation import samples as paired_samples
from unbag.reports import html, notebook, terminal
from unbag.utils.files import atomic_write
from unbag.utils.terminal import create_console, escape_control_chars

if TYPE_CHECKING:
    import pandas as pd

_DIRECTIONS = {True: "higher", False: "lower", None: ""}
_WIDTH = 80  # characters, as in the file that `unbag evaluate` writes


class Report(Sequence[Result]):
    """The results of a model on challenge sets. The report is also the sequence of its results: `[result] = report`.

    Attributes:
        results: One result per set, in the order of the request. Empty in all processes but the first.
        skipped: Sets without a result, with the reasons.
        folder: Folder with `results.json`, the examples and the samples.
    """

    def __init__(
        self, results: Iterable[Result], folder: Path, skipped: Iterable[SkippedSet] = (), *, temporary: bool = False
    ) -> None:
        """Create the report of the results in a folder. A temporary folder is deleted with the report."""
        self.results = list(results)
        self.skipped = list(skipped)
        self.folder = folder
        if temporary:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    @property
    def verdict(self) -> str:
        """The verdict as a sentence: the sets on which the model is better than its baseline."""
        return verdict.format_verdict(verdict.compute_model_verdict(self.results))

    def to_pandas(self) -> "pd.DataFrame":
        """Convert the numbers of all sets to a data frame, one row per number, by the names that gates use.

        Returns:
            The columns `set`, `data` (the corpus), `number` (the name), `label`, `value`, `low` and `high` (the 95 %
            interval; NaN if there is none), `n` (the number of examples), and `direction`: `higher` or `lower` if that
            is better, empty if unknown.
        """
        import pandas as pd

        columns = ("set", "data", "number", "label", "value", "low", "high", "n", "direction")
        rows = [
            (
                result.set,
                result.corpus,
                *(number.name, number.label, *number.estimate),
                _DIRECTIONS[number.higher_is_better],
            )
            for result in self.results
            for number in quantities.collect_metrics(result).values()
        ]
        table = pd.DataFrame(rows, columns=columns)
        return table.astype({"value": "float64", "low": "float64", "high": "float64", "n": "int64"})

    def save(self, folder: Path | str) -> Path:
        """Write the run to a folder as `unbag evaluate` does, for `unbag compare`, `report` and `publish`.

        Args:
            folder: Target folder. Created if it does not exist.

        Returns:
            The folder.

        Raises:
            ValueError: If there are no results.
        """
        self._require_results()
        target = Path(folder)
        if target.resolve() != self.folder.resolve():
            samples = (self.folder / paired_samples.FOLDER).glob("*.parquet")
            # results.json comes last: its presence means that the folder is complete.
            for file in (*samples, self.folder / report_examples.FILE, self.folder / results.FILE):
                with atomic_write(target / file.relative_to(self.folder)) as tmp:
                    shutil.copyfile(file, tmp)
        terminal.write(self._views(), target / terminal.FILE)
        self.to_html(target / html.FILE)
        return target

    def to_html(self, path: Path | str) -> Path:
        """Write the HTML report, as `unbag report` does.

        Returns:
            The path.

        Raises:
            ValueError: If there are no results.
        """
        self._require_results()
        html.write([self.folder], Path(path))
        return Path(path)

    def __str__(self) -> str:
        """Format the table of each set and the summary, as `unbag evaluate` prints them."""
        return _text(self._views() if self.results else [], self.skipped)

    def __repr__(self) -> str:
        return _text(terminal.together(self.results) if self.results else [], self.skipped)

    def _repr_html_(self) -> str:
        """Build the notebook view."""
        return notebook.fragment(self.results, self.skipped)

    def _views(self) -> list[RenderableType]:
        return [*terminal.views(self.results), *terminal.together(self.results)]

    def _require_results(self) -> None:
        if not self.results:
            raise ValueError(f"expected results to write, got none: {_listed(self.skipped) or 'no set was evaluated'}")


def _text(views: Sequence[RenderableType], skipped: Sequence[SkippedSet]) -> str:
    to = io.StringIO()
    terminal.show(views, create_console(file=to, width=_WIDTH))
    lines = [line.rstrip() for line in to.getvalue().splitlines()]
    return "\n".join([*lines, *([escape_control_chars(f"Skipped: {_listed(skipped)}")] if skipped else [])]).strip("\n")


def _listed(skipped: Sequence[SkippedSet]) -> str:
    return "; ".join(f"{each.set} ({each.reason})" for each in skipped)
