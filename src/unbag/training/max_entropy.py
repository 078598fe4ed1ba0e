"""Max-entropy training: correct predictions in natural word order, and high entropy in any other order.

Sinha et al. 2021, section 8, equation 5: loss = CE(p(y | premise, hypothesis), gold) − α · (1/n) Σᵢ H(p(y | permuted
pair i)), H in nats. Equation 5 as printed is the negative of this loss, an apparent misprint, since training minimizes.
"""

from typing import Any

from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from unbag.challenge_sets.perturbations.permutation import Permuter, TooFewPermutationsError
from unbag.data.sources import Example
from unbag.data.text.tokens import tokenize
from unbag.training.trainer import PairTrainer


class PermutedPairs:
    """Builder of n permuted copies of each pair. Each example id and epoch draws other permutations from the seed.

    A pair without n different permutations, such as one with a sentence of one word, gives none and counts with an
    entropy of 0. So the mean is over all pairs of the batch, and every permuted pair has the same weight in any batch.
    """

    def __init__(self, permutations: int, *, seed: int, language: str) -> None:
        self._permuter = Permuter(q=permutations, seed=seed)
        self._language = language

    def __call__(self, example: Example, epoch: int) -> list[tuple[str, str]]:
        """Build n permutations of an example. In both sentences, every word changes its position."""
        sentences = (tokenize(text, self._language) for text in (example.premise, example.hypothesis))
        try:
            # The epoch is part of the key, so that each epoch has other permutations.
            return self._permuter.permute_texts(f"{example.source_id} in epoch {epoch}", *sentences)
        except TooFewPermutationsError:
            return []


class MaxEntropyTrainer(PairTrainer):
    """Trainer with the loss of max-entropy: cross-entropy − α · mean entropy on permuted pairs.

    All pairs are encoded in one forward pass.
    """

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Compute the loss CE − α · (1 / (b n)) Σ H, where the sum is over the permuted pairs."""
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        cross, entropy = compute_max_entropy_terms(outputs.logits, labels, self.config.permutations)
        self.record(cross_entropy=cross, entropy=entropy)
        loss = cross - self.config.alpha * entropy
        return (loss, outputs) if return_outputs else loss


def compute_max_entropy_terms(logits: Tensor, labels: Tensor, permutations: int = 1) -> tuple[Tensor, Tensor]:
    """Compute the mean cross-entropy of b pairs, and the mean entropy (1 / (b n)) Σ H on their permuted pairs.

    `logits` are those of the b pairs and, after them, of all permuted pairs, shape (b + permuted, k). `labels` are
    outputs of the network.
    """
    logits = logits.float()  # in half precision, small probabilities would be missing from the entropy
    b = len(labels)
    # Divided by b n, not by the number of permuted pairs, which differs between batches.
    return cross_entropy(logits[:b], labels), compute_entropies(logits[b:]).sum() / (b * permutations)


def compute_entropies(logits: Tensor) -> Tensor:
    """Compute the entropy of the softmax of each row of logits, in nats, shape (n,), in [0, ln k].

    >>> import torch
    >>> compute_entropies(torch.tensor([[0.0, 0.0, 0.0]]))
    tensor([1.0986])
    """
    # log_softmax stays finite where p underflows, so that p · log p is 0 there and not NaN.
    log_p = log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)
