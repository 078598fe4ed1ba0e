"""What every harness is told of a task, and the code that all of them are given."""

from typing import NamedTuple

from unbag.harness.scores import COLUMNS, HIGHER_IS_BETTER
from unbag.hub.vendoring import bundle, notice

_BUNDLED = ("unbag.harness.scores", "unbag.llm.reading")


class Task(NamedTuple):
    """A set as a task.

    Attributes:
        name: the set's.
        path: what `datasets.load_dataset` reads: a folder of Parquet files, or a data set of the Hub.
        config: of a data set on the Hub; None for a folder.
        split: the split that models are evaluated on.
    """

    name: str
    path: str
    config: str | None
    split: str

    @property
    def id(self) -> str:
        """The name of the task: harnesses have thousands of others."""
        return f"unbag_{self.name}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row that its metric reads."""
        return (*COLUMNS[self.name], "label")

    @property
    def scores(self) -> dict[str, bool]:
        """The names of its scores, and whether higher is better."""
        return dict(HIGHER_IS_BETTER[self.name])


def scoring_source() -> str:
    """Return the module that all tasks score with: our metrics and our reading of answers, numpy alone needed."""
    return f"{notice()}{bundle(_BUNDLED)}"
