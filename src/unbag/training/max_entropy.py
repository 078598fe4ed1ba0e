"""Max-entropy training: correct predictions in natural word order, and high entropy in any other order.

Sinha et al. 2021, section 8, equation 5: loss = CE(p(y | premise, hypothesis), gold) − α · (1/n) Σᵢ H(p(y | permuted
pair i)), H in nats. Equation 5 as printed is the negative of this loss, an apparent misprint, since training minimizes.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED, Permuter, TooFewPermutationsError
from unbag.data.sources import Example
from unbag.data.text.tokens import tokenize
from unbag.training.config import MaxEntropyOptions
from unbag.training.objective import BatchLoss, Objective


class PermutedPairs:
    """Permuted copies of the pairs in a batch, and the mean entropy of the predictions for these copies.

    A pair without n different permutations, such as one with a sentence of one word, gives none and counts with an
    entropy of 0. So the mean is over all pairs of the batch, and every permuted pair has the same weight in any batch.
    """

    def __init__(self, permutations: int, *, seed: int, language: str) -> None:
        """Initialize the permuter.

        Args:
            permutations: Number n of permutations per pair.
            seed: Random seed; each example id and epoch draws other permutations from it.
            language: Language of the sentences, one of those of `data.text.tokens`.
        """
        self._permuter = Permuter(q=permutations, seed=seed)
        self._n, self._language = permutations, language

    def build_extra_pairs(self, examples: Sequence[Example], epoch: int) -> list[tuple[str, str]]:
        """Build n permutations of each example. In both sentences, every word changes its position."""
        pairs = []
        for example in examples:
            sentences = (tokenize(text, self._language) for text in (example.premise, example.hypothesis))
            try:
                # The epoch is part of the key, so that each epoch has other permutations.
                pairs += self._permuter.permute_texts(f"{example.source_id} in epoch {epoch}", *sentences)
            except TooFewPermutationsError:
                continue
        return pairs

    def compute_mean_entropy(self, logits: Tensor, b: int) -> Tensor:
        """Compute the mean entropy (1 / (b n)) Σ H over the permuted pairs of b examples.

        Returns 0 if there are no permuted pairs.
        """
        return compute_entropies(logits).sum() / (b * self._n)


class MaxEntropyObjective(Objective):
    """Objective of the max-entropy recipe: cross-entropy − α · mean entropy on permuted pairs.

    All pairs are encoded in one forward pass.
    """

    def __init__(
        self,
        network: Any,
        options: MaxEntropyOptions | None = None,
        *,
        seed: int = DEFAULT_SEED,
        language: str = "en",
    ) -> None:
        """Initialize the objective.

        Args:
            network: `PreTrainedModel` for sequence classification.
            options: Options; by default those of `MaxEntropyOptions`.
            seed: Random seed for permutations.
            language: Language of the sentences.
        """
        super().__init__(network)
        self.options = options or MaxEntropyOptions()
        self._permuted = PermutedPairs(self.options.permutations, seed=seed, language=language)
        self.build_extra_pairs = self._permuted.build_extra_pairs

    def compute_loss(self, labels: Tensor, **encoded: Tensor) -> BatchLoss:
        """Compute the loss CE − α · (1 / (b n)) Σ H, where the sum is over the permuted pairs."""
        # In half precision, small probabilities would be missing from the entropy.
        logits = self.network(**encoded).logits.float()
        b = len(labels)
        cross = cross_entropy(logits[:b], labels)
        entropy = self._permuted.compute_mean_entropy(logits[b:], b)
        parts = {"cross_entropy": cross.detach(), "entropy": entropy.detach()}
        return BatchLoss(cross - self.options.alpha * entropy, logits[:b].detach(), parts)


def compute_entropies(logits: Tensor) -> Tensor:
    """Compute the entropy of the softmax of each row of logits, in nats, shape (n,), in [0, ln k].

    >>> import torch
    >>> compute_entropies(torch.tensor([[0.0, 0.0, 0.0]]))
    tensor([1.0986])
    """
    # log_softmax stays finite where p underflows, so that p · log p is 0 there and not NaN.
    log_p = log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)
