"""Debiasing objectives: losses that discourage a network from imitating a biased model.

Confidence regularization: the student learns from a teacher whose distribution is flatter, the surer a biased model is
of the gold label.

    target_i[j] ∝ t_i[j]^(1 − β_i)        β_i = softmax(s · log b_i)[y_i]
    l_i = −Σ_j target_i[j] log p_i[j]

t_i is the distribution of a plainly fine-tuned teacher, the same network as the student, β_i the biased model's
probability of the gold label. Utama et al. 2020a, "Mind the Trade-off: Debiasing NLU Models without Degrading the
In-distribution Performance" (https://aclanthology.org/2020.acl-main.770); `SmoothedDistillLoss` in their code, and with
the strength s annealed `SmoothedDistillLossAnnealed` of Utama et al. 2020b.

Every pair counts: where the bias is certain and right, the target is uniform, so the network learns to be undecided
there, not to be right. With a teacher that is certain of every gold label, the loss is cross-entropy unless β_i = 1.
Without strength (s = 0), β_i is 1/k for every pair: the loss is self-distillation, a little flattened, without any
influence of the bias.

Distillation from the original model, in each recipe that has the option `distill`: for the pairs of the corpora, the
loss is a mean of l_i and the cross-entropy with the predictions o_i of the model before training.

    (1 − d) · l_i − d · Σ_j o_i[j] log p_i[j]

Li & Hoiem 2016, "Learning without Forgetting" (https://arxiv.org/abs/1606.09282), keep the outputs of the original
network for the new training examples in this way; they divide the logits by a temperature of 2, here it is 1. An added
pair, which the original model would get wrong, has the loss l_i.

Learned mixin: a product of experts in which the network learns, pair by pair, how far to trust the biased model.

    l_i = −log softmax(log p_i + g_i · s · log b_i)[y_i] + w · H(softmax(g_i · s · log b_i))
    g_i = softplus(v · h_i + c)

h_i is the network's hidden state of pair i, the input of its last linear layer; v and c are trained too and then
discarded. Clark et al. 2019, "Don't Take the Easy Way Out" (https://aclanthology.org/D19-1418): the learned-mixin, and
with the entropy penalty learned-mixin +H. Without the penalty, g could become 0 and the network would learn the bias.
As here, their code adds w · H with H in nats.

With a uniform bias, or s = 0, the entropy is ln k for every g, and the rest is cross-entropy.

Product of experts: the network learns only what the biased model does not predict.

    l_i = −log softmax(log p_i + s · log b_i)[y_i]

p_i is the network's distribution of pair i, b_i the biased model's, s the strength; b_i is fixed, and only the network
learns. Products of experts are Hinton 2002's ("Training Products of Experts by Minimizing Contrastive Divergence",
Neural Computation 14). This loss is the bias product of Clark et al. 2019 ("Don't Take the Easy Way Out",
https://aclanthology.org/D19-1418), DRiFt of He et al. 2019 (https://aclanthology.org/D19-6115) and the product of
Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769), whose code has s too, as `poe_alpha`. Utama et al.
2020b (https://aclanthology.org/2020.emnlp-main.613) anneal b_i to the power s. Its normalization cancels here, since
adding a constant to the logits has no effect.

Where b_i is certain and right, the loss and its gradient are zero: the network learns nothing from that pair. Where b_i
is uniform, or s = 0, the loss is cross-entropy. Its gradient at the logits is softmax(log p + s log b) − one-hot(y).

Reweighting: the surer a biased model is of the gold label of a pair, the smaller is the weight of the pair.

    l_i = ((1 − b_i[y_i]) / (1 − 1/k))^(γ s) · −log p_i[y_i]

b_i[y_i] is the biased model's probability of the gold label, s the strength. γ = 1 is the reweighting baseline of
Clark et al. 2019 (https://aclanthology.org/D19-1418), with the weight 1 − b_i[y_i]. With another γ the loss is the
debiased focal loss of Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769),
−(1 − b_i[y_i])^γ log p_i[y_i], with γ = 2 in their code. It follows the focal loss of Lin et al. 2017, whose weight
comes from the network itself. Utama et al. 2020b (https://aclanthology.org/2020.emnlp-main.613) anneal the exponent.

The constant 1 − 1/k, which the papers do not have, makes the loss cross-entropy for a uniform bias, as does s = 0.
Their code divides by the sum of the weights in a batch instead. Then the weight of a pair would depend on its
neighbours, and a batch cut into two parts would have another loss. Where the bias is certain and right, loss and
gradient are zero.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, softplus

from unbag.data.labels import parse_label_map
from unbag.inference.predictor import ModelError
from unbag.training import bias, data
from unbag.training.bias import BIAS, ORIGINAL, TEACHER, WEIGHT, BiasFeatures
from unbag.training.config_recipes import (
    SELF,
    WORDS,
    ConfidenceConfig,
    DebiasConfig,
    LearnedMixinConfig,
    MendConfig,
    ReweightingConfig,
)
from unbag.training.hex import find_last_linear
from unbag.training.max_entropy import PermutedPairs, compute_entropies
from unbag.training.objective import BatchLoss, Objective

if TYPE_CHECKING:
    from unbag.training.data import TrainingData


class DebiasedObjective(Objective):
    """Objective Σ w_i · l_i / n − α · H: mean weighted loss minus α times mean prediction entropy H on permuted pairs.

    Subclasses define l_i, the loss of a pair given the biased model (`compute_losses`). Evaluation and publishing use
    the network without the bias.

    The strength of the bias goes linearly from `bias_strength` in the first step to `anneal` in the last (Utama et al.
    2020b; in their code from 1 to 0.8). w_i is 1 + balance · (v_i - 1), v_i the weight of the pair's group
    (`bias.compute_group_weights`). α and the permutations are those of max-entropy (`max_entropy`).
    """

    def __init__(self, network: Any, options: DebiasConfig, *, language: str = "en", distill: float = 0.0) -> None:
        """Initialize the objective.

        Args:
            network: `PreTrainedModel` for sequence classification.
            options: Options of the recipe; permutations are drawn from their seed.
            language: Language of the sentences.
            distill: Weight d of distillation from the original model, from 0 to 1.
        """
        super().__init__(network)
        self.options = options
        self._distill = distill
        self._passes, self._steps = 0, 1
        self._permuted: PermutedPairs | None = None
        if options.alpha:
            self._permuted = PermutedPairs(options.permutations, seed=options.seed, language=language)
            self.build_extra_pairs = self._permuted.build_extra_pairs

    def begin(self, step: int, steps: int) -> None:
        """Set the number of completed steps, which determines the strength of the bias."""
        self._passes, self._steps = step * self.options.gradient_accumulation_steps, steps

    @property
    def strength(self) -> float:
        """Strength of the bias at the current step."""
        first, last = self.options.bias_strength, self.options.anneal
        if last is None:
            return first
        step = self._passes // self.options.gradient_accumulation_steps
        # After the last step the count of passes is beyond the schedule; the strength stays at its last value.
        return first + (last - first) * min(step / max(self._steps - 1, 1), 1.0)

    def compute_loss(self, labels: Tensor, **inputs: Tensor) -> BatchLoss:
        """Compute the loss of a batch, with the plain cross-entropy and the entropy on permuted pairs as `parts`."""
        names: tuple[str, ...] = (BIAS, TEACHER, ORIGINAL, WEIGHT)
        features = {name: inputs.pop(name).float() for name in names if name in inputs}
        b = len(labels)
        logits, losses = self._forward(labels, features, inputs)
        if self._distill:
            distance = cross_entropy(logits[:b], features[ORIGINAL].exp(), reduction="none")
            losses = (1 - self._distill) * losses + self._distill * distance
        weight = features.get(WEIGHT)
        if weight is not None:
            losses = losses * (1 + self.options.balance * (weight - 1))
        loss = losses.mean()
        parts = {"cross_entropy": cross_entropy(logits[:b].detach(), labels)}
        if self._permuted is not None:
            entropy = self._permuted.compute_mean_entropy(logits[b:], b)
            loss = loss - self.options.alpha * entropy
            parts["entropy"] = entropy.detach()
        if self.training:
            self._passes += 1
        return BatchLoss(loss, logits[:b].detach(), parts)

    def _forward(
        self, labels: Tensor, features: dict[str, Tensor], encoded: dict[str, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Compute the logits of all pairs, shape (b + extra, k), and the losses of the b examples, shape (b,)."""
        logits = self.network(**encoded).logits.float()
        # In half precision, the softmax of a product of two distributions would lose the small probabilities.
        with torch.autocast(logits.device.type, enabled=False):
            return logits, self.compute_losses(logits[: len(labels)], labels, features)

    def compute_losses(self, logits: Tensor, labels: Tensor, features: dict[str, Tensor]) -> Tensor:
        """Compute the loss of each example, shape (b,).

        Args:
            logits: Logits of the network, shape (b, k).
            labels: Output of the network that is the gold label of each example, shape (b,).
            features: Log-probabilities `BIAS` and, in recipes with a teacher, `TEACHER`, shape (b, k).
        """
        raise NotImplementedError


class WeightedCrossEntropy(DebiasedObjective):
    """Weighted cross-entropy. A biased model, if any, affects only the weights."""

    def compute_losses(self, logits: Tensor, labels: Tensor, features: dict[str, Tensor]) -> Tensor:
        """Compute −log p(gold) for each example."""
        return cross_entropy(logits, labels, reduction="none")


_ANSWERS = "answers"  # folder of stored predictions, inside the work folder of a run


def build_bias_features(config: DebiasConfig, pairs: "TrainingData", models: Mapping[str, Path]) -> BiasFeatures:
    """Load or fit the biased model and the teacher for a recipe.

    Args:
        config: Options of the recipe.
        pairs: Training data as read, before any transformation.
        models: Folders of the models that were trained first: `weak`, `teacher`.

    Raises:
        ValueError: If the biased model cannot be loaded or fitted.
    """
    teacher = None
    if isinstance(config, ConfidenceConfig):
        teacher = _network(config, Path(config.teacher) if config.teacher else models["teacher"])
    return BiasFeatures(_bias(config, pairs, models), teacher, balanced=config.balance > 0)


def build_mend_features(config: MendConfig, pairs: "TrainingData", models: Mapping[str, Path]) -> BiasFeatures | None:
    """Load or fit the biased model and the original model for the `mend` recipe.

    Args:
        config: Options of the recipe.
        pairs: Training data as read, before any transformation.
        models: Folders of the models that were trained first: `weak`.

    Returns:
        The features; None if the objective uses neither model.

    Raises:
        ModelError: If the original model is not a classifier.
        ValueError: If the biased model cannot be loaded or fitted.
    """
    original = None
    if config.distill:
        label_map = parse_label_map(config.label_map) if config.label_map else None
        try:
            network = _network(config, config.model, revision=config.revision, label_map=label_map)
        except ModelError as error:
            raise ModelError(f"--distill: {error}") from None
        original = bias.OriginalModelTeacher(network)
    if config.uses_bias:
        return replace(build_bias_features(config, pairs, models), original=original)
    return BiasFeatures(None, original=original) if original else None


def _bias(config: DebiasConfig, pairs: "TrainingData", models: Mapping[str, Path]) -> bias.BiasedModel:
    if config.bias in WORDS:
        examples = [example for part in pairs.training for example in part.examples]
        return bias.build_lexical_biased_model(config.bias, examples, language=pairs.language)
    if config.bias == SELF:
        seen = data.sample_from_datasets(pairs.training, config.weak_examples, config.seed)
        if config.word_order == "permuted":  # the weak learner and the epochs have the permuted pairs
            seen = [data.permute_words(part, seed=config.seed) for part in seen]
        return bias.MaskedBiasedModel(
            _network(config, models["weak"]), [example for part in seen for example in part.examples]
        )
    if config.reads_predictions:
        return bias.PrecomputedBiasedModel(Path(config.bias))
    return _network(config, Path(config.bias))


def _network(config: DebiasConfig, model: str | Path, **options: Any) -> bias.BiasedModel:
    from unbag.training.output import get_work_folder

    store = get_work_folder(config.output_dir) / _ANSWERS
    return bias.CachedBiasedModel(bias.ClassifierBiasedModel(model, store, max_length=config.max_length, **options))


class ConfidenceRegularization(DebiasedObjective):
    """Confidence regularization: cross-entropy with teacher predictions that are smoothed on biased examples."""

    def compute_losses(self, logits: Tensor, labels: Tensor, features: dict[str, Tensor]) -> Tensor:
        """Compute −Σ target · log p for each example."""
        beta = (self.strength * features[BIAS]).softmax(dim=1).gather(1, labels[:, None])
        # The softmax of scaled log-probabilities is the normalized power t^(1 − β).
        target = ((1 - beta) * features[TEACHER]).softmax(dim=1)
        return -(target * log_softmax(logits, dim=1)).sum(dim=1)


_PROBE: Final = "Two dogs run.", "Animals are moving."


class LearnedMixin(DebiasedObjective):
    """Learned mixin: cross-entropy of a product of experts, with the biased model raised to a learned power.

    Attributes:
        gate: Linear layer with the weight v and the bias c.
    """

    def __init__(self, network: Any, tokenizer: Any, options: LearnedMixinConfig, *, language: str = "en") -> None:
        """Initialize the objective. See `DebiasedObjective`.

        Args:
            network: `PreTrainedModel` for sequence classification.
            tokenizer: Tokenizer of the network, for a forward pass that locates its last layer.
            options: Options of the recipe.
            language: Language of the sentences.

        Raises:
            ValueError: If the network's logits are not the outputs of a linear layer.
        """
        super().__init__(network, options, language=language)
        self._entropy_penalty = options.entropy_penalty
        encoded = tokenizer(*_PROBE, return_tensors="pt")
        inputs = {name: encoded[name].to(network.device) for name in ("input_ids", "attention_mask")}
        layer = network.get_submodule(find_last_linear(network, inputs))
        self.gate = nn.Linear(layer.in_features, 1, device=network.device)
        self._captured: tuple[Tensor, Tensor] | None = None
        layer.register_forward_hook(self._capture)

    def _capture(self, _module: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        self._captured = inputs[0], output

    def _forward(
        self, labels: Tensor, features: dict[str, Tensor], encoded: dict[str, Tensor]
    ) -> tuple[Tensor, Tensor]:
        logits = self.network(**encoded).logits.float()
        assert self._captured is not None, "the last layer ran"
        hidden, b = _of_logits(*self._captured, logits)[: len(labels)].float(), len(labels)
        self._captured = None  # a reference would keep the graph of this step in memory
        with torch.autocast(logits.device.type, enabled=False):
            bias = softplus(self.gate(hidden)) * self.strength * features[BIAS]
            losses = cross_entropy(logits[:b] + bias, labels, reduction="none")
            return logits, losses + self._entropy_penalty * compute_entropies(bias)


def _of_logits(hidden: Tensor, output: Tensor, logits: Tensor) -> Tensor:
    """Select the hidden states behind the logits, shape (b, d): the last layer of a decoder runs at every position."""
    if hidden.ndim == 2:
        return hidden
    with torch.no_grad():
        # The closest position, not an equal one, since autocast may round the two differently.
        position = (output.float() - logits[:, None]).abs().amax(dim=2).argmin(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), position]


class ProductOfExperts(DebiasedObjective):
    """Product of experts: cross-entropy of the product of the network's and the biased model's probabilities.

    Only the network is published.
    """

    def compute_losses(self, logits: Tensor, labels: Tensor, features: dict[str, Tensor]) -> Tensor:
        """Compute −log softmax(logits + s · log b)[gold] for each example."""
        return cross_entropy(logits + self.strength * features[BIAS], labels, reduction="none")


class ReweightedCrossEntropy(DebiasedObjective):
    """Cross-entropy with higher weights for examples on which the biased model is wrong or uncertain."""

    def __init__(self, network: Any, options: ReweightingConfig, *, gamma: float = 1.0, language: str = "en") -> None:
        """Initialize the objective. See `DebiasedObjective`.

        Args:
            network: `PreTrainedModel` for sequence classification.
            options: Options of the recipe.
            gamma: Exponent γ.
            language: Language of the sentences.
        """
        super().__init__(network, options, language=language)
        self._gamma = gamma

    def compute_losses(self, logits: Tensor, labels: Tensor, features: dict[str, Tensor]) -> Tensor:
        """Compute the weighted cross-entropy for each example."""
        k = logits.shape[1]
        of_gold = features[BIAS].gather(1, labels[:, None]).squeeze(1)
        # expm1 keeps the digits of 1 − b where b is close to 1; rounding may leave log b a little above 0.
        doubt = -torch.expm1(of_gold).clamp(max=0) * k / (k - 1)
        weights = doubt ** (self._gamma * self.strength)
        return weights * cross_entropy(logits, labels, reduction="none")
