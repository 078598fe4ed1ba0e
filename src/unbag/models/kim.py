"""KIM: ESIM that knows lexical relations (Chen et al. 2018)."""

import torch
from torch import Tensor, nn

from unbag.models.config import PairConfig
from unbag.models.embeddings import RELATIONS
from unbag.models.layers import BiLstm, Mlp, aligned, attention, enhanced, max_over, mean_over
from unbag.models.network import PairNetwork
from unbag.models.sides import Side


class KimConfig(PairConfig):
    """The config of KIM, with the sizes of its authors.

    Attributes:
        relation_weight: λ, what any relation adds to the score of two words.
    """

    model_type = "unbag-kim"

    relation_weight: float = 1.0


class KimForSequenceClassification(PairNetwork):
    """ESIM, with the WordNet relations of each premise word to each hypothesis word at three places.

    Chen et al. 2018, "Neural Natural Language Inference Models Enhanced with External Knowledge", section 3: in
    co-attention a pair of words that are related at all scores λ more (section 3.3); in local inference a token has the
    relations to what it is aligned with, weighted like that (section 3.4); in composition, beside mean and maximum, the
    tokens are summed with weights that come of those relations (section 3.5). The relations are in the model
    (`WordEmbeddings.related`): WordNet is needed to make it, not to load it.
    """

    config_class = KimConfig

    def __init__(self, config: KimConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.dropout = nn.Dropout(config.dropout)
        self.encode = BiLstm(config.embedding_size, size)
        self.project = nn.Linear(8 * size + RELATIONS, size)
        self.weigh = nn.Linear(RELATIONS, 1, bias=False)  # the softmax over tokens would cancel a bias
        self.compose = BiLstm(size, size)
        self.classifier = Mlp([12 * size, size, self.num_labels], nn.Tanh, config.dropout)
        self.post_init()

    def logits(self, premise: Side, hypothesis: Side) -> Tensor:
        """Return the logits of pairs, shape (b, labels)."""
        a, b = (self.encode(self.dropout(self.embed(side)), side.mask).outputs for side in (premise, hypothesis))
        forth = self.embeddings.relations(premise.ids, hypothesis.ids).to(a.dtype)  # (b, m, n, 5)
        back = self.embeddings.relations(hypothesis.ids, premise.ids).to(a.dtype)
        related = (forth != 0).any(dim=-1).to(a.dtype)
        scores = a @ b.transpose(1, 2) + self.config.relation_weight * related
        alignment = aligned(scores, premise.mask, hypothesis.mask)
        pooled = [
            *self._composed(a, alignment.premise @ b, _of_counterparts(alignment.premise, forth), premise.mask),
            *self._composed(b, alignment.hypothesis @ a, _of_counterparts(alignment.hypothesis, back), hypothesis.mask),
        ]
        logits: Tensor = self.classifier(torch.cat(pooled, dim=-1))
        return logits

    def _composed(self, own: Tensor, counterpart: Tensor, relations: Tensor, mask: Tensor) -> list[Tensor]:
        """Return mean, maximum and weighted sum of what is read of a side's comparisons, each (b, 2 hidden)."""
        compared = self.project(torch.cat([enhanced(own, counterpart), relations], dim=-1)).relu()
        outputs = self.compose(self.dropout(compared), mask).outputs
        weights = attention(self.weigh(relations).transpose(1, 2), mask)  # (b, 1, t)
        return [mean_over(outputs, mask), max_over(outputs, mask), (weights @ outputs).squeeze(1)]


def _of_counterparts(weights: Tensor, relations: Tensor) -> Tensor:
    """Return the relations of each token to what it is aligned with, Σⱼ αᵢⱼ rᵢⱼ, shape (b, m, 5)."""
    return torch.einsum("bmn,bmnr->bmr", weights, relations)
