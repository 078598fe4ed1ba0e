"""DIIN, the densely interactive inference network (Gong et al. 2018), with convolutions over all word pairs."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, one_hot, pad

from unbag.models.layers import compute_attention
from unbag.models.network import PairConfig, PairNetwork, SentenceBatch


class DiinConfig(PairConfig):
    """Configuration of a DIIN. The default layer sizes are those of the paper."""

    model_type = "unbag-diin"

    # Maximum number of tokens per sentence, which is the number of rows and columns of the interaction tensor. Longer
    # sentences are truncated.
    length: int = 48
    character_size: int = 8
    character_features: int = 100
    character_width: int = 5  # kernel width of the character convolution
    scale: float = 0.3  # share of channels that the first convolution over the interaction tensor keeps (η)
    blocks: int = 3  # number of dense blocks, each followed by a transition that halves height and width of the tensor
    block_layers: int = 8  # number of convolutions in a dense block
    growth: int = 20  # number of channels that each convolution of a dense block adds
    transition: float = 0.5  # share of channels that a transition keeps (θ)
    # Whether a transition applies a ReLU between its convolution and its max pooling. The authors' code does not; the
    # paper's text implies that it does.
    transition_relu: bool = False
    dropout: float = 0.2


class DiinForSequenceClassification(PairNetwork):
    """Densely interactive inference network: a DenseNet over the interactions of all word pairs.

    Gong et al. 2018, "Natural Language Inference over Interaction Space" (https://arxiv.org/abs/1709.04348), section 3.
    The features of a word are its embedding, a convolution over its characters (here: its UTF-8 bytes), its part of
    speech, and whether the other sentence has a word with the same stem. They are stored in the model
    (`WordEmbeddings`). The part of speech is therefore the most frequent one of the word, and an out-of-vocabulary word
    has no characters. The penalty on the difference between the encoders of both sentences (section 4) is not
    implemented; weight decay replaces it.

    The DenseNet follows the authors' code (github.com/YichenGong/Densely-Interactive-Inference-Network,
    `python/models/DIIN.py`), in which only the convolutions of the dense blocks have a ReLU. In the paper, every
    convolution except the first one has a ReLU (`transition_relu=True`).
    """

    config_class = DiinConfig

    def __init__(self, config: DiinConfig) -> None:
        super().__init__(config)
        size = config.embedding_size + config.character_features + config.tags + 1
        self.dropout = nn.Dropout(config.dropout)
        self.characters = CharacterConvolution(config.character_size, config.character_features, config.character_width)
        self.highway = nn.ModuleList(HighwayLayer(size) for _ in range(2))
        self.encoders = nn.ModuleList(FusedAttention(size) for _ in range(2))  # one per side
        channels = int(size * config.scale)
        layers: list[nn.Module] = [nn.Conv2d(size, channels, 1)]
        for _ in range(config.blocks):
            layers.append(DenseBlock(channels, config.block_layers, config.growth))
            grown = channels + config.block_layers * config.growth
            channels = int(grown * config.transition)
            layers.append(TransitionLayer(grown, channels, relu=config.transition_relu))
        self.extract = nn.Sequential(*layers)
        side = config.length >> config.blocks  # each transition halves height and width
        self.classifier = nn.Linear(channels * side * side, self.num_labels)
        self.post_init()

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits of pairs, shape (b, labels)."""
        sides = [SentenceBatch(*(each[:, : self.config.length] for each in side)) for side in (premise, hypothesis)]
        p, h = (
            encoder(self._words(*pair), pair[0].mask)
            for encoder, pair in zip(self.encoders, (sides, sides[::-1]), strict=True)
        )
        interaction = torch.einsum("bmd,bnd->bdmn", p, h)
        m, n = interaction.shape[2:]
        length = self.config.length
        # Padded to a constant size: the classifier requires it, and results must not depend on the batch composition.
        features = self.extract(pad(self.dropout(interaction), (0, length - n, 0, length - m)))
        logits: Tensor = self.classifier(self.dropout(features.flatten(1)))
        return logits

    def _words(self, side: SentenceBatch, other: SentenceBatch) -> Tensor:
        """Compute the features of each word after the highway layers, shape (b, t, size)."""
        tables: Any = self.embeddings
        vectors = self.embed(side)
        stems, others = tables.stem[side.ids], tables.stem[other.ids]
        match = ((stems[:, :, None] == others[:, None, :]) & (side.words[:, :, None] & other.words[:, None, :])).any(2)
        features = [
            vectors,
            self.characters(tables.spelling[side.ids]).to(vectors.dtype),
            one_hot(tables.tag[side.ids], self.config.tags).to(vectors.dtype),
            match[..., None].to(vectors.dtype),
        ]
        words = self.dropout(torch.cat(features, dim=-1))
        for layer in self.highway:
            words = layer(words)
        encoded: Tensor = words
        return encoded


class CharacterConvolution(nn.Module):
    """Max-pooled convolution over the characters of each word."""

    def __init__(self, size: int, features: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, size, padding_idx=0)
        self.convolution = nn.Conv1d(size, features, width, padding=width // 2)

    def forward(self, spelling: Tensor) -> Tensor:
        """Compute character features, shape (b, t, features), from bytes, shape (b, t, bytes)."""
        b, t, n = spelling.shape
        embedded = self.embedding(spelling.reshape(b * t, n).long()).transpose(1, 2)
        features: Tensor = self.convolution(embedded).relu().amax(dim=2)
        return features.view(b, t, -1)


class HighwayLayer(nn.Module):
    """Highway layer (Srivastava et al. 2015): y = g ⊙ ReLU(W x + b) + (1 − g) ⊙ x with g = σ(W_g x + b_g)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.change, self.gate = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, values: Tensor) -> Tensor:
        """Apply the layer to values of shape (…, size). The output has the same shape."""
        gate = self.gate(values).sigmoid()
        mapped: Tensor = gate * self.change(values).relu() + (1 - gate) * values
        return mapped


class FusedAttention(nn.Module):
    """Self-attention with a fuse gate, p̃ = r ⊙ p + f ⊙ z, for a word vector p.

    The attention score of two words is w · [pᵢ; pⱼ; pᵢ ⊙ pⱼ]. The term of pᵢ is omitted, because the softmax over j
    cancels it.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.other, self.both = nn.Linear(size, 1, bias=False), FeatureWeights(size)
        self.new, self.keep, self.add = (nn.Linear(2 * size, size) for _ in range(3))

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Encode words, shape (b, t, size). The encodings of padding are zeros."""
        scores = self.other(words).transpose(1, 2) + self.both(words) @ words.transpose(1, 2)
        pair = torch.cat([words, compute_attention(scores, mask) @ words], dim=-1)
        z, r, f = self.new(pair).tanh(), self.keep(pair).sigmoid(), self.add(pair).sigmoid()
        fused: Tensor = (r * words + f * z) * mask[..., None]
        return fused


class FeatureWeights(nn.Module):
    """Layer that multiplies each feature by a learned weight."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.zeros(size))
        self.init_std = (2 / (size + 1)) ** 0.5  # Glorot, as a linear layer with one output

    def forward(self, values: Tensor) -> Tensor:
        """Multiply each feature by its weight, shape (…, size)."""
        return values * self.vector


class DenseBlock(nn.Module):
    """Dense block (Huang et al. 2017): 3 × 3 convolutions, each applied to the outputs of all previous convolutions."""

    def __init__(self, channels: int, layers: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(channels + layer * growth, growth, 3, padding=1) for layer in range(layers)
        )

    def forward(self, values: Tensor) -> Tensor:
        """Concatenate the input and the outputs of all layers, shape (b, channels + layers × growth, m, n)."""
        for layer in self.layers:
            values = torch.cat([values, layer(values).relu()], dim=1)
        return values


class TransitionLayer(nn.Module):
    """1 × 1 convolution, then a ReLU if `relu` is true, then 2 × 2 max pooling."""

    def __init__(self, channels: int, outputs: int, *, relu: bool = False) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, outputs, 1)
        self.relu = relu

    def forward(self, values: Tensor) -> Tensor:
        """Reduce the channels and halve height and width, shape (b, outputs, m / 2, n / 2)."""
        reduced = self.convolution(values)
        return max_pool2d(reduced.relu() if self.relu else reduced, 2)
