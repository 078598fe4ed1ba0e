"""A classifier that somebody is training, asked as it is at the moment and left as it was."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbag.data.labels import label_space_of
from unbag.data.predictions import SetPredictions
from unbag.inference.distributed import process_group
from unbag.inference.memory import Halving
from unbag.inference.predictor import checked_pairs, checked_probabilities
from unbag.inference.tokenization import (
    CPU_BATCH_TOKENS,
    GPU_BATCH_TOKENS,
    EncodedPairs,
    Padding,
    encode_pairs,
    length_limit,
    shared,
    token_batches,
)


class LiveClassifier:
    """A sequence classifier and its tokenizer, both somebody else's.

    Every process that trains takes part in `ask`, also where each has a piece of the weights only (FSDP, DeepSpeed):
    all call the model equally often. Batches do not depend on how many processes there are, so neither do the answers.

    Args:
        model: what the loop calls, wrapped or not.
        order: the label of each output.
        tokenizer: makes token ids of pairs.
        device: where inputs go.
        batch_tokens: the most tokens a batch, padding included; by default what is fast on a CPU or a GPU.

    Raises:
        ValueError: if there is no tokenizer.
    """

    def __init__(
        self, model: Any, order: Sequence[str], tokenizer: Any, device: Any, batch_tokens: int | None = None
    ) -> None:
        network = unwrapped(model)
        if not hasattr(tokenizer, "model_max_length"):
            raise ValueError(
                "expected the Trainer to have the model's tokenizer, found "
                f"{'none' if tokenizer is None else type(tokenizer).__name__}; pass processing_class=tokenizer to it"
            )
        self.label_space = label_space_of(order)
        self._model, self._tokenizer, self._device = model, tokenizer, torch.device(device)
        on_cpu = self._device.type == "cpu"
        self._batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if on_cpu else GPU_BATCH_TOKENS)
        self._limit = length_limit(tokenizer, network)
        self._padding = Padding.of(tokenizer, network)
        self._halving = Halving()
        self._columns = [order.index(label) for label in self.label_space]

    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> EncodedPairs:
        """Return the token ids of pairs, which stay the same while the model changes."""
        return encode_pairs(self._tokenizer, *checked_pairs(premises, hypotheses), self._limit)

    def ask(self, pairs: EncodedPairs) -> SetPredictions:
        """Return the answers to all pairs, in every process.

        Raises:
            ValueError: if the model answers with something else than numbers, as one does whose training diverged.
        """
        batches = list(token_batches(pairs.lengths, self._batch_tokens))
        group = process_group()
        mine: list[tuple[Any, Any]] = []
        with _asking(self._model):
            for rows, wanted in shared(batches, group.world, group.rank):
                # Several processes ask equally often, so none of them can halve a batch by itself.
                if group.world == 1:
                    mine += self._halving.ask(rows, pairs.lengths, partial(self._probabilities, pairs))
                elif wanted:
                    mine.append((rows, self._probabilities(pairs, rows)))
                else:
                    self._probabilities(pairs, rows)
        probabilities = np.empty((len(pairs.input_ids), len(self.label_space)), dtype=np.float32)
        for rows, values in group.gather(mine):
            probabilities[rows] = values
        return SetPredictions(
            checked_probabilities(probabilities, len(probabilities), self.label_space), self.label_space, True
        )

    def _probabilities(self, pairs: EncodedPairs, rows: NDArray[np.intp]) -> Any:
        arrays = self._padding.arrays_of(pairs, rows.tolist())
        inputs = {name: torch.from_numpy(array).to(self._device) for name, array in arrays.items()}
        outputs = self._model(**inputs)
        logits = outputs["logits"] if isinstance(outputs, Mapping) else outputs[0]
        return logits.float().softmax(dim=-1)[:, self._columns].cpu().numpy()


def unwrapped(model: Any) -> Any:
    """Return the classifier inside what distributed training and adapters put around one."""
    from accelerate.utils import extract_model_from_parallel  # type: ignore[import-untyped, unused-ignore]

    network = extract_model_from_parallel(model)
    return network.get_base_model() if hasattr(network, "get_base_model") else network


@contextmanager
def _asking(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode; afterwards each module is in the mode that it was in.

    Not inference mode: what modules cache there (tables of positions, gathered weights) could not be trained on after.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
