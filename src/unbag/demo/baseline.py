"""A bag of words for the demonstration corpus: good at it, and by construction blind to word order."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from unbag import labels
from unbag.demo.corpus import SPLITS, DemoPair, generate

_WORD: Final = re.compile(r"\w+")
_C: Final = 0.05  # inverse strength of the L2 penalty; twice or half as much changes validation accuracy by a point
_TOLERANCE: Final = 0.01  # a tenth of it takes twice as long and moves accuracy by less than a point
# A pair of one and the same word counts this much where other features count 1, which spares it most of the penalty.
# There are some 300 such pairs, they say most of what can be said without order (is this word of the hypothesis in the
# premise?), and among 45,000 pairs of different words their weights would otherwise stay too small: at 1 the accuracy
# is eight points lower, at 8 no higher.
_SAME_WORD: Final = 4.0
_CHUNK: Final = 4_096  # rows of features in memory at once: some 150 features each


def words_of(sentence: str) -> tuple[str, ...]:
    r"""Return the words of a sentence: lower-cased runs of `\w`, each once, sorted.

    Neither order nor the spacing of punctuation makes a difference, so a permuted sentence has the words of its
    original.

    >>> words_of("A dog is chasing a cat.") == words_of(". chasing cat is A dog a")
    True
    """
    return tuple(sorted(set(_WORD.findall(sentence.lower()))))


class LexicalBaseline:
    """Softmax regression on the words of the premise, those of the hypothesis, and all pairs of one from each.

    Fitted to the demonstration corpus when made (a few seconds). Its probabilities are a function of the two sets of
    words alone: equal sets give equal bits, whatever the order of words, the batch, or the place in it.

    Args:
        seed: of the demonstration corpus to fit to.
        size: how many pairs of its training split; all of them where None.

    Raises:
        ValueError: if there are too few pairs to see all labels.
    """

    space: ClassVar[tuple[str, ...]] = labels.LABELS

    def __init__(self, seed: int = 0, size: int | None = None) -> None:
        import sklearn  # here, so that this module is cheap to import
        from sklearn.linear_model import LogisticRegression

        size = SPLITS["train"] if size is None else size
        if size < len(labels.LABELS):
            raise ValueError(f"expected at least {len(labels.LABELS)} training pairs, one a label, got {size}")
        pairs = list(generate("train", size, seed))
        self._identity = {
            "name": "lexical-baseline",
            "demo_seed": str(seed),
            "training_size": str(size),
            "training_data": _digest(pairs),
            "fit": f"l2, C={_C}, tolerance {_TOLERANCE}, same word {_SAME_WORD}",
            "scikit_learn": str(sklearn.__version__),
            "scipy": str(import_module("scipy").__version__),  # its L-BFGS does the fitting
        }
        keys = [(words_of(pair.premise), words_of(pair.hypothesis)) for pair in pairs]
        vocabulary = sorted({word for key in keys for words in key for word in words})
        # Number 0 stands for the empty slot of the other side, so that (p, 0), (0, h) and (p, h) are one kind of pair.
        self._number = {word: number for number, word in enumerate(vocabulary, start=1)}
        codes = [self._codes(*key) for key in keys]
        self._known = np.unique(np.concatenate(codes))
        premise_word, hypothesis_word = np.divmod(self._known, len(self._number) + 1)
        self._values = np.where(premise_word == hypothesis_word, _SAME_WORD, 1.0)  # (f,)
        model = LogisticRegression(C=_C, tol=_TOLERANCE, max_iter=1_000, random_state=0)
        # One thread: several would wait for each other over vectors this short (six seconds instead of one, on two
        # busy cores), and add in another order on another machine.
        with import_module("threadpoolctl").threadpool_limits(1):  # comes with scikit-learn
            model.fit(self._matrix(codes), [labels.label_id(pair.label) for pair in pairs])
        self._weights = np.ascontiguousarray(model.coef_.T)  # (f, 3)
        self._bias = np.asarray(model.intercept_)  # (3,)

    @property
    def identity(self) -> Mapping[str, str]:
        """What decides its numbers."""
        return dict(self._identity)

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of the labels.

        All rows with the same two sets of words are computed once, so a hundred permutations of a pair cost little
        more than the pair.

        Args:
            premises: shape (n,).
            hypotheses: shape (n,).

        Returns:
            shape (n, 3), columns in the order of `labels.LABELS`; each row sums to 1.

        Raises:
            ValueError: if the lengths differ.
        """
        if len(premises) != len(hypotheses):
            found = {"premises": len(premises), "hypotheses": len(hypotheses)}
            raise ValueError(f"expected as many premises as hypotheses, got {found}")
        rows: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
        index = np.empty(len(premises), dtype=np.intp)
        for i, (premise, hypothesis) in enumerate(zip(premises, hypotheses, strict=True)):
            index[i] = rows.setdefault((words_of(premise), words_of(hypothesis)), len(rows))
        distinct = np.empty((len(rows), len(labels.LABELS)), dtype=np.float32)
        keys = list(rows)
        for start in range(0, len(keys), _CHUNK):
            codes = [self._codes(*key) for key in keys[start : start + _CHUNK]]
            distinct[start : start + _CHUNK] = self._probabilities(codes)
        return distinct[index]

    def _codes(self, premise: Sequence[str], hypothesis: Sequence[str]) -> NDArray[np.int64]:
        """Return the features of a pair, each as one number; words never seen in training have none."""
        p = np.array([0, *(self._number[word] for word in premise if word in self._number)], dtype=np.int64)
        h = np.array([0, *(self._number[word] for word in hypothesis if word in self._number)], dtype=np.int64)
        return (p[:, None] * (len(self._number) + 1) + h[None, :]).ravel()[1:]  # all but (0, 0)

    def _matrix(self, codes: Sequence[NDArray[np.int64]]) -> Any:
        sparse = import_module("scipy.sparse")  # comes with scikit-learn, late like it; ships no types
        flat = np.concatenate(codes)
        row = np.repeat(np.arange(len(codes)), [len(one) for one in codes])
        column = np.minimum(np.searchsorted(self._known, flat), len(self._known) - 1)
        seen = self._known[column] == flat
        entries = self._values[column[seen]], (row[seen], column[seen])
        return sparse.csr_matrix(entries, shape=(len(codes), len(self._known)))

    def _probabilities(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        # A sparse product sums each row by itself in the order of its columns: no bit depends on the neighbours.
        logits = self._matrix(codes) @ self._weights + self._bias  # (m, 3)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        result: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return result


def _digest(pairs: Sequence[DemoPair]) -> str:
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update("\t".join(pair).encode() + b"\n")
    return digest.hexdigest()
