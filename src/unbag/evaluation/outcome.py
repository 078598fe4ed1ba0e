"""Callbacks and outcome of an evaluation."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from unbag.challenge_sets.failures import EvaluationFailure
from unbag.utils.options import OptionError
from unbag.utils.progress import OnProgress

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result
    from unbag.evaluation.comparison import Comparison
    from unbag.evaluation.result_folder import FolderContents

logger = logging.getLogger(__name__)


class EvaluationCallbacks(NamedTuple):
    """Callbacks of an evaluation. Callbacks that are None are not called."""

    on_set: Callable[[str], None] | None = None  # called with the name of the next set, before it is built
    on_progress: OnProgress | None = None  # called during slow steps
    on_result: "Callable[[Result], None] | None" = None  # called with each complete result, in the first process
    on_failure: Callable[[EvaluationFailure], None] | None = None

    def for_step(self, name: str) -> Callable[[int, int], None] | None:
        """Build a progress callback for one step of the evaluation. It is called with (done, total)."""
        on_progress = self.on_progress
        if on_progress is None:
            return None
        return lambda done, total: on_progress(name, done, total)


@dataclass(frozen=True)
class EvaluationOutcome:
    """Outcome of an evaluation: the results and the skipped sets."""

    # One result per model and set, ordered by model. Empty in all processes but the first, and in shards.
    results: "list[Result]"
    skipped: list[EvaluationFailure]  # sets without a result, in the order in which they failed
    contents: "FolderContents | None" = None  # results folder with earlier results; None if nothing was written
    compare: "Callable[[], Comparison | None]" = lambda: None  # compares several models of published predictions


class FailureLog:
    """Log of the failed and skipped challenge sets of a run.

    With `keep_going`, the run continues after a failure; otherwise the first failure is raised. An invalid option is
    always raised, since it is a mistake of the user that would skip every set.
    """

    def __init__(
        self,
        skipped: Sequence[EvaluationFailure],
        *,
        keep_going: bool,
        on_failure: Callable[[EvaluationFailure], None] | None = None,
    ) -> None:
        self.failures = list(skipped)
        self._keep_going, self._on_failure = keep_going, on_failure

    def add(self, name: str, error: Exception, model: str | None = None) -> None:
        """Record the failure of a set. Without a model, the set could not be built."""
        if not self._keep_going or isinstance(error, OptionError):
            raise error
        logger.debug("%s", name, exc_info=error)
        self.failures.append(EvaluationFailure(name, error, model))
        if self._on_failure is not None:
            self._on_failure(self.failures[-1])
