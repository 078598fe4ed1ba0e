"""The result record: the scores of one model on one challenge set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """Scores of one model on one challenge set.

    The record holds only what the scores depend on, without times and local paths. A run that was killed and resumed
    therefore writes the same file as an uninterrupted run.
    """

    set: str  # name of the challenge set
    config: Mapping[str, Any]  # options of the set: mode, q, seed, … and the number of examples drawn, if not all
    # Description of the model: `name`, and everything that determines its numbers (revision, dtype, label order, …).
    # `options` are the options that the user set to other values than the default; a model given as a Python object has
    # none.
    model: Mapping[str, Any]
    # Origin of the pairs (`origin`, `split`, `revision`), their reading options (`load_options`), the counts of
    # excluded rows, the sha256 of the predicted rows, and the agreement of their annotators (`human`).
    data: Mapping[str, Any]
    # Output of the metric. Each number is an `Estimate`.
    scores: Mapping[str, Any]
    environment: Mapping[str, str]  # versions of Python and the packages

    @property
    def corpus(self) -> str:
        """Name of the corpus and, if it has one, of its split, e.g. `snli validation`."""
        return f"{self.data['name']} {self.data['split']}".strip()

    @property
    def unbag_version(self) -> str:
        """Version of unbag that computed the scores; `unknown` if unbag was run without being installed."""
        return self.environment.get("unbag", "unknown")

    @property
    def truncated_share(self) -> float:
        """Fraction of the pairs that were truncated to the model's maximum length."""
        return float(self.model.get("truncated_share", 0.0))

    @property
    def unanswered(self) -> str:
        """Number of pairs without an answer by reason, e.g. `60 of 120 pairs (60 cut)`; "" if there are none."""
        reasons = self.model.get("unanswered")
        if not reasons:
            return ""
        listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
        return f"{self.model['n_abstained']:,} of {self.model['abstained_share'].n:,} pairs ({listed})"
