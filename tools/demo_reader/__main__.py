"""Train the network of the demonstration and write the weights: `python -m tools.demo_reader` (minutes on one core)."""

import hashlib
import json
import tokenize
from itertools import chain
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import save

from tools.demo_corpus.corpus import generate_scene_pairs
from tools.demo_reader import network, training
from unbag.baselines import demo_reader
from unbag.data import demo
from unbag.utils.files import atomic_write
from unbag.utils.hashing import hash_file

_CODE: Final = (Path(network.__file__), Path(training.__file__))
_IGNORED: Final = frozenset({tokenize.ENCODING, tokenize.COMMENT, tokenize.NL})
_STATEMENT_STARTS: Final = frozenset({tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


def compute_training_hash() -> str:
    """Compute the hash of the bundled training pairs and of the training code without comments and docstrings.

    Both determine the weights, except for the last bits, which depend on PyTorch and the processor. Therefore, this
    hash identifies the weights.
    """
    parts = [hash_file(demo.get_demo_file("train")), *map(_read_code, _CODE)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _read_code(path: Path) -> str:
    """Read the tokens of a module, without comments, docstrings and blank lines."""
    tokens: list[str] = []
    previous = tokenize.NEWLINE
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            is_docstring = token.type == tokenize.STRING and previous in _STATEMENT_STARTS
            if token.type not in _IGNORED and not is_docstring:
                tokens.append(token.string)
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                previous = token.type
    return " ".join(tokens)


def _round(tensor: torch.Tensor) -> torch.Tensor:
    """Round to half precision with 6 instead of 10 bits of the mantissa, so that the wheel can compress the weights."""
    dropped = 4
    bits = tensor.to(torch.float16).contiguous().view(torch.int16)
    return (((bits + (1 << dropped - 1)) >> dropped) << dropped).view(torch.float16)


def main() -> None:
    """Train the network, and write the weights."""
    torch.set_num_threads(1)  # for results that do not depend on the number of cores
    selected = training.select_pairs(list(generate_scene_pairs("train", training.GENERATED)))
    words = training.vocabulary(list(demo.iter_demo_pairs("train")))
    stages = [(pairs, epochs, rate) for pairs, (_, epochs, rate) in zip(selected, training.STAGES, strict=True)]
    record = {
        "words": words,
        "reach": network.REACH,
        "heads": network.HEADS,
        "training": f"{len({*chain(*selected)})} pairs, among them those of {demo.get_demo_file('train').name}",
        "made_by": compute_training_hash(),
    }
    trained = training.train(words, stages)
    weights = {name: _round(tensor) for name, tensor in trained.state_dict().items()}
    with atomic_write(demo_reader.WEIGHTS) as tmp:
        tmp.write_bytes(save(weights, metadata={demo_reader.RECORD: json.dumps(record)}))


if __name__ == "__main__":
    main()
