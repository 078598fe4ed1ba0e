"""HEX: the superficial branch, and the residual head F_L(x) = F_B(x) − F_G(x) ω*, which subtracts its contribution.

A network trained with HEX can predict in two ways. The paper predicts argmax F_L (section 3), which there is defined
over a batch. With ω* from the training data, F_L is a function of one pair: the *residual* head of this module. The
authors' released code predicts with f([h, 0]), the widened last layer with zeros instead of g. This *plain* head is the
regular output of the network.

    network = AutoModelForSequenceClassification.from_pretrained(folder)   # its logits are f([h, 0])
    ResidualHead.load(folder).attach(network)                              # now they are F_L(x)

`unbag evaluate FOLDER --head residual` does the same.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, relu, rms_norm

from unbag.utils.files import atomic_write, read_json_object
from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import validate_file


class WordTable(NamedTuple):
    """Fixed word embeddings for the superficial branch g, indexed by token id."""

    vectors: Tensor  # embeddings, shape (vocabulary, dimensions), float32
    is_word: Tensor  # whether each token has an embedding and counts as a word, shape (vocabulary,)

    def to(self, device: torch.device) -> "WordTable":
        """Move the table to a device."""
        return WordTable(self.vectors.to(device), self.is_word.to(device))


class SuperficialBranch(nn.Module):
    """Feed-forward branch that maps the mean word embedding of a pair to logits W_g g.

    g(X; φ) = ReLU(W^φ · mean word embedding) does not depend on word order (HEX paper, section 3). The embeddings are a
    fixed table, as its authors recommend. A word with several tokens counts once per token. Special tokens, padding and
    tokens without an embedding are excluded from the mean. For a pair without words, g is 0.

    All computations are in float32, even under autocast.

    Attributes:
        table: Word embeddings. The table is neither a parameter nor a buffer. Because it never changes, it is not
            sharded, rounded, broadcast or saved in checkpoints.
        phi: W^φ, shape (width, dimensions), without bias as in the paper.
        decoder: W_g, shape (k, width): the columns that widen the last layer f.
        normalize: Whether g is scaled to a root mean square of 1 per example.
    """

    def __init__(self, table: WordTable, outputs: int, *, width: int, normalize: bool) -> None:
        super().__init__()
        self.table = table
        self.phi = _Linear(table.vectors.shape[1], width)
        self.decoder = _Linear(width, outputs)
        self.normalize = normalize

    @classmethod
    def from_weights(cls, weights: Mapping[str, Tensor], table: WordTable, *, normalize: bool) -> "SuperficialBranch":
        """Create a branch from the weights of a `state_dict` and a word table."""
        outputs, width = weights["decoder.weight"].shape
        branch = cls(table, outputs, width=width, normalize=normalize)
        branch.load_state_dict(weights)
        return branch

    def forward(self, mean: Tensor) -> Tensor:
        """Compute the logits W_g g from the output of `compute_mean`, shape (b, k)."""
        with torch.autocast(mean.device.type, enabled=False):
            g = relu(self.phi(mean))
            if self.normalize:
                g = rms_norm(g, g.shape[-1:], eps=1e-12)  # eps for a pair without words, whose g is 0
            logits: Tensor = self.decoder(g)
            return logits

    @torch.no_grad()
    def compute_mean(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Compute the mean word embedding of each pair, shape (b, dimensions), from token ids of shape (b, t)."""
        # The table is not a buffer, so `Module.to` does not move it.
        if self.table.vectors.device != input_ids.device:
            self.table = self.table.to(input_ids.device)
        vectors, is_word = self.table
        with torch.autocast(input_ids.device.type, enabled=False):
            words = is_word[input_ids]
            if attention_mask is not None:
                words &= attention_mask.bool()
            share = words / words.sum(dim=1, keepdim=True).clamp(min=1)  # (b, t): 1 / words at words, else 0
            return torch.bmm(share[:, None], embedding(input_ids, vectors)).squeeze(1)


class _Linear(nn.Linear):
    """Linear layer without bias that computes in float32, even if FSDP or DeepSpeed casts its weights."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        return linear(values.float(), self.weight.float())


WEIGHTS_FILE: Final = "hex.safetensors"
CONFIG_FILE: Final = "hex.json"
_FORMAT: Final = 2
"""Format version. In version 1, the branch had no table and used the trainable input embeddings of the network."""


def compute_hex_outputs(
    branch: SuperficialBranch, logits: Tensor, mean: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Compute the HEX outputs F_B = W_h h + W_g g + b and F_G = W_g g + b, float32, shape (batch, k) each.

    Args:
        logits: Logits of the network, W_h h + b, in float32, shape (batch, k).
        mean: Mean word embeddings from `branch.compute_mean`, shape (batch, dimensions).
        bias: Bias b of the last linear layer of the network, shape (k,); None for a layer without bias.
    """
    from_words = branch(mean)
    return logits + from_words, from_words if bias is None else from_words + bias.float()


class ResidualHead(nn.Module):
    """Additional head of a HEX network, stored separately. `layer` is the name of the network's last linear layer."""

    omega: Tensor  # ω*, shape (k, k)

    def __init__(self, layer: str, branch: SuperficialBranch, omega: Tensor) -> None:
        super().__init__()
        self.layer = layer
        self.branch = branch
        self.register_buffer("omega", omega)

    @torch.no_grad()
    def forward(self, network: Any, logits: Tensor, encoded: Mapping[str, Tensor]) -> Tensor:
        """Compute the residual logits F_L(x) of each pair from the network's logits, in float32, shape (b, k)."""
        mean = self.branch.compute_mean(encoded["input_ids"], encoded.get("attention_mask"))
        f_b, f_g = compute_hex_outputs(self.branch, logits.float(), mean, network.get_submodule(self.layer).bias)
        with torch.autocast(logits.device.type, enabled=False):
            return f_b - f_g @ self.omega

    def attach(self, network: Any) -> None:
        """Make a network, which must be called with keyword arguments, return the residual logits F_L(x)."""

        def replace_logits(module: Any, _: Any, encoded: dict[str, Tensor], output: Any) -> Any:
            output.logits = self.to(output.logits.device)(module, output.logits, encoded)
            return output

        network.register_forward_hook(replace_logits, with_kwargs=True)

    def save(self, folder: Path) -> None:
        """Save the head to a folder as `hex.safetensors` and `hex.json`, including the word embeddings of g."""
        learnt = {"phi": self.branch.phi.weight, "w_g": self.branch.decoder.weight, "omega": self.omega}
        tensors = {name: tensor.detach().float() for name, tensor in learnt.items()}
        tensors |= {"embeddings": self.branch.table.vectors, "is_word": self.branch.table.is_word}
        with atomic_write(folder / WEIGHTS_FILE) as tmp:
            save_file({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, tmp)
        # The keys are part of the file format, including the spelling of `normalise`.
        config = {"format": _FORMAT, "layer": self.layer, "normalise": self.branch.normalize}
        with atomic_write(folder / CONFIG_FILE) as tmp:  # written last: its presence means completeness
            tmp.write_text(json.dumps(config) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "ResidualHead":
        """Load a head from a folder written by `save`.

        Raises:
            ValueError: If the folder has no head, or its files have another format version or cannot be read.
        """
        if not (folder / CONFIG_FILE).is_file():
            raise ValueError(f"{folder}: expected a network trained with HEX, got a folder without {CONFIG_FILE}")
        config = read_json_object(folder / CONFIG_FILE)
        if config.get("format") != _FORMAT:
            raise ValueError(
                f"{folder / CONFIG_FILE}: expected format {_FORMAT}, got {config.get('format')!r} from another version "
                "of unbag; train again (`unbag train hex`), or use the plain head (--head plain)"
            )
        layer, normalize = config.get("layer"), config.get("normalise")
        if not (isinstance(layer, str) and isinstance(normalize, bool)):
            raise ValueError(
                f"{folder / CONFIG_FILE}: expected the layer and whether to normalise, got {layer!r:.40} and "
                f"{normalize!r:.40}; train again"
            )
        path = validate_file(folder / WEIGHTS_FILE)
        try:
            tensors = load_file(path)
            weights = {"phi.weight": tensors["phi"], "decoder.weight": tensors["w_g"]}
            vocabulary, _ = tensors["embeddings"].shape
            table = WordTable(tensors["embeddings"], tensors["is_word"].reshape(vocabulary))
            branch = SuperficialBranch.from_weights(weights, table, normalize=normalize)
            k = branch.decoder.out_features
            return cls(layer, branch, tensors["omega"].reshape(k, k))
        # load_state_dict and reshape raise a RuntimeError for tensors of other shapes.
        except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{path}: expected the weights of a residual head, got an error ({extract_first_line(error)}); train "
                "again"
            ) from error
