"""DIIN: the densely interactive inference network (Gong et al. 2018), convolutions over all pairs of words."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, one_hot, pad
from transformers import initialization

from unbag.models.config import PairConfig
from unbag.models.layers import attention
from unbag.models.network import Drawn, PairNetwork
from unbag.models.sides import Side


class DiinConfig(PairConfig):
    """The config of a DIIN, with the sizes of its authors.

    Attributes:
        length: tokens of a side; the interaction tensor has this many rows and columns, and longer sides are cut.
        character_size: dimensions of a character's embedding.
        character_features: features of a word's characters.
        character_width: characters that a convolution sees.
        scale: share of the channels that the interaction tensor is first cut down to (η).
        blocks: dense blocks, each followed by a transition that halves both sides of the tensor.
        block_layers: convolutions in a dense block.
        growth: channels that each of them adds.
        transition: share of the channels that a transition keeps (θ).
        transition_relu: whether a ReLU stands between the convolution of a transition and its max pooling. The authors'
            code has none; the paper's text implies one.
    """

    model_type = "unbag-diin"

    length: int = 48
    character_size: int = 8
    character_features: int = 100
    character_width: int = 5
    scale: float = 0.3
    blocks: int = 3
    block_layers: int = 8
    growth: int = 20
    transition: float = 0.5
    transition_relu: bool = False
    dropout: float = 0.2


class DiinForSequenceClassification(PairNetwork):
    """Words and what is known of them, encoded; a tensor of every word with every other; a DenseNet over it.

    Gong et al. 2018, "Natural Language Inference over Interaction Space", section 3. A word is its embedding, a
    convolution of its characters (here: of the bytes of its spelling), its part of speech and whether the other side
    has a word of its stem. What is known of a word is in the model (`WordEmbeddings`): a part of speech is the one the
    word has most often, and a word out of the vocabulary has no characters. The penalty on the difference of both
    sides' encoders (section 4) is left to weight decay.

    The DenseNet is that of the authors' code (github.com/YichenGong/Densely-Interactive-Inference-Network,
    `python/models/DIIN.py`): ReLU follows the convolutions of the dense blocks only. The first convolution and those of
    the transitions have no activation. The text applies a ReLU after every convolution unless it says otherwise, and
    says so of the first convolution only (`transition_relu=True`).
    """

    config_class = DiinConfig

    def __init__(self, config: DiinConfig) -> None:
        super().__init__(config)
        size = config.embedding_size + config.character_features + config.tags + 1
        self.dropout = nn.Dropout(config.dropout)
        self.characters = Characters(config.character_size, config.character_features, config.character_width)
        self.highway = nn.ModuleList(Highway(size) for _ in range(2))
        self.encoders = nn.ModuleList(FusedAttention(size) for _ in range(2))  # one a side
        channels = int(size * config.scale)
        layers: list[nn.Module] = [nn.Conv2d(size, channels, 1)]
        for _ in range(config.blocks):
            layers.append(DenseBlock(channels, config.block_layers, config.growth))
            grown = channels + config.block_layers * config.growth
            channels = int(grown * config.transition)
            layers.append(Transition(grown, channels, relu=config.transition_relu))
        self.extract = nn.Sequential(*layers)
        side = config.length >> config.blocks
        self.classifier = nn.Linear(channels * side * side, self.num_labels)
        self.post_init()

    def logits(self, premise: Side, hypothesis: Side) -> Tensor:
        """Return the logits of pairs, shape (b, labels)."""
        sides = [Side(*(each[:, : self.config.length] for each in side)) for side in (premise, hypothesis)]
        p, h = (
            encoder(self._words(*pair), pair[0].mask)
            for encoder, pair in zip(self.encoders, (sides, sides[::-1]), strict=True)
        )
        interaction = torch.einsum("bmd,bnd->bdmn", p, h)
        m, n = interaction.shape[2:]
        length = self.config.length
        # One size for all, whatever else is in the batch.
        features = self.extract(pad(self.dropout(interaction), (0, length - n, 0, length - m)))
        logits: Tensor = self.classifier(self.dropout(features.flatten(1)))
        return logits

    def _words(self, side: Side, other: Side) -> Tensor:
        """Return what is known of each word, after the highway layers, shape (b, t, size)."""
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


class Characters(nn.Module):
    """The largest value of each feature of a convolution over a word's characters."""

    def __init__(self, size: int, features: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(256, size, padding_idx=0)
        self.convolution = nn.Conv1d(size, features, width, padding=width // 2)

    def forward(self, spelling: Tensor) -> Tensor:
        """Return features of words, shape (b, t, features), from their bytes, shape (b, t, bytes)."""
        b, t, n = spelling.shape
        embedded = self.embedding(spelling.reshape(b * t, n).long()).transpose(1, 2)
        features: Tensor = self.convolution(embedded).relu().amax(dim=2)
        return features.view(b, t, -1)


class Highway(nn.Module):
    """y = g ⊙ ReLU(W x + b) + (1 − g) ⊙ x with a gate g = σ(W_g x + b_g) (Srivastava et al. 2015)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.change, self.gate = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, values: Tensor) -> Tensor:
        """Map values of shape (…, size) to the same shape."""
        gate = self.gate(values).sigmoid()
        mapped: Tensor = gate * self.change(values).relu() + (1 - gate) * values
        return mapped


class FusedAttention(nn.Module):
    """Self-attention with a fuse gate: p̃ = r ⊙ p + f ⊙ z of a word p and what it attends to.

    The score of two words is w · [pᵢ; pⱼ; pᵢ ⊙ pⱼ]; the part of pᵢ alone is left out, which the softmax over j cancels.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.other, self.both = nn.Linear(size, 1, bias=False), Weights(size)
        self.new, self.keep, self.add = (nn.Linear(2 * size, size) for _ in range(3))

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Return what is made of words, shape (b, t, size); zeros at padding."""
        scores = self.other(words).transpose(1, 2) + self.both(words) @ words.transpose(1, 2)
        pair = torch.cat([words, attention(scores, mask) @ words], dim=-1)
        z, r, f = self.new(pair).tanh(), self.keep(pair).sigmoid(), self.add(pair).sigmoid()
        fused: Tensor = (r * words + f * z) * mask[..., None]
        return fused


class Weights(Drawn):
    """A weight of each feature."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.zeros(size))

    def forward(self, values: Tensor) -> Tensor:
        """Return weighted values, shape (…, size)."""
        return values * self.vector

    def draw(self) -> None:
        """Draw them as those of a linear layer of so many inputs and one output."""
        initialization.normal_(self.vector, std=(2 / (len(self.vector) + 1)) ** 0.5)


class DenseBlock(nn.Module):
    """Convolutions of width 3, each of which reads all that came before it (Huang et al. 2017)."""

    def __init__(self, channels: int, layers: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(channels + layer * growth, growth, 3, padding=1) for layer in range(layers)
        )

    def forward(self, values: Tensor) -> Tensor:
        """Return all channels together, shape (b, channels + layers × growth, m, n)."""
        for layer in self.layers:
            values = torch.cat([values, layer(values).relu()], dim=1)
        return values


class Transition(nn.Module):
    """A convolution of width 1, and the largest of each four neighbours.

    Args:
        channels: Number of channels of the input.
        kept: Number of channels of the output.
        relu: Whether a ReLU stands between convolution and pooling.
    """

    def __init__(self, channels: int, kept: int, *, relu: bool = False) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, kept, 1)
        self.relu = relu

    def forward(self, values: Tensor) -> Tensor:
        """Return half as many rows and columns, shape (b, kept, m / 2, n / 2)."""
        reduced = self.convolution(values)
        return max_pool2d(reduced.relu() if self.relu else reduced, 2)
