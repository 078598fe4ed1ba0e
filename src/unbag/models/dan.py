"""A bag of words: the deep averaging network (Iyyer et al. 2015), of each side of a pair."""

import torch
from torch import Tensor, nn

from unbag.models.config import PairConfig
from unbag.models.layers import Mlp, mean_over
from unbag.models.network import SentenceEncoder
from unbag.models.sides import Side


class DanConfig(PairConfig):
    """The config of a deep averaging network.

    Attributes:
        word_dropout: the share of words that are left out of the mean in training.
        layers: hidden layers above the means.
    """

    model_type = "unbag-dan"

    dropout: float = 0.2
    word_dropout: float = 0.3
    layers: int = 3


class DanForSequenceClassification(SentenceEncoder):
    """The mean of each side's word embeddings, and feed-forward layers above them.

    Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification", section 3: the
    mean, with whole words dropped (section 3.1), and layers of weights above it. The paper classifies single texts;
    pairs are matched here as in InferSent (`network.matched`).
    """

    config_class = DanConfig

    def __init__(self, config: DanConfig) -> None:
        super().__init__(config)
        sizes = [4 * config.embedding_size, *[config.hidden_size] * config.layers, self.num_labels]
        self.classifier = Mlp(sizes, nn.ReLU, config.dropout)
        self.post_init()

    def encode(self, side: Side) -> Tensor:
        """Return the mean of each sentence's words, shape (b, d); zeros of a sentence without one."""
        words = side.words
        if self.training and self.config.word_dropout:
            words = words & (torch.rand(words.shape, device=words.device) >= self.config.word_dropout)
        return mean_over(self.embed(side), words)
