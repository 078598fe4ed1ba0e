"""Training pairs with premise and hypothesis exchanged, and the labels that are known then.

`Swapped` takes the labels that survive. What contradicts, contradicts in both orders, where both sentences tell of one
event. A neutral pair says nothing of the other order, unless the premise tells what the hypothesis does not: then that
does not follow from the hypothesis, and the exchanged pair is neutral too. (The swapped set, as its paper has it, takes
all neutral pairs.) What is entailed need not entail.

`Reversed` takes the pairs whose label natural logic proves in both orders (`natlog.sentences`), and whose own label is
what it proves of them as they are.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np

from unbag.data.labels import ENTAILMENT, LABELS, NEUTRAL
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser
from unbag.natlog.relations import Relation, three_way
from unbag.natlog.sentences import Verdict
from unbag.perturb.augmentation import Made

NOT_KNOWN: Final = "entailment, which the exchanged pair need not have"
MAY_FOLLOW: Final = "a neutral pair whose premise may follow from its hypothesis"
NO_PROOF: Final = "no proof of both orders"

_CONTENT: Final = frozenset("NOUN PROPN VERB ADJ NUM".split())
_LEAST_NEW: Final = 2
"""Content words that a premise must have beside its hypothesis's: one may be said there in another word."""
_AT_ONCE: Final = 256  # pairs whose sentences are parsed together


class Labeller(Protocol):
    """What proves labels (`natlog.sentences.Labeller`)."""

    def labels(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Iterator[Verdict]:
        """Yield what it says of n pairs, in order."""
        ...


class Swapped:
    """The maker of exchanged pairs whose label survives."""

    kind = "swapped"
    balanced = False

    def __init__(self, examples: Sequence[Example], parser: Parser) -> None:
        """Take the pairs, and what parses their sentences, once ever."""
        self._examples, self._parser = examples, parser

    def __len__(self) -> int:
        return len(self._examples)

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[Made] | str]:
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
                    yield [Made(example.hypothesis, example.premise, example.label)]


def _tells_more(premise: Parse, hypothesis: Parse) -> bool:
    """Tell whether a premise says what its hypothesis does not."""
    said = {*hypothesis.lower_words, *(lemma.lower() for lemma in hypothesis.lemmas)}
    new = {
        premise.lemmas[i].lower()
        for i, pos in enumerate(premise.pos)
        if pos in _CONTENT and said.isdisjoint((premise.lemmas[i].lower(), premise.lower_words[i]))
    }
    return len(new) >= _LEAST_NEW


class Reversed:
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

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[Made] | str]:
        """Yield what is made of each pair, whatever the seed."""
        for some in (order[start : start + _AT_ONCE] for start in range(0, len(order), _AT_ONCE)):
            self._prove([i for i in some if self._proved[i] == -2])
            for i in some:
                example, label = self._examples[i], int(self._proved[i])
                yield NO_PROOF if label < 0 else [Made(example.hypothesis, example.premise, LABELS[label])]

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
