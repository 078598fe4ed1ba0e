"""HEX: train a classifier on what the words alone do not explain of its outputs.

"Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language Inference"
(anonymous EMNLP-IJCNLP submission), section 3, after Wang et al. 2019, "Learning Robust Representations by Projecting
Superficial Statistics Out", https://arxiv.org/abs/1903.06256.

h is the input of the network's last linear layer, W_h and b that layer's weight and bias; g = ReLU(W^φ · mean
embedding) is the superficial branch (`unbag.models.hex.superficial`), and f, the layer widened to take both, is
f([h, g]) = W_h h + W_g g + b. Over a batch of b pairs and k labels:

    F_B = f([h, g]) = W_h h + W_g g + b        F_G = f([0, g]) = W_g g + b
    F_L = (I − F_G (F_GᵀF_G)⁻¹ F_Gᵀ) F_B = (I − P_G) W_h h

The bias is f's, so it is in F_B and in F_G, and is projected out of F_L (a head without bias, as decoders have, has
b = 0). The loss is the cross-entropy of F_L. As f is linear, g acts only through what it removes, and is trained only
for what that does to the loss. The authors have a second form, the cross-entropy of F_L + λ F_G: there g is trained to
predict the label, so that what is removed is what does predict it superficially. λ = 0 is the first form.

What is published is the network alone: its own logits are f([h, 0]) = W_h h + b, which is also how W_h h is had here,
as logits − b. They are what the authors' released code predicts by (the *plain* head). The paper's text predicts
argmax F_L: for one pair, with ω* in place of a batch's coefficients, the *residual* head (`unbag.models.hex.residual`).

The projection is least squares over a batch, of all processes together.

FSDP and DeepSpeed's ZeRO-3 gather the weights of a module for its forward pass and drop them after it. So the last
layer's bias is read by a hook, in the midst of the network's pass.

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
from unbag.baselines.lexical.embeddings import Table
from unbag.models.hex.residual import ResidualHead, both_outputs
from unbag.models.hex.superficial import SuperficialBranch, WordTable
from unbag.training.config import HexOptions
from unbag.training.objective import Loss, Objective

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped, unused-ignore]
    from transformers import PreTrainedTokenizerBase


_RIDGE: Final = 1e-6
"""Relative to the mean eigenvalue of F_GᵀF_G, whatever the scale of F_G. A direction in which the columns of F_G have a
singular value of s times their root mean square is removed up to a share of 1e-6 / (s² + 1e-6): all but a millionth at
s = 1, all but 1 % at s = 0.01, half at 0.001, and nothing where float32 leaves only rounding (1e-7). It bounds the
gradient, too: a projection's grows with 1 / s, and a pseudo-inverse's has no bound where the rank changes."""
_FLOOR: Final = 1e-12
"""Added so that F_G = 0 explains nothing. F_G of 1e-6 is nothing beside logits of the order of 1."""


def exact_dtype(device: torch.device) -> torch.dtype:
    """Return the type that sums over a batch are made in: float64, or float32 where the device has no other.

    The products are k × k, so it costs nothing; float32 would square the error of F_G into the ridge's size.
    """
    return torch.float32 if device.type == "mps" else torch.float64


def coefficients(gram: Tensor, cross: Tensor) -> Tensor:
    """Return ω = (F_GᵀF_G)⁻¹ F_GᵀF_B, equation 1 of the HEX paper, section 3, with a ridge of 1e-6.

    Args:
        gram: F_GᵀF_G, shape (k, k), of any rank.
        cross: F_GᵀF_B, shape (k, m).

    Returns:
        Shape (k, m); finite, as are its gradients.
    """
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    ridge = _RIDGE * gram.diagonal().mean() + _FLOOR
    # solve_ex does not wait for the device to tell whether the matrix is singular: it is not.
    solution: Tensor = torch.linalg.solve_ex(gram + ridge * identity, cross).result
    return solution


def project_out(explained: Tensor, explaining: Tensor) -> Tensor:
    """Return F_L = (I − F_G (F_GᵀF_G)⁻¹ F_Gᵀ) F_B, what `explaining` does not explain of `explained`.

    Under several processes the rows are the batches of all of them together: F_GᵀF_G and F_GᵀF_B are summed over the
    processes. Then every process's gradient holds its part of all processes' losses, so that the mean over processes
    (what DDP leaves) is the gradient of one process with all the rows.

    Args:
        explained: F_B, shape (b, m).
        explaining: F_G, shape (b, k). Collinear, zero, or more columns than rows: all are well defined.

    Returns:
        Shape (b, m), in the type of `explained`.
    """
    exact = exact_dtype(explained.device)
    f_b, f_g = explained.to(exact), explaining.to(exact)
    products = sum_over_processes(f_g.T @ torch.cat([f_g, f_b], dim=1))  # (k, k + m), in one go
    k = f_g.shape[1]
    return (f_b - f_g @ coefficients(products[:, :k], products[:, k:])).to(explained.dtype)


def sum_over_processes(value: Tensor) -> Tensor:
    """Return the sum of the processes' values, in each of them; its gradient is the sum of theirs."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return value
    return cast(Tensor, _AllReduce.apply(value))  # type: ignore[no-untyped-call]


class _AllReduce(torch.autograd.Function):
    """The differentiable sum. That of `torch.distributed.nn` is deprecated, its successor in a private module."""

    @staticmethod
    def forward(_: Any, value: Tensor) -> Tensor:
        total = value.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        # Each process's loss depends on the sum, and the sum on this process's value.
        return _AllReduce.forward(_, gradient)


@dataclass
class BiasSnapshot:
    """What was seen in one pass.

    Attributes:
        bias: a copy of the last layer's, if it has one; its gradient is the layer's.
    """

    bias: Tensor | None = None


class BiasHook:
    """Looks at a network's last linear layer while it runs."""

    def __init__(self, network: Any, layer: str) -> None:
        """Put a hook into a network before it is wrapped, so that it runs before the wrapper's.

        Args:
            network: a `PreTrainedModel`.
            layer: the name of the linear layer.
        """
        self._seen: BiasSnapshot | None = None
        network.get_submodule(layer).register_forward_hook(self._see_bias)

    @contextmanager
    def during(self) -> Iterator[BiasSnapshot]:
        """Look on while the network runs in this context."""
        self._seen = BiasSnapshot()
        try:
            yield self._seen
        finally:
            self._seen = None

    def _see_bias(self, module: Any, _inputs: Any, _output: Any) -> None:
        if self._seen is not None and module.bias is not None:
            self._seen.bias = module.bias.clone()  # the layer's own may be gone when it is needed


def of_network(network: Any, special: Collection[int]) -> WordTable:
    """Copy a network's input embeddings, as they are now, without positions and before any normalisation of its own.

    Args:
        network: a `PreTrainedModel`.
        special: token ids that are no words.
    """
    vectors = network.get_input_embeddings().weight.detach().float().clone()
    is_word = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
    is_word[sorted(special)] = False
    return WordTable(vectors, is_word)


def of_embeddings(table: Table, network: Any, tokenizer: Any) -> WordTable:
    """Look up the tokens of a network's tokenizer in other embeddings, such as word vectors.

    A token has the embedding of its text, if the tokenizer makes that one token of the text: so a whole word has one. A
    piece such as `##ing` has none, nor has a word that the table lacks: they are no words to g. Where the table cuts a
    text into tokens of its own, the embedding is their mean.

    Args:
        table: the embeddings.
        network: a `PreTrainedModel`.
        tokenizer: its tokenizer.

    Raises:
        ValueError: if the table has none of the tokens.
    """
    vocabulary = network.get_input_embeddings().num_embeddings
    ids = sorted(set(range(min(vocabulary, len(tokenizer)))) - set(tokenizer.all_special_ids))
    texts = [tokenizer.decode([number], clean_up_tokenization_spaces=False) for number in ids]
    again = tokenizer(texts, add_special_tokens=False)["input_ids"]
    words = {number: text.strip() for number, text, made in zip(ids, texts, again, strict=True) if made == [number]}
    has_one = table.counts((text,) for text in words.values()).matrix.getnnz(axis=1) > 0
    found = [number for number, known in zip(words, has_one, strict=True) if known]
    if not found:
        raise ValueError(
            f"expected embeddings of some of the tokenizer's {len(words):,} words, got none; is it the right language?"
        )
    vectors = torch.zeros(vocabulary, table.vectors.shape[1])
    vectors[found] = torch.from_numpy(table.means([(words[number],) for number in found])).float()
    is_word = torch.zeros(vocabulary, dtype=torch.bool)
    is_word[found] = True
    return WordTable(vectors, is_word)


_TOLERANCE: Final = 1e-5  # the same numbers, at most copied to another place; half precision rounds them alike


def last_linear(network: Any, inputs: Mapping[str, Tensor]) -> str:
    """Return the name of the linear layer whose outputs are the logits.

    Found by looking, not by name (`classifier`, `classifier.out_proj`, `classification_head.out_proj`, `score`, …): of
    all linear layers with one output a label, the last one run whose output for each example is that example's logits.
    A decoder runs its layer at every position and returns one of them, so any position may be the one.

    Args:
        network: a `PreTrainedModel` for sequence classification.
        inputs: a batch to run, of pairs of different lengths, hence with padding.

    Raises:
        ValueError: if there is no such layer: the logits are not linear in anything, or are changed after the layer.
    """
    k = network.config.num_labels
    seen: list[tuple[str, Tensor]] = []

    def watch(name: str) -> Any:
        return lambda _module, _arguments, output: seen.append((name, output))

    linear = {name: layer for name, layer in network.named_modules() if isinstance(layer, nn.Linear)}
    handles = [layer.register_forward_hook(watch(name)) for name, layer in linear.items() if layer.out_features == k]
    training = network.training
    network.eval()  # dropout would not change the layer, but this draws no random number
    try:
        with torch.no_grad():
            logits: Tensor = network(**inputs).logits
    finally:
        network.train(training)
        for handle in handles:
            handle.remove()
    for name, output in reversed(seen):
        if _holds(output, logits):
            return name
    last_layers = ", ".join(f"{name} ({layer.out_features} outputs)" for name, layer in list(linear.items())[-3:])
    raise ValueError(
        f"expected a classifier whose logits are the outputs of its last linear layer, got none in "
        f"{type(network).__name__} with {k} labels (its last ones: {last_layers or 'none'}); this recipe needs one"
    )


def _holds(output: Any, logits: Tensor) -> bool:
    """Tell whether a layer's output holds each example's logits, at some position of that example."""
    if not isinstance(output, Tensor) or output.shape[:1] != logits.shape[:1] or output.shape[-1:] != logits.shape[-1:]:
        return False
    positions = output.reshape(len(logits), -1, logits.shape[-1])
    difference = (positions - logits[:, None]).abs().amax(dim=2).amin(dim=1)  # (b,)
    return bool((difference <= _TOLERANCE * logits.abs().amax().clamp(min=1)).all())


_PROBE: Final = "Two dogs run.", "Animals are moving."
_BRANCH: Final = "branch."


class Hex(Objective):
    """HEX for any sequence classifier whose logits come from a linear layer.

    In training the logits are those of F_L over the joint batch of all processes, which should be well above k: F_G
    explains all of k rows or fewer. In evaluation they are the published network's, f([h, 0]), each pair for itself.

    The authors advise three things. A *warm start* from normal fine-tuning: in the first steps, a share `warm_start` of
    all, the cross-entropy of f([h, 0]) is minimised. g's *embedding is frozen*: it is a fixed table, by default a copy
    of the network's input embeddings as they are before training. *Both representations normalised*: their code scales
    each feature of h and g over the batch. Here g is scaled for each pair alone, so that the branch knows no
    neighbours; h is as it comes, or the published network would not be its unchanged architecture.

    Attributes:
        branch: g and W_g, drawn from torch's generator as a new head is.
        omega: ω*, shape (k, k), once `finish` has fitted it.
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
        """Widen the last layer of `network`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            tokenizer: its tokenizer, which knows the tokens that are no words.
            options: by default as `HexOptions` has them.
            gradient_accumulation_steps: forward passes that make a step; each has a projection of its own.

        Raises:
            ValueError: if the network's logits are not the outputs of a linear layer, or the embeddings cannot be had
                or have none of the tokenizer's words.
        """
        super().__init__(network)
        options = options or HexOptions()
        self._gradient_accumulation_steps, self._warm_start = gradient_accumulation_steps, options.warm_start
        self._warm_passes = 0  # until `begin` knows how many steps there are
        self._superficial_weight = options.superficial_weight
        encoded = tokenizer(*_PROBE, return_tensors="pt")
        self._layer = last_linear(
            network, {name: encoded[name].to(network.device) for name in ("input_ids", "attention_mask")}
        )
        self._embeddings: str | None = None
        if options.embeddings is None:
            table = of_network(network, tokenizer.all_special_ids)
        else:
            named = embeddings.load(options.embeddings)
            table, self._embeddings = of_embeddings(named, network, tokenizer), named.identity
        self.branch = SuperficialBranch(
            table,
            network.config.num_labels,
            width=options.width or table.vectors.shape[1],
            normalise=not options.unscaled,
        ).to(network.device)
        self._watch = BiasHook(network, self._layer)
        self.omega: Tensor | None = None
        self._products: Tensor | None = None  # while `finish` sums them
        # On the device, so that it need not be waited for.
        self.register_buffer("passes", torch.zeros((), dtype=torch.long, device=network.device), persistent=False)

    def loss(self, labels: Tensor, **encoded: Tensor) -> Loss:
        """Return the cross-entropy of F_L + λ F_G in training, of f([h, 0]) in the warm start and in evaluation.

        Its parts: the cross-entropy of f([h, 0]) and, in training, the share of W_h h (its squared sum over this
        process's batch) that F_G explains.
        """
        if not self.training:
            plain = self.network(**encoded).logits.float()
            loss = cross_entropy(plain, labels)
            return Loss(loss, plain, {"plain_cross_entropy": loss.detach()})
        plain, f_b, f_g = self._outputs(encoded)
        encoder_part = f_b - f_g  # W_h h
        residual = project_out(encoder_part, f_g)
        # Chosen without a branch: the device is not waited for, and every parameter has a gradient in every step (zero
        # for g in the warm start), without which DDP stops.
        warm = self.passes < self._warm_passes
        with_superficial = residual + self._superficial_weight * f_g if self._superficial_weight else residual
        loss = cross_entropy(torch.where(warm, plain, with_superficial), labels)
        self.passes += 1
        with torch.no_grad():
            parts = {
                "plain_cross_entropy": cross_entropy(plain, labels),
                "explained": 1 - residual.square().sum() / encoder_part.square().sum().clamp(min=1e-12),
            }
        return Loss(loss, torch.where(warm, plain, residual).detach(), parts)

    def _outputs(self, encoded: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits W_h h + b, F_B and F_G of a batch, each of shape (b, k), in float32."""
        mean = self.branch.mean(encoded["input_ids"], encoded.get("attention_mask"))
        with self._watch.during() as seen:
            plain = self.network(**encoded).logits.float()
        return plain, *both_outputs(self.branch, plain, mean, seen.bias)

    def predict(self, **encoded: Tensor) -> Tensor:
        """Return the published network's logits, f([h, 0])."""
        if self._products is None:
            return super().predict(**encoded)
        plain, f_b, f_g = self._outputs(encoded)
        with torch.autocast(plain.device.type, enabled=False):
            self._products += f_g.T.to(self._products) @ torch.cat([f_g, f_b], dim=1).to(self._products)
        return plain

    def provenance(self) -> dict[str, Any]:
        """Return which embeddings g reads, where they are not the network's own."""
        return {} if self._embeddings is None else {"embeddings": self._embeddings}

    def begin(self, step: int, steps: int) -> None:
        """Count the passes of the warm start and of the steps that were taken."""
        self._warm_passes = math.ceil(self._warm_start * steps) * self._gradient_accumulation_steps
        self.passes.fill_(step * self._gradient_accumulation_steps)

    @torch.no_grad()
    def finish(self, module: nn.Module, batches: Iterable[dict[str, Tensor]], accelerator: "Accelerator") -> None:
        """Fit ω* over all the training data, so that F_L(x) = F_B(x) − F_G(x) ω* is a function of one pair."""
        k, device = self.network.config.num_labels, accelerator.device
        # Summed in `predict`, not returned by it: FSDP may be configured to round what a module returns.
        self._products = torch.zeros(k, 2 * k, dtype=exact_dtype(device), device=device)
        was_training = module.training
        module.eval()
        for batch in batches:
            module(None, **batch)
        module.train(was_training)
        summed: Tensor = accelerator.reduce(self._products, reduction="sum")
        self._products = None
        self.omega = coefficients(summed[:, :k], summed[:, k:]).float()

    def save(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Write g, W_g and ω* beside the network, for `residual.ResidualHead.load`; after `finish`."""
        assert self.omega is not None, "finish fits what save writes"
        learnt = {name.removeprefix(_BRANCH): value for name, value in weights.items() if name.startswith(_BRANCH)}
        branch = SuperficialBranch.of(learnt, self.branch.table, normalise=self.branch.normalise)
        ResidualHead(self._layer, branch, self.omega).save(folder)
