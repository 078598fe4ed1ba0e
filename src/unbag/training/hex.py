"""HEX: training on the component of a classifier's outputs that superficial word statistics do not explain.

"Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language Inference"
(anonymous EMNLP-IJCNLP submission), section 3, after Wang et al. 2019, "Learning Robust Representations by Projecting
Superficial Statistics Out", https://arxiv.org/abs/1903.06256.

h is the input of the network's last linear layer, W_h and b that layer's weight and bias; g = ReLU(W^φ · mean
embedding) is the superficial branch (`unbag.models.hex`), and f, the layer widened to take both, is
f([h, g]) = W_h h + W_g g + b. Over a batch of b pairs and k labels:

    F_B = f([h, g]) = W_h h + W_g g + b        F_G = f([0, g]) = W_g g + b
    F_L = (I − F_G (F_GᵀF_G)⁻¹ F_Gᵀ) F_B = (I − P_G) W_h h

The bias b of f is part of F_B and of F_G, and is projected out of F_L. A head without bias, as decoders have, has b =
0. The loss is the cross-entropy of F_L. As f is linear, g acts only through the projection, and its gradient comes
only from the effect of the projection on the loss. The authors have a second form, the cross-entropy of F_L + λ F_G:
there g learns to predict the label, so that the projection removes what predicts the label superficially. λ = 0 is the
first form.

Only the network is published. Its own logits are f([h, 0]) = W_h h + b, and logits − b gives W_h h in this module. The
authors' released code predicts by these logits (the *plain* head). The paper's text predicts argmax F_L: for one pair,
with ω* in place of a batch's coefficients, the *residual* head (`unbag.models.hex`).

The projection is least squares over the joint batch of all processes.

FSDP and DeepSpeed's ZeRO-3 gather the weights of a module for its forward pass and free them after it. Therefore a hook
copies the bias of the last layer during the forward pass of the network.

The superficial branch reads fixed embeddings (HEX paper, section 3: "a pre-trained embedding"). The decoder f is the
last linear layer of the sequence classifier.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.functional import cross_entropy

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical.embeddings import EmbeddingTable
from unbag.models.hex import ResidualHead, SuperficialBranch, WordTable, compute_hex_outputs
from unbag.training.config import HexOptions
from unbag.training.objective import BatchLoss, Objective

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped, unused-ignore]
    from transformers import PreTrainedTokenizerBase


_RIDGE: Final = 1e-6
"""Ridge relative to the mean eigenvalue of F_GᵀF_G, so that the scale of F_G has no effect. If a singular value of F_G
is s times the root mean square of its columns, a fraction 1e-6 / (s² + 1e-6) of that direction remains: a millionth at
s = 1, 1 % at s = 0.01, half at 0.001. Where float32 leaves only rounding (s = 1e-7), all of it remains. The ridge also
bounds the gradient: that of a plain projection grows with 1 / s, and that of a pseudo-inverse is unbounded where the
rank changes."""
_FLOOR: Final = 1e-12
"""Added to the ridge so that F_G = 0 explains nothing. F_G of 1e-6 is negligible compared with logits of about 1."""


def select_exact_dtype(device: torch.device) -> torch.dtype:
    """Select the dtype for sums over a batch: float64, or float32 on devices without float64.

    The products are k × k, so float64 costs nothing. In float32, squaring F_G would raise its error to the ridge's
    size.
    """
    return torch.float32 if device.type == "mps" else torch.float64


def solve_coefficients(gram: Tensor, cross: Tensor) -> Tensor:
    """Compute ω = (F_GᵀF_G)⁻¹ F_GᵀF_B with a ridge of 1e-6 (HEX paper, section 3, equation 1).

    Args:
        gram: F_GᵀF_G, shape (k, k), of any rank.
        cross: F_GᵀF_B, shape (k, m).

    Returns:
        Coefficients, shape (k, m). They and their gradients are finite.
    """
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    ridge = _RIDGE * gram.diagonal().mean() + _FLOOR
    # solve_ex skips the check for singularity, for which the host would wait for the device; the ridge rules it out.
    solution: Tensor = torch.linalg.solve_ex(gram + ridge * identity, cross).result
    return solution


def project_out(targets: Tensor, regressors: Tensor) -> Tensor:
    """Compute F_L = (I − F_G (F_GᵀF_G)⁻¹ F_Gᵀ) F_B, the residual of regressing `targets` on `regressors`.

    With several processes the rows are the batches of all processes together: F_GᵀF_G and F_GᵀF_B are summed over the
    processes. Each process's gradient then has its part of the losses of all processes. The mean over processes, which
    DDP computes, is therefore the gradient of one process with all rows.

    Args:
        targets: F_B, shape (b, m).
        regressors: F_G, shape (b, k). The result is well defined for collinear or zero columns, and for more columns
            than rows.

    Returns:
        F_L, shape (b, m), in the type of `targets`.
    """
    exact = select_exact_dtype(targets.device)
    f_b, f_g = targets.to(exact), regressors.to(exact)
    products = sum_over_processes(f_g.T @ torch.cat([f_g, f_b], dim=1))  # (k, k + m), one all-reduce for both
    k = f_g.shape[1]
    return (f_b - f_g @ solve_coefficients(products[:, :k], products[:, k:])).to(targets.dtype)


def sum_over_processes(value: Tensor) -> Tensor:
    """Sum a tensor over all processes differentiably. In the backward pass, gradients are summed over all processes."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return value
    return cast(Tensor, _AllReduce.apply(value))  # type: ignore[no-untyped-call]


class _AllReduce(torch.autograd.Function):
    """Differentiable all-reduce. That of `torch.distributed.nn` is deprecated, and its successor is private."""

    @staticmethod
    def forward(_: Any, value: Tensor) -> Tensor:
        total = value.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        # Each process's loss depends on the sum, and the sum on this process's value, so the gradients are summed too.
        return _AllReduce.forward(_, gradient)


@dataclass
class BiasSnapshot:
    """Copy of the bias vector of a layer, recorded in one forward pass.

    Attributes:
        bias: Copy of the bias, if the layer has one; gradients flow back to the layer.
    """

    bias: Tensor | None = None


class BiasHook:
    """Forward hook that copies the bias vector of a network's last linear layer."""

    def __init__(self, network: Any, layer: str) -> None:
        """Register the hook before the network is wrapped, so that it runs before the wrapper's hooks.

        Args:
            network: `PreTrainedModel`.
            layer: Name of the linear layer.
        """
        self._snapshot: BiasSnapshot | None = None
        network.get_submodule(layer).register_forward_hook(self._copy_bias)

    @contextmanager
    def record_bias(self) -> Iterator[BiasSnapshot]:
        """Record a copy of the bias vector when the network runs in the `with` block."""
        self._snapshot = BiasSnapshot()
        try:
            yield self._snapshot
        finally:
            self._snapshot = None

    def _copy_bias(self, module: Any, _inputs: Any, _output: Any) -> None:
        if self._snapshot is not None and module.bias is not None:
            self._snapshot.bias = module.bias.clone()  # FSDP and ZeRO-3 free the layer's own after its forward pass


def build_network_word_table(network: Any, special_ids: Collection[int]) -> WordTable:
    """Copy a network's token embeddings, without position embeddings and before any normalization.

    Args:
        network: `PreTrainedModel`.
        special_ids: Ids of special tokens.
    """
    vectors = network.get_input_embeddings().weight.detach().float().clone()
    is_word = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
    is_word[sorted(special_ids)] = False
    return WordTable(vectors, is_word)


def build_embedding_word_table(table: EmbeddingTable, network: Any, tokenizer: Any) -> WordTable:
    """Look up the embeddings of a tokenizer's tokens in another table, such as word vectors.

    A token has the embedding of its text, if the tokenizer turns that text into this one token, as it does with whole
    words. A piece such as `##ing` has none, nor has a word that is not in the table; g skips both. If the table splits
    a text into several of its tokens, the embedding is their mean.

    Args:
        table: Embeddings.
        network: `PreTrainedModel`.
        tokenizer: Tokenizer of the network.

    Raises:
        ValueError: If the table has none of the tokens.
    """
    vocabulary = network.get_input_embeddings().num_embeddings
    ids = sorted(set(range(min(vocabulary, len(tokenizer)))) - set(tokenizer.all_special_ids))
    texts = [tokenizer.decode([number], clean_up_tokenization_spaces=False) for number in ids]
    again = tokenizer(texts, add_special_tokens=False)["input_ids"]
    words = {number: text.strip() for number, text, made in zip(ids, texts, again, strict=True) if made == [number]}
    has_vector = table.count_tokens((text,) for text in words.values()).matrix.getnnz(axis=1) > 0
    matched = [number for number, has in zip(words, has_vector, strict=True) if has]
    if not matched:
        raise ValueError(
            f"expected embeddings for at least one of the {len(words):,} words of the tokenizer, got none; check the "
            "language of the embeddings"
        )
    vectors = torch.zeros(vocabulary, table.vectors.shape[1])
    vectors[matched] = torch.from_numpy(table.compute_means([(words[number],) for number in matched])).float()
    is_word = torch.zeros(vocabulary, dtype=torch.bool)
    is_word[matched] = True
    return WordTable(vectors, is_word)


_TOLERANCE: Final = 1e-5  # the outputs are the same numbers, perhaps copied or rounded alike to half precision


def find_last_linear(network: Any, inputs: Mapping[str, Tensor]) -> str:
    """Find the name of the linear layer whose outputs are the logits.

    Names differ between models (`classifier`, `classifier.out_proj`, `classification_head.out_proj`, `score`, …), so
    the search compares outputs. Of all linear layers with one output per label, the last one wins whose output for each
    example equals the logits. A decoder runs its layer at every position and returns the output at one, so any position
    may match.

    Args:
        network: `PreTrainedModel` for sequence classification.
        inputs: Batch of pairs of different lengths, hence with padding.

    Raises:
        ValueError: If there is no such layer, since the logits are no linear outputs or are changed after the layer.
    """
    k = network.config.num_labels
    outputs: list[tuple[str, Tensor]] = []

    def watch(name: str) -> Any:
        return lambda _module, _arguments, output: outputs.append((name, output))

    linear = {name: layer for name, layer in network.named_modules() if isinstance(layer, nn.Linear)}
    handles = [layer.register_forward_hook(watch(name)) for name, layer in linear.items() if layer.out_features == k]
    training = network.training
    network.eval()  # the layer is the same with dropout, but dropout would draw from torch's generator
    try:
        with torch.no_grad():
            logits: Tensor = network(**inputs).logits
    finally:
        network.train(training)
        for handle in handles:
            handle.remove()
    for name, output in reversed(outputs):
        if _holds(output, logits):
            return name
    last_layers = ", ".join(f"{name} ({layer.out_features} outputs)" for name, layer in list(linear.items())[-3:])
    raise ValueError(
        f"model: expected a classifier whose last linear layer computes the logits, got {type(network).__name__} with "
        f"{k} labels (last linear layers: {last_layers or 'none'}); use another model"
    )


def _holds(output: Any, logits: Tensor) -> bool:
    """Check whether a layer's output equals each example's logits at some position of that example."""
    if not isinstance(output, Tensor) or output.shape[:1] != logits.shape[:1] or output.shape[-1:] != logits.shape[-1:]:
        return False
    positions = output.reshape(len(logits), -1, logits.shape[-1])
    difference = (positions - logits[:, None]).abs().amax(dim=2).amin(dim=1)  # (b,)
    return bool((difference <= _TOLERANCE * logits.abs().amax().clamp(min=1)).all())


_PROBE: Final = "Two dogs run.", "Animals are moving."
_BRANCH: Final = "branch."


class HexObjective(Objective):
    """Objective of the HEX recipe, for classifiers whose logits are computed by a linear layer.

    In training the logits are those of F_L over the joint batch of all processes. The batch should have many more rows
    than k, since F_G explains k rows or fewer completely. In evaluation the logits are those of the published network,
    f([h, 0]), for each pair alone.

    The authors advise three things. A *warm start* from normal fine-tuning: a fraction `warm_start` of the steps, the
    first ones, minimize the cross-entropy of f([h, 0]). A *frozen embedding* for g: it is a fixed table, by default a
    copy of the network's input embeddings before training. *Both representations normalized*: their code scales each
    feature of h and g over the batch. Here g is scaled for each pair alone, so that the branch does not depend on the
    rest of the batch. h is unscaled; otherwise the published network would have another architecture.

    Attributes:
        branch: g and W_g, initialized from torch's generator like a new head.
        omega: ω*, shape (k, k), after `finish`.
    """

    passes: Tensor

    def __init__(
        self,
        network: Any,
        tokenizer: "PreTrainedTokenizerBase",
        options: HexOptions | None = None,
        *,
        gradient_accumulation_steps: int = 1,
    ) -> None:
        """Find the last linear layer of `network`, and add the superficial branch.

        Args:
            network: `PreTrainedModel` for sequence classification.
            tokenizer: Tokenizer of the network, which knows the special tokens.
            options: Options of HEX; by default those of `HexOptions`.
            gradient_accumulation_steps: Forward passes per step; each has its own projection.

        Raises:
            ValueError: If the network's logits are not the outputs of a linear layer, or the embeddings cannot be
                loaded or have none of the tokenizer's words.
        """
        super().__init__(network)
        options = options or HexOptions()
        self._gradient_accumulation_steps, self._warm_start = gradient_accumulation_steps, options.warm_start
        self._warm_passes = 0  # set by `begin`, which knows the number of steps
        self._superficial_weight = options.superficial_weight
        encoded = tokenizer(*_PROBE, return_tensors="pt")
        self._layer = find_last_linear(
            network, {name: encoded[name].to(network.device) for name in ("input_ids", "attention_mask")}
        )
        self._embeddings: str | None = None
        if options.embeddings is None:
            table = build_network_word_table(network, tokenizer.all_special_ids)
        else:
            named = embeddings.load_embeddings(options.embeddings)
            table, self._embeddings = build_embedding_word_table(named, network, tokenizer), named.identity
        self.branch = SuperficialBranch(
            table,
            network.config.num_labels,
            width=options.width or table.vectors.shape[1],
            normalize=not options.unscaled,
        ).to(network.device)
        self._watch = BiasHook(network, self._layer)
        self.omega: Tensor | None = None
        self._products: Tensor | None = None  # sums that `finish` collects
        # A counter on the device, so that the host never waits for a comparison with it.
        self.register_buffer("passes", torch.zeros((), dtype=torch.long, device=network.device), persistent=False)

    def compute_loss(self, labels: Tensor, **encoded: Tensor) -> BatchLoss:
        """Compute the cross-entropy of F_L + λ F_G or, during warm start and evaluation, of f([h, 0]).

        The loss parts are the cross-entropy of f([h, 0]) and, in training, the fraction of W_h h that F_G explains
        (squared sums over this process's batch).
        """
        if not self.training:
            plain = self.network(**encoded).logits.float()
            loss = cross_entropy(plain, labels)
            return BatchLoss(loss, plain, {"plain_cross_entropy": loss.detach()})
        plain, f_b, f_g = self._outputs(encoded)
        encoder_part = f_b - f_g  # W_h h
        residual = project_out(encoder_part, f_g)
        # torch.where instead of a branch: the host need not wait for the device, and every parameter has a gradient in
        # every step (zero for g in the warm start), which DDP requires.
        warm = self.passes < self._warm_passes
        with_superficial = residual + self._superficial_weight * f_g if self._superficial_weight else residual
        loss = cross_entropy(torch.where(warm, plain, with_superficial), labels)
        self.passes += 1
        with torch.no_grad():
            parts = {
                "plain_cross_entropy": cross_entropy(plain, labels),
                "explained": 1 - residual.square().sum() / encoder_part.square().sum().clamp(min=1e-12),
            }
        return BatchLoss(loss, torch.where(warm, plain, residual).detach(), parts)

    def _outputs(self, encoded: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the logits W_h h + b, F_B and F_G of a batch, each of shape (b, k), in float32."""
        mean = self.branch.compute_mean(encoded["input_ids"], encoded.get("attention_mask"))
        with self._watch.record_bias() as snapshot:
            plain = self.network(**encoded).logits.float()
        return plain, *compute_hex_outputs(self.branch, plain, mean, snapshot.bias)

    def predict(self, **encoded: Tensor) -> Tensor:
        """Compute the logits f([h, 0]) of the network that is saved after training."""
        if self._products is None:
            return super().predict(**encoded)
        plain, f_b, f_g = self._outputs(encoded)
        with torch.autocast(plain.device.type, enabled=False):
            self._products += f_g.T.to(self._products) @ torch.cat([f_g, f_b], dim=1).to(self._products)
        return plain

    def build_provenance(self) -> dict[str, Any]:
        """Build the JSON record of the embeddings of branch g. It is empty if g uses the network's own embeddings."""
        return {} if self._embeddings is None else {"embeddings": self._embeddings}

    def begin(self, step: int, steps: int) -> None:
        """Set the number of warm-start forward passes, and the number of completed forward passes."""
        self._warm_passes = math.ceil(self._warm_start * steps) * self._gradient_accumulation_steps
        self.passes.fill_(step * self._gradient_accumulation_steps)

    @torch.no_grad()
    def finish(self, module: nn.Module, batches: Iterable[dict[str, Tensor]], accelerator: "Accelerator") -> None:
        """Fit ω* on all training data, so that F_L(x) = F_B(x) − F_G(x) ω* does not depend on other pairs."""
        k, device = self.network.config.num_labels, accelerator.device
        # `predict` adds to this tensor and does not return the products: FSDP may round what a module returns.
        self._products = torch.zeros(k, 2 * k, dtype=select_exact_dtype(device), device=device)
        was_training = module.training
        module.eval()
        for batch in batches:
            module(None, **batch)
        module.train(was_training)
        summed: Tensor = accelerator.reduce(self._products, reduction="sum")
        self._products = None
        self.omega = solve_coefficients(summed[:, :k], summed[:, k:]).float()

    def save(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Save g, W_g and ω* to a folder for `models.hex.ResidualHead.load`. Call `finish` first."""
        assert self.omega is not None, "finish fits what save writes"
        branch_weights = {
            name.removeprefix(_BRANCH): value for name, value in weights.items() if name.startswith(_BRANCH)
        }
        branch = SuperficialBranch.from_weights(branch_weights, self.branch.table, normalize=self.branch.normalize)
        ResidualHead(self._layer, branch, self.omega).save(folder)
