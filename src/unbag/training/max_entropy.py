"""Max-entropy: be right in order, and undecided in any other (Sinha et al. 2021, section 8, equation 5).

Loss = CE(p(y | premise, hypothesis), gold) − α · (1/n) Σᵢ H(p(y | permuted pair i)), H in nats. (Equation 5 as printed
is the negative of this, which nobody would minimise.)
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED, Permuter, TooFewPermutationsError
from unbag.data.sources import Example
from unbag.data.text.tokens import tokenize
from unbag.training.config import MaxEntropyOptions
from unbag.training.objective import Loss, Objective


class PermutedPairs:
    """The permutations of a batch's pairs, and how undecided a network is of them.

    A pair that has no n different permutations (a side of one word) gives none: it counts with an entropy of 0, so that
    the mean is over all pairs of the batch and every permuted pair weighs the same, whichever batch it is in.
    """

    def __init__(self, permutations: int, *, seed: int, language: str) -> None:
        """Set out to permute.

        Args:
            permutations: n, of each pair.
            seed: decides them, together with an example's id and the epoch.
            language: of the sentences, as `data.text.tokens` knows them.
        """
        self._permuter = Permuter(q=permutations, seed=seed)
        self._n, self._language = permutations, language

    def extra_pairs(self, examples: Sequence[Example], epoch: int) -> list[tuple[str, str]]:
        """Return n permutations of each example that has them: both sentences, every word in another place."""
        pairs = []
        for example in examples:
            sentences = (tokenize(text, self._language) for text in (example.premise, example.hypothesis))
            try:
                pairs += self._permuter.texts(f"{example.source_id} in epoch {epoch}", *sentences)
            except TooFewPermutationsError:
                continue
        return pairs

    def entropy(self, logits: Tensor, b: int) -> Tensor:
        """Return (1 / (b n)) Σ H over the permuted pairs of b examples, a scalar; without any of them 0."""
        return entropies(logits).sum() / (b * self._n)


class MaxEntropy(Objective):
    """Cross-entropy of the pairs, less α times the mean entropy of their permutations, both in one forward pass."""

    def __init__(
        self,
        network: Any,
        options: MaxEntropyOptions | None = None,
        *,
        seed: int = DEFAULT_SEED,
        language: str = "en",
    ) -> None:
        """Set out to train `network`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            options: by default as `MaxEntropyOptions` has them.
            seed: see `PermutedPairs`.
            language: likewise.
        """
        super().__init__(network)
        self.options = options or MaxEntropyOptions()
        self._permuted = PermutedPairs(self.options.permutations, seed=seed, language=language)

    def extra_pairs(self, examples: Sequence[Example], epoch: int) -> list[tuple[str, str]]:
        """Return n permutations of each example that has them: both sentences, every word in another place."""
        return self._permuted.extra_pairs(examples, epoch)

    def loss(self, labels: Tensor, **encoded: Tensor) -> Loss:
        """Return CE − α · (1 / (b n)) Σ H over the permuted pairs; without any of them, CE."""
        logits = self.network(**encoded).logits.float()
        b = len(labels)
        cross = cross_entropy(logits[:b], labels)
        entropy = self._permuted.entropy(logits[b:], b)
        parts = {"cross_entropy": cross.detach(), "entropy": entropy.detach()}
        return Loss(cross - self.options.alpha * entropy, logits[:b].detach(), parts)


def entropies(logits: Tensor) -> Tensor:
    """Return the entropy in nats of the distribution that each row of logits gives, shape (n,), in [0, ln k].

    >>> import torch
    >>> entropies(torch.tensor([[0.0, 0.0, 0.0]]))
    tensor([1.0986])
    """
    log_p = log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)
