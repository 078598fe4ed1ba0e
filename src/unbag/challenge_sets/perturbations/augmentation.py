"""Data augmentation: a fixed number of pairs per epoch, generated from training pairs and different in each epoch.

Nie et al. 2019 "add 20,000 adversarial examples into training at each epoch", generated from the training set (section
4.2, note 6). Each kind of pair has a generator. `sample_generated_pairs` samples from a generator and determines the
order.

Some kinds consist of groups of pairs, such as the two pairs of a mirror, that a bag of words cannot tell apart. A group
is added as a whole, and its pairs share a batch (`training.batching`).

Two kinds exchange premise and hypothesis, and keep pairs whose label is known in the new order:

- `swapped` keeps labels that survive the exchange. Contradiction is symmetric if both sentences describe
  one event. A neutral pair stays neutral if the premise contains information that the hypothesis lacks, because the
  hypothesis cannot entail that information. (The swapped set keeps all neutral pairs, as its paper does.) Entailment
  pairs are excluded, because the converse need not hold.
- `reversed` keeps pairs whose label natural logic proves in both orders (`baselines.natlog.labeler`). In
  the original order, the proved label must equal the pair's label.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from unbag.baselines.natlog.relations import Relation, to_three_way_label
from unbag.challenge_sets.perturbations.addamod import (
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


Candidates: TypeAlias = list[GeneratedPair] | str
"""The candidate pairs of a source sentence or pair, or the reason why there are none."""


@dataclass(frozen=True)
class PairGenerator:
    """Generator of one kind of training pair from n source sentences or pairs.

    `generate` yields the candidates of each source, given the order of the sources and a seed. The candidates depend on
    the seed, but not on the order. The caller takes one of them, or with a `group_size` above 1 all of them.
    """

    kind: str
    sources: Sequence[Any]
    generate: Callable[[Sequence[int], int], Iterator[Candidates]]
    balanced: bool = False  # whether each label is limited to half of the pairs
    group_size: int = 1  # number of pairs that a source yields together; 1 if its pairs are alternatives

    def __len__(self) -> int:
        return len(self.sources)


def create_premise_generator(
    kind: str,
    premises: Sequence[str],
    parser: Parser,
    build_pairs: Callable[[Parse, int], Candidates],
    *,
    group_size: int = 1,
) -> PairGenerator:
    """Create a generator that builds the candidates from each parsed premise alone. The parser has a cache on disk."""

    def generate(order: Sequence[int], seed: int) -> Iterator[Candidates]:
        for parse in parser.parse(premises[i] for i in order):
            yield build_pairs(parse, seed)

    return PairGenerator(kind, premises, generate, group_size=group_size)


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


def create_soswap_generator(premises: Sequence[str], parser: Parser, *, words: str = ALL) -> PairGenerator:
    """Create a generator of one SOSwap pair per premise, which does not depend on the seed.

    `words` is the vocabulary of the pairs: `all`, or one half (`challenge_sets.perturbations.vocabulary_split`).
    """

    def build_pairs(parse: Parse, seed: int) -> Candidates:
        swap = swap_within_vocabulary_half(parse, words)
        return swap if isinstance(swap, str) else [GeneratedPair(str(parse), swap.hypothesis, LABEL_BY_KIND[SOSWAP])]

    generator = create_premise_generator(SOSWAP, premises, parser, build_pairs)
    # Premises that can never be swapped, with the reason. Most premises are here after the first pass, and later passes
    # do not parse them again.
    excluded: dict[int, str] = {}

    def generate(order: Sequence[int], seed: int) -> Iterator[Candidates]:
        built = generator.generate([i for i in order if i not in excluded], seed)
        for i in order:
            result = excluded.get(i) or next(built)
            if isinstance(result, str):
                excluded[i] = result
            yield result

    return replace(generator, generate=generate)


def create_addamod_generator(
    premises: Sequence[str], parser: Parser, *, adjectives: AdjectiveCounts, words: str = ALL
) -> PairGenerator:
    """Create a generator of one AddAmod pair per premise. The seed selects the nouns and the adjective.

    `words` is the vocabulary of the pairs: `all`, or one half (`challenge_sets.perturbations.vocabulary_split`).
    """

    def build_pairs(parse: Parse, seed: int) -> Candidates:
        added = build_addamod_pair(parse, adjectives, seed=seed, words=words)
        return [GeneratedPair(*added[:2], LABEL_BY_KIND[ADDAMOD])] if isinstance(added, AddAmodPair) else str(added)

    return create_premise_generator(ADDAMOD, premises, parser, build_pairs)


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


def create_swapped_generator(examples: Sequence[Example], parser: Parser) -> PairGenerator:
    """Create a generator that exchanges premise and hypothesis of pairs whose label is the same in both directions."""

    def generate(order: Sequence[int], seed: int) -> Iterator[Candidates]:
        for chunk in _iter_chunks(order):
            pairs = [examples[i] for i in chunk]
            parses = parser.parse(text for pair in pairs if pair.label == NEUTRAL for text in pair[1:3])
            for pair in pairs:
                if pair.label == ENTAILMENT:
                    yield NOT_SYMMETRIC
                elif pair.label == NEUTRAL and not _adds_information(next(parses), next(parses)):
                    yield MAY_FOLLOW
                else:
                    yield [GeneratedPair(pair.hypothesis, pair.premise, pair.label)]

    return PairGenerator("swapped", examples, generate)


def _iter_chunks(order: Sequence[int]) -> Iterator[Sequence[int]]:
    return (order[start : start + _CHUNK_SIZE] for start in range(0, len(order), _CHUNK_SIZE))


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


def create_reversed_generator(examples: Sequence[Example], labeller: LabelProver) -> PairGenerator:
    """Create a generator that exchanges premise and hypothesis of pairs if natural logic proves the new label."""
    # Proved label of each exchanged pair: its id, -1 for no proof, -2 for not computed yet.
    proved = np.full(len(examples), -2, np.int8)

    def iter_labels(numbers: list[int], premise: int, hypothesis: int) -> Iterator[tuple[int, str | None]]:
        """Iterate over (index, proved label) of some pairs, reading the given fields as premise and hypothesis."""
        premises, hypotheses = ([str(examples[i][side]) for i in numbers] for side in (premise, hypothesis))
        yield from zip(numbers, map(get_proved_label, labeller.iter_verdicts(premises, hypotheses)), strict=True)

    def generate(order: Sequence[int], seed: int) -> Iterator[Candidates]:
        for chunk in _iter_chunks(order):
            new = [i for i in chunk if proved[i] == -2]
            proved[new] = -1
            # If the prover does not confirm the known label of a pair, its label of the exchanged pair is not used.
            confirmed = [i for i, label in iter_labels(new, 1, 2) if label == examples[i].label]
            for i, label in iter_labels(confirmed, 2, 1):
                if label is not None:
                    proved[i] = LABELS.index(label)
            for i in chunk:
                pair, number = examples[i], int(proved[i])
                yield NO_PROOF if number < 0 else [GeneratedPair(pair.hypothesis, pair.premise, LABELS[number])]

    return PairGenerator("reversed", examples, generate)


def get_proved_label(result: "NatlogResult") -> str | None:
    """Get the label that a natural-logic result proves. Return None if no label is proved.

    Neutral is proved in two cases: the hypothesis entails the premise and the converse does not hold (reverse
    entailment), or the sentences cover all cases, can both be true, and neither is the negation of the other (cover).
    """
    relation = result.relation
    return None if relation in (None, Relation.INDEPENDENCE) else to_three_way_label(relation)
