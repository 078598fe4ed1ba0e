"""Token embeddings: a table of word embeddings with lexical features, or a frozen pre-trained encoder."""

from typing import Any, Final, Self

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from unbag.models.config import PairConfig

RELATIONS: Final = 5
"""Number of relation features of a word pair: synonym, antonym, hypernym, hyponym, co-hyponym."""


class WordEmbeddings(nn.Module):
    """Embedding table with lexical features for each word in the vocabulary.

    The lexical features are buffers and are saved with the weights. A model that was created with a tagger or WordNet
    therefore loads without them.

    Attributes:
        words: Embeddings, shape (vocabulary, dimensions); the padding token has zeros.
        spelling: UTF-8 bytes of each word, padded with zeros, shape (vocabulary, bytes).
        tag: Most frequent part-of-speech tag of each word, shape (vocabulary,).
        stem: Stem id of each word, equal for words with the same stem, shape (vocabulary,).
        related: Related word pairs, encoded as `first * vocabulary + second`, in ascending order, shape (n,).
        relation: Relation features of each related word pair, shape (n, 5).
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
        """Freeze the embeddings unless `config.train_embeddings` is set. Call this method after loading weights."""
        self.words.weight.requires_grad_(self._trained)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Look up the embeddings of tokens, shape (b, t, dimensions). Only `EncoderEmbeddings` needs the mask."""
        vectors: Tensor = self.words(ids)
        return vectors

    def look_up_relations(self, first: Tensor, second: Tensor) -> Tensor:
        """Look up the relation features of all word pairs of two sentences, shape (b, m, n, 5).

        The token ids have the shapes (b, m) and (b, n). Word pairs without a relation get zeros.
        """
        keys = first[:, :, None] * self.words.num_embeddings + second[:, None, :]
        related: Any = self.related
        # A binary search, because a dense table would need vocabulary² entries. Missing pairs get zeros.
        index = torch.searchsorted(related, keys.contiguous()).clamp(max=len(related) - 1)
        relation: Any = self.relation
        values: Tensor = relation[index] * (related[index] == keys)[..., None]
        return values

    @property
    def table(self) -> nn.Embedding:
        """Embedding layer with the word embeddings."""
        return self.words


class EncoderEmbeddings(nn.Module):
    """Contextual embeddings: the last hidden states of a frozen pre-trained transformer.

    They are computed for each sentence separately, and replace the ELMo embeddings of ELMo-DAM.
    """

    def __init__(self, config: PairConfig) -> None:
        super().__init__()
        assert config.encoder is not None
        options = dict(config.encoder)
        self.encoder: Any = AutoModel.from_config(AutoConfig.for_model(options.pop("model_type"), **options))
        self.freeze()

    def freeze(self) -> None:
        """Freeze all parameters of the encoder."""
        self.encoder.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Compute the hidden states of tokens, shape (b, t, dimensions)."""
        with torch.no_grad():
            states: Tensor = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        return states

    def train(self, mode: bool = True) -> Self:
        """Set the training mode, but keep the frozen encoder in evaluation mode (no dropout)."""
        super().train(mode)
        # Dropout would only add noise to frozen features.
        self.encoder.eval()
        return self

    @property
    def table(self) -> nn.Embedding:
        """Input embedding layer of the encoder."""
        embeddings: nn.Embedding = self.encoder.get_input_embeddings()
        return embeddings


def build_embeddings(config: PairConfig) -> WordEmbeddings | EncoderEmbeddings:
    """Build the embedding module specified by a config."""
    return WordEmbeddings(config) if config.encoder is None else EncoderEmbeddings(config)
