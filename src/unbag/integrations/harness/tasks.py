"""Description of a task for all harnesses, and the scoring code shared by all exported files."""

from collections.abc import Sequence
from typing import NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import ChallengeSet
from unbag.hub.vendoring import build_source_notice, bundle_modules

_BUNDLED = ("unbag.integrations.harness.collected", "unbag.inference.llm.reading")

_TABLES = """

# The sets.

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {columns}
HIGHER_IS_BETTER: Final[Mapping[str, Mapping[str, bool]]] = {higher_is_better}
_PATHS: Final[Mapping[str, Mapping[str, str]]] = {paths}
_SCORED_BY: Final[Mapping[str, Callable[..., Any]]] = {{{functions}}}


def _scores_of(name: str) -> Callable[[Sequence[Record]], Scores]:
    return lambda records: compute_harness_scores(records, _SCORED_BY[name], COLUMNS[name], _PATHS[name])


SCORES_OF: Final = {{name: _scores_of(name) for name in COLUMNS}}
"""


class HarnessTask(NamedTuple):
    """Challenge set as a task for an evaluation harness."""

    name: str
    path: str  # argument of `datasets.load_dataset`: a folder of Parquet files or a Hub dataset
    config: str | None  # config of a Hub dataset; None for a folder
    split: str

    @property
    def id(self) -> str:
        """Unique name of the task: `unbag_` and the name of the set."""
        return f"unbag_{self.name}"

    @property
    def challenge_set(self) -> ChallengeSet:
        """Description of the challenge set."""
        return challenge_sets.get_challenge_set(self.name)

    @property
    def scores(self) -> dict[str, bool]:
        """Mapping from the name of each score to whether higher values are better."""
        return {metric.name: metric.higher_is_better for metric in self.challenge_set.list_metrics_with_role("harness")}


def build_scoring_source(tasks: Sequence[HarnessTask]) -> str:
    """Build the source code of a module that parses answers and computes metrics. The module needs only NumPy."""
    described = {task.name: task.challenge_set for task in tasks}
    functions = {name: each.score_function for name, each in described.items()}
    modules = [function.__module__ for function in functions.values()]
    tables = _TABLES.format(
        columns={name: each.columns for name, each in described.items()},
        higher_is_better={task.name: task.scores for task in tasks},
        paths={
            name: {metric.name: metric.path for metric in each.list_metrics_with_role("harness")}
            for name, each in described.items()
        },
        functions=", ".join(f"{name!r}: {function.__name__}" for name, function in functions.items()),
    )
    code = bundle_modules([*_BUNDLED, *modules], title="Metric computations, which require only numpy.")
    return f"{build_source_notice()}{code}{tables}"
