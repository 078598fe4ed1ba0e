"""Configuration shared by all models."""

from typing import Any

from transformers import PreTrainedConfig


class PairConfig(PreTrainedConfig):
    """Base configuration of sentence-pair classifiers over word embeddings.

    Attributes:
        vocab_size: Number of tokens in the vocabulary.
        embedding_size: Number of dimensions of a token embedding.
        train_embeddings: Whether the embeddings are trained; otherwise they are frozen.
        hidden_size: Width of the layers; for an LSTM, per direction.
        dropout: Dropout probability of a feature.
        bos_token_id: Id of the token at the beginning of each sentence of a pair.
        pad_token_id: Id of the padding token.
        max_position_embeddings: Maximum number of tokens of an input; None for no limit.
        encoder: Config of a frozen pre-trained transformer whose hidden states replace the word embeddings; None for
            word embeddings.
        spelling: Number of stored UTF-8 bytes per word (`WordEmbeddings.spelling`); 0 for none.
        tags: Number of part-of-speech tags (`WordEmbeddings.tag`); 0 for none.
        stems: Whether the model stores word stems (`WordEmbeddings.stem`).
        relations: Number of word pairs with lexical relations (`WordEmbeddings.related`); 0 for none.
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
