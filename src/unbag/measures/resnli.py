"""Uncertainty partitions of ReSNLI."""

from typing import Any

import numpy as np
import pyarrow.compute as pc

from unbag.columns import column, numbers
from unbag.measures import Answers
from unbag.scoring.bootstrap import named_estimates
from unbag.scoring.uncertainty_partitions import uncertainty_partitions

_TRAINING = "train"  # what the names of all corpora's training splits begin with (`corpora.Corpus.train`)


def score(rows: Any, answers: Answers) -> dict[str, Any]:
    """Score answers with `scoring.uncertainty_partitions`.

    Most of the rearranged test pairs come from the corpus's training split, and a model that was fine-tuned on that has
    seen them. So beside the accuracy on all there is `unseen`: that on the pairs from the corpus's other splits. It is
    missing where there is no such pair, or none from a training split, as with data whose splits are not known.
    """
    right, partition = answers.predicted == answers.gold(rows), numbers(rows, "partition")
    scores: dict[str, Any] = {**uncertainty_partitions(answers.predicted, answers.gold(rows), partition)}
    trained_on = pc.starts_with(column(rows, "source_split"), _TRAINING).to_numpy(zero_copy_only=False)
    unseen = ~trained_on
    if unseen.any() and trained_on.any():
        ratio = (right & unseen, unseen.astype(np.float64))
        scores["unseen"] = named_estimates({"unseen": ratio}, {})["unseen"]
    return scores
