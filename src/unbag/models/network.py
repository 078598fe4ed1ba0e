"""Base classes of all models: config, token embeddings, sentences of a batch, and networks."""

from typing import Any, Final, NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel, initialization
from transformers.modeling_outputs import SequenceClassifierOutput

SPREAD: Final = 0.3
"""Standard deviation of randomly initialized embeddings: a vector with 300 dimensions has a norm of about 5."""
RELATIONS: Final = 5
"""Number of relation features of a word pair: synonym, antonym, hypernym, hyponym, co-hyponym."""


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
        """Look up the relation features of all word pairs of two sentences, shape (b, m, n, 5); zeros for none."""
        keys = first[:, :, None] * self.words.num_embeddings + second[:, None, :]
        related: Any = self.related
        relation: Any = self.relation
        # A binary search, because a dense table would need vocabulary² entries. Missing pairs get zeros.
        index = torch.searchsorted(related, keys.contiguous()).clamp(max=len(related) - 1)
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


class SentenceBatch(NamedTuple):
    """Premises or hypotheses of a batch of pairs."""

    ids: Tensor  # token ids, shape (b, t)
    mask: Tensor  # False at padding, which is on the right, shape (b, t)
    special: Tensor  # True at special tokens, such as the token at the beginning of each sentence, shape (b, t)

    @property
    def words(self) -> Tensor:
        """Mask that is True for words and False for padding and special tokens, shape (b, t)."""
        return self.mask & ~self.special


def split_premises_and_hypotheses(
    input_ids: Tensor, attention_mask: Tensor | None, start_token_id: int
) -> tuple[SentenceBatch, SentenceBatch]:
    """Split encoded pairs, token ids of shape (b, t), into premises and hypotheses, each padded on the right.

    The split uses the token at the beginning of each sentence, not token type ids, which some callers do not pass.
    """
    real = torch.ones_like(input_ids, dtype=torch.bool) if attention_mask is None else attention_mask.bool()
    begins = (input_ids == start_token_id) & real
    number = begins.long().cumsum(dim=1)
    return _side(input_ids, begins, real & (number <= 1)), _side(input_ids, begins, real & (number > 1))


def _side(ids: Tensor, begins: Tensor, mask: Tensor) -> SentenceBatch:
    longest = max(1, int(mask.sum(dim=1).max()))
    # A stable sort of the inverted mask moves the tokens to the left without changing their order.
    order = (~mask).long().argsort(dim=1, stable=True)[:, :longest]
    is_token = mask.gather(1, order)
    return SentenceBatch(ids.gather(1, order).masked_fill(~is_token, 0), is_token, begins.gather(1, order) & is_token)


class PairNetwork(PreTrainedModel):
    """Base class of sentence-pair classifiers. Subclasses implement `logits`.

    The embeddings are the base model in terms of transformers. A repository that contains only embeddings is a
    pre-trained model without a head. All other layers are the head, which is newly initialized for training.
    Subclasses call `post_init()` at the end of `__init__`.
    """

    config_class: Any = PairConfig
    embeddings: Any
    base_model_prefix = "embeddings"
    main_input_name = "input_ids"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.num_labels: int = config.num_labels
        self.embeddings = WordEmbeddings(config) if config.encoder is None else EncoderEmbeddings(config)

    @classmethod
    def from_pretrained(cls, *arguments: Any, **options: Any) -> Any:
        """Load a network as in transformers, and freeze its embeddings unless `train_embeddings` is set."""
        loaded = super().from_pretrained(*arguments, **options)
        network = loaded[0] if isinstance(loaded, tuple) else loaded  # with `output_loading_info`
        # `requires_grad` is not stored with the weights.
        network.embeddings.freeze()
        return loaded

    def get_input_embeddings(self) -> nn.Module:
        """Get the embedding layer."""
        table: nn.Module = self.embeddings.table
        return table

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Raise an error, because the vocabulary and its lexical features are fixed."""
        raise ValueError(
            "set_input_embeddings: not supported, because the vocabulary of this model is fixed; create a new model "
            "with `unbag models init`"
        )

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        """Compute the logits of b pairs, shape (b, labels), and the mean cross-entropy if `labels` is given.

        Token ids and attention mask (0 at padding) have shape (b, t); gold label ids have shape (b,).
        """
        premise, hypothesis = split_premises_and_hypotheses(input_ids, attention_mask, self.config.bos_token_id)
        logits = self.logits(premise, hypothesis)
        # The loss is computed in float32, even if autocast or the dtype of the weights yields half-precision logits.
        loss = None if labels is None else cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits of pairs, shape (b, labels)."""
        raise NotImplementedError

    def extra_identity(self) -> dict[str, str]:
        """Get the inputs that affect the logits in addition to config and weights, as a dict (default: empty)."""
        return {}

    def embed(self, side: SentenceBatch) -> Tensor:
        """Compute token embeddings of a batch of sentences, shape (b, t, dimensions)."""
        vectors: Tensor = self.embeddings(side.ids, side.mask)
        return vectors

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialize new weights: Glorot, orthogonal for recurrent weights, and zero biases.

        The own parameters of a module with the attribute `init_std` are drawn with this standard deviation.
        """
        if isinstance(module, nn.LSTM | nn.LSTMCell):
            for name, parameter in module.named_parameters():
                if name.startswith("weight_hh"):
                    initialization.orthogonal_(parameter)
                elif name.startswith("weight"):
                    initialization.xavier_uniform_(parameter)
                else:
                    initialization.zeros_(parameter)
        elif isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d):
            initialization.xavier_uniform_(module.weight)
            if module.bias is not None:
                initialization.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            initialization.normal_(module.weight, std=SPREAD)
            # transformers sets this attribute on loaded weights, which must not change.
            if module.padding_idx is not None and not getattr(module.weight, "_is_hf_initialized", False):
                module.weight[module.padding_idx].zero_()
        elif (std := getattr(module, "init_std", None)) is not None:
            for parameter in module.parameters(recurse=False):
                if std:
                    initialization.normal_(parameter, std=std)
                else:
                    initialization.zeros_(parameter)
        else:
            super()._init_weights(module)


class SentenceEncoder(PairNetwork):
    """Base class of networks that encode each sentence separately and classify the two embeddings."""

    classifier: nn.Module

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits from the features [u; v; |u − v|; u ⊙ v] of the sentence embeddings, shape (b, labels)."""
        u, v = self.encode(premise), self.encode(hypothesis)
        logits: Tensor = self.classifier(build_matching_features(u, v))
        return logits

    def encode(self, side: SentenceBatch) -> Tensor:
        """Compute sentence embeddings, shape (b, d)."""
        raise NotImplementedError


def build_matching_features(u: Tensor, v: Tensor) -> Tensor:
    """Compute [u; v; |u − v|; u ⊙ v] from b pairs of sentence embeddings, shape (b, 4 d).

    These are the features of InferSent (Conneau et al. 2017, section 3.1 and figure 1), after Mou et al. 2016.
    """
    return torch.cat([u, v, (u - v).abs(), u * v], dim=-1)
