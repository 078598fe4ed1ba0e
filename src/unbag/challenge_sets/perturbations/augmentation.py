"""Data augmentation: a fixed number of pairs per epoch, generated from training pairs and different in each epoch.

Nie et al. 2019 "add 20,000 adversarial examples into training at each epoch", generated from the training set (section
4.2, note 6). Each kind of pair has a generator. `sample_generated_pairs` samples from a generator and determines the
order.

Some kinds consist of groups of pairs, such as the two pairs of a mirror, that a bag of words cannot tell apart. A group
is added as a whole, and its pairs share a batch (`training.batching`).

Two generators exchange premise and hypothesis, and keep pairs whose label is known in the new order:

- `SwappedPairGenerator` keeps labels that survive the exchange. Contradiction is symmetric if both sentences describe
  one event. A neutral pair stays neutral if the premise contains information that the hypothesis lacks, because the
  hypothesis cannot entail that information. (The swapped set keeps all neutral pairs, as its paper does.) Entailment
  pairs are excluded, because the converse need not hold.
- `ReversedPairGenerator` keeps pairs whose label natural logic proves in both orders (`baselines.natlog.labeler`). In
  the original order, the proved label must equal the pair's label.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from unbag.baselines.natlog.relations import Relation, to_three_way_label
from unbag.challenge_sets.perturbations.addamod import (
    DEFAULT_MIN_COUNT,
    DEFAULT_SEED,
    AddAmodPair,
    AdjectiveCounts,
    build_addamod_pair,
)
from unbag.challenge_sets.perturbations.soswap_addamod import (
    ADDAMOD,
    LABEL_BY_KIND,
    SOSWAP,
    swap_within_vocabulary_half,
)
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, is_official_sentence
from unbag.data.labels import ENTAILMENT, LABELS, NEUTRAL
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser
from unbag.utils import rng

if TYPE_CHECKING:
    from unbag.baselines.natlog.labeler import NatlogResult  # slow to import

DEFAULT_PAIRS: Final = 20_000

OFFICIAL: Final = "a sentence of an official set"
UNBALANCED: Final = "a label that half of the added pairs already have"


class GeneratedPair(NamedTuple):
    """A generated training pair."""

    premise: str
    hypothesis: str
    label: str


class PairGenerator:
    """Base class of the generators, which build one kind of training pair from n source sentences or pairs."""

    kind: str
    balanced = False  # whether each label is limited to half of the pairs
    group_size = 1  # number of pairs that a source yields together; 1 if its pairs are alternatives

    def __init__(self, sources: Sequence[Any]) -> None:
        """Initialize the generator with its source sentences or pairs."""
        self._sources = sources

    def __len__(self) -> int:
        return len(self._sources)

    def generate(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """For each source sentence or pair, yield the candidate pairs, or the reason why there are none.

        The pairs of a source depend on the seed, but not on the order of the sources. The caller takes one of the
        candidates, or with a `group_size` above 1 all of them.
        """
        raise NotImplementedError


class PremisePairGenerator(PairGenerator):
    """Base class of the generators that build pairs from each parsed premise alone."""

    def __init__(self, premises: Sequence[str], parser: Parser, *, words: str = ALL) -> None:
        """Initialize the generator. The parser has a cache on disk.

        `words` is the vocabulary of the pairs: `all`, or one half (`challenge_sets.perturbations.vocabulary_split`).
        """
        super().__init__(premises)
        self._parser, self._words = parser, words

    def build_pairs(self, parse: Parse, seed: int) -> list[GeneratedPair] | str:
        """Build the candidate pairs of a premise, or return the reason why there are none."""
        raise NotImplementedError

    def generate(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Parse the premises, and yield the candidate pairs of each, or the reason why there are none."""
        for parse in self._parser.parse(self._sources[i] for i in order):
            yield self.build_pairs(parse, seed)


def sample_generated_pairs(
    generator: PairGenerator, *, epoch: int, n_pairs: int, seed: int = DEFAULT_SEED, counts: Counter[str] | None = None
) -> Iterator[Example]:
    """Sample the generated pairs of one epoch. They depend on the epoch, the seed and the sources.

    Each epoch visits the sources in its own random order until there are enough pairs. If one pass is not enough,
    another pass follows in a new order and with a new seed for the generator. No pair contains a sentence of an
    official set (`challenge_sets.perturbations.vocabulary_split`).

    `n_pairs` is rounded down to whole groups, but at least to one. The iteration counts the exclusion reasons in
    `counts`.

    Raises:
        ValueError: If no source yields a pair.
    """
    size = generator.group_size
    groups = _endless_groups(generator, epoch, seed, Counter() if counts is None else counts)
    return chain.from_iterable(islice(groups, max(1, n_pairs // size)))


def _endless_groups(generator: PairGenerator, epoch: int, seed: int, counts: Counter[str]) -> Iterator[list[Example]]:
    labels: Counter[str] = Counter()
    balanced = generator.balanced
    for turn in count():
        key = rng.compute_key(seed, "augmentation", generator.kind, epoch, turn)
        order = np.argsort(rng.generate_random_numbers(key, np.arange(len(generator))), kind="stable").tolist()
        before, too_many = labels.total(), False
        for number, result in zip(order, generator.generate(order, int(key)), strict=True):
            if isinstance(result, str):
                counts[str(result)] += 1
                continue
            usable = [
                pair
                for pair in result
                if not (is_official_sentence(pair.premise) or is_official_sentence(pair.hypothesis))
            ]
            if len(usable) < generator.group_size:
                counts[OFFICIAL] += 1
                continue
            if generator.group_size > 1:
                chosen = usable
            else:
                chosen = [min(usable, key=lambda pair: labels[pair.label])]  # prefer the label with the fewest pairs
            # With this limit, no label exceeds half of the pairs by more than one.
            if balanced and 2 * max(labels[pair.label] for pair in chosen) > labels.total() + 1:
                counts[UNBALANCED] += 1
                too_many = True
                continue
            labels.update(pair.label for pair in chosen)
            name = f"{number}#{generator.kind}#{epoch}.{turn}"
            names = [name] if len(chosen) == 1 else [f"{name}#{i}" for i in range(len(chosen))]
            yield [Example(each, *pair) for each, pair in zip(names, chosen, strict=True)]
        if labels.total() == before:
            if not too_many:
                raise ValueError(
                    f"--augment: expected training data that yields pairs of the kind {generator.kind!r}, got "
                    f"{len(generator):,} unsuitable premises or pairs; omit this kind or use other data"
                )
            # A full pass yielded only pairs of the over-represented label. More passes could not balance the labels.
            balanced = False


_ID: Final = re.compile(r"(?P<group>\d+#(?P<kind>\w+)#\d+\.\d+)(?P<member>#\d+)?")


def parse_pair_kind(source_id: str) -> str | None:
    """Parse the kind of a generated pair, e.g. `soswap`, from its id. Return None for a pair from a corpus.

    >>> parse_pair_kind("17#soswap#0.1"), parse_pair_kind("snli-train-17")
    ('soswap', None)
    """
    match = _ID.fullmatch(source_id)
    return match and match["kind"]


def parse_pair_group(source_id: str) -> str | None:
    """Parse the group id of a generated pair from its id. Return None if the pair belongs to no group.

    >>> parse_pair_group("17#negation#0.1#0"), parse_pair_group("17#soswap#0.1"), parse_pair_group("snli-train-17#1")
    ('17#negation#0.1', None, None)
    """
    match = _ID.fullmatch(source_id)
    return match["group"] if match and match["member"] else None


class SoswapAddamodPairGenerator(PremisePairGenerator):
    """Generator that builds one SOSwap or AddAmod pair from each premise.

    For AddAmod, the seed selects the nouns and the adjective. SOSwap does not use the seed.
    """

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
        """Initialize the generator as in `PremisePairGenerator`.

        `kind` is `soswap` or `addamod`, which requires counts of adjectives by noun. An adjective occurs at least
        `min_count` times with a noun.
        """
        if kind not in LABEL_BY_KIND:
            raise ValueError(f"kind: expected one of {', '.join(LABEL_BY_KIND)}, got {kind!r}")
        if kind == ADDAMOD and adjectives is None:
            raise ValueError(
                "adjectives: expected counts of adjectives for AddAmod, got None; pass adjectives=count_adjectives(…)"
            )
        super().__init__(premises, parser, words=words)
        self.kind, self._adjectives, self._min_count = kind, adjectives or AdjectiveCounts(), min_count
        # Premises that can never be swapped, with the reason. Most premises are here after the first pass, and later
        # passes do not parse them again.
        self._excluded: dict[int, str] = {}

    def generate(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Generate one pair per premise."""
        built = super().generate([i for i in order if i not in self._excluded], seed)
        for i in order:
            result = self._excluded.get(i) or next(built)
            if self.kind == SOSWAP and isinstance(result, str):
                self._excluded[i] = result
            yield result

    def build_pairs(self, parse: Parse, seed: int) -> list[GeneratedPair] | str:
        """Build the pair of a premise, or return the reason why there is none."""
        if self.kind == SOSWAP:
            swap = swap_within_vocabulary_half(parse, self._words)
            return (
                swap if isinstance(swap, str) else [GeneratedPair(str(parse), swap.hypothesis, LABEL_BY_KIND[SOSWAP])]
            )
        added = build_addamod_pair(parse, self._adjectives, seed=seed, min_count=self._min_count, words=self._words)
        return [GeneratedPair(*added[:2], LABEL_BY_KIND[ADDAMOD])] if isinstance(added, AddAmodPair) else str(added)


NOT_SYMMETRIC: Final = "entailment, which may not hold in the other direction"
MAY_FOLLOW: Final = "a neutral pair whose premise may follow from its hypothesis"
NO_PROOF: Final = "no proof of the labels in both directions"

_CONTENT: Final = frozenset("NOUN PROPN VERB ADJ NUM".split())
_MIN_NEW_WORDS: Final = 2
"""Minimum number of content words of a premise that its hypothesis lacks. One such word could be paraphrased there."""
_CHUNK_SIZE: Final = 256  # pairs whose sentences are parsed or labelled together


class LabelProver(Protocol):
    """Protocol for labelers that prove the label of a pair, such as `baselines.natlog.labeler.NatlogLabeler`."""

    def iter_verdicts(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Iterator["NatlogResult"]:
        """Prove the labels of n pairs with natural logic, and yield the results in the order of the pairs."""
        ...


class SwappedPairGenerator(PairGenerator):
    """Generator that exchanges premise and hypothesis of pairs whose label is the same in both directions."""

    kind = "swapped"

    def __init__(self, examples: Sequence[Example], parser: Parser) -> None:
        """Initialize the generator with the source pairs and the parser of their sentences."""
        super().__init__(examples)
        self._parser = parser

    def generate(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Exchange premise and hypothesis of each source pair. The seed has no effect."""
        for chunk in (order[start : start + _CHUNK_SIZE] for start in range(0, len(order), _CHUNK_SIZE)):
            examples = [self._sources[i] for i in chunk]
            neutral = [example for example in examples if example.label == NEUTRAL]
            parses = self._parser.parse(text for example in neutral for text in example[1:3])
            for example in examples:
                if example.label == ENTAILMENT:
                    yield NOT_SYMMETRIC
                elif example.label == NEUTRAL and not _adds_information(next(parses), next(parses)):
                    yield MAY_FOLLOW
                else:
                    yield [GeneratedPair(example.hypothesis, example.premise, example.label)]


def _adds_information(premise: Parse, hypothesis: Parse) -> bool:
    """Check whether a premise contains information that its hypothesis lacks."""
    # Words and lemmas, since the parser may give one word different lemmas in the two sentences.
    hypothesis_words = {*hypothesis.lower_words, *(lemma.lower() for lemma in hypothesis.lemmas)}
    new = {
        premise.lemmas[i].lower()
        for i, pos in enumerate(premise.pos)
        if pos in _CONTENT and hypothesis_words.isdisjoint((premise.lemmas[i].lower(), premise.lower_words[i]))
    }
    return len(new) >= _MIN_NEW_WORDS


class ReversedPairGenerator(PairGenerator):
    """Generator that exchanges premise and hypothesis of pairs if natural logic can prove the label of the new pair."""

    kind = "reversed"

    def __init__(self, examples: Sequence[Example], labeller: LabelProver) -> None:
        """Initialize the generator with the source pairs and the labeller that proves their labels."""
        super().__init__(examples)
        self._labeller = labeller
        # Proved label of each exchanged pair: its id, -1 for no proof, -2 for not computed yet.
        self._proved = np.full(len(examples), -2, np.int8)

    def generate(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Exchange premise and hypothesis of each source pair. The seed has no effect."""
        for chunk in (order[start : start + _CHUNK_SIZE] for start in range(0, len(order), _CHUNK_SIZE)):
            self._prove([i for i in chunk if self._proved[i] == -2])
            for i in chunk:
                example, label = self._sources[i], int(self._proved[i])
                yield NO_PROOF if label < 0 else [GeneratedPair(example.hypothesis, example.premise, LABELS[label])]

    def _prove(self, numbers: list[int]) -> None:
        # If the prover does not confirm the known label of a pair, its label of the exchanged pair is not used either.
        self._proved[numbers] = -1
        confirmed = [i for i, label in self._labels(numbers, 1, 2) if label == self._sources[i].label]
        for i, label in self._labels(confirmed, 2, 1):
            if label is not None:
                self._proved[i] = LABELS.index(label)

    def _labels(self, numbers: list[int], premise: int, hypothesis: int) -> Iterator[tuple[int, str | None]]:
        """Iterate over (index, proved label) of some pairs, reading the given fields as premise and hypothesis."""
        premises, hypotheses = ([str(self._sources[i][side]) for i in numbers] for side in (premise, hypothesis))
        yield from zip(numbers, map(get_proved_label, self._labeller.iter_verdicts(premises, hypotheses)), strict=True)


def get_proved_label(result: "NatlogResult") -> str | None:
    """Get the label that a natural-logic result proves. Return None if no label is proved.

    Neutral is proved in two cases: the hypothesis entails the premise and the converse does not hold (reverse
    entailment), or the sentences cover all cases, can both be true, and neither is the negation of the other (cover).
    """
    relation = result.relation
    return None if relation in (None, Relation.INDEPENDENCE) else to_three_way_label(relation)
