"""What the configs of all models share."""

from typing import Any

from transformers import PreTrainedConfig


class PairConfig(PreTrainedConfig):
    """A model of pairs that reads word embeddings.

    Attributes:
        vocab_size: tokens.
        embedding_size: dimensions of a token's embedding.
        train_embeddings: whether the embeddings are trained too, or stay as they were given.
        hidden_size: the width of the model's layers; of a recurrence, in each direction.
        dropout: the share of features that are dropped in training.
        bos_token_id: the token that each side of a pair begins with.
        pad_token_id: the token that fills up.
        max_position_embeddings: the most tokens that are read at once; None without a limit.
        encoder: the config of a pre-trained transformer whose outputs, frozen, stand in the place of word embeddings.
        spelling: bytes kept of each word's spelling in UTF-8; 0 for none (`WordEmbeddings.spelling`).
        tags: how many part-of-speech tags there are; 0 for none (`WordEmbeddings.tag`).
        stems: whether each word's stem is known (`WordEmbeddings.stem`).
        relations: pairs of words whose lexical relations are known (`WordEmbeddings.related`).
    """

    model_type = "unbag-pair"

    vocab_size: int = 3
    embedding_size: int = 300
    train_embeddings: bool = True
    hidden_size: int = 300
    dropout: float = 0.5
    bos_token_id: int | None = 2
    pad_token_id: int | None = 0
    max_position_embeddings: int | None = None
    encoder: dict[str, Any] | None = None
    spelling: int = 0
    tags: int = 0
    stems: bool = False
    relations: int = 0
