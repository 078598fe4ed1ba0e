"""Pairs with a negation whose label natural logic proves, of all three labels.

Of a plain sentence S ("A man is riding a horse in a field."), a shorter one T that follows from it ("A man is riding a
horse."), and their negations ("No man …"):

- contradiction: S and not S, S and not T, in either order;
- entailment: not T, so not S;
- neutral: not S, so perhaps not T; T and not S, in either order.

So a negation tells no label: it is in the premise or in the hypothesis of each of the three.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from unbag.data.text.parses import Parse, Parser
from unbag.perturb.augmentation import Made
from unbag.perturb.exchanged import Labeller, proved
from unbag.perturb.halves import ALL, are_in
from unbag.perturb.negation import negations, plain_clause
from unbag.perturb.shortening import shortenings
from unbag.utils import rng

NOT_PLAIN: Final = "no plain sentence"
NO_TEMPLATE: Final = "no template that fits"
NO_PROOF: Final = "no proof of its label"
_AT_ONCE: Final = 64  # sentences whose pairs are proved together

T = TypeVar("T")


class Negated:
    """The maker of negated pairs of some premises."""

    kind = "negated"
    balanced = True

    def __init__(self, premises: Sequence[str], parser: Parser, labeller: Labeller, *, words: str = ALL) -> None:
        """Take what it makes them of.

        Args:
            premises: distinct sentences.
            parser: parses them, once ever.
            labeller: proves the labels.
            words: `all`, or the half of the templates that it uses (`perturb.halves`).
        """
        self._premises, self._parser, self._labeller, self._words = premises, parser, labeller, words

    def __len__(self) -> int:
        return len(self._premises)

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[Made] | str]:
        """Yield the pairs of each premise, one of each label that is proved; the seed draws template and words."""
        for start in range(0, len(order), _AT_ONCE):
            parses = self._parser.parses(self._premises[i] for i in order[start : start + _AT_ONCE])
            candidates = [self._candidates(parse, seed) for parse in parses]
            pairs = [made for some in candidates if not isinstance(some, str) for made in some]
            verdicts = self._labeller.labels([made.premise for made in pairs], [made.hypothesis for made in pairs])
            for some in candidates:
                if isinstance(some, str):
                    yield some
                    continue
                right = [made for made in some if proved(next(verdicts)) == made.label]
                yield right or NO_PROOF

    def _candidates(self, parse: Parse, seed: int) -> list[Made] | str:
        """Return one pair of each label, those that there are."""
        clause = plain_clause(parse)
        if clause is None:
            return NOT_PLAIN
        by_template = {name: text for name, text in negations(parse, clause).items() if are_in(self._words, [name])}
        if not by_template:
            return NO_TEMPLATE
        long, key = str(parse), int(rng.key(seed, "negated", str(parse)))
        template = _one(sorted(by_template), key, "template")
        not_long = by_template[template]
        pairs = [Made(long, not_long, CONTRADICTION), Made(not_long, long, CONTRADICTION)]
        shorter = [(each, clause) for each in shortenings(parse) if (clause := plain_clause(each)) is not None]
        if shorter:
            short, clause = _one(shorter, key, "shorter")
            not_short = negations(short, clause).get(template)
            if not_short is not None:
                pairs += [
                    Made(long, not_short, CONTRADICTION),
                    Made(not_short, long, CONTRADICTION),
                    Made(not_short, not_long, ENTAILMENT),
                    Made(not_long, not_short, NEUTRAL),
                    Made(str(short), not_long, NEUTRAL),
                    Made(not_long, str(short), NEUTRAL),
                ]
        by_label = {label: [made for made in pairs if made.label == label] for label in LABELS}
        return [_one(some, key, label) for label, some in by_label.items() if some]


def _one(some: Sequence[T], key: int, name: str) -> T:
    return some[int(rng.key(key, name)) % len(some)]
