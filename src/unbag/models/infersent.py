"""InferSent, a BiLSTM with max pooling (Conneau et al. 2017), and its hypothesis-only baseline (Poliak et al. 2018).

Also the BiLSTM whose last states represent the sentence.
"""

import torch
from torch import Tensor, nn

from unbag.models.config import PairConfig
from unbag.models.layers import BiLstm, Mlp, max_over
from unbag.models.network import PairNetwork, SentenceEncoder
from unbag.models.sides import Side


class InferSentConfig(PairConfig):
    """Config of InferSent, with the authors' sizes.

    Attributes:
        classifier_size: Width of the two layers above the encoder.
    """

    model_type = "unbag-infersent"

    train_embeddings: bool = False
    hidden_size: int = 2048
    classifier_size: int = 512
    dropout: float = 0.0


class InferSentForSequenceClassification(SentenceEncoder):
    """A BiLSTM over each sentence, the maximum of each feature over tokens, and a classifier of the two vectors.

    Conneau et al. 2017, "Supervised Learning of Universal Sentence Representations from Natural Language Inference
    Data" (https://aclanthology.org/D17-1070), sections 3.1 and 3.2.2. The classifier is that of the authors' code:
    linear layers without activations between them, which are equivalent to one linear layer.
    """

    config_class = InferSentConfig

    def __init__(self, config: InferSentConfig) -> None:
        super().__init__(config)
        self.reader = BiLstm(config.embedding_size, config.hidden_size)
        sizes = [8 * config.hidden_size, config.classifier_size, config.classifier_size, self.num_labels]
        self.classifier = Mlp(sizes, nn.Identity, config.dropout)
        self.post_init()

    def encode(self, side: Side) -> Tensor:
        """Compute the maximum of each feature over the tokens of a sentence, shape (b, 2 hidden)."""
        outputs, _ = self.reader(self.embed(side), side.mask)
        return max_over(outputs, side.mask)


class BiLstmLastConfig(InferSentConfig):
    """Config of a BiLSTM whose last states represent the sentence."""

    model_type = "unbag-bilstm-last"


class BiLstmLastForSequenceClassification(InferSentForSequenceClassification):
    """A BiLSTM over each sentence, whose last state of each direction represents the sentence.

    Conneau et al. 2017, section 3.2.1, describe this for LSTM, GRU and bidirectional GRU.
    """

    config_class = BiLstmLastConfig

    def encode(self, side: Side) -> Tensor:
        """Concatenate the last states of both directions, shape (b, 2 hidden)."""
        _, (hidden, _) = self.reader(self.embed(side), side.mask)
        # The forward direction ends at the last token, the backward direction at the first.
        return torch.cat([hidden[0], hidden[1]], dim=-1)


class HypothesisOnlyConfig(InferSentConfig):
    """Config of InferSent on hypotheses alone."""

    model_type = "unbag-hypothesis-only"


class HypothesisOnlyForSequenceClassification(PairNetwork):
    """InferSent's encoder on the hypothesis, and a classifier of that vector; the premise is ignored.

    Poliak et al. 2018, "Hypothesis Only Baselines in Natural Language Inference" (https://aclanthology.org/S18-2023),
    section 3.
    """

    config_class = HypothesisOnlyConfig

    def __init__(self, config: HypothesisOnlyConfig) -> None:
        super().__init__(config)
        self.reader = BiLstm(config.embedding_size, config.hidden_size)
        sizes = [2 * config.hidden_size, config.classifier_size, config.classifier_size, self.num_labels]
        self.classifier = Mlp(sizes, nn.Identity, config.dropout)
        self.post_init()

    def logits(self, premise: Side, hypothesis: Side) -> Tensor:
        """Compute the logits of pairs from their hypotheses, shape (b, labels)."""
        outputs, _ = self.reader(self.embed(hypothesis), hypothesis.mask)
        logits: Tensor = self.classifier(max_over(outputs, hypothesis.mask))
        return logits
