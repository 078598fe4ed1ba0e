"""How often a model in training is right on the pairs held out."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import send_to_device
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from unbag.inference.memory import Halving
from unbag.inference.tokenization import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS, shared, token_batches
from unbag.training.data import Part
from unbag.training.encoded import PairEncoder

ALL: Final = "all"
"""The name of the metrics over all held-out pairs together."""

Rows = NDArray[np.intp]

Metrics = dict[str, dict[str, float]]
"""By part, and over all pairs: `accuracy`, `loss` (the mean cross-entropy) and `pairs`."""


class HeldOut:
    """The held-out pairs, tokenized once."""

    def __init__(self, parts: Sequence[Part], encoder: PairEncoder, order: Sequence[str]) -> None:
        self._halving = Halving()
        self._names = [part.name for part in parts]
        self._encoder = encoder
        self._encoded = encoder.encode_all([example for part in parts for example in part.examples])
        self._outputs = np.array([order.index(example.label) for part in parts for example in part.examples])
        self._part = np.repeat(np.arange(len(parts)), [len(part.examples) for part in parts])

    def evaluate(self, module: Any, accelerator: Accelerator) -> Metrics:
        """Return the metrics of a model, whose processes share the work; the same in each of them.

        Args:
            module: maps a batch to logits in evaluation mode.
            accelerator: which has prepared it.
        """
        budget = CPU_BATCH_TOKENS if accelerator.device.type == "cpu" else GPU_BATCH_TOKENS
        batches = list(token_batches(self._encoded.lengths.tolist(), budget))
        world, rank = accelerator.num_processes, accelerator.process_index
        sums = torch.zeros(len(self._names), 3, dtype=torch.float64)  # right, loss, pairs
        module.eval()
        with torch.no_grad():
            for batch, wanted in shared(batches, world, rank):
                for rows, logits in self._asked(batch, partial(self._logits, module, accelerator), world):
                    if wanted:
                        gold = torch.from_numpy(self._outputs[rows])
                        right = logits.argmax(dim=1) == gold
                        losses = cross_entropy(logits, gold, reduction="none")
                        values = torch.stack([right, losses, torch.ones_like(losses)], dim=1).double()
                        sums.index_add_(0, torch.from_numpy(self._part[rows]), values)
        module.train()
        return self._metrics(_summed(sums, accelerator))

    def _asked(
        self, batch: Rows, ask: Callable[[Rows], torch.Tensor], world: int
    ) -> Iterator[tuple[Rows, torch.Tensor]]:
        """Yield the logits of a batch; in parts where it does not fit, unless others wait for as many calls."""
        if world == 1:
            return self._halving.ask(batch, self._encoded.lengths, ask)
        return iter([(batch, ask(batch))])

    def _logits(self, module: Any, accelerator: Accelerator, rows: Rows) -> torch.Tensor:
        encoded = self._encoder.padded([self._encoded.tokens(row) for row in rows.tolist()])
        logits: torch.Tensor = module(None, **send_to_device(encoded, accelerator.device)).float().cpu()
        return logits

    def _metrics(self, sums: torch.Tensor) -> Metrics:
        metrics = {name: _means(row) for name, row in zip(self._names, sums.tolist(), strict=True)}
        return {**metrics, ALL: _means(sums.sum(dim=0).tolist())}


def _means(row: Sequence[float]) -> dict[str, float]:
    right, loss, pairs = row
    return {"accuracy": right / max(pairs, 1), "loss": loss / max(pairs, 1), "pairs": int(pairs)}


def _summed(values: torch.Tensor, accelerator: Accelerator) -> torch.Tensor:
    if accelerator.num_processes == 1:
        return values
    summed: torch.Tensor = accelerator.reduce(values.to(accelerator.device), reduction="sum").cpu()
    return summed
