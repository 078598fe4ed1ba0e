"""What a network trained by HEX says of a single pair with the words' part taken out: F_L(x) = F_B(x) − F_G(x) ω*.

    network = AutoModelForSequenceClassification.from_pretrained(folder)   # its logits are f([h, 0])
    ResidualHead.load(folder).attach(network)                              # now they are F_L(x)

`unbag evaluate FOLDER --head residual` does the same.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from unbag.files import whole
from unbag.training.superficial import SuperficialBranch

WEIGHTS_FILE: Final = "hex.safetensors"
CONFIG_FILE: Final = "hex.json"
_FORMAT: Final = 1


def both_outputs(
    network: Any, layer: str, branch: SuperficialBranch, logits: Tensor, encoded: Mapping[str, Tensor]
) -> tuple[Tensor, Tensor]:
    """Return F_B = W_h h + W_g g + b and F_G = W_g g + b, both of shape (b, k), in float32.

    Args:
        network: the classifier.
        layer: the name of its last linear layer, whose bias is b.
        branch: g and W_g.
        logits: what the network says of the batch, W_h h + b, in float32.
        encoded: the batch.
    """
    table = network.get_input_embeddings().weight
    from_words = branch(table, encoded["input_ids"], encoded.get("attention_mask"))
    bias = network.get_submodule(layer).bias
    return logits + from_words, from_words if bias is None else from_words + bias.float()


class ResidualHead(nn.Module):
    """The superficial branch and ω*, apart from the network they were learnt with.

    Attributes:
        layer: the name of the network's last linear layer.
        branch: g and W_g.
        omega: ω*, shape (k, k).
    """

    omega: Tensor

    def __init__(self, layer: str, branch: SuperficialBranch, omega: Tensor) -> None:
        super().__init__()
        self.layer = layer
        self.branch = branch
        self.register_buffer("omega", omega)

    @torch.no_grad()
    def forward(self, network: Any, logits: Tensor, encoded: Mapping[str, Tensor]) -> Tensor:
        """Return F_L(x) of each pair, shape (b, k), in float32, from the network's own logits."""
        f_b, f_g = both_outputs(network, self.layer, self.branch, logits.float(), encoded)
        with torch.autocast(logits.device.type, enabled=False):
            return f_b - f_g @ self.omega

    def attach(self, network: Any) -> None:
        """Make F_L(x) the logits of a network, which takes its inputs by name; its weights are left alone."""

        def replace(module: Any, _: Any, encoded: dict[str, Tensor], output: Any) -> Any:
            output.logits = self.to(output.logits.device)(module, output.logits, encoded)
            return output

        network.register_forward_hook(replace, with_kwargs=True)

    def save(self, folder: Path) -> None:
        """Write `hex.safetensors` and `hex.json`: numbers and text, nothing that runs."""
        tensors = {"phi": self.branch.phi.weight, "w_g": self.branch.decoder.weight, "omega": self.omega}
        with whole(folder / WEIGHTS_FILE) as beside:
            save_file({name: tensor.detach().float().contiguous().cpu() for name, tensor in tensors.items()}, beside)
        config = {
            "format": _FORMAT,
            "layer": self.layer,
            "normalise": self.branch.normalise,
            "special_ids": self.branch.special.tolist(),
        }
        with whole(folder / CONFIG_FILE) as beside:  # last: a folder with it is complete
            beside.write_text(json.dumps(config) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ResidualHead":
        """Read what `save` wrote.

        Raises:
            ValueError: if the folder has none, or one of another format.
        """
        if not (folder / CONFIG_FILE).is_file():
            raise ValueError(f"expected a network trained by HEX in {folder}, found no {CONFIG_FILE}")
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        if config.get("format") != _FORMAT:
            raise ValueError(f"{folder / CONFIG_FILE}: expected format {_FORMAT}, found {config.get('format')!r}")
        tensors = load_file(folder / WEIGHTS_FILE)
        (width, dimensions), (k, _) = tensors["phi"].shape, tensors["w_g"].shape
        branch = SuperficialBranch(dimensions, k, config["special_ids"], width=width, normalise=config["normalise"])
        branch.load_state_dict({"phi.weight": tensors["phi"], "decoder.weight": tensors["w_g"]})
        return cls(config["layer"], branch, tensors["omega"])
