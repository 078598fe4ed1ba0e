"""Hierarchical ConvNet (Conneau et al. 2017, section 3.2.4)."""

import torch
from torch import Tensor, nn

from unbag.models.layers import Mlp, max_pool
from unbag.models.network import PairConfig, SentenceBatch, SentenceEncoder


class ConvNetConfig(PairConfig):
    """Configuration of a hierarchical ConvNet."""

    model_type = "unbag-convnet"

    train_embeddings: bool = False
    hidden_size: int = 1024
    layers: int = 4  # number of stacked convolutions
    width: int = 3  # kernel width in tokens, an odd number
    classifier_size: int = 512  # width of the two hidden layers of the classifier
    dropout: float = 0.0


class ConvNetForSequenceClassification(SentenceEncoder):
    """Hierarchical ConvNet over tokens. The sentence embedding concatenates the max-pooled features of all layers.

    Conneau et al. 2017, https://aclanthology.org/D17-1070, section 3.2.4, after AdaSent (Zhao et al. 2015):
    u = [u¹; u²; u³; u⁴]. Padding is set to zero before each convolution, so that a sentence embedding does not depend
    on the length of other sentences in the batch. The authors' code does not mask padding.
    """

    config_class = ConvNetConfig

    def __init__(self, config: ConvNetConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size if layer else config.embedding_size, size, config.width, padding=config.width // 2)
            for layer in range(config.layers)
        )
        sizes = [4 * config.layers * size, config.classifier_size, config.classifier_size, self.num_labels]
        self.classifier = Mlp(sizes, nn.Identity, config.dropout)
        self.post_init()

    def encode(self, side: SentenceBatch) -> Tensor:
        """Compute the max-pooled features of all layers, shape (b, layers × hidden)."""
        outputs = self.embed(side)
        maxima = []
        for convolution in self.convolutions:
            unpadded = outputs * side.mask[..., None]  # the bias of the previous layer makes padding non-zero
            outputs = convolution(unpadded.transpose(1, 2)).relu().transpose(1, 2)
            maxima.append(max_pool(outputs, side.mask))
        return torch.cat(maxima, dim=-1)
