"""DR-BiLSTM, the dependent reading BiLSTM (Ghaeini et al. 2018), and its bag-of-words variant (Nie et al. 2019)."""

import torch
from torch import Tensor, nn

from unbag.models.layers import (
    Mlp,
    State,
    TokenEncoderOutput,
    build_comparison_features,
    build_token_encoder,
    compute_soft_alignment,
    max_pool,
    mean_pool,
)
from unbag.models.network import PairConfig, PairNetwork, SentenceBatch


class DrBiLstmConfig(PairConfig):
    """Configuration of a DR-BiLSTM. As in the paper, each direction has 450 units by default."""

    model_type = "unbag-dr-bilstm"

    hidden_size: int = 450
    projected_size: int = 300  # width of the projected comparisons
    classifier_size: int = 300  # width of the hidden layer of the classifier
    dropout: float = 0.4
    bag_of_words: bool = False  # whether fully connected layers replace the LSTMs


class DrBiLstmForSequenceClassification(PairNetwork):
    """Variant of ESIM whose BiLSTMs start each sentence with the final state of the other sentence.

    Ghaeini et al. 2018, "DR-BiLSTM: Dependent Reading Bidirectional LSTM for Natural Language Inference"
    (https://aclanthology.org/N18-1132), section 2. The encoding layer uses the outputs for a sentence after the other
    sentence. The inference layer uses the elementwise maximum of two outputs: for the sentence alone, and after the
    other sentence. With `bag_of_words`, it is the variant of Nie et al. 2019, section 3.2. A fully connected layer has
    no state, so the sentences then interact through alignment only.
    """

    config_class = DrBiLstmConfig

    def __init__(self, config: DrBiLstmConfig) -> None:
        super().__init__(config)
        size, bag = config.hidden_size, config.bag_of_words
        self.dropout = nn.Dropout(config.dropout)
        self.encode = build_token_encoder(config.embedding_size, size, bag_of_words=bag)
        self.project = nn.Linear(8 * size, config.projected_size)
        self.infer = build_token_encoder(config.projected_size, size, bag_of_words=bag)
        self.classifier = Mlp([8 * size, config.classifier_size, self.num_labels], nn.ReLU, config.dropout)
        self.post_init()

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits of pairs, shape (b, labels)."""
        masks = premise.mask, hypothesis.mask
        words = self.dropout(self.embed(premise)), self.dropout(self.embed(hypothesis))
        _, (a, b) = self._readings(self.encode, words, masks)
        alignment = compute_soft_alignment(a @ b.transpose(1, 2), *masks)
        compared = (
            self.dropout(self.project(build_comparison_features(a, alignment.premise @ b)).relu()),
            self.dropout(self.project(build_comparison_features(b, alignment.hypothesis @ a)).relu()),
        )
        alone, dependent = self._readings(self.infer, compared, masks)
        pooled = []
        for one, other, mask in zip(alone, dependent, masks, strict=True):
            larger = torch.maximum(one, other)
            pooled += [max_pool(larger, mask), mean_pool(larger, mask)]
        logits: Tensor = self.classifier(torch.cat(pooled, dim=-1))
        return logits

    def _readings(
        self, read: nn.Module, vectors: tuple[Tensor, Tensor], masks: tuple[Tensor, Tensor]
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Encode both sentences: each one alone, and each one after the other sentence."""
        alone: list[TokenEncoderOutput] = [read(*each) for each in zip(vectors, masks, strict=True)]
        states: list[State | None] = [each.state for each in alone]
        # 1 - i is the other sentence, whose last state is the initial state here.
        dependent = [read(vectors[i], masks[i], states[1 - i]).outputs for i in (0, 1)]
        return (alone[0].outputs, alone[1].outputs), (dependent[0], dependent[1])
