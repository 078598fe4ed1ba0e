"""RSE, the residual-stacked sentence encoder (Nie and Bansal 2017), and its bag-of-words variant (Nie et al. 2019)."""

import torch
from torch import Tensor, nn

from unbag.models.layers import Mlp, build_token_encoder, max_pool
from unbag.models.network import PairConfig, SentenceBatch, SentenceEncoder


class RseConfig(PairConfig):
    """Configuration of a residual-stacked encoder. The default layer sizes are those of the paper's 600D model."""

    model_type = "unbag-rse"

    hidden_size: int = 600
    layers: int = 3  # number of stacked BiLSTMs
    classifier_size: int = 800  # width of the hidden layers of the classifier
    # Number of these layers. The authors' code has one by default; the paper compares one and two.
    classifier_layers: int = 1
    dropout: float = 0.1
    bag_of_words: bool = False  # whether fully connected layers replace the LSTMs


class RseForSequenceClassification(SentenceEncoder):
    """Residual-stacked BiLSTM encoder: each layer reads the embeddings and the sum of the outputs of all lower layers.

    Nie and Bansal 2017, "Shortcut-Stacked Sentence Encoders for Multi-Domain Inference"
    (https://aclanthology.org/W17-5308), section 2, with the residual connections of the last version of the paper. The
    input of layer i is [w; h¹ + … + hⁱ⁻¹], and the sentence embedding is the max-pooled output of the last layer. With
    `bag_of_words`, it is the variant of Nie et al. 2019, section 3.2.

    The classifier follows the authors' code (github.com/easonnie/ResEncoder, `model/res_encoder.py`), with a single
    hidden layer by default. With the authors' sizes, the model has 28.35 M parameters (including biases, without word
    embeddings). Their code also allocates a second hidden layer that it does not use: 28.99 M parameters with it.
    """

    config_class = RseConfig

    def __init__(self, config: RseConfig) -> None:
        super().__init__(config)
        size, words = config.hidden_size, config.embedding_size
        self.readers = nn.ModuleList(
            build_token_encoder(words + (2 * size if layer else 0), size, bag_of_words=config.bag_of_words)
            for layer in range(config.layers)
        )
        sizes = [8 * size, *[config.classifier_size] * config.classifier_layers, self.num_labels]
        self.classifier = Mlp(sizes, nn.ReLU, config.dropout)
        self.post_init()

    def encode(self, side: SentenceBatch) -> Tensor:
        """Compute the max-pooled output of the last layer, shape (b, 2 hidden)."""
        words = self.embed(side)
        first, *others = self.readers
        outputs: Tensor = first(words, side.mask).outputs
        below = outputs
        for each in others:
            outputs = each(torch.cat([words, below], dim=-1), side.mask).outputs
            below = below + outputs
        return max_pool(outputs, side.mask)
