"""HEX: training on the component of a classifier's outputs that superficial word statistics do not explain.

"Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language Inference"
(anonymous EMNLP-IJCNLP submission), section 3, after Wang et al. 2019, "Learning Robust Representations by Projecting
Superficial Statistics Out", https://arxiv.org/abs/1903.06256.

h is the input of the network's last linear layer, W_h and b that layer's weight and bias; g = ReLU(W^φ · mean
embedding) is the superficial branch (`unbag.models.hex`), and f, the layer widened to take both, is
f([h, g]) = W_h h + W_g g + b. Over a batch of b pairs and k labels:

    F_B = f([h, g]) = W_h h + W_g g + b        F_G = f([0, g]) = W_g g + b
    F_L = (I − F_G (F_GᵀF_G)⁻¹ F_Gᵀ) F_B = (I − P_G) W_h h

The bias b of f is part of F_B and of F_G, and is projected out of F_L; b is 0 in a head without bias. The loss is the
cross-entropy of F_L. As f is linear, g acts only through the projection, and its gradient comes only from the effect of
the projection on the loss. The authors have a second form, the cross-entropy of F_L + λ F_G: there g learns to predict
the label, so that the projection removes what predicts the label superficially. λ = 0 is the first form.

Only the network is published. Its own logits are f([h, 0]) = W_h h + b (the *plain* head). `unbag.models.hex` has the
*residual* head, which predicts argmax F_L for one pair.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.functional import cross_entropy
from transformers.utils.generic import ModelOutput

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical.embeddings import EmbeddingTable
from unbag.models.hex import ResidualHead, SuperficialBranch, WordTable, compute_hex_outputs
from unbag.training.recipes import HexConfig
from unbag.training.trainer import PairTrainer

_RIDGE: Final = 1e-6
"""Ridge relative to the mean eigenvalue of F_GᵀF_G, so that the scale of F_G has no effect. If a singular value of F_G
is s times the root mean square of its columns, a fraction 1e-6 / (s² + 1e-6) of that direction remains. The ridge also
bounds the gradient: that of a plain projection grows with 1 / s, and that of a pseudo-inverse is unbounded where the
rank changes."""
_FLOOR: Final = 1e-12
"""Added to the ridge so that F_G = 0 explains nothing. F_G of 1e-6 is negligible compared with logits of about 1."""


def select_exact_dtype(device: torch.device) -> torch.dtype:
    """Select the dtype for sums over a batch: float64, or float32 on devices without float64."""
    # The products are k × k, so float64 costs nothing. In float32, squaring F_G would raise its error to the ridge's
    # size.
    return torch.float32 if device.type == "mps" else torch.float64


def solve_coefficients(gram: Tensor, cross: Tensor) -> Tensor:
    """Compute ω = (F_GᵀF_G)⁻¹ F_GᵀF_B, shape (k, m), with a ridge of 1e-6 (HEX paper, section 3, equation 1).

    `gram` is F_GᵀF_G, shape (k, k), of any rank, and `cross` is F_GᵀF_B. Coefficients and gradients are finite.
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

    `targets` is F_B, shape (b, m), and `regressors` is F_G, shape (b, k). The result is well defined for collinear or
    zero columns of F_G, and for more columns than rows.
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


def build_network_word_table(network: Any, special_ids: Collection[int]) -> WordTable:
    """Copy a network's token embeddings, without position embeddings and before any normalization."""
    vectors = network.get_input_embeddings().weight.detach().float().clone()
    is_word = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
    is_word[sorted(special_ids)] = False
    return WordTable(vectors, is_word)


def build_embedding_word_table(table: EmbeddingTable, network: Any, tokenizer: Any) -> WordTable:
    """Look up the embeddings of a tokenizer's tokens in another table, such as word vectors.

    A token has the embedding of its text, if the tokenizer turns that text into this one token, as it does with whole
    words. A piece such as `##ing` has none, nor has a word that is not in the table; g skips both. If the table splits
    a text into several of its tokens, the embedding is their mean.
    """
    vocabulary = network.get_input_embeddings().num_embeddings
    ids = sorted(set(range(min(vocabulary, len(tokenizer)))) - set(tokenizer.all_special_ids))
    texts = [tokenizer.decode([number], clean_up_tokenization_spaces=False) for number in ids]
    again = tokenizer(texts, add_special_tokens=False)["input_ids"]
    words = {number: text.strip() for number, text, made in zip(ids, texts, again, strict=True) if made == [number]}
    has_vector = table.count_tokens((text,) for text in words.values()).getnnz(axis=1) > 0
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
    """Find the name of the linear layer whose outputs are the logits of a sequence classifier.

    Names differ between models, so the search compares outputs. Of all linear layers with one output per label, the
    last one wins whose output for each example equals the logits. A decoder runs its layer at every position and
    returns the output at one, so any position may match.

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
        f"--model: expected a classifier whose last linear layer computes the logits, got {type(network).__name__} "
        f"with {k} labels (last linear layers: {last_layers or 'none'}); use another model"
    )


def _holds(output: Any, logits: Tensor) -> bool:
    """Check whether a layer's output equals each example's logits at some position of that example."""
    if not isinstance(output, Tensor) or output.shape[:1] != logits.shape[:1] or output.shape[-1:] != logits.shape[-1:]:
        return False
    positions = output.reshape(len(logits), -1, logits.shape[-1])
    difference = (positions - logits[:, None]).abs().amax(dim=2).amin(dim=1)  # (b,)
    return bool((difference <= _TOLERANCE * logits.abs().amax().clamp(min=1)).all())


PROBE: Final = "Two dogs run.", "Animals are moving."
_BRANCH: Final = "superficial"


def find_last_linear_of_pairs(network: Any, tokenizer: Any) -> str:
    """Find the name of the linear layer whose outputs are the logits, with a probe pair. See `find_last_linear`."""
    encoded = tokenizer(*PROBE, return_tensors="pt")
    inputs = {name: encoded[name].to(network.device) for name in ("input_ids", "attention_mask")}
    return find_last_linear(network, inputs)


@dataclass
class HexOutput(ModelOutput):
    """Outputs of a network with a superficial branch: its logits, F_B and F_G, shape (b, k) each, in float32."""

    logits: Tensor | None = None
    f_b: Tensor | None = None
    f_g: Tensor | None = None


def attach_branch(network: Any, layer: str, branch: SuperficialBranch) -> None:
    """Add the superficial branch to a network as the module `superficial`. The network then returns `HexOutput`.

    `layer` is the name of its last linear layer. The hooks must be registered before the network is wrapped, so that
    they run before the hooks of the wrapper: FSDP and ZeRO-3 free the weights of a module after its forward pass.
    """
    biases: list[Tensor | None] = []
    network.add_module(_BRANCH, branch)

    def copy_bias(module: Any, _inputs: Any, _output: Any) -> None:
        biases[:] = [None if module.bias is None else module.bias.clone()]

    def add_outputs(module: Any, _: Any, encoded: Mapping[str, Any], output: Any) -> HexOutput:
        added = module.get_submodule(_BRANCH)
        mean = added.compute_mean(encoded["input_ids"], encoded.get("attention_mask"))
        plain = output.logits.float()
        f_b, f_g = compute_hex_outputs(added, plain, mean, biases.pop())
        return HexOutput(logits=plain, f_b=f_b, f_g=f_g)

    network.get_submodule(layer).register_forward_hook(copy_bias)
    network.register_forward_hook(add_outputs, with_kwargs=True)


def compute_residual(f_b: Tensor, f_g: Tensor) -> tuple[Tensor, Tensor]:
    """Compute F_L, and the fraction of W_h h that F_G explains (squared sums over this process's batch)."""
    encoder_part = f_b - f_g  # W_h h; F_L = (I − P_G) F_B is the same, but with more rounding
    residual = project_out(encoder_part, f_g)
    with torch.no_grad():
        explained = 1 - residual.square().sum() / encoder_part.square().sum().clamp(min=1e-12)
    return residual, explained


class HexTrainer(PairTrainer):
    """Trainer with the HEX loss, for classifiers whose logits are computed by a linear layer.

    In training the logits are those of F_L over the joint batch of all processes. The batch should have many more rows
    than k, since F_G explains k rows or fewer completely. In evaluation the logits are those of the published network,
    f([h, 0]), for each pair alone. The attribute `omega` is ω*, shape (k, k), which `finish` fits after the training.

    As the authors advise, the first steps (`warm_start`) minimize the cross-entropy of f([h, 0]), and g reads a fixed
    table of embeddings. Their code scales each feature of h and g over the batch. Here g is scaled for each pair alone,
    and h is not, so that the published network has the same architecture.
    """

    extra_modules = (_BRANCH,)

    def __init__(self, model: Any, config: HexConfig, *, tokenizer: Any, **options: Any) -> None:
        """Find the last linear layer of the network, and add the superficial branch."""
        self._layer = find_last_linear_of_pairs(model, tokenizer)
        self._embeddings: str | None = None
        if config.embeddings is None:
            table = build_network_word_table(model, tokenizer.all_special_ids)
        else:
            named = embeddings.load_embeddings(config.embeddings)
            table, self._embeddings = build_embedding_word_table(named, model, tokenizer), named.identity
        width = config.width or table.vectors.shape[1]
        self.branch = SuperficialBranch(table, model.config.num_labels, width=width, normalize=not config.unscaled)
        attach_branch(model, self._layer, self.branch.to(model.device))
        self.omega: Tensor | None = None
        super().__init__(model, config, tokenizer=tokenizer, **options)

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Compute the cross-entropy of F_L + λ F_G or, during warm start, of f([h, 0])."""
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        plain = outputs.logits.float()
        residual, explained = compute_residual(outputs.f_b, outputs.f_g)
        logits = residual + self.config.superficial_weight * outputs.f_g
        if self.state.global_step < math.ceil(self.config.warm_start * self.state.max_steps):
            # DDP requires a gradient for every parameter in every step; that of g is zero here.
            logits = plain + 0 * logits
        loss = cross_entropy(logits, labels)
        self.record(plain_cross_entropy=cross_entropy(plain, labels), explained=explained)
        return (loss, outputs) if return_outputs else loss

    @torch.no_grad()
    def finish(self) -> None:
        """Fit ω* on all training data, so that F_L(x) = F_B(x) − F_G(x) ω* does not depend on other pairs.

        All processes call this method together.
        """
        k = self.branch.decoder.out_features
        products = torch.zeros(k, 2 * k, dtype=select_exact_dtype(self.args.device), device=self.args.device)
        set_epoch = getattr(self.train_dataset, "set_epoch", None)
        if set_epoch is not None:
            # Augmented pairs differ between epochs, so ω* is always fitted on the same one.
            set_epoch(0)
        self.model_wrapped.eval()
        for inputs in self.get_train_dataloader():
            inputs.pop("labels", None)
            outputs = self.model_wrapped(**self._prepare_inputs(inputs))
            # The last batches of several processes repeat pairs, which this method drops.
            f_b, f_g = self.accelerator.gather_for_metrics((outputs.f_b, outputs.f_g))
            products += f_g.T.to(products) @ torch.cat([f_g, f_b], dim=1).to(products)
        self.omega = solve_coefficients(products[:, :k], products[:, k:]).float()

    def build_provenance(self) -> dict[str, Any]:
        """Build the JSON record of the embeddings of branch g. It is empty if g uses the network's own embeddings."""
        return {} if self._embeddings is None else {"embeddings": self._embeddings}

    def save_extra(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Save g, W_g and ω* to a folder for `models.hex.ResidualHead.load`."""
        assert self.omega is not None, "`finish` fits ω*"
        prefix = f"{_BRANCH}."
        own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
        branch = SuperficialBranch.from_weights(own, self.branch.table, normalize=self.branch.normalize)
        ResidualHead(self._layer, branch, self.omega).save(folder)
