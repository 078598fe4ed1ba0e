"""Pairs for training that are made of training pairs, a fixed number per epoch and different ones in each epoch.

Nie et al. 2019 "add 20,000 adversarial examples into training at each epoch", made from the training set (section 4.2,
note 6). Each kind of pair has a maker; what is drawn from them, and in which order, is decided here.

Two makers exchange premise and hypothesis, and keep the labels that are known then.

`SwappedPairs` takes the labels that survive. What contradicts, contradicts in both orders, where both sentences tell of one
event. A neutral pair says nothing of the other order, unless the premise tells what the hypothesis does not: then that
does not follow from the hypothesis, and the exchanged pair is neutral too. (The swapped set, as its paper has it, takes
all neutral pairs.) What is entailed need not entail.

`ReversedPairs` takes the pairs whose label natural logic proves in both orders (`baselines.natlog.sentences`), and whose
own label is what it proves of them as they are.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Final, NamedTuple, Protocol

import numpy as np

from unbag.baselines.natlog.relations import Relation, three_way
from unbag.baselines.natlog.sentences import Verdict
from unbag.challenge_sets.perturbations.addamod import (
    DEFAULT_MIN_COUNT,
    DEFAULT_SEED,
    Addition,
    AdjectiveCounts,
    addamod,
)
from unbag.challenge_sets.perturbations.soswap_addamod import ADDAMOD, LABELS_OF, SOSWAP, swapped
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, is_official
from unbag.data.labels import ENTAILMENT, LABELS, NEUTRAL
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser
from unbag.utils import rng

DEFAULT_PAIRS: Final = 20_000

OFFICIAL: Final = "a sentence of an official set"
UNBALANCED: Final = "its label is half of all already"


class GeneratedPair(NamedTuple):
    """A pair that a maker made."""

    premise: str
    hypothesis: str
    label: str


class PairGenerator(Protocol):
    """What makes one kind of pairs of n sentences or pairs.

    Attributes:
        kind: its name.
        balanced: whether no label shall be more than half of its pairs.
    """

    kind: str
    balanced: bool

    def __len__(self) -> int:
        """Return n."""
        ...

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Yield, for each of some of the n in that order, the pairs of which one is taken, or why there is none.

        Args:
            order: their numbers.
            seed: decides what is made of each, whatever the order.
        """
        ...


def drawn(
    maker: PairGenerator, *, epoch: int, pairs: int, seed: int = DEFAULT_SEED, counts: Counter[str] | None = None
) -> Iterator[Example]:
    """Yield the pairs of one epoch, as they are made.

    What they are made of is gone through in an order of the epoch's own until there are enough; if it does not suffice,
    again in another order, with other draws where a maker draws. No pair has a sentence of an official set
    (`challenge_sets.perturbations.vocabulary_split`).

    Args:
        maker: the kind.
        epoch: its number. It decides the pairs, together with the seed and what they are made of.
        pairs: how many.
        seed: see `epoch`.
        counts: counts up, while pairs are taken, why others were not.

    Raises:
        ValueError: if nothing makes a pair.
    """
    return islice(_without_end(maker, epoch, seed, Counter() if counts is None else counts), pairs)


def _without_end(maker: PairGenerator, epoch: int, seed: int, counts: Counter[str]) -> Iterator[Example]:
    labels: Counter[str] = Counter()
    balanced = maker.balanced
    for turn in count():
        key = rng.key(seed, "augmentation", maker.kind, epoch, turn)
        order = np.argsort(rng.numbers(key, np.arange(len(maker))), kind="stable").tolist()
        before, too_many = labels.total(), False
        for number, result in zip(order, maker.make(order, int(key)), strict=True):
            if isinstance(result, str):
                counts[str(result)] += 1
                continue
            fit = [made for made in result if not (is_official(made.premise) or is_official(made.hypothesis))]
            if not fit:
                counts[OFFICIAL] += 1
                continue
            made = min(fit, key=lambda made: labels[made.label])  # of several, that whose label is rarest so far
            if balanced and 2 * labels[made.label] > labels.total() + 1:
                counts[UNBALANCED] += 1
                too_many = True
                continue
            labels[made.label] += 1
            yield Example(_id(number, maker.kind, epoch, turn), *made)
        if labels.total() == before:
            if not too_many:
                raise ValueError(f"none of {len(maker)} premises or pairs makes a pair of the kind {maker.kind!r}")
            balanced = False  # there is but one label to be had


_ID: Final = re.compile(r"\d+#(\w+)#\d+\.\d+")


def _id(number: int, kind: str, epoch: int, turn: int) -> str:
    return f"{number}#{kind}#{epoch}.{turn}"


def kind_of(source_id: str) -> str | None:
    """Return the kind of an augmented pair by its id; None for a pair of a corpus.

    >>> kind_of("17#soswap#0.1"), kind_of("snli-train-17")
    ('soswap', None)
    """
    found = _ID.fullmatch(source_id)
    return found and found[1]


class SoswapAddamodPairs:
    """The maker of SOSwap or AddAmod pairs of some premises."""

    balanced = False

    def __init__(
        self,
        premises: Sequence[str],
        parser: Parser,
        *,
        kind: str,
        adjectives: AdjectiveCounts | None = None,
        min_count: int = DEFAULT_MIN_COUNT,
        words: str = ALL,
    ) -> None:
        """Take what it makes them of.

        Args:
            premises: distinct sentences.
            parser: parses them, once ever.
            kind: `soswap` or `addamod`.
            adjectives: which adjectives go with which nouns, for AddAmod.
            min_count: how often an adjective must occur with a noun.
            words: `all`, or the half of the vocabulary that the pairs are made with
                (`challenge_sets.perturbations.vocabulary_split`).

        Raises:
            ValueError: if there is no such kind, or AddAmod has no adjectives.
        """
        if kind not in LABELS_OF:
            raise ValueError(f"expected one of the kinds {', '.join(LABELS_OF)}, found {kind!r}")
        if kind == ADDAMOD and adjectives is None:
            raise ValueError(
                "AddAmod needs to know which adjectives go with which nouns; pass adjectives=adjective_counts(…)"
            )
        self.kind, self._premises, self._parser = kind, premises, parser
        self._adjectives, self._min_count, self._words = adjectives or AdjectiveCounts(), min_count, words
        self._unfit: dict[int, str] = {}  # what can never be swapped, and why: most sentences

    def __len__(self) -> int:
        return len(self._premises)

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Yield what is made of each premise: SOSwap makes the same pair of it always, AddAmod draws an adjective."""
        parses = self._parser.parses(self._premises[i] for i in order if i not in self._unfit)
        for i in order:
            result = self._unfit.get(i) or self._made(next(parses), seed)
            if self.kind == SOSWAP and isinstance(result, str):
                self._unfit[i] = result
            yield result

    def _made(self, parse: Parse, seed: int) -> list[GeneratedPair] | str:
        if self.kind == SOSWAP:
            swap = swapped(parse, self._words)
            return swap if isinstance(swap, str) else [GeneratedPair(str(parse), swap.hypothesis, LABELS_OF[SOSWAP])]
        added = addamod(parse, self._adjectives, seed=seed, min_count=self._min_count, words=self._words)
        return [GeneratedPair(*added[:2], LABELS_OF[ADDAMOD])] if isinstance(added, Addition) else str(added)


NOT_KNOWN: Final = "entailment, which the exchanged pair need not have"
MAY_FOLLOW: Final = "a neutral pair whose premise may follow from its hypothesis"
NO_PROOF: Final = "no proof of both orders"

_CONTENT: Final = frozenset("NOUN PROPN VERB ADJ NUM".split())
_LEAST_NEW: Final = 2
"""Content words that a premise must have beside its hypothesis's: one may be said there in another word."""
_AT_ONCE: Final = 256  # pairs whose sentences are parsed together


class Labeller(Protocol):
    """What proves labels (`baselines.natlog.sentences.Labeller`)."""

    def labels(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Iterator[Verdict]:
        """Yield what it says of n pairs, in order."""
        ...


class SwappedPairs:
    """The maker of exchanged pairs whose label survives."""

    kind = "swapped"
    balanced = False

    def __init__(self, examples: Sequence[Example], parser: Parser) -> None:
        """Take the pairs, and what parses their sentences, once ever."""
        self._examples, self._parser = examples, parser

    def __len__(self) -> int:
        return len(self._examples)

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Yield what is made of each pair, whatever the seed."""
        for some in (order[start : start + _AT_ONCE] for start in range(0, len(order), _AT_ONCE)):
            examples = [self._examples[i] for i in some]
            neutral = [example for example in examples if example.label == NEUTRAL]
            parses = self._parser.parses(text for example in neutral for text in example[1:3])
            for example in examples:
                if example.label == ENTAILMENT:
                    yield NOT_KNOWN
                elif example.label == NEUTRAL and not _tells_more(next(parses), next(parses)):
                    yield MAY_FOLLOW
                else:
                    yield [GeneratedPair(example.hypothesis, example.premise, example.label)]


def _tells_more(premise: Parse, hypothesis: Parse) -> bool:
    """Tell whether a premise says what its hypothesis does not."""
    said = {*hypothesis.lower_words, *(lemma.lower() for lemma in hypothesis.lemmas)}
    new = {
        premise.lemmas[i].lower()
        for i, pos in enumerate(premise.pos)
        if pos in _CONTENT and said.isdisjoint((premise.lemmas[i].lower(), premise.lower_words[i]))
    }
    return len(new) >= _LEAST_NEW


class ReversedPairs:
    """The maker of exchanged pairs whose label is proved."""

    kind = "reversed"
    balanced = False

    def __init__(self, examples: Sequence[Example], labeller: Labeller) -> None:
        """Take the pairs, and what proves their labels."""
        self._examples, self._labeller = examples, labeller
        # What is proved of each, once: the number of its label, -1 for none, -2 where nobody has asked.
        self._proved = np.full(len(examples), -2, np.int8)

    def __len__(self) -> int:
        return len(self._examples)

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Yield what is made of each pair, whatever the seed."""
        for some in (order[start : start + _AT_ONCE] for start in range(0, len(order), _AT_ONCE)):
            self._prove([i for i in some if self._proved[i] == -2])
            for i in some:
                example, label = self._examples[i], int(self._proved[i])
                yield NO_PROOF if label < 0 else [GeneratedPair(example.hypothesis, example.premise, LABELS[label])]

    def _prove(self, numbers: list[int]) -> None:
        self._proved[numbers] = -1
        known = [i for i, label in self._labels(numbers, 1, 2) if label == self._examples[i].label]
        for i, label in self._labels(known, 2, 1):
            if label is not None:
                self._proved[i] = LABELS.index(label)

    def _labels(self, numbers: list[int], premise: int, hypothesis: int) -> Iterator[tuple[int, str | None]]:
        """Yield some pairs' numbers with what is proved of them, read in an order."""
        premises, hypotheses = ([str(self._examples[i][side]) for i in numbers] for side in (premise, hypothesis))
        yield from zip(numbers, map(proved, self._labeller.labels(premises, hypotheses)), strict=True)


def proved(verdict: Verdict) -> str | None:
    """Return the label that a verdict proves; None where it only found no proof of another.

    Neutral is proved where the premise follows from the hypothesis and not the other way round, or where both may be
    true, one of them must be, and neither is the other's negation.
    """
    relation = verdict.relation
    return None if relation in (None, Relation.INDEPENDENCE) else three_way(relation)
