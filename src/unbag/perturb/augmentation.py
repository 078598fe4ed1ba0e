"""SOSwap and AddAmod pairs for training: so many an epoch, other ones each epoch.

Nie et al. 2019 "add 20,000 adversarial examples into training at each epoch", made from the training set (section 4.2,
note 6).
"""

from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Final

import numpy as np

from unbag import counter_rng
from unbag.perturb.addamod import DEFAULT_MIN_COUNT, DEFAULT_SEED, AdjectiveCounts, addamod
from unbag.perturb.soswap import Swap, soswap
from unbag.perturb.soswap_addamod import LABELS_OF, SOSWAP
from unbag.sources import Example
from unbag.text.parses import Parser

DEFAULT_PAIRS: Final = 20_000


def augmentation(
    premises: Sequence[str],
    parser: Parser,
    *,
    kind: str,
    epoch: int,
    pairs: int = DEFAULT_PAIRS,
    seed: int = DEFAULT_SEED,
    adjectives: AdjectiveCounts | None = None,
    min_count: int = DEFAULT_MIN_COUNT,
) -> Iterator[Example]:
    """Yield the pairs of one epoch, as they are made.

    The premises are gone through in an order of the epoch's own until there are enough pairs; if they do not suffice,
    again in another order. Each time AddAmod draws other adjectives, while SOSwap makes the same pair of a premise
    always.

    Args:
        premises: distinct sentences.
        parser: parses them, once ever.
        kind: `soswap` or `addamod`.
        epoch: its number. It decides the pairs, together with the seed and the premises.
        pairs: how many.
        seed: see `epoch`.
        adjectives: which adjectives go with which nouns, for AddAmod.
        min_count: how often an adjective must occur with a noun.

    Raises:
        ValueError: if there is no such kind, AddAmod has no adjectives, or no premise makes a pair.
    """
    if kind not in LABELS_OF:
        raise ValueError(f"expected one of the kinds {', '.join(LABELS_OF)}, found {kind!r}")
    if kind != SOSWAP and adjectives is None:
        raise ValueError(
            "AddAmod needs to know which adjectives go with which nouns; pass adjectives=adjective_counts(…)"
        )
    return islice(_pairs(premises, parser, kind, epoch, seed, adjectives or AdjectiveCounts(), min_count), pairs)


def _pairs(
    premises: Sequence[str],
    parser: Parser,
    kind: str,
    epoch: int,
    seed: int,
    adjectives: AdjectiveCounts,
    min_count: int,
) -> Iterator[Example]:
    """Yield pairs without end."""
    for turn in count():
        key = counter_rng.key(seed, "augmentation", kind, epoch, turn)
        order = np.argsort(counter_rng.numbers(key, np.arange(len(premises))), kind="stable")
        n_pairs = 0
        for number, parse in zip(order.tolist(), parser.parses(premises[i] for i in order.tolist()), strict=True):
            result = soswap(parse) if kind == SOSWAP else addamod(parse, adjectives, seed=int(key), min_count=min_count)
            if isinstance(result, str):
                continue
            n_pairs += 1
            premise = str(parse) if isinstance(result, Swap) else result.premise
            yield Example(f"{number}#{kind}#{epoch}.{turn}", premise, result.hypothesis, LABELS_OF[kind])
        if not n_pairs:
            raise ValueError(f"none of the {len(premises)} premises makes a pair of the kind {kind!r}")
