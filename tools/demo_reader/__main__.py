"""Train the demonstration's reader and write its weights: `python -m tools.demo_reader`, some minutes on one core."""

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


def made_by() -> str:
    """Return a hash of all that decides the weights, but for torch and the machine: the pairs, and how they are learnt.

    Training again on other processors gives other last bits, so the weights are known by what they were made by.
    """
    return hashlib.sha256("".join(map(hash_file, _MADE_BY)).encode()).hexdigest()


def main() -> None:
    """Train and write."""
    torch.set_num_threads(1)  # as many as every machine has
    pairs = list(demo.iter_demo_pairs("train"))
    record = {
        "words": training.vocabulary(pairs),
        "reach": network.REACH,
        "heads": network.HEADS,
        "training": demo.get_demo_file("train").name,
        "made_by": made_by(),
    }
    trained = training.train(pairs)
    # Half precision is half the size; the answers are the same to three digits.
    weights = {name: tensor.to(torch.float16).contiguous() for name, tensor in trained.state_dict().items()}
    with atomic_write(demo_reader.WEIGHTS) as tmp:
        tmp.write_bytes(save(weights, metadata={demo_reader.RECORD: json.dumps(record)}))


if __name__ == "__main__":
    main()
