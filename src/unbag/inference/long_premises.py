"""Long premises: each chunk of a premise is predicted, and the chunk that most supports the hypothesis is used.

A verifier is often used on documents. `truncate` cuts the document, as the model does without this module. `any-chunk`
and `every-sentence` run the model on parts of the document and take the part that supports the hypothesis most: a claim
is supported if any part supports it (Laban et al. 2022, "SummaC", https://arxiv.org/abs/2111.09525, sentence level;
Honovich et al. 2022, "TRUE", https://arxiv.org/abs/2204.04991, chunks).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import get_positive_label
from unbag.inference.options import LongPremise
from unbag.inference.predictor import ModelError, Predictor, validate_pairs
from unbag.inference.tokenization import encode_pairs
from unbag.scoring.log_odds import compute_log_odds

if TYPE_CHECKING:
    from unbag.inference.transformer import TransformerPredictor


_DECIMALS: Final = 4  # of the log odds of a part, which differ by about 1e-5 between processors
_PAIRS_AT_ONCE: Final = 4096  # pairs of a part and a hypothesis in one call, which bounds memory

# A blank line, as between joined passages, or the end of a Chinese sentence, with its closing quotation mark: no space
# follows, by which spaCy would find it.
_BLOCK_END: Final = re.compile(r"\n\s*\n|(?<=[。！？])(?![。！？”’」』）])|(?<=[。！？][”’」』）])")


def split_sentences(text: str) -> list[str]:
    r"""Split a text into sentences with spaCy's rule-based sentencizer. A blank line ends a sentence.

    >>> split_sentences("A man sleeps. A dog barks at him!")
    ['A man sleeps.', 'A dog barks at him!']
    >>> split_sentences("A man sleeps\n\nA dog barks at him!")
    ['A man sleeps', 'A dog barks at him!']
    """
    sentences = (span.text.strip() for block in _BLOCK_END.split(text) for span in _sentencizer()(block).sents)
    return [each for each in sentences if each] or [text]


@cache
def _sentencizer() -> Any:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 10**9  # the limit protects parsers, which need memory per token; rules do not
    return pipeline


def pack_sentences(sentences: Sequence[str], lengths: Sequence[int], limit: int) -> list[str]:
    """Join consecutive sentences of one premise into chunks of at most `limit` tokens each.

    `lengths` has the tokens of each sentence. A sentence that is longer than `limit` is a chunk of its own.

    >>> pack_sentences(["a", "b", "c"], [2, 2, 3], 4)
    ['a b', 'c']
    """
    chunks: list[str] = []
    start, used = 0, 0
    for place, length in enumerate(lengths):
        if place > start and used + length > limit:
            chunks.append(" ".join(sentences[start:place]))
            start, used = place, 0
        used += length
    return [*chunks, " ".join(sentences[start:])]


class LongPremisePredictor:
    """Predictor that splits long premises into chunks and uses the chunk that best supports the hypothesis.

    The probabilities of a pair are those of the chunk in which entailment is most probable (contradiction, for a
    contradiction classifier). If several chunks are equal, the first is used. A premise of one chunk gives the
    predictions of the model itself.

    `truncated` is the number of pairs so far with a chunk that is longer than the maximum input length.
    """

    def __init__(self, predictor: Predictor, mode: LongPremise) -> None:
        self._predictor = predictor
        self._split = self._splitter(mode)
        self.truncated = 0
        identity = predictor.identity
        self.identity: Mapping[str, str] | None = None if identity is None else {**identity, "long_premise": mode}

    def __getattr__(self, name: str) -> Any:
        # All other attributes (order, threshold, has_probabilities, …) are those of the model, except `iter_batches`,
        # whose batches would be those of whole premises.
        if name == "iter_batches":
            raise AttributeError(name)
        return getattr(self._predictor, name)

    @property
    def label_space(self) -> tuple[str, ...]:
        """Label of each column of the probabilities."""
        return self._predictor.label_space

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, in input order, shape (n, len(label_space))."""
        premises, hypotheses = validate_pairs(premises, hypotheses)
        parts = [self._split(premise, hypothesis) for premise, hypothesis in zip(premises, hypotheses, strict=True)]
        found = np.empty((len(premises), len(self.label_space)), dtype=np.float32)
        start = 0
        while start < len(parts):
            stop, total = start, 0
            while stop < len(parts) and (stop == start or total + len(parts[stop]) <= _PAIRS_AT_ONCE):
                total += len(parts[stop])
                stop += 1
            found[start:stop] = self._most_supported(parts[start:stop], hypotheses[start:stop])
            start = stop
        return found

    def _most_supported(self, parts: Sequence[Sequence[str]], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        rows = [(part, hypothesis) for of_one, hypothesis in zip(parts, hypotheses, strict=True) for part in of_one]
        before = getattr(self._predictor, "truncated", 0)
        values = self._predictor.predict([part for part, _ in rows], [hypothesis for _, hypothesis in rows])
        self.truncated += min(getattr(self._predictor, "truncated", 0) - before, len(parts))
        column = list(self.label_space).index(get_positive_label(self.label_space))
        odds = compute_log_odds(values[:, column], np.delete(values, column, axis=1).sum(axis=1, dtype=np.float64))
        ends = np.cumsum([len(of_one) for of_one in parts])
        # Rounded, so that parts that differ in rounding alone are equal on every processor, and the first one is taken.
        scores = np.round(odds, _DECIMALS)
        best = [
            start + int(scores[start:end].argmax()) for start, end in zip([0, *ends[:-1].tolist()], ends, strict=True)
        ]
        return values[best]

    def _splitter(self, mode: LongPremise) -> Callable[[str, str], list[str]]:
        if mode == "every-sentence":
            return lambda premise, hypothesis: split_sentences(premise)
        if mode != "any-chunk":
            raise ValueError(f"--long-premise: expected {', '.join(get_args(LongPremise))}, got {mode!r}")
        if not hasattr(self._predictor, "tokenizer") or not hasattr(self._predictor, "max_length"):
            raise ModelError(
                "--long-premise any-chunk: expected a classifier whose tokenizer has a maximum length, got another "
                "model; use every-sentence"
            )
        if getattr(self._predictor, "template", None) is not None:
            raise ModelError(
                "--long-premise any-chunk: expected a classifier of pairs, got one with --template; use every-sentence"
            )
        return self._chunks

    def _chunks(self, premise: str, hypothesis: str) -> list[str]:
        predictor: TransformerPredictor = self._predictor  # type: ignore[assignment]
        limit = predictor.max_length
        if limit is None or encode_pairs(predictor.tokenizer, [premise], [hypothesis], None).lengths[0] <= limit:
            return [premise]
        sentences = split_sentences(premise)
        encoded = predictor.tokenizer(
            [*sentences, hypothesis], add_special_tokens=False, padding=False, truncation=False, verbose=False
        )
        *lengths, claim = map(len, encoded["input_ids"])
        room = limit - claim - predictor.tokenizer.num_special_tokens_to_add(pair=True)
        return pack_sentences(sentences, lengths, max(1, room))
