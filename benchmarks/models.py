"""Speed of tree-LSTMs by level compared with node by node, and of ESIM compared with a plain implementation in torch.

    python benchmarks/models.py [--pairs 64] [--rounds 5]

The two implementations of a network take turns in one process, in an order that changes each round, with the same
batches and weights. Before timing, their outputs are compared. The plain ESIM follows the paper's equations literally:
LSTM cells in a loop over padded positions. Times are CPU seconds on one thread; the ratios are the reliable numbers. A
table goes to stderr, one JSON line to stdout.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor, nn

from unbag.models import get_architecture
from unbag.models.network import split_premises_and_hypotheses
from unbag.models.tree_lstm import Merges, TreeBatch, TreeLstmCell, binarize_parse

SIZE = 300
VOCABULARY = 10_000


class PlainEsim(nn.Module):
    """A plain ESIM (Chen et al. 2017) with the weights of unbag's, computed step by step over padded sentences."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor) -> Tensor:
        """Compute the logits of pairs, shape (b, 3)."""
        network = self.network
        sides = split_premises_and_hypotheses(ids, ids != 0, network.config.bos_token_id)
        a, b = (self._read(network.encode.lstm, network.embeddings.words(side.ids), side.mask) for side in sides)
        scores = a @ b.transpose(1, 2)
        (mask_a, mask_b) = (side.mask for side in sides)
        to_b = scores.masked_fill(~mask_b[:, None, :], -1e9).softmax(dim=2) @ b
        to_a = scores.masked_fill(~mask_a[:, :, None], -1e9).softmax(dim=1).transpose(1, 2) @ a
        pooled = []
        for own, other, mask in ((a, to_b, mask_a), (b, to_a, mask_b)):
            compared = network.project(torch.cat([own, other, own - other, own * other], dim=2)).relu()
            outputs = self._read(network.compose.lstm, compared, mask)
            pooled.append((outputs * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True))
            pooled.append(outputs.masked_fill(~mask[..., None], -1e9).max(dim=1).values)
        logits: Tensor = network.classifier(torch.cat(pooled, dim=1))
        return logits

    def _read(self, lstm: nn.LSTM, x: Tensor, mask: Tensor) -> Tensor:
        directions = []
        for suffix, order in (("", range(x.shape[1])), ("_reverse", reversed(range(x.shape[1])))):
            weights = [getattr(lstm, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            h = c = x.new_zeros(len(x), lstm.hidden_size)
            outputs: dict[int, Tensor] = {}
            for t in order:
                new_h, new_c = torch.lstm_cell(x[:, t], (h, c), *weights)
                there = mask[:, t, None]
                h, c = torch.where(there, new_h, h), torch.where(there, new_c, c)
                outputs[t] = h * there
            directions.append(torch.stack([outputs[t] for t in range(x.shape[1])], dim=1))
        return torch.cat(directions, dim=2)


def node_by_node(cell: TreeLstmCell, trees: list[Merges], words: Tensor, lengths: list[int], inner: Tensor) -> Tensor:
    """Compute the states of the roots, one node after the other."""
    roots = []
    for row, (merges, n) in enumerate(zip(trees, lengths, strict=True)):
        nodes = [cell.compute_leaves(words[row, place]) for place in range(n)]
        for left, right in merges:
            nodes.append(cell.merge(nodes[left], nodes[right], inner))
        roots.append(nodes[-1].h)
    return torch.stack(roots)


def sentences(pairs: int, generator: torch.Generator) -> Tensor:
    """Draw word ids of pairs about as long as SNLI's: premises of 8 to 22 words, hypotheses of 4 to 12."""
    rows = []
    for _ in range(pairs):
        m, n = (int(torch.randint(*span, (1,), generator=generator)) for span in ((8, 23), (4, 13)))
        words = torch.randint(3, VOCABULARY, (m + n + 2,), generator=generator)
        words[0] = words[m + 1] = 2
        rows.append(words)
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def in_turn(systems: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Measure the CPU seconds of each function in each round."""
    for run in systems.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for number in range(rounds):
        # Alternate the order, so that no system profits from its position.
        for name in list(systems)[:: 1 if number % 2 else -1]:
            begun = time.process_time()
            systems[name]()
            seconds[name].append(time.process_time() - begun)
    return seconds


def trees(pairs: int, rounds: int) -> Iterator[dict[str, Any]]:
    """Time tree-LSTMs over random projective trees, forward and backward."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(8, 23, (pairs,), generator=generator).tolist()
    # The head of each word is one of its two neighbours to the left. The first word is the root.
    parses = [
        [max(0, word - 1 - int(torch.randint(2, (1,), generator=generator))) for word in range(n)] for n in lengths
    ]
    merged: list[Merges] = [binarize_parse(heads) for heads in parses]
    cell, inner = TreeLstmCell(SIZE, SIZE), torch.randn(SIZE, generator=generator)
    words = torch.randn(pairs, max(lengths), SIZE, generator=generator)

    def by_level() -> Tensor:
        forest = TreeBatch.from_trees(merged, lengths)
        return forest.compute_states(cell, words, inner)[forest.roots]

    def by_node() -> Tensor:
        return node_by_node(cell, merged, words, lengths, inner)

    def train(roots: Callable[[], Tensor]) -> None:
        torch.autograd.backward(roots().sum())

    torch.testing.assert_close(by_level(), by_node(), atol=1e-5, rtol=1e-4)
    yield result(
        "trees, forward and backward",
        in_turn({"node by node": lambda: train(by_node), "ours": lambda: train(by_level)}, rounds),
        pairs,
    )


def esim(pairs: int, rounds: int) -> Iterator[dict[str, Any]]:
    """Time ESIM's inference and a training step."""
    kind = get_architecture("esim")
    config: Any = kind.config
    torch.manual_seed(0)
    ours: Any = kind.network(config(vocab_size=VOCABULARY, num_labels=3, dropout=0.0, train_embeddings=False))
    plain = PlainEsim(ours)
    ids = sentences(pairs, torch.Generator().manual_seed(2))
    labels = torch.arange(pairs) % 3

    def logits() -> Tensor:
        found: Tensor = ours(ids, (ids != 0).long()).logits
        return found

    torch.testing.assert_close(logits(), plain(ids), atol=1e-5, rtol=1e-4)

    @torch.inference_mode()
    def infer(model: Callable[[], Tensor]) -> None:
        model()

    def train(model: Callable[[], Tensor]) -> None:
        torch.autograd.backward(nn.functional.cross_entropy(model(), labels))
        ours.zero_grad()

    for name, step in (("ESIM, inference", infer), ("ESIM, training step", train)):
        systems: dict[str, Callable[[], Any]] = {
            "plain": partial(step, partial(plain, ids)),
            "ours": partial(step, logits),
        }
        yield result(name, in_turn(systems, rounds), pairs)


def result(name: str, seconds: dict[str, list[float]], pairs: int) -> dict[str, Any]:
    """Summarize a comparison: items per second, and the ratio of the peer's time to that of unbag."""
    peer, ours = seconds.values()
    ratios = [theirs / own for theirs, own in zip(peer, ours, strict=True)]
    found = {
        "what": name,
        **{f"{system}, a CPU second": round(pairs / statistics.median(each), 1) for system, each in seconds.items()},
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
    }
    print(found, file=sys.stderr)
    return found


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=64, help="sentences or pairs per batch (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = [*trees(options.pairs, options.rounds), *esim(options.pairs, options.rounds)]
    environment = {"python": platform.python_version(), "torch": version("torch"), "machine": platform.processor()}
    print(json.dumps({"pairs": options.pairs, "results": found, **environment}))


if __name__ == "__main__":
    main()
