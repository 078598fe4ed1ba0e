"""The labeller of sentences as a predictor."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import LABELS
from unbag.data.text.tagging import PIPELINE
from unbag.inference.predictor import checked_pairs, probabilities_of_label
from unbag.natlog.sentences import Labeller


class NatlogPredictor:
    """Answer a pair by natural logic.

    A pair that it cannot read has no answer. Its probabilities are all equal, as those of the WordNet baseline are for
    what has no relation; metrics that take the likeliest label then see the first one.

    Attributes:
        has_probabilities: False: a label is chosen or none is.
        identity: what decides its answers.
    """

    label_space = LABELS
    has_probabilities = False

    def __init__(self, labeller: Labeller) -> None:
        """Take a labeller."""
        self._labeller = labeller
        self.identity = {"kind": "natlog", **labeller.identity}

    @classmethod
    def load(cls, pipeline: str | Path = PIPELINE) -> "NatlogPredictor":
        """Return the predictor with a spaCy pipeline and the WordNet of this machine.

        Raises:
            ImportError: without NLTK.
            ValueError: without the pipeline or WordNet; the message names the step that installs it.
        """
        return cls(Labeller.load(pipeline))

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs, shape (n, 3): 1 for the label that is proved, or 1/3 for each."""
        verdicts = self._labeller.labels(*checked_pairs(premises, hypotheses))
        rows = [probabilities_of_label(verdict.label) for verdict in verdicts]
        return np.array(rows, dtype=np.float32).reshape(-1, len(LABELS))
