"""Base classes of all models, and of models that encode each sentence separately."""

from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, initialization
from transformers.modeling_outputs import SequenceClassifierOutput

from unbag.models.config import PairConfig
from unbag.models.embeddings import build_embeddings
from unbag.models.sides import SentenceBatch, split_premises_and_hypotheses

SPREAD: Final = 0.3
"""Standard deviation of randomly initialized embeddings: a vector with 300 dimensions has a norm of about 5."""


class PairNetwork(PreTrainedModel):
    """Base class of sentence-pair classifiers. Subclasses implement `logits`.

    The embeddings are the base model in terms of transformers. A repository that contains only embeddings is a
    pre-trained model without a head. All other layers are the head, which is newly initialized for training.

    Subclasses must call `post_init()` at the end of `__init__`.
    """

    config_class: Any = PairConfig
    embeddings: Any
    base_model_prefix = "embeddings"
    main_input_name = "input_ids"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.num_labels: int = config.num_labels
        self.embeddings = build_embeddings(config)

    @classmethod
    def from_pretrained(cls, *arguments: Any, **options: Any) -> Any:
        """Load a network as in transformers, and freeze its embeddings unless `train_embeddings` is set."""
        loaded = super().from_pretrained(*arguments, **options)
        network = loaded[0] if isinstance(loaded, tuple) else loaded  # with `output_loading_info`
        # `requires_grad` is not stored with the weights.
        network.embeddings.freeze()
        return loaded

    def post_init(self) -> None:
        """Finish the initialization, as transformers requires at the end of `__init__`."""
        super().post_init()

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
        """Initialize new weights: Glorot, orthogonal for recurrent weights, and zero biases."""
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
        elif isinstance(module, CustomInitModule):
            module.init_parameters()
        else:
            super()._init_weights(module)


class CustomInitModule(nn.Module):
    """Module with a custom initialization of its parameters."""

    def init_parameters(self) -> None:
        """Initialize the parameters with `transformers.initialization`, which skips loaded parameters."""
        raise NotImplementedError


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
