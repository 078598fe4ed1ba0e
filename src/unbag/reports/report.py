"""Results of one model as a Python object, with verdict and export to files and pandas."""

import io
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from rich.console import RenderableType

from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result, SkippedSet, group_skipped_sets
from unbag.challenge_sets.views import tables
from unbag.evaluation import metrics, report_examples, verdict
from unbag.evaluation import samples as paired_samples
from unbag.evaluation.comparison import Comparison
from unbag.evaluation.result_folder import FolderContents, RunFolder
from unbag.reports import html, terminal
from unbag.utils.files import atomic_write
from unbag.utils.templates import render_template
from unbag.utils.terminal import create_console, escape_control_chars

if TYPE_CHECKING:
    import pandas as pd

_DIRECTIONS = {True: "higher", False: "lower", None: ""}
_WIDTH = 80  # characters, as in the file that `unbag evaluate` writes
_CHART_WIDTH, _MARGIN = 180, 6  # pixels, of the chart in a notebook


class Report(Sequence[Result]):
    """The results of a model on challenge sets. A report is also a sequence of results: `[result] = report`.

    Attributes:
        results: One result per set, in the requested order. Empty in all processes except the first one.
        skipped: Sets without a result, with the reasons.
        folder: Folder with `results.json`, the examples and the samples.
    """

    def __init__(
        self,
        results: Iterable[Result],
        folder: Path | RunFolder,
        skipped: Iterable[SkippedSet] = (),
        *,
        contents: FolderContents | None = None,
        compare: Callable[[], Comparison | None] = lambda: None,
    ) -> None:
        """Create a report from the results in a folder, with the contents of the folder if they are in memory.

        A temporary folder is deleted together with the report. `compare` computes `comparison`.
        """
        self.results = list(results)
        self.skipped = list(skipped)
        self._run_folder = folder  # a temporary folder exists as long as this object
        self._contents = contents
        self._compare = compare
        self.folder = folder.path if isinstance(folder, RunFolder) else folder

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    @cached_property
    def comparison(self) -> Comparison | None:
        """Comparison of several models whose predictions were scored together; otherwise None.

        Computed on first use, since the bootstrap of many models takes minutes.
        """
        return self._compare()

    @property
    def verdict(self) -> str:
        """Verdict in one sentence that lists the sets on which the model is better than its baseline."""
        return verdict.format_verdict(verdict.compute_model_verdict(self.results))

    def to_pandas(self) -> "pd.DataFrame":
        """Convert the metrics of all sets to a pandas data frame with one row per metric.

        Returns:
            A data frame with the columns `set`, `data` (corpus), `number` (metric name, as in gates), `label`, `value`,
            `low` and `high` (95 % interval; NaN without an interval), `n` (number of examples), and `direction`
            (`higher` or `lower`, whichever is better; empty if unknown).
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
            for number in metrics.collect_metrics(result).values()
        ]
        table = pd.DataFrame(rows, columns=columns)
        # None becomes NaN, and a table without rows has the same types.
        return table.astype({"value": "float64", "low": "float64", "high": "float64", "n": "int64"})

    def save(self, folder: Path | str) -> Path:
        """Save the run to a folder that `unbag compare`, `unbag report` and `unbag publish` can read.

        Raises:
            ValueError: If there are no results.
        """
        self._require_results()
        target = Path(folder)
        if target.resolve() != self.folder.resolve():
            samples = (self.folder / paired_samples.FOLDER).glob("*.parquet")
            # results.json is written last, because its presence means that the folder is complete.
            for file in (*samples, self.folder / report_examples.FILE, self.folder / results.FILE):
                with atomic_write(target / file.relative_to(self.folder)) as tmp:
                    shutil.copyfile(file, tmp)
        terminal.write_views(self._views(), target / terminal.FILE)
        self.to_html(target / html.FILE)
        return target

    def to_html(self, path: Path | str) -> Path:
        """Write the same HTML report as `unbag report`.

        Raises:
            ValueError: If there are no results.
        """
        self._require_results()
        html.write_report([self._contents or self.folder], Path(path))
        return Path(path)

    def __str__(self) -> str:
        """Format the table of each set and the summary as `unbag evaluate` does."""
        return _text(self._views() if self.results else [], self.skipped)

    def __repr__(self) -> str:
        return _text(terminal.build_summary_views(self.results) if self.results else [], self.skipped)

    def _repr_html_(self) -> str:
        """Build the notebook view: verdict, skill scores, and all metrics in collapsed sections.

        It is an HTML fragment without scripts, with inline styles for light and dark themes.
        """
        standings = verdict.compute_model_verdict(self.results)
        bounds = [bound for each in standings for bound in each.score[:3] if bound is not None]
        low, high = min([0.0, *bounds]), max([1.0, *bounds])
        width = _CHART_WIDTH - 2 * _MARGIN
        return render_template(
            __package__,
            "html/notebook.html",
            autoescape=True,
            results=self.results,
            standings=standings,
            place=lambda value: f"{_MARGIN + (value - low) / (high - low) * width:.1f}",
            verdict=verdict,
            format_row_name=terminal.format_row_name,
            tables=tables,
            get_challenge_set=challenge_sets.get_challenge_set,
            collect_metrics=metrics.collect_metrics,
            directions=_DIRECTIONS,
            skipped=group_skipped_sets(self.skipped),
        ).rstrip("\n")

    def _views(self) -> list[RenderableType]:
        return [*terminal.build_result_views(self.results), *terminal.build_summary_views(self.results)]

    def _require_results(self) -> None:
        if not self.results:
            reason = _listed(self.skipped) or "no set was evaluated"
            raise ValueError(f"report: expected at least one result, got none ({reason}); evaluate a set")


def _text(views: Sequence[RenderableType], skipped: Sequence[SkippedSet]) -> str:
    to = io.StringIO()
    terminal.print_views(views, create_console(file=to, width=_WIDTH))
    lines = [line.rstrip() for line in to.getvalue().splitlines()]
    return "\n".join([*lines, *([escape_control_chars(f"Skipped: {_listed(skipped)}")] if skipped else [])]).strip("\n")


def _listed(skipped: Sequence[SkippedSet]) -> str:
    groups = group_skipped_sets(skipped).items()
    return "; ".join(f"{', '.join(dict.fromkeys(each.set for each in sets))} ({reason})" for reason, sets in groups)
