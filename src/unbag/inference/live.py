"""Evaluation of a classifier during training, without changing its state."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbag.data.labels import find_label_space
from unbag.data.predictions import SetPredictions
from unbag.inference.distributed import connect_process_group
from unbag.inference.memory import BatchSplitter
from unbag.inference.predictor import validate_pairs, validate_probabilities
from unbag.inference.tokenization import (
    BatchPadding,
    EncodedPairs,
    build_token_batches,
    choose_batch_tokens,
    compute_length_limit,
    encode_pairs,
)


class ClassifierInTraining:
    """Sequence classifier that is being trained, with its tokenizer.

    Every process of the training must call `predict`. Where each process holds only a part of the weights (FSDP,
    DeepSpeed), all of them call the model equally often. Batches do not depend on the number of processes, so neither
    do the predictions.

    Args:
        model: Model that the training loop calls, wrapped or not.
        order: Label of each output.
        batch_tokens: Maximum tokens per batch, padding included (default: 1,024 on a CPU, 16,384 elsewhere).
    """

    def __init__(
        self, model: Any, order: Sequence[str], tokenizer: Any, device: Any, batch_tokens: int | None = None
    ) -> None:
        network = unwrap_model(model)
        if not hasattr(tokenizer, "model_max_length"):
            raise ValueError(
                "expected a Trainer with the tokenizer of the model, got "
                f"{'none' if tokenizer is None else type(tokenizer).__name__}; "
                "pass processing_class=tokenizer to the Trainer"
            )
        self.label_space = find_label_space(order)
        self._model, self._tokenizer, self._device = model, tokenizer, torch.device(device)
        self._batch_tokens = batch_tokens or choose_batch_tokens(self._device)
        self._limit = compute_length_limit(tokenizer, network)
        self._padding = BatchPadding.from_model(tokenizer, network)
        self._splitter = BatchSplitter()
        self._columns = [order.index(label) for label in self.label_space]

    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> EncodedPairs:
        """Tokenize pairs once, for repeated calls of `predict` during training."""
        return encode_pairs(self._tokenizer, *validate_pairs(premises, hypotheses), self._limit)

    def predict(self, pairs: EncodedPairs) -> SetPredictions:
        """Predict all pairs. Every process returns the predictions for all pairs."""
        batches = list(build_token_batches(pairs.lengths, self._batch_tokens))
        group = connect_process_group()
        mine: list[tuple[Any, Any]] = []
        with _evaluation_mode(self._model):
            # Every process calls the model equally often, since a sharded or wrapped model waits for all processes. So
            # some processes repeat the last batch and ignore its predictions, and none splits a batch.
            for number in range(group.rank, group.rank + len(batches), group.world_size):
                rows, is_new = batches[min(number, len(batches) - 1)], number < len(batches)
                if group.world_size == 1:
                    mine += self._splitter.run_in_parts(rows, pairs.lengths, partial(self._probabilities, pairs))
                elif is_new:
                    mine.append((rows, self._probabilities(pairs, rows)))
                else:
                    self._probabilities(pairs, rows)
        # Batches are disjoint and cover all rows, so `gather` fills the array completely.
        probabilities = np.empty((len(pairs.input_ids), len(self.label_space)), dtype=np.float32)
        for rows, values in group.gather(mine):
            probabilities[rows] = values
        return SetPredictions(
            validate_probabilities(probabilities, len(probabilities), self.label_space), self.label_space, True
        )

    def _probabilities(self, pairs: EncodedPairs, rows: NDArray[np.intp]) -> Any:
        arrays = self._padding.build_pair_arrays(pairs, rows.tolist())
        inputs = {name: torch.from_numpy(array).to(self._device) for name, array in arrays.items()}
        outputs = self._model(**inputs)
        logits = outputs["logits"] if isinstance(outputs, Mapping) else outputs[0]
        # In half precision, the probabilities of a row would not sum to 1 within the tolerance.
        return logits.float().softmax(dim=-1)[:, self._columns].cpu().numpy()


def unwrap_model(model: Any) -> Any:
    """Get the transformers model inside the wrappers of distributed training and PEFT."""
    from accelerate.utils import extract_model_from_parallel  # type: ignore[import-untyped, unused-ignore]

    network = extract_model_from_parallel(model)
    return network.get_base_model() if hasattr(network, "get_base_model") else network


@contextmanager
def _evaluation_mode(model: Any) -> Iterator[None]:
    """Set a model to evaluation mode within this block, and restore the mode of each module afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        # Not `torch.inference_mode`: tensors that modules cache there (tables of positions, gathered weights) could not
        # be used in training afterwards.
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
