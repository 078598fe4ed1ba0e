"""HEX: train a classifier on what the words alone do not explain of its outputs.

"Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language Inference"
(anonymous EMNLP-IJCNLP submission), section 3, after Wang et al. 2019, "Learning Robust Representations by Projecting
Superficial Statistics Out", https://arxiv.org/abs/1903.06256.

h is the input of the network's last linear layer, W_h and b that layer's weight and bias; g = ReLU(W^φ · mean
embedding) is the superficial branch (`superficial.py`), and f, the layer widened to take both, is
f([h, g]) = W_h h + W_g g + b. Over a batch of b pairs and k labels:

    F_B = f([h, g]) = W_h h + W_g g + b        F_G = f([0, g]) = W_g g + b
    F_L = (I − F_G (F_GᵀF_G)⁻¹ F_Gᵀ) F_B = (I − P_G) W_h h

The bias is f's, so it is in F_B and in F_G, and is projected out of F_L (a head without bias, as decoders have, has
b = 0). The loss is the cross-entropy of F_L. As f is linear, g acts only through what it removes, and is trained only
for what that does to the loss. The authors have a second form, the cross-entropy of F_L + λ F_G: there g is trained to
predict the label, so that what is removed is what does predict it superficially. λ = 0 is the first form.

What is published is the network alone: its own logits are f([h, 0]) = W_h h + b, which is also how W_h h is had here,
as logits − b. They are what the authors' released code predicts by (the *plain* head). The paper's text predicts
argmax F_L: for one pair, with ω* in place of a batch's coefficients, the *residual* head (`unbag.hex.residual`).
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from unbag.baselines.lexical import embeddings
from unbag.hex.residual import ResidualHead, both_outputs
from unbag.hex.superficial import SuperficialBranch
from unbag.training.last_linear import last_linear
from unbag.training.objective import Loss, Objective
from unbag.training.options import HexOptions
from unbag.training.projection import coefficients, exact_dtype, project_out
from unbag.training.seen import Watch
from unbag.training.word_table import of_embeddings, of_network

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped, unused-ignore]
    from transformers import PreTrainedTokenizerBase

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
        accumulation: int = 1,
    ) -> None:
        """Widen the last layer of `network`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            tokenizer: its tokenizer, which knows the tokens that are no words.
            options: by default as `HexOptions` has them.
            accumulation: forward passes that make a step; each has a projection of its own.

        Raises:
            ValueError: if the network's logits are not the outputs of a linear layer, or the embeddings cannot be had
                or have none of the tokenizer's words.
        """
        super().__init__(network)
        options = options or HexOptions()
        self._accumulation, self._warm_start = accumulation, options.warm_start
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
        self._watch = Watch(network, self._layer)
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

    def made_with(self) -> dict[str, Any]:
        """Return which embeddings g reads, where they are not the network's own."""
        return {} if self._embeddings is None else {"embeddings": self._embeddings}

    def begin(self, step: int, steps: int) -> None:
        """Count the passes of the warm start and of the steps that were taken."""
        self._warm_passes = math.ceil(self._warm_start * steps) * self._accumulation
        self.passes.fill_(step * self._accumulation)

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
