"""A run of one model as Python holds it: its results, what they say together, and their ways out."""

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
from unbag.utils.terminal import console, escape_control_chars

if TYPE_CHECKING:
    import pandas as pd

_DIRECTIONS = {True: "higher", False: "lower", None: ""}
_WIDTH = 80  # characters, as in the table that a command leaves


class Report(Sequence[Result]):
    """What came of a model on challenge sets. It is the list of their results, too: `[result] = report`.

    Attributes:
        results: one a set, in the order asked; none in the processes after the first.
        skipped: the sets without one, and why.
        folder: where `results.json`, the examples and the samples lie.
    """

    def __init__(
        self, results: Iterable[Result], folder: Path, skipped: Iterable[SkippedSet] = (), *, temporary: bool = False
    ) -> None:
        """Hold the results that lie in a folder, which, where it is temporary, goes with the report."""
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
        """How the model stands, in a sentence: on which sets it does better than who only counts words, or guesses."""
        return verdict.sentence(verdict.of_model(self.results))

    def to_pandas(self) -> "pd.DataFrame":
        """Return the numbers that the sets describe, a row each, by the names that gates and exports have too.

        Returns:
            The columns `set`, `data` (what the set is made from), `number` (its name), `label` (the same for people),
            `value`, `low` and `high` (its 95 % interval), NaN where there is none, `n` (the examples that it rests on)
            and `direction`: whether `higher` or `lower` is better, or nothing where no set says it.
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
            for number in quantities.of_result(result).values()
        ]
        table = pd.DataFrame(rows, columns=columns)
        return table.astype({"value": "float64", "low": "float64", "high": "float64", "n": "int64"})

    def save(self, folder: Path | str) -> Path:
        """Leave the run in a folder as `unbag evaluate` does, for `unbag compare`, `report` and `publish`.

        Args:
            folder: made where absent.

        Returns:
            The folder.

        Raises:
            ValueError: if there are no results.
        """
        self._require_results()
        target = Path(folder)
        if target.resolve() != self.folder.resolve():
            samples = (self.folder / paired_samples.FOLDER).glob("*.parquet")
            # Last what says that all is there.
            for file in (*samples, self.folder / report_examples.FILE, self.folder / results.FILE):
                with atomic_write(target / file.relative_to(self.folder)) as tmp:
                    shutil.copyfile(file, tmp)
        terminal.write(self._views(), target / terminal.FILE)
        self.to_html(target / html.FILE)
        return target

    def to_html(self, path: Path | str) -> Path:
        """Write the HTML report, which `unbag report` writes too, and return its path.

        Raises:
            ValueError: if there are no results.
        """
        self._require_results()
        html.write([self.folder], Path(path))
        return Path(path)

    def __str__(self) -> str:
        """Return each set's table and what they are together, as the command prints it."""
        return _text(self._views() if self.results else [], self.skipped)

    def __repr__(self) -> str:
        return _text(terminal.together(self.results) if self.results else [], self.skipped)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return notebook.fragment(self.results, self.skipped)

    def _views(self) -> list[RenderableType]:
        return [*terminal.views(self.results), *terminal.together(self.results)]

    def _require_results(self) -> None:
        if not self.results:
            raise ValueError(f"expected results to write, found none: {_listed(self.skipped) or 'no set was asked'}")


def _text(views: Sequence[RenderableType], skipped: Sequence[SkippedSet]) -> str:
    to = io.StringIO()
    terminal.show(views, console(file=to, width=_WIDTH))
    lines = [line.rstrip() for line in to.getvalue().splitlines()]
    return "\n".join([*lines, *([escape_control_chars(f"Left out: {_listed(skipped)}")] if skipped else [])]).strip(
        "\n"
    )


def _listed(skipped: Sequence[SkippedSet]) -> str:
    return "; ".join(f"{each.set} ({each.reason})" for each in skipped)
