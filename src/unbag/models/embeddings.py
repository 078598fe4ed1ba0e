"""From token ids to vectors: a table of word embeddings and what is known of words, or a frozen pre-trained encoder."""

from typing import Any, Final, Self

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from unbag.models.config import PairConfig

RELATIONS: Final = 5
"""Synonym, antonym, hypernym, hyponym, co-hyponym: the features of a pair of words (`related`)."""


class WordEmbeddings(nn.Module):
    """A table of embeddings, and tables of facts about the words of the vocabulary.

    The facts are buffers: they are saved with the weights, so that a model that was made with a tagger or WordNet needs
    neither to be loaded.

    Attributes:
        words: the embeddings; padding is zero.
        spelling: each word in UTF-8, zeros behind it, shape (vocabulary, bytes).
        tag: the part-of-speech tag that each word has most often, shape (vocabulary,).
        stem: a number for each word, equal for words of one stem, shape (vocabulary,).
        related: pairs of words, `first * vocabulary + second`, in ascending order, shape (n,).
        relation: the relations of each such pair, shape (n, 5).
    """

    def __init__(self, config: PairConfig) -> None:
        super().__init__()
        size = config.vocab_size
        self.words = nn.Embedding(size, config.embedding_size, padding_idx=config.pad_token_id)
        self._trained = config.train_embeddings
        if config.spelling:
            self.register_buffer("spelling", torch.zeros(size, config.spelling, dtype=torch.uint8))
        if config.tags:
            self.register_buffer("tag", torch.zeros(size, dtype=torch.long))
        if config.stems:
            self.register_buffer("stem", torch.arange(size))
        if config.relations:
            self.register_buffer("related", torch.zeros(config.relations, dtype=torch.long))
            self.register_buffer("relation", torch.zeros(config.relations, RELATIONS))
        self.freeze()

    def freeze(self) -> None:
        """Train the embeddings no further, if the config says so; what loads weights makes all of them trainable."""
        self.words.weight.requires_grad_(self._trained)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the embeddings of tokens, shape (b, t, dimensions).

        Args:
            ids: shape (b, t).
            mask: False at padding, shape (b, t).
        """
        vectors: Tensor = self.words(ids)
        return vectors

    def relations(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the relations of each word of one side to each of the other, shape (b, m, n, 5); zeros for none.

        Args:
            first: ids, shape (b, m).
            second: ids, shape (b, n).
        """
        keys = first[:, :, None] * self.words.num_embeddings + second[:, None, :]
        related: Any = self.related
        found = torch.searchsorted(related, keys.contiguous()).clamp(max=len(related) - 1)
        relation: Any = self.relation
        values: Tensor = relation[found] * (related[found] == keys)[..., None]
        return values

    @property
    def table(self) -> nn.Embedding:
        """The input embeddings."""
        return self.words


class EncoderEmbeddings(nn.Module):
    """The last hidden states of a pre-trained transformer that is not trained, of each sentence by itself.

    It stands where ELMo stood in ELMo-DAM: embeddings of words in their context.
    """

    def __init__(self, config: PairConfig) -> None:
        super().__init__()
        assert config.encoder is not None
        options = dict(config.encoder)
        self.encoder: Any = AutoModel.from_config(AutoConfig.for_model(options.pop("model_type"), **options))
        self.freeze()

    def freeze(self) -> None:
        """Leave the encoder as it is."""
        self.encoder.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the hidden states of tokens, shape (b, t, dimensions)."""
        with torch.no_grad():
            states: Tensor = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        return states

    def train(self, mode: bool = True) -> Self:
        """Leave the encoder in evaluation mode: what is frozen drops nothing out."""
        super().train(mode)
        self.encoder.eval()
        return self

    @property
    def table(self) -> nn.Embedding:
        """The encoder's input embeddings."""
        embeddings: nn.Embedding = self.encoder.get_input_embeddings()
        return embeddings


def embeddings_of(config: PairConfig) -> WordEmbeddings | EncoderEmbeddings:
    """Return what a config asks for."""
    return WordEmbeddings(config) if config.encoder is None else EncoderEmbeddings(config)
