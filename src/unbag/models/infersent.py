"""InferSent, a BiLSTM with max pooling (Conneau et al. 2017), and two variants: last states, hypothesis only."""

import torch
from torch import Tensor, nn

from unbag.models.layers import BiLstm, Mlp, max_pool
from unbag.models.network import PairConfig, SentenceBatch, SentenceEncoder


class InferSentConfig(PairConfig):
    """Configuration of InferSent. The default layer sizes are those of the paper."""

    model_type = "unbag-infersent"

    train_embeddings: bool = False
    hidden_size: int = 2048
    classifier_size: int = 512  # width of the two hidden layers of the classifier
    dropout: float = 0.0


class InferSentForSequenceClassification(SentenceEncoder):
    """BiLSTM sentence encoder with max pooling, and a classifier over the two sentence embeddings.

    Conneau et al. 2017, "Supervised Learning of Universal Sentence Representations from Natural Language Inference
    Data" (https://aclanthology.org/D17-1070), sections 3.1 and 3.2.2. The classifier follows the authors' code: linear
    layers without activations between them, which are equivalent to one linear layer.
    """

    config_class = InferSentConfig
    n_features = 4  # number of sentence embeddings in the input of the classifier

    def __init__(self, config: InferSentConfig) -> None:
        super().__init__(config)
        self.reader = BiLstm(config.embedding_size, config.hidden_size)
        size, width = config.classifier_size, 2 * config.hidden_size
        sizes = [self.n_features * width, size, size, self.num_labels]
        self.classifier = Mlp(sizes, nn.Identity, config.dropout)
        self.post_init()

    def encode(self, side: SentenceBatch) -> Tensor:
        """Compute sentence embeddings by max pooling over tokens, shape (b, 2 hidden)."""
        outputs, _ = self.reader(self.embed(side), side.mask)
        return max_pool(outputs, side.mask)


class BiLstmLastConfig(InferSentConfig):
    """Configuration of a BiLSTM encoder whose sentence embedding consists of the last states of both directions."""

    model_type = "unbag-bilstm-last"


class BiLstmLastForSequenceClassification(InferSentForSequenceClassification):
    """BiLSTM sentence encoder that concatenates the last state of each direction.

    Conneau et al. 2017, section 3.2.1, describe this pooling for LSTM, GRU and bidirectional GRU.
    """

    config_class = BiLstmLastConfig

    def encode(self, side: SentenceBatch) -> Tensor:
        """Concatenate the last states of both directions, shape (b, 2 hidden)."""
        _, (hidden, _) = self.reader(self.embed(side), side.mask)
        # The forward direction ends at the last token, the backward direction at the first.
        return torch.cat([hidden[0], hidden[1]], dim=-1)


class HypothesisOnlyConfig(InferSentConfig):
    """Configuration of the hypothesis-only InferSent."""

    model_type = "unbag-hypothesis-only"


class HypothesisOnlyForSequenceClassification(InferSentForSequenceClassification):
    """InferSent encoder with a classifier over the hypothesis only. The premise is ignored.

    Poliak et al. 2018, "Hypothesis Only Baselines in Natural Language Inference" (https://aclanthology.org/S18-2023),
    section 3.
    """

    config_class = HypothesisOnlyConfig
    n_features = 1

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits from the hypotheses only, shape (b, labels)."""
        logits: Tensor = self.classifier(self.encode(hypothesis))
        return logits
