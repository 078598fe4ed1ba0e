"""Train the network of the demonstration and write the weights: `python -m tools.demo_reader` (minutes on one core)."""

import hashlib
import json
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import save

from tools.demo_reader import network, training
from unbag.baselines import demo_reader
from unbag.data import demo
from unbag.utils.files import atomic_write
from unbag.utils.hashing import hash_file

_MADE_BY: Final = (demo.get_demo_file("train"), Path(network.__file__), Path(training.__file__))


def compute_training_hash() -> str:
    """Compute the hash of the training pairs and the training code, which determine the weights.

    The last bits of the weights also depend on PyTorch and the processor. Weights are therefore identified by this
    hash.
    """
    return hashlib.sha256("".join(map(hash_file, _MADE_BY)).encode()).hexdigest()


def main() -> None:
    """Train the network, and write the weights."""
    torch.set_num_threads(1)  # for results that do not depend on the number of cores
    pairs = list(demo.iter_demo_pairs("train"))
    record = {
        "words": training.vocabulary(pairs),
        "reach": network.REACH,
        "heads": network.HEADS,
        "training": demo.get_demo_file("train").name,
        "made_by": compute_training_hash(),
    }
    trained = training.train(pairs)
    # Half precision halves the file size. The predictions are equal to three digits.
    weights = {name: tensor.to(torch.float16).contiguous() for name, tensor in trained.state_dict().items()}
    with atomic_write(demo_reader.WEIGHTS) as tmp:
        tmp.write_bytes(save(weights, metadata={demo_reader.RECORD: json.dumps(record)}))


if __name__ == "__main__":
    main()
