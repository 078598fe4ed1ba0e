"""Base class of predictors that run a sequence classifier on tokenized pairs."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import tokenizers
import torch
import transformers
from numpy.typing import NDArray

from unbag.inference.llm.prompt_file import PromptFile
from unbag.inference.loading import Classifier, validate_token_ids
from unbag.inference.memory import BatchSplitter
from unbag.inference.predictor import BatchingPredictor, validate_pairs
from unbag.inference.single_output import ThresholdedPredictor
from unbag.inference.tokenization import EncodedPairs, build_token_batches, encode_pairs, encode_texts

TEST_PAIRS: Final = (  # for comparisons of networks and batches; of different lengths, so that there is padding
    ("A woman reads.", "She reads."),
    ("Two children are playing with a red ball in the garden behind the old house.", "A dog is asleep."),
    ("The train has left.", "Nobody was on the platform when the last train of the evening left the small station."),
)


class PairClassifier(ThresholdedPredictor, BatchingPredictor):
    """Base class of predictors that tokenize pairs. Subclasses compute the logits of a batch."""

    identity: Mapping[str, str]  # everything that determines the probabilities, by name; set by `_set_identity`
    batch_tokens: int  # maximum tokens per batch, padding included; set by the subclass

    def __init__(self, classifier: Classifier, max_length: int | None, template: PromptFile | None = None) -> None:
        self.template = template  # for a classifier of one text
        self.tokenizer = classifier.tokenizer
        self._set_outputs(classifier.order, classifier.n_outputs, classifier.threshold)
        self.max_length = classifier.resolve_max_length(max_length)  # in tokens; None without a limit
        self.truncated = 0  # number of pairs so far that were longer and were truncated
        self._network = classifier.network
        self._splitter = BatchSplitter()

    def iter_batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield each batch as row positions, shape (b,), and probabilities, shape (b, len(label_space))."""
        premises, hypotheses = validate_pairs(premises, hypotheses)
        if not premises:
            return
        pairs = self._encode(premises, hypotheses)
        validate_token_ids(pairs.input_ids, self._network, self.tokenizer)
        self.truncated += pairs.truncated
        for rows in build_token_batches(pairs.lengths, self.batch_tokens):
            yield from self._splitter.run_in_parts(rows, pairs.lengths, partial(self._probabilities, pairs))

    def _encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> EncodedPairs:
        if self.template is not None:
            return encode_texts(self.tokenizer, self.template.build_text, premises, hypotheses, self.max_length)
        return encode_pairs(self.tokenizer, premises, hypotheses, self.max_length)

    def _reads_padding(self, pairs: EncodedPairs, tolerance: float) -> bool:
        """Check whether padding changes the logits, as in convolutions (ConvBERT, CANINE) or without a mask (FNet)."""
        rows = range(len(pairs.input_ids))
        with torch.inference_mode():
            together = self._logits(pairs, rows)
            alone = torch.cat([self._logits(pairs, [row]) for row in rows])
        return bool((together - alone).abs().max() > tolerance * alone.abs().max().clamp(min=1))

    def _set_identity(self, kind: str, classifier: Classifier, **own: str) -> None:
        self.identity = {
            "kind": kind,
            **classifier.identity.to_record(),
            "label_order": ",".join(self.order),
            **own,
            "max_length": str(self.max_length),
            "batch_tokens": str(self.batch_tokens),
            "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
            **({"segment_ids": "supplied"} if classifier.supplies_segments else {}),
        }

    @abstractmethod
    def _logits(self, pairs: EncodedPairs, rows: Sequence[int]) -> torch.Tensor:
        """Compute the logits of the pairs at `rows`, shape (b, outputs), in the model's output order, float32."""

    def _probabilities(self, pairs: EncodedPairs, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        with torch.inference_mode():
            logits = self._logits(pairs, rows.tolist())
            if self.n_outputs == 1:  # sigmoid(x) is the first output of softmax([x, 0])
                score = logits.reshape(len(rows), 1)
                logits = torch.cat([score, torch.zeros_like(score)], dim=-1)
            values: NDArray[np.float32] = logits.softmax(dim=-1)[:, self._columns].cpu().numpy()
        return values
