"""DAM, the decomposable attention model (Parikh et al. 2016), which aligns the words of both sentences."""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from unbag.models.layers import Mlp, compute_attention, compute_soft_alignment, sum_pool
from unbag.models.network import PairConfig, PairNetwork, SentenceBatch


class DamConfig(PairConfig):
    """Configuration of a decomposable attention model. The default layer sizes are those of the paper."""

    model_type = "unbag-dam"

    train_embeddings: bool = False
    hidden_size: int = 200
    dropout: float = 0.2
    # Whether each word is concatenated with the words of the same sentence that it attends to (section 3.4).
    intra_attention: bool = False
    distance: int = 10  # maximum distance in words with a separate bias; larger distances share the bias of the maximum


class IntraAttention(nn.Module):
    """Self-attention within a sentence, with a trained bias for each distance.

    Parikh et al. 2016, section 3.4: f_ij = F_intra(a_i)ᵀ F_intra(a_j), and the weights are the softmax over j of
    f_ij + d_{i−j}.
    """

    init_std = 0.0  # of the biases

    def __init__(self, size: int, distance: int, dropout: float) -> None:
        super().__init__()
        self.project = Mlp([size, size, size], nn.ReLU, dropout, activated=True)
        self.bias = nn.Parameter(torch.zeros(2 * distance + 1))
        self.distance = distance

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Concatenate each word vector with its self-attention output, [a; a'], shape (b, t, 2 size)."""
        f = self.project(vectors)
        places = torch.arange(vectors.shape[1], device=vectors.device)
        apart = (places[:, None] - places[None, :]).clamp(-self.distance, self.distance) + self.distance
        weights = compute_attention(f @ f.transpose(1, 2) + self.bias[apart], mask)
        return torch.cat([vectors, weights @ vectors], dim=-1)


class DamForSequenceClassification(PairNetwork):
    """Decomposable attention model, which compares each word with its aligned words and sums the comparisons.

    Parikh et al. 2016, "A Decomposable Attention Model for Natural Language Inference"
    (https://aclanthology.org/D16-1244), equations 1 to 4. Embeddings are normalized to length 1, projected to the
    hidden size and kept fixed (section 5). The token at the beginning of each sentence is the paper's NULL token.
    """

    config_class = DamConfig

    def __init__(self, config: DamConfig) -> None:
        super().__init__(config)
        size, dropout = config.hidden_size, config.dropout
        self.project = nn.Linear(config.embedding_size, size, bias=False)
        self.intra = IntraAttention(size, config.distance, dropout) if config.intra_attention else None
        read = 2 * size if config.intra_attention else size
        self.attend = Mlp([read, size, size], nn.ReLU, dropout, activated=True)
        self.compare = Mlp([2 * read, size, size], nn.ReLU, dropout, activated=True)
        self.aggregate = Mlp([2 * size, size, size], nn.ReLU, dropout, activated=True)
        self.classifier = nn.Linear(size, self.num_labels)
        self.post_init()

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits of pairs, shape (b, labels)."""
        a, b = self._words(premise), self._words(hypothesis)
        scores = self.attend(a) @ self.attend(b).transpose(1, 2)  # equation 1
        alignment = compute_soft_alignment(scores, premise.mask, hypothesis.mask)
        of_premise = self.compare(torch.cat([a, alignment.premise @ b], dim=-1))  # equation 3
        of_hypothesis = self.compare(torch.cat([b, alignment.hypothesis @ a], dim=-1))
        both = [sum_pool(of_premise, premise.mask), sum_pool(of_hypothesis, hypothesis.mask)]  # equation 4
        logits: Tensor = self.classifier(self.aggregate(torch.cat(both, dim=-1)))
        return logits

    def _words(self, side: SentenceBatch) -> Tensor:
        words: Tensor = self.project(normalize(self.embed(side), dim=-1))
        return words if self.intra is None else self.intra(words, side.mask)
