"""Configuration shared by all models."""

from typing import Any

from transformers import PreTrainedConfig


class PairConfig(PreTrainedConfig):
    """Base configuration of sentence-pair classifiers over word embeddings."""

    model_type = "unbag-pair"

    vocab_size: int = 3
    embedding_size: int = 300
    train_embeddings: bool = True  # otherwise they are frozen
    hidden_size: int = 300  # width of the layers; for an LSTM, per direction
    dropout: float = 0.5
    bos_token_id: int | None = 2  # id of the token at the beginning of each sentence of a pair
    pad_token_id: int | None = 0
    max_position_embeddings: int | None = None  # maximum number of tokens of an input; None for no limit
    # Config of a frozen pre-trained transformer whose hidden states replace the word embeddings; None for word
    # embeddings.
    encoder: dict[str, Any] | None = None
    spelling: int = 0  # number of stored UTF-8 bytes per word (`WordEmbeddings.spelling`); 0 for none
    tags: int = 0  # number of part-of-speech tags (`WordEmbeddings.tag`); 0 for none
    stems: bool = False  # whether the model stores word stems (`WordEmbeddings.stem`)
    relations: int = 0  # number of word pairs with lexical relations (`WordEmbeddings.related`); 0 for none
