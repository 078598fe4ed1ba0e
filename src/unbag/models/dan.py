"""DAN, the deep averaging network (Iyyer et al. 2015), a bag of words of each sentence."""

import torch
from torch import Tensor, nn

from unbag.models.layers import Mlp, mean_pool
from unbag.models.network import PairConfig, SentenceBatch, SentenceEncoder


class DanConfig(PairConfig):
    """Configuration of a deep averaging network."""

    model_type = "unbag-dan"

    dropout: float = 0.2
    word_dropout: float = 0.3  # probability of dropping a word from the mean in training
    layers: int = 3  # number of hidden layers of the classifier


class DanForSequenceClassification(SentenceEncoder):
    """Deep averaging network: feed-forward layers over the mean word embedding of each sentence.

    Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification"
    (https://aclanthology.org/P15-1162), section 3, with word dropout (section 3.1). The paper classifies single texts;
    this network combines the two sentences as InferSent does (`network.build_matching_features`).
    """

    config_class = DanConfig

    def __init__(self, config: DanConfig) -> None:
        super().__init__(config)
        sizes = [4 * config.embedding_size, *[config.hidden_size] * config.layers, self.num_labels]
        self.classifier = Mlp(sizes, nn.ReLU, config.dropout)
        self.post_init()

    def encode(self, side: SentenceBatch) -> Tensor:
        """Compute the mean word embedding of each sentence, shape (b, d). Sentences without words get zeros."""
        words = side.words
        if self.training and self.config.word_dropout:
            words = words & (torch.rand(words.shape, device=words.device) >= self.config.word_dropout)
        return mean_pool(self.embed(side), words)
