"""ESIM, the enhanced sequential inference model (Chen et al. 2017), and its bag-of-words variant (Nie et al. 2019)."""

import torch
from torch import Tensor, nn

from unbag.models.layers import (
    Mlp,
    build_comparison_features,
    build_token_encoder,
    compute_soft_alignment,
    max_pool,
    mean_pool,
)
from unbag.models.network import PairConfig, PairNetwork, SentenceBatch


class EsimConfig(PairConfig):
    """Configuration of ESIM. The default layer sizes are those of the paper."""

    model_type = "unbag-esim"

    bag_of_words: bool = False  # whether fully connected layers replace the LSTMs


class EsimForSequenceClassification(PairNetwork):
    """Enhanced sequential inference model: BiLSTM encoding, soft alignment, BiLSTM composition, and pooling.

    Chen et al. 2017, "Enhanced LSTM for Natural Language Inference" (https://aclanthology.org/P17-1152), section 3: the
    sequential model. With `bag_of_words`, it is the variant of Nie et al. 2019, section 3.2.
    """

    config_class = EsimConfig

    def __init__(self, config: EsimConfig) -> None:
        super().__init__(config)
        size, bag = config.hidden_size, config.bag_of_words
        self.dropout = nn.Dropout(config.dropout)
        self.encode = build_token_encoder(config.embedding_size, size, bag_of_words=bag)
        self.project = nn.Linear(8 * size, size)
        self.compose = build_token_encoder(size, size, bag_of_words=bag)
        self.classifier = Mlp([8 * size, size, self.num_labels], nn.Tanh, config.dropout)
        self.post_init()

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits of pairs, shape (b, labels)."""
        a, b = (self.encode(self.dropout(self.embed(side)), side.mask).outputs for side in (premise, hypothesis))
        scores = a @ b.transpose(1, 2)  # equation 11
        alignment = compute_soft_alignment(scores, premise.mask, hypothesis.mask)
        pooled = [
            *self._composed(a, alignment.premise @ b, premise.mask),
            *self._composed(b, alignment.hypothesis @ a, hypothesis.mask),
        ]
        logits: Tensor = self.classifier(torch.cat(pooled, dim=-1))
        return logits

    def _composed(self, own: Tensor, counterpart: Tensor, mask: Tensor) -> list[Tensor]:
        """Compose the comparisons of one sentence, and pool them by mean and maximum, shape (b, 2 hidden) each."""
        compared = self.dropout(self.project(build_comparison_features(own, counterpart)).relu())
        outputs = self.compose(compared, mask).outputs
        return [mean_pool(outputs, mask), max_pool(outputs, mask)]
