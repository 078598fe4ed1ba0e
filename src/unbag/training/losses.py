"""Losses of max-entropy, and of debiasing, which discourages a network from imitating a biased model.

Max-entropy: correct predictions in natural word order, and high entropy in any other order. Sinha et al. 2021, section
8, equation 5: loss = CE(p(y | premise, hypothesis), gold) − α · (1/n) Σᵢ H(p(y | permuted pair i)), H in nats. Equation
5 as printed is the negative of this loss, an apparent misprint, since training minimizes.

Debiasing:

p_i is the network's distribution of pair i, b_i that of the biased model, y_i the gold label, k the number of labels,
and s the strength of the bias. b_i is fixed. With a uniform b_i, or s = 0, the losses are cross-entropy, up to a
constant. Where b_i is certain and right, the network learns nothing from the pair. Both are different in confidence
regularization.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, softplus
from transformers.utils.generic import ModelOutput

from unbag.data.labels import parse_label_map
from unbag.inference.predictor import ModelError
from unbag.training import bias, data, output
from unbag.training.bias import BIAS, ORIGINAL, TEACHER, WEIGHT, BiasFeatures
from unbag.training.data import TrainingData
from unbag.training.hex import find_last_linear_of_pairs
from unbag.training.recipes import SELF, WORDS
from unbag.training.trainer import PairTrainer


class MaxEntropyTrainer(PairTrainer):
    """Trainer with the loss of max-entropy: cross-entropy − α · mean entropy on permuted pairs.

    All pairs are encoded in one forward pass.
    """

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Compute the loss CE − α · (1 / (b n)) Σ H, where the sum is over the permuted pairs."""
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        cross, entropy = compute_max_entropy_terms(outputs.logits, labels, self.config.permutations)
        self.record(cross_entropy=cross, entropy=entropy)
        loss = cross - self.config.alpha * entropy
        return (loss, outputs) if return_outputs else loss


def compute_max_entropy_terms(logits: Tensor, labels: Tensor, permutations: int = 1) -> tuple[Tensor, Tensor]:
    """Compute the mean cross-entropy of b pairs, and the mean entropy (1 / (b n)) Σ H on their permuted pairs.

    `logits` are those of the b pairs and, after them, of all permuted pairs, shape (b + permuted, k). `labels` are
    outputs of the network.
    """
    logits = logits.float()  # in half precision, small probabilities would be missing from the entropy
    b = len(labels)
    # Divided by b n, not by the number of permuted pairs, which differs between batches.
    return cross_entropy(logits[:b], labels), compute_entropies(logits[b:]).sum() / (b * permutations)


def compute_entropies(logits: Tensor) -> Tensor:
    """Compute the entropy of the softmax of each row of logits, in nats, shape (n,), in [0, ln k].

    >>> import torch
    >>> compute_entropies(torch.tensor([[0.0, 0.0, 0.0]]))
    tensor([1.0986])
    """
    # log_softmax stays finite where p underflows, so that p · log p is 0 there and not NaN.
    log_p = log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)


class DebiasedTrainer(PairTrainer):
    """Trainer with the loss Σ w_i · l_i / n − α · H: a mean of weighted losses minus α times the mean entropy H.

    l_i is the cross-entropy of the product of the network's and the biased model's probabilities:

        l_i = −log softmax(log p_i + s · log b_i)[y_i]

    Products of experts are Hinton 2002's. This loss is the bias product of Clark et al. 2019
    (https://aclanthology.org/D19-1418), DRiFt of He et al. 2019 (https://aclanthology.org/D19-6115) and the product of
    Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769), whose code has s too, as `poe_alpha`. Utama et
    al. 2020b (https://aclanthology.org/2020.emnlp-main.613) anneal b_i to the power s. Subclasses define other losses
    of a pair (`compute_losses`). H is the entropy of the predictions on permuted pairs (`max_entropy`). Evaluation and
    publishing use the network without the bias.

    The strength of the bias goes linearly from `bias_strength` in the first step to `anneal` in the last (Utama et al.
    2020b; in their code from 1 to 0.8). w_i is 1 + balance · (v_i - 1), v_i the weight of the pair's group
    (`bias.compute_group_weights`).

    With the option `distill`, the loss of a corpus pair is (1 − d) · l_i − d · Σ_j o_i[j] log p_i[j], o_i the
    predictions of the model before training. Li & Hoiem 2016 (https://arxiv.org/abs/1606.09282) keep the outputs of the
    original network in this way; they divide the logits by a temperature of 2, here it is 1. An added pair, which the
    original model would get wrong, has the loss l_i.
    """

    @staticmethod
    def load_features(config: Any, pairs: TrainingData, models: Mapping[str, Path]) -> BiasFeatures | None:
        """Load or fit the models that the loss needs: the biased model, the teacher, and the model before training."""
        # Stored in the work folder of the run, so that a resumed run and all processes read the same predictions.
        store = output.get_work_folder(config.output_dir) / "answers"
        load_network = partial(bias.load_network_biased_model, store=store, max_length=config.max_length)
        features = {}
        if config.uses_bias:
            if config.bias in WORDS:
                examples = [example for part in pairs.training for example in part.examples]
                features[BIAS] = bias.build_lexical_biased_model(config.bias, examples, language=pairs.language)
            elif config.bias == SELF:
                seen = data.sample_from_datasets(pairs.training, config.weak_examples, config.seed)
                if config.word_order == "permuted":  # the weak learner and the epochs have the permuted pairs
                    seen = [data.permute_words(part, seed=config.seed) for part in seen]
                features[BIAS] = load_network(models["weak"]).without_pairs(
                    each for part in seen for each in part.examples
                )
            elif config.reads_predictions:
                features[BIAS] = bias.read_biased_predictions(Path(config.bias))
            else:
                features[BIAS] = load_network(Path(config.bias))
        if teacher := getattr(config, "teacher", None) or models.get("teacher"):
            features[TEACHER] = load_network(Path(teacher))
        if getattr(config, "distill", 0.0):
            label_map = parse_label_map(config.label_map) if config.label_map else None
            try:
                network = load_network(config.model, revision=config.revision, label_map=label_map)
            except ModelError as error:
                raise ModelError(f"--distill: {error}") from None
            features[ORIGINAL] = network.with_gold_labels_of_added_pairs()
        return BiasFeatures(features, balanced=config.balance > 0) if features else None

    @property
    def strength(self) -> float:
        """Strength of the bias at the current step."""
        first, last = self.config.bias_strength, self.config.anneal
        if last is None:
            return float(first)
        return float(first + (last - first) * min(self.state.global_step / max(self.state.max_steps - 1, 1), 1.0))

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Compute the loss of a batch, whose `inputs` also have the features of the pairs (`bias.BiasFeatures`)."""
        labels = inputs.pop("labels")
        names: tuple[str, ...] = (BIAS, TEACHER, ORIGINAL, WEIGHT)
        features = {name: inputs.pop(name).float() for name in names if name in inputs}
        outputs = model(**inputs)
        # In half precision, the softmax of a product of two distributions would lose the small probabilities.
        logits = outputs.logits.float()
        own = logits[: len(labels)]
        losses = self.compute_losses(own, labels, features, outputs)
        if distill := getattr(self.config, "distill", 0.0):  # an option of `mend`
            distance = cross_entropy(own, features[ORIGINAL].exp(), reduction="none")
            losses = (1 - distill) * losses + distill * distance
        if WEIGHT in features:
            losses = losses * (1 + self.config.balance * (features[WEIGHT] - 1))
        cross, entropy = compute_max_entropy_terms(logits, labels, self.config.permutations)
        loss = losses.mean() - self.config.alpha * entropy
        self.record(cross_entropy=cross, **({"entropy": entropy} if self.config.alpha else {}))
        return (loss, outputs) if return_outputs else loss

    def compute_losses(self, logits: Tensor, labels: Tensor, features: Mapping[str, Tensor], outputs: Any) -> Tensor:
        """Compute the loss of each example, shape (b,), from float32 logits, shape (b, k).

        `labels` are outputs of the network. `features` has log-probabilities, shape (b, k). `outputs` are those of the
        network for all b + extra pairs.
        """
        if BIAS in features:
            logits = logits + self.strength * features[BIAS]
        return cross_entropy(logits, labels, reduction="none")


class ConfidenceRegularizationTrainer(DebiasedTrainer):
    """Confidence regularization: cross-entropy with teacher predictions that are smoothed on biased examples.

        target_i[j] ∝ t_i[j]^(1 − β_i)        β_i = softmax(s · log b_i)[y_i]        l_i = −Σ_j target_i[j] log p_i[j]

    t_i is the distribution of a plainly fine-tuned teacher, the same network as the student. Utama et al. 2020a
    (https://aclanthology.org/2020.acl-main.770); `SmoothedDistillLoss` in their code, with the strength annealed
    `SmoothedDistillLossAnnealed` of Utama et al. 2020b. Where the bias is certain and right, the target is uniform.
    Without strength, β_i is 1/k for every pair: self-distillation without any influence of the bias.
    """

    def compute_losses(self, logits: Tensor, labels: Tensor, features: Mapping[str, Tensor], outputs: Any) -> Tensor:
        """Compute −Σ target · log p for each example."""
        beta = (self.strength * features[BIAS]).softmax(dim=1).gather(1, labels[:, None])
        # The softmax of scaled log-probabilities is the normalized power t^(1 − β).
        target = ((1 - beta) * features[TEACHER]).softmax(dim=1)
        return -(target * log_softmax(logits, dim=1)).sum(dim=1)


_GATE: Final = "bias_gate"


@dataclass
class MixinOutput(ModelOutput):
    """Outputs of a network with a gate: its logits, shape (n, k), and the powers g, shape (n, 1)."""

    logits: Tensor | None = None
    power: Tensor | None = None


class LearnedMixinTrainer(DebiasedTrainer):
    """Learned mixin +H: cross-entropy of a product of experts, with the biased model raised to a learned power.

        l_i = −log softmax(log p_i + g_i · s · log b_i)[y_i] + w · H(softmax(g_i · s · log b_i))
        g_i = softplus(v · h_i + c)

    h_i is the input of the network's last linear layer; v and c are trained too and then discarded. Clark et al. 2019
    (https://aclanthology.org/D19-1418). Without the penalty, g could become 0 and the network would learn the bias. As
    here, their code adds w · H with H in nats.
    """

    extra_modules = (_GATE,)

    def __init__(self, model: Any, config: Any, *, tokenizer: Any, **options: Any) -> None:
        """Find the last linear layer of the network, and add the gate, a linear layer with weight v and bias c."""
        layer = model.get_submodule(find_last_linear_of_pairs(model, tokenizer))
        self.gate = nn.Linear(layer.in_features, 1, device=model.device)
        model.add_module(_GATE, self.gate)
        last: list[tuple[Tensor, Tensor]] = []

        def keep(_module: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            last[:] = [(inputs[0], output)]

        def add_power(module: Any, _inputs: Any, output: Any) -> MixinOutput:
            hidden = _of_logits(*last.pop(), output.logits.float()).float()
            return MixinOutput(logits=output.logits, power=softplus(module.get_submodule(_GATE)(hidden)))

        layer.register_forward_hook(keep)
        model.register_forward_hook(add_power)
        super().__init__(model, config, tokenizer=tokenizer, **options)

    def compute_losses(self, logits: Tensor, labels: Tensor, features: Mapping[str, Tensor], outputs: Any) -> Tensor:
        """Compute −log softmax(logits + g · s · log b)[gold] + w · H for each example."""
        scaled = outputs.power[: len(labels)].float() * self.strength * features[BIAS]
        losses = cross_entropy(logits + scaled, labels, reduction="none")
        return losses + float(self.config.entropy_penalty) * compute_entropies(scaled)


def _of_logits(hidden: Tensor, output: Tensor, logits: Tensor) -> Tensor:
    """Select the hidden states behind the logits, shape (b, d): the last layer of a decoder runs at every position."""
    if hidden.ndim == 2:
        return hidden
    with torch.no_grad():
        # The closest position, not an equal one, since autocast may round the two differently.
        position = (output.float() - logits[:, None]).abs().amax(dim=2).argmin(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), position]


class ReweightedTrainer(DebiasedTrainer):
    """Cross-entropy with higher weights for examples on which the biased model is wrong or uncertain.

        l_i = ((1 − b_i[y_i]) / (1 − 1/k))^(γ s) · −log p_i[y_i]

    γ = 1 is the reweighting baseline of Clark et al. 2019 (https://aclanthology.org/D19-1418); another γ is the
    debiased focal loss of Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769), with γ = 2 in their code.
    Utama et al. 2020b anneal the exponent. The papers lack the constant 1 − 1/k. Their code divides by the sum of the
    weights in a batch, so that the weight of a pair depends on its neighbours.
    """

    def compute_losses(self, logits: Tensor, labels: Tensor, features: Mapping[str, Tensor], outputs: Any) -> Tensor:
        """Compute the weighted cross-entropy for each example."""
        k = logits.shape[1]
        of_gold = features[BIAS].gather(1, labels[:, None]).squeeze(1)
        # expm1 keeps the digits of 1 − b where b is close to 1; rounding may leave log b a little above 0.
        doubt = -torch.expm1(of_gold).clamp(max=0) * k / (k - 1)
        gamma = getattr(self.config, "gamma", 1.0)  # an option of the debiased focal loss
        weights = doubt ** (gamma * self.strength)
        return weights * cross_entropy(logits, labels, reduction="none")
