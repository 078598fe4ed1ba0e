"""What becomes of the training pairs before a model sees them: pure functions of pairs, seed and epoch."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from unbag.challenge_sets.perturbations.permutation import Permuter, TooFewPermutationsError
from unbag.data.sources import Example
from unbag.data.text.tokens import tokenize
from unbag.training.data import Part, left_out
from unbag.utils import rng

TOO_SHORT: Final = "too short to permute"


def hypothesis_only(part: Part) -> Part:
    """Leave the premises out (Poliak et al. 2018, Gururangan et al. 2018): the tokenizer is given an empty one."""
    return replace(part, examples=[example._replace(premise="") for example in part.examples])


def permuted(part: Part, *, seed: int) -> Part:
    """Replace each pair by one permuted pair, always the same.

    Sinha et al. 2021, Appendix F: the operator of section 4 on each training example, q = 1. A sentence of one word
    has no other order; its pair is left out and counted.
    """
    permuter = Permuter(q=1, seed=seed)
    examples = []
    for example in part.examples:
        sides = [tokenize(text, part.language) for text in (example.premise, example.hypothesis)]
        try:
            premise, hypothesis = permuter.one(example.source_id, sides[0], sides[1], 0)
        except TooFewPermutationsError:
            continue
        examples.append(example._replace(premise=premise, hypothesis=hypothesis))
    return left_out(part, TOO_SHORT, examples)


class Shuffled:
    """The words of both sentences in random order, another each epoch (Nie et al. 2019, section 3.2).

    Tokens are shuffled, punctuation marks among them: any order, where a permuted pair (`permuted`) has no word in its
    place. Premise and hypothesis are shuffled independently.
    """

    def __init__(self, language: str, seed: int) -> None:
        self._language, self._seed = language, seed

    def __call__(self, example: Example, epoch: int) -> Example:
        """Return the pair as epoch `epoch` has it."""
        premise, hypothesis = (
            self._shuffled(text, rng.key(self._seed, "shuffled", epoch, example.source_id, side))
            for text, side in ((example.premise, "premise"), (example.hypothesis, "hypothesis"))
        )
        return example._replace(premise=premise, hypothesis=hypothesis)

    def _shuffled(self, sentence: str, key: np.uint64) -> str:
        tokens = tokenize(sentence, self._language)
        order = np.argsort(rng.numbers(key, np.arange(len(tokens.texts))), kind="stable")
        return tokens.joiner.join(tokens.texts[i] for i in order.tolist())


def mixed(parts: Sequence[Part], *, seed: int, epoch: int) -> list[Example]:
    """Return the pairs of one epoch: each as often as its part's weight says.

    Of a weight of 2.3 each pair comes twice, and of the rest, rounded, those come once more that this epoch draws. The
    number of pairs is the same in every epoch. A copy has an id of its own, so that what is drawn by id differs.
    """
    examples: list[Example] = []
    for part in parts:
        times, share = divmod(part.weight, 1.0)
        for copy in range(int(times)):
            examples += part.examples if copy == 0 else _copies(part.examples, copy)
        if extra := round(share * len(part.examples)):
            key = rng.key(seed, "mixed", epoch, part.name)
            lots = np.argsort(rng.numbers(key, np.arange(len(part.examples))), kind="stable")[:extra]
            chosen = [part.examples[i] for i in sorted(lots.tolist())]
            examples += chosen if times == 0 else _copies(chosen, int(times))
    return examples


def _copies(examples: Sequence[Example], copy: int) -> list[Example]:
    return [example._replace(source_id=f"{example.source_id}#{copy}") for example in examples]


def per_epoch(parts: Sequence[Part]) -> int:
    """Return how many pairs `mixed` has of some parts."""
    return sum(int(part.weight) * len(part.examples) + round(part.weight % 1.0 * len(part.examples)) for part in parts)


class Added(Protocol):
    """What an epoch has beside the corpora's pairs."""

    def __call__(self, epoch: int) -> list[Example]:
        """Return the pairs of one epoch."""
        ...
