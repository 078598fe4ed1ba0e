"""Losses beside a biased model, and the objective and factory that they share.

They share the strength of the bias, the pairs' weights, and permuted pairs.

Confidence regularisation: learn from a teacher, who is made the less sure of a pair, the surer a biased model is.

    target_i[j] ∝ t_i[j]^(1 − β_i)        β_i = softmax(s · log b_i)[y_i]
    l_i = −Σ_j target_i[j] log p_i[j]

t_i is the distribution of a plainly fine-tuned teacher, the same network as the student, β_i the biased model's
probability of the gold label. Utama et al. 2020a, "Mind the Trade-off: Debiasing NLU Models without Degrading the
In-distribution Performance" (https://aclanthology.org/2020.acl-main.770); `SmoothedDistillLoss` in their code, and with
the strength s annealed `SmoothedDistillLossAnnealed` of Utama et al. 2020b.

No pair is left out: where the bias is certain and right the target is uniform, so the network learns to be undecided
there, not to be right. With a teacher who is certain of every gold label, all this is cross-entropy unless β_i = 1.
Without strength (s = 0) β_i is 1/k for every pair: self-distillation, a little flattened, in which words play no part.

Learned mixin: a product of experts in which the network learns, pair by pair, how far to trust the biased model.

    l_i = −log softmax(log p_i + g_i · s · log b_i)[y_i] + w · H(softmax(g_i · s · log b_i))
    g_i = softplus(v · h_i + c)

h_i is the network's hidden state of pair i, the input of its last linear layer; v and c are learnt along and thrown
away. Clark et al. 2019, "Don't Take the Easy Way Out" (https://aclanthology.org/D19-1418): the learned-mixin, and with
the entropy penalty, which keeps g from becoming 0 so that the bias would be learnt after all, learned-mixin +H. Their
code adds the penalty as it is written here, w · H with H in nats.

With a uniform bias, or s = 0, the entropy is ln k whatever g is, and the rest is cross-entropy.

Product of experts: learn what is left to say once a biased model has spoken.

    l_i = −log softmax(log p_i + s · log b_i)[y_i]

p_i is the network's distribution of pair i, b_i the biased model's, s the strength; b_i is fixed, and only the network
learns. Products of experts are Hinton 2002's ("Training Products of Experts by Minimizing Contrastive Divergence",
Neural Computation 14); this loss is the bias product of Clark et al. 2019 ("Don't Take the Easy Way Out",
https://aclanthology.org/D19-1418), DRiFt of He et al. 2019 (https://aclanthology.org/D19-6115) and the product of
Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769), whose code has s too, as `poe_alpha`. With b_i to the
power s, Utama et al. 2020b (https://aclanthology.org/2020.emnlp-main.613) anneal it; here its normalisation falls out,
since a constant beside the logits changes nothing.

Where b_i is certain and right, the loss and its gradient are zero: nothing is learnt of that pair. Where b_i is
uniform, or s = 0, it is cross-entropy. The gradient is softmax(log p + s log b) − one-hot(y) at the logits.

Weights by the bias: a pair counts the less, the surer a biased model is of its gold label.

    l_i = ((1 − b_i[y_i]) / (1 − 1/k))^(γ s) · −log p_i[y_i]

b_i[y_i] is the biased model's probability of the gold label, s the strength. γ = 1 is the reweighting baseline of
Clark et al. 2019 (https://aclanthology.org/D19-1418), who weigh by 1 − b_i[y_i]. With another γ it is the debiased
focal loss of Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769), −(1 − b_i[y_i])^γ log p_i[y_i], γ = 2
in their code, after Lin et al. 2017's focal loss, whose weight is the network's own. Utama et al. 2020b
(https://aclanthology.org/2020.emnlp-main.613) anneal the exponent.

The constant 1 − 1/k, which the papers do not have, makes a uniform bias plain cross-entropy, and so does s = 0. Their
code divides by the sum of a batch's weights instead; then what a pair weighs would depend on its neighbours, and a
batch cut in two would not be the batch. Where the bias is certain and right, loss and gradient are zero.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, softplus

from unbag.data.sources import Example
from unbag.training import bias, data
from unbag.training.bias import BIAS, TEACHER, WEIGHT, BiasFeatures
from unbag.training.config_recipes import (
    SELF,
    WORDS,
    ConfidenceConfig,
    DebiasConfig,
    LearnedMixinConfig,
    ReweightingConfig,
)
from unbag.training.hex import last_linear
from unbag.training.max_entropy import PermutedPairs, entropies
from unbag.training.objective import Loss, Objective

if TYPE_CHECKING:
    from unbag.training.data import TrainingData


class DebiasedObjective(Objective):
    """The mean over the pairs of w_i · l_i, less α times the mean entropy of their permutations.

    l_i, the loss of a pair by what the biased model says of it, is the subclass's (`losses`). What is evaluated and
    published is the network alone.

    The strength of the bias goes linearly from `bias_strength` in the first step to `anneal` in the last (Utama et al.
    2020b; in their code from 1 to 0.8). w_i is 1 + balance · (v_i - 1), v_i the weight of the pair's group
    (`bias.group_weights`). α and the permutations are max-entropy's (`max_entropy`).
    """

    def __init__(self, network: Any, options: DebiasConfig, *, language: str = "en") -> None:
        """Set out to train `network`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            options: of the recipe; its seed decides the permutations.
            language: of the sentences.
        """
        super().__init__(network)
        self.options = options
        self._passes, self._steps = 0, 1
        self._permuted = (
            PermutedPairs(options.permutations, seed=options.seed, language=language) if options.alpha else None
        )

    def extra_pairs(self, examples: Sequence[Example], epoch: int) -> list[tuple[str, str]]:
        """Return the permutations of the examples, where α is not 0."""
        return self._permuted.extra_pairs(examples, epoch) if self._permuted else []

    def begin(self, step: int, steps: int) -> None:
        """Count the forward passes of the steps that were taken."""
        self._passes, self._steps = step * self.options.gradient_accumulation_steps, steps

    @property
    def strength(self) -> float:
        """The strength of the bias in this step."""
        first, last = self.options.bias_strength, self.options.anneal
        if last is None:
            return first
        step = self._passes // self.options.gradient_accumulation_steps
        return first + (last - first) * min(step / max(self._steps - 1, 1), 1.0)

    def loss(self, labels: Tensor, **inputs: Tensor) -> Loss:
        """Return the loss of a batch; its parts: the network's own cross-entropy, and the entropy of permuted pairs."""
        names: tuple[str, ...] = (BIAS, TEACHER, WEIGHT)
        known = {name: inputs.pop(name).float() for name in names if name in inputs}
        b = len(labels)
        logits, losses = self._forward(labels, known, inputs)
        weight = known.get(WEIGHT)
        if weight is not None:
            losses = losses * (1 + self.options.balance * (weight - 1))
        loss = losses.mean()
        parts = {"cross_entropy": cross_entropy(logits[:b].detach(), labels)}
        if self._permuted is not None:
            entropy = self._permuted.entropy(logits[b:], b)
            loss = loss - self.options.alpha * entropy
            parts["entropy"] = entropy.detach()
        if self.training:
            self._passes += 1
        return Loss(loss, logits[:b].detach(), parts)

    def _forward(self, labels: Tensor, known: dict[str, Tensor], encoded: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits of all pairs, shape (b + further, k), and the losses of the b examples, shape (b,)."""
        logits = self.network(**encoded).logits.float()
        with torch.autocast(logits.device.type, enabled=False):
            return logits, self.losses(logits[: len(labels)], labels, known)

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return the loss of each example, shape (b,).

        Args:
            logits: of the network, shape (b, k).
            labels: the examples' outputs of the network, shape (b,).
            known: `BIAS` and, where the recipe has one, `TEACHER`: log-probabilities of shape (b, k).
        """
        raise NotImplementedError


class Weighted(DebiasedObjective):
    """Cross-entropy, where the weights of pairs are all that a biased model tells, if one is asked."""

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return −log p(gold) of each example."""
        return cross_entropy(logits, labels, reduction="none")


_ANSWERS = "answers"  # beside a model's folder, until the run is finished


def known(config: DebiasConfig, pairs: "TrainingData", models: Mapping[str, Path]) -> BiasFeatures:
    """Return what biased models and a teacher say of the training pairs.

    Args:
        config: of the recipe.
        pairs: as they were read.
        models: the folders of the models that were trained first: `weak`, `teacher`.

    Raises:
        ValueError: if the bias cannot be had.
    """
    teacher = None
    if isinstance(config, ConfidenceConfig):
        teacher = _network(config, Path(config.teacher) if config.teacher else models["teacher"])
    return BiasFeatures(_bias(config, pairs, models), teacher, balanced=config.balance > 0)


def _bias(config: DebiasConfig, pairs: "TrainingData", models: Mapping[str, Path]) -> bias.Bias:
    if config.bias in WORDS:
        examples = [example for part in pairs.training for example in part.examples]
        return bias.of_words(config.bias, examples, language=pairs.language)
    if config.bias == SELF:
        seen = data.drawn(pairs.training, config.weak_examples, config.seed)
        if config.word_order == "permuted":  # as they were trained on, and as the epochs have them
            seen = [data.permuted(part, seed=config.seed) for part in seen]
        return bias.MaskedBias(
            _network(config, models["weak"]), [example for part in seen for example in part.examples]
        )
    if config.reads_predictions:
        return bias.PrecomputedBias(Path(config.bias))
    return _network(config, Path(config.bias))


def _network(config: DebiasConfig, folder: Path) -> bias.Bias:
    from unbag.training.output import work_folder

    return bias.CachedBias(
        bias.Network(folder, work_folder(config.output_dir) / _ANSWERS, max_length=config.max_length)
    )


class ConfidenceRegularised(DebiasedObjective):
    """Cross-entropy of a teacher's answers, flattened as far as the biased model knows the gold label."""

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return −Σ target log p of each example."""
        beta = (self.strength * known[BIAS]).softmax(dim=1).gather(1, labels[:, None])
        target = ((1 - beta) * known[TEACHER]).softmax(dim=1)
        return -(target * log_softmax(logits, dim=1)).sum(dim=1)


_PROBE: Final = "Two dogs run.", "Animals are moving."


class LearnedMixin(DebiasedObjective):
    """Cross-entropy of the product of the network and the biased model to a learnt power.

    Attributes:
        gate: v and c.
    """

    def __init__(self, network: Any, tokenizer: Any, options: LearnedMixinConfig, *, language: str = "en") -> None:
        """Set out to train `network`; see `DebiasedObjective`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            tokenizer: its tokenizer, to find the last layer with.
            options: of the recipe.
            language: of the sentences.

        Raises:
            ValueError: if the network's logits are not the outputs of a linear layer.
        """
        super().__init__(network, options, language=language)
        self._entropy_penalty = options.entropy_penalty
        encoded = tokenizer(*_PROBE, return_tensors="pt")
        inputs = {name: encoded[name].to(network.device) for name in ("input_ids", "attention_mask")}
        layer = network.get_submodule(last_linear(network, inputs))
        self.gate = nn.Linear(layer.in_features, 1, device=network.device)
        self._seen: tuple[Tensor, Tensor] | None = None
        layer.register_forward_hook(self._see)

    def _see(self, _module: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        self._seen = inputs[0], output

    def _forward(self, labels: Tensor, known: dict[str, Tensor], encoded: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        logits = self.network(**encoded).logits.float()
        assert self._seen is not None, "the last layer ran"
        hidden, b = _of_logits(*self._seen, logits)[: len(labels)].float(), len(labels)
        self._seen = None  # or it would hold the graph
        with torch.autocast(logits.device.type, enabled=False):
            bias = softplus(self.gate(hidden)) * self.strength * known[BIAS]
            losses = cross_entropy(logits[:b] + bias, labels, reduction="none")
            return logits, losses + self._entropy_penalty * entropies(bias)


def _of_logits(hidden: Tensor, output: Tensor, logits: Tensor) -> Tensor:
    """Return the hidden states that became the logits, shape (b, d): a decoder's layer runs at every position."""
    if hidden.ndim == 2:
        return hidden
    with torch.no_grad():
        position = (output.float() - logits[:, None]).abs().amax(dim=2).argmin(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), position]


class ProductOfExperts(DebiasedObjective):
    """Cross-entropy of the product of the network and the biased model; what is published is the network alone."""

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return −log softmax(logits + s · log b)[gold] of each example."""
        return cross_entropy(logits + self.strength * known[BIAS], labels, reduction="none")


class Reweighted(DebiasedObjective):
    """Cross-entropy, weighted by how little the biased model knows of the gold label."""

    def __init__(self, network: Any, options: ReweightingConfig, *, gamma: float = 1.0, language: str = "en") -> None:
        """Set out to train `network`; see `DebiasedObjective`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            options: of the recipe.
            gamma: γ, the exponent.
            language: of the sentences.
        """
        super().__init__(network, options, language=language)
        self._gamma = gamma

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return the weighted cross-entropy of each example."""
        k = logits.shape[1]
        of_gold = known[BIAS].gather(1, labels[:, None]).squeeze(1)
        doubt = -torch.expm1(of_gold).clamp(max=0) * k / (k - 1)
        weights = doubt ** (self._gamma * self.strength)
        return weights * cross_entropy(logits, labels, reduction="none")
