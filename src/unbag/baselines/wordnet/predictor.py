"""WordNet baseline of Glockner et al. 2018 (section 4.1), which labels a pair by the words in which it differs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.wordnet.database import open_wordnet
from unbag.baselines.wordnet.relations import DEFAULT_EDGES, Lexicon, WordNetRelation, find_wordnet_relation
from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from unbag.data.text.grammar import PhraseDifference, find_phrase_difference
from unbag.inference.predictor import LabelSource, build_one_hot_probabilities, validate_pairs

LABEL_OF: Final[Mapping[WordNetRelation, str]] = {
    WordNetRelation.SYNONYM: ENTAILMENT,
    WordNetRelation.HYPONYM: ENTAILMENT,
    WordNetRelation.HYPERNYM: NEUTRAL,
    WordNetRelation.ANTONYM: CONTRADICTION,
    WordNetRelation.CO_HYPONYM: CONTRADICTION,
}


class WordNetPredictor:
    """Predictor for pairs that differ in one word or phrase, based on the WordNet relation of the differing phrases.

    The predictor looks up the difference itself, then the difference with adjacent shared words ("living room" for
    "dining room"). If it finds no relation, it looks up the parts of both phrases, from the longest to the shortest
    ("far" of "far away from"). The first relation determines the label. The lexicon handles inflection.

    The predictor abstains on pairs without a relation (`other` in the paper), on equal sentences, and on sentences that
    differ in more than one phrase. All labels of such a pair have equal probability. The paper counts these pairs as
    wrong for every label, and the metric of the set does the same with all ties.
    """

    label_space = LABELS
    has_probabilities = False  # the predictor chooses one label or abstains
    may_abstain = True
    label_source: ClassVar[LabelSource] = "fitted"

    def __init__(self, lexicon: Lexicon, *, edges: int = DEFAULT_EDGES, name: str | None = None) -> None:
        """Initialize the predictor.

        Args:
            name: Name and version of the lexicon, for the identity of the predictor; None for no identity.
        """
        if edges < 1:
            raise ValueError(f"edges: expected at least 1, got {edges}")
        self.identity = None if name is None else {"kind": "wordnet", "wordnet": name, "edges": str(edges)}
        # Corpora repeat the same word pairs, and a relation over all senses is expensive.
        self._relation = lru_cache(maxsize=1 << 16)(lambda old, new: find_wordnet_relation(lexicon, old, new, edges))

    @classmethod
    def load(cls, *, edges: int = DEFAULT_EDGES) -> "WordNetPredictor":
        """Load the predictor with the installed WordNet. Raises the errors of `open_wordnet`."""
        wordnet = open_wordnet()
        return cls(wordnet, edges=edges, name=wordnet.identity)

    def predict_label(self, premise: str, hypothesis: str) -> str | None:
        """Predict the label of a pair. Return None if the predictor abstains."""
        difference = find_phrase_difference(premise, hypothesis)
        result = None if difference is None else self._relation_between(difference)
        return None if result is None else LABEL_OF[result]

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, shape (n, 3). Abstentions get probabilities of 1/3."""
        pairs = zip(*validate_pairs(premises, hypotheses), strict=True)
        rows = [build_one_hot_probabilities(self.predict_label(premise, hypothesis)) for premise, hypothesis in pairs]
        return np.array(rows, dtype=np.float32).reshape(-1, len(LABELS))

    def _relation_between(self, difference: PhraseDifference) -> WordNetRelation | None:
        for old, new in _phrase_pairs(difference):
            if result := self._relation(old.lower(), new.lower()):
                return result
        return None


def _phrase_pairs(difference: PhraseDifference) -> Iterator[tuple[str, str]]:
    yield from difference.phrases()
    if difference.old and difference.new:
        yield from product(_word_runs(difference.old), _word_runs(difference.new))


def _word_runs(words: Sequence[str]) -> list[str]:
    """List all runs of adjacent words, from the longest to the shortest."""
    n = len(words)
    return [" ".join(words[i : i + size]) for size in range(n, 0, -1) for i in range(n - size + 1)]
