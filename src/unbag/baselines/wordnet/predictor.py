"""The WordNet baseline of Glockner et al. 2018 (section 4.1): a pair is judged by the words that differ."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.wordnet.database import open_wordnet
from unbag.baselines.wordnet.relations import DEFAULT_EDGES, Lexicon, Relation, relation
from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from unbag.data.text.grammar import Replacement, replacement
from unbag.inference.predictor import one_hot_probabilities, validate_pairs

LABEL_OF: Final[Mapping[Relation, str]] = {
    Relation.SYNONYM: ENTAILMENT,
    Relation.HYPONYM: ENTAILMENT,
    Relation.HYPERNYM: NEUTRAL,
    Relation.ANTONYM: CONTRADICTION,
    Relation.CO_HYPONYM: CONTRADICTION,
}


class WordNetPredictor:
    """Answer a pair that differs in one word or phrase by the relation of the two in a lexicon.

    The difference is looked up as it is, then with the shared words around it ("living room" for "dining room"), then,
    where no relation is found, by the parts of its phrases, the longest first ("far" of "far away from"); the first
    relation decides. Inflection is the lexicon's matter.

    A pair without a relation (the paper's `other`), of equal sentences, or that differs in more than one phrase has no
    answer. Its probabilities are all equal: there is no fourth column, and no label is likelier than another. The paper
    counts such a pair as wrong whatever its label; the measure of the set does the same with every tie.

    Attributes:
        has_probabilities: False: a label is chosen or none is.
    """

    label_space = LABELS
    has_probabilities = False

    def __init__(self, lexicon: Lexicon, *, edges: int = DEFAULT_EDGES, name: str | None = None) -> None:
        """Take a lexicon.

        Args:
            lexicon: where to look words up.
            edges: as in `unbag.baselines.wordnet.relations`.
            name: what identifies the lexicon, its version too.

        Raises:
            ValueError: if `edges` is less than 1.
        """
        if edges < 1:
            raise ValueError(f"expected at least 1 edge between a word and what is above it, found {edges}")
        self.identity = None if name is None else {"kind": "wordnet", "wordnet": name, "edges": str(edges)}
        self._relation = lru_cache(maxsize=1 << 16)(lambda old, new: relation(lexicon, old, new, edges))

    @classmethod
    def load(cls, *, edges: int = DEFAULT_EDGES) -> "WordNetPredictor":
        """Return the predictor with the WordNet of this machine.

        Raises:
            ImportError: without NLTK.
            ValueError: without WordNet; the message names the step that installs it.
        """
        wordnet = open_wordnet()
        return cls(wordnet, edges=edges, name=wordnet.identity)

    def answer(self, premise: str, hypothesis: str) -> str | None:
        """Return the label of a pair, or None."""
        difference = replacement(premise, hypothesis)
        result = None if difference is None else self._between(difference)
        return None if result is None else LABEL_OF[result]

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs, shape (n, 3): 1 for the label that is chosen, or 1/3 for each."""
        pairs = zip(*validate_pairs(premises, hypotheses), strict=True)
        rows = [one_hot_probabilities(self.answer(premise, hypothesis)) for premise, hypothesis in pairs]
        return np.array(rows, dtype=np.float32).reshape(-1, len(LABELS))

    def _between(self, difference: Replacement) -> Relation | None:
        for old, new in _looked_up(difference):
            if result := self._relation(old.lower(), new.lower()):
                return result
        return None


def _looked_up(difference: Replacement) -> Iterator[tuple[str, str]]:
    yield from difference.phrases()
    if difference.old and difference.new:
        yield from product(_parts(difference.old), _parts(difference.new))


def _parts(words: Sequence[str]) -> list[str]:
    """Return the runs of some words, the longest first."""
    n = len(words)
    return [" ".join(words[i : i + size]) for size in range(n, 0, -1) for i in range(n - size + 1)]
