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
b = 0). The loss is the cross-entropy of F_L. What is published is the network alone: its own logits are
f([h, 0]) = W_h h + b, which is also how W_h h is had here, as logits − b.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from unbag.training.last_linear import last_linear
from unbag.training.objective import Loss, Objective
from unbag.training.options import HexOptions
from unbag.training.projection import coefficients, exact_dtype, project_out
from unbag.training.residual import ResidualHead, both_outputs
from unbag.training.superficial import SuperficialBranch

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped, unused-ignore]
    from transformers import PreTrainedTokenizerBase

_PROBE = "Two dogs run.", "Animals are moving."


class Hex(Objective):
    """HEX for any sequence classifier whose logits come from a linear layer.

    In training the logits and the loss are those of F_L over the joint batch of all processes, which should be well
    above k: F_G explains all of k rows or fewer. In evaluation they are the published network's, f([h, 0]), each pair
    for itself.

    The authors advise three things. A *warm start* from normal fine-tuning: the first `warm_start` steps minimise the
    cross-entropy of f([h, 0]). g's *embedding is frozen*: no gradient goes through g into it. *Both representations
    normalised*: their code scales each feature of h and g over the batch. Here g is scaled for each pair alone, so that
    the branch knows no neighbours; h is as it comes, or the published network would not be its unchanged architecture.

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
            ValueError: if the network's logits are not the outputs of a linear layer.
        """
        super().__init__(network)
        options = options or HexOptions()
        self._warm_passes = options.warm_start * accumulation
        encoded = tokenizer(*_PROBE, return_tensors="pt")
        self._layer = last_linear(
            network, {name: encoded[name].to(network.device) for name in ("input_ids", "attention_mask")}
        )
        table = network.get_input_embeddings().weight
        self.branch = SuperficialBranch(
            table.shape[1],
            network.config.num_labels,
            tokenizer.all_special_ids,
            width=options.width or table.shape[1],
            normalise=not options.unscaled,
        ).to(network.device)
        self.omega: Tensor | None = None
        # A buffer, so that a resumed run goes on where it was.
        self.register_buffer("passes", torch.zeros((), dtype=torch.long, device=network.device))

    def forward(self, labels: Tensor, **encoded: Tensor) -> Loss:
        """Return the cross-entropy of F_L in training, of f([h, 0]) in the warm start and in evaluation.

        Its parts: the cross-entropy of f([h, 0]) and, in training, the share of W_h h (its squared sum over this
        process's batch) that F_G explains.
        """
        plain = self.network(**encoded).logits.float()
        if not self.training:
            loss = cross_entropy(plain, labels)
            return Loss(loss, plain, {"plain_cross_entropy": loss.detach()})
        f_b, f_g = both_outputs(self.network, self._layer, self.branch, plain, encoded)
        encoder_part = f_b - f_g  # W_h h
        residual = project_out(encoder_part, f_g)
        # Chosen without a branch: the device is not waited for, and every parameter has a gradient in every step (zero
        # for g in the warm start), without which DDP stops.
        logits = torch.where(self.passes < self._warm_passes, plain, residual)
        self.passes += 1
        with torch.no_grad():
            parts = {
                "plain_cross_entropy": cross_entropy(plain, labels),
                "explained": 1 - residual.square().sum() / encoder_part.square().sum().clamp(min=1e-12),
            }
        return Loss(cross_entropy(logits, labels), logits.detach(), parts)

    @torch.no_grad()
    def finish(self, batches: Iterable[dict[str, Tensor]], accelerator: "Accelerator") -> None:
        """Fit ω* over all the training data, so that F_L(x) = F_B(x) − F_G(x) ω* is a function of one pair."""
        was_training = self.training
        self.eval()
        k, device = self.network.config.num_labels, self.network.device
        products = torch.zeros(k, 2 * k, dtype=exact_dtype(device), device=device)
        for batch in batches:
            encoded = {name: value for name, value in batch.items() if name != "labels"}
            with accelerator.autocast():
                plain = self.network(**encoded).logits.float()
            f_b, f_g = both_outputs(self.network, self._layer, self.branch, plain, encoded)
            products += (f_g.T.to(products)) @ torch.cat([f_g, f_b], dim=1).to(products)
        summed: Tensor = accelerator.reduce(products, reduction="sum")
        self.omega = coefficients(summed[:, :k], summed[:, k:]).float()
        self.train(was_training)

    def save(self, folder: Path) -> None:
        """Write g, W_g and ω* beside the network, for `residual.ResidualHead.load`; after `finish`."""
        assert self.omega is not None, "finish fits what save writes"
        ResidualHead(self._layer, self.branch, self.omega).save(folder)
