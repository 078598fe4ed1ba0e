"""Pairs for training that differ in one word, as those of Breaking NLI do (`perturb.substitution`)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from unbag.perturb.augmentation import Made
from unbag.perturb.substitution import Substituter

NO_WORD = "no word to replace"
_EVERY = 100  # replacements of a premise: more than any has


class Substituted:
    """The maker of pairs with one word replaced."""

    kind = "substituted"
    balanced = True

    def __init__(self, premises: Sequence[str], substituter: Substituter) -> None:
        """Take distinct sentences, and how their words are replaced; its seed and number do not matter."""
        self._premises, self._substituter = premises, substituter

    def __len__(self) -> int:
        return len(self._premises)

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[Made] | str]:
        """Yield what is made of each premise, a pair for each word that can be replaced; the seed draws by what."""
        substituter = replace(self._substituter, q=_EVERY, seed=seed)
        for i in order:
            premise = self._premises[i]
            found = substituter.of(premise)
            yield [Made(premise, each.hypothesis, each.label) for each in found] or NO_WORD
