"""What all objectives beside a biased model have in common: its strength, the pairs' weights, and permuted pairs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from unbag.data.sources import Example
from unbag.training.debias_options import DebiasConfig
from unbag.training.known import BIAS, TEACHER, WEIGHT
from unbag.training.max_entropy import PermutedPairs
from unbag.training.objective import Loss, Objective


class Debiased(Objective):
    """The mean over the pairs of w_i · l_i, less α times the mean entropy of their permutations.

    l_i, the loss of a pair by what the biased model says of it, is the subclass's (`losses`). What is evaluated and
    published is the network alone.

    The strength of the bias goes linearly from `bias_strength` in the first step to `anneal` in the last (Utama et al.
    2020b; in their code from 1 to 0.8). w_i is 1 + balance · (v_i - 1), v_i the weight of the pair's group
    (`groups.group_weights`). α and the permutations are max-entropy's (`max_entropy`).
    """

    def __init__(self, network: Any, options: DebiasConfig, *, language: str = "en") -> None:
        """Set out to train `network`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            options: of the recipe; its seed decides the permutations.
            language: of the sentences.
        """
        super().__init__(network)
        self.options = options
        self._passes, self._steps = 0, 1
        self._permuted = (
            PermutedPairs(options.permutations, seed=options.seed, language=language) if options.alpha else None
        )

    def further_pairs(self, examples: Sequence[Example], epoch: int) -> list[tuple[str, str]]:
        """Return the permutations of the examples, where α is not 0."""
        return self._permuted.further_pairs(examples, epoch) if self._permuted else []

    def begin(self, step: int, steps: int) -> None:
        """Count the forward passes of the steps that were taken."""
        self._passes, self._steps = step * self.options.accumulation, steps

    @property
    def strength(self) -> float:
        """The strength of the bias in this step."""
        first, last = self.options.bias_strength, self.options.anneal
        if last is None:
            return first
        step = self._passes // self.options.accumulation
        return first + (last - first) * min(step / max(self._steps - 1, 1), 1.0)

    def loss(self, labels: Tensor, **inputs: Tensor) -> Loss:
        """Return the loss of a batch; its parts: the network's own cross-entropy, and the entropy of permuted pairs."""
        names: tuple[str, ...] = (BIAS, TEACHER, WEIGHT)
        known = {name: inputs.pop(name).float() for name in names if name in inputs}
        b = len(labels)
        logits, losses = self._forward(labels, known, inputs)
        weight = known.get(WEIGHT)
        if weight is not None:
            losses = losses * (1 + self.options.balance * (weight - 1))
        loss = losses.mean()
        parts = {"cross_entropy": cross_entropy(logits[:b].detach(), labels)}
        if self._permuted is not None:
            entropy = self._permuted.entropy(logits[b:], b)
            loss = loss - self.options.alpha * entropy
            parts["entropy"] = entropy.detach()
        if self.training:
            self._passes += 1
        return Loss(loss, logits[:b].detach(), parts)

    def _forward(self, labels: Tensor, known: dict[str, Tensor], encoded: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits of all pairs, shape (b + further, k), and the losses of the b examples, shape (b,)."""
        logits = self.network(**encoded).logits.float()
        with torch.autocast(logits.device.type, enabled=False):
            return logits, self.losses(logits[: len(labels)], labels, known)

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return the loss of each example, shape (b,).

        Args:
            logits: of the network, shape (b, k).
            labels: the examples' outputs of the network, shape (b,).
            known: `BIAS` and, where the recipe has one, `TEACHER`: log-probabilities of shape (b, k).
        """
        raise NotImplementedError


class Weighted(Debiased):
    """Cross-entropy, where the weights of pairs are all that a biased model tells, if one is asked."""

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return −log p(gold) of each example."""
        return cross_entropy(logits, labels, reduction="none")
