"""KIM, the knowledge-based inference model (Chen et al. 2018): ESIM with lexical relations."""

import torch
from torch import Tensor, nn

from unbag.models.layers import (
    BiLstm,
    Mlp,
    build_comparison_features,
    compute_attention,
    compute_soft_alignment,
    max_pool,
    mean_pool,
)
from unbag.models.network import RELATIONS, PairConfig, PairNetwork, SentenceBatch


class KimConfig(PairConfig):
    """Configuration of KIM. The default layer sizes are those of the paper."""

    model_type = "unbag-kim"

    relation_weight: float = 1.0  # weight λ that is added to the attention score of two related words
    # Whether the composition BiLSTM receives the relation vectors in addition to the projected comparisons, as in the
    # authors' code. In the paper, it receives the comparisons only.
    compose_relations: bool = True
    # Whether the outputs are also pooled by a weighted sum, with weights from the relation vectors, in addition to mean
    # and maximum (section 3.5). The authors' training script disables this option.
    pool_relations: bool = True


class KimForSequenceClassification(PairNetwork):
    """ESIM with WordNet relations between premise words and hypothesis words as features.

    Chen et al. 2018, "Neural Natural Language Inference Models Enhanced with External Knowledge"
    (https://aclanthology.org/P18-1224), section 3. The relation vector of a token is the attention-weighted mean of its
    relations to the words of the other sentence.

    - Co-attention (section 3.3): any relation between two words adds λ to their score,
      eᵢⱼ = aᵢ · bⱼ + λ 1[rᵢⱼ ≠ 0].
    - Local inference (section 3.4): the relation vector is part of a token's comparison, before the projection.
    - Composition (section 3.5): the tokens are also pooled by a weighted sum. The weights are the softmax over tokens
      of a feed-forward layer with ReLU on the relation vectors.

    The network follows the authors' code (github.com/lukecq1231/kim, `scripts/kim/main.py`). There, the relation vector
    is used twice: before the projection, and in the input of the composition BiLSTM, [projected comparison; relation
    vector]. The paper uses it only before the projection (`compose_relations=False`). The relations are saved in the
    model (`WordEmbeddings.related`): WordNet is required to create a model, but not to load it.
    """

    config_class = KimConfig

    def __init__(self, config: KimConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.dropout = nn.Dropout(config.dropout)
        self.encode = BiLstm(config.embedding_size, size)
        self.project = nn.Linear(8 * size + RELATIONS, size)
        self.compose = BiLstm(size + (RELATIONS if config.compose_relations else 0), size)
        # The ReLU precedes the softmax over tokens, so that the softmax does not cancel the bias of the layer.
        self.weigh = nn.Sequential(nn.Linear(RELATIONS, 1), nn.ReLU()) if config.pool_relations else None
        pooled = 2 if self.weigh is None else 3
        self.classifier = Mlp([4 * pooled * size, size, self.num_labels], nn.Tanh, config.dropout)
        self.post_init()

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits of pairs, shape (b, labels)."""
        a, b = (self.encode(self.dropout(self.embed(side)), side.mask).outputs for side in (premise, hypothesis))
        forth = self.embeddings.look_up_relations(premise.ids, hypothesis.ids).to(a.dtype)  # (b, m, n, 5)
        back = self.embeddings.look_up_relations(hypothesis.ids, premise.ids).to(a.dtype)
        related = (forth != 0).any(dim=-1).to(a.dtype)
        scores = a @ b.transpose(1, 2) + self.config.relation_weight * related
        alignment = compute_soft_alignment(scores, premise.mask, hypothesis.mask)
        pooled = [
            *self._composed(a, alignment.premise @ b, _of_counterparts(alignment.premise, forth), premise.mask),
            *self._composed(b, alignment.hypothesis @ a, _of_counterparts(alignment.hypothesis, back), hypothesis.mask),
        ]
        logits: Tensor = self.classifier(torch.cat(pooled, dim=-1))
        return logits

    def _composed(self, own: Tensor, counterpart: Tensor, relations: Tensor, mask: Tensor) -> list[Tensor]:
        """Compose the comparisons of one sentence, and pool them by mean, maximum and weighted sum, (b, 2 hidden)."""
        compared = self.dropout(
            self.project(torch.cat([build_comparison_features(own, counterpart), relations], dim=-1)).relu()
        )
        # No dropout on the relations, as in the authors' code.
        inputs = torch.cat([compared, relations], dim=-1) if self.config.compose_relations else compared
        outputs = self.compose(inputs, mask).outputs
        pooled = [mean_pool(outputs, mask), max_pool(outputs, mask)]
        if self.weigh is not None:
            weights = compute_attention(self.weigh(relations).transpose(1, 2), mask)  # (b, 1, t)
            pooled.append((weights @ outputs).squeeze(1))
        return pooled


def _of_counterparts(weights: Tensor, relations: Tensor) -> Tensor:
    """Compute the relation vector of each token, Σⱼ αᵢⱼ rᵢⱼ, shape (b, m, 5)."""
    return torch.einsum("bmn,bmnr->bmr", weights, relations)
