"""Data augmentation: pairs that `--augment` adds to each epoch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from unbag.challenge_sets.perturbations.augmentation import (
    PairGenerator,
    create_addamod_generator,
    create_reversed_generator,
    create_soswap_generator,
    create_swapped_generator,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.contrast_sets import create_contrast_generator
from unbag.challenge_sets.perturbations.corpus_counts import count_words_and_bigrams
from unbag.challenge_sets.perturbations.negation import create_mirror_generator, create_negated_generator
from unbag.challenge_sets.perturbations.recombined import create_recombined_generator
from unbag.challenge_sets.perturbations.soswap_addamod import count_adjectives
from unbag.challenge_sets.perturbations.substitution import Substituter, create_substituted_generator
from unbag.challenge_sets.perturbations.vocabulary_split import ALL
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, WORD_LISTS
from unbag.data.sources import Example
from unbag.data.text.parses import Parser
from unbag.training.config import is_wordnet_required
from unbag.training.data import PairDataset


class PairAugmenter:
    """Data augmentation that builds new pairs from the training pairs. Every epoch gets different pairs.

    The attribute `identity` holds the versions of the parser and, where used, of WordNet.
    """

    def __init__(self, parts: Sequence[PairDataset], *, pairs: Mapping[str, int], words: str, seed: int) -> None:
        """Load the parser and WordNet, and count adjectives and bigrams of the training pairs.

        Args:
            pairs: Number of pairs per epoch for each kind.
            words: Half of the vocabulary that added pairs draw from, or `all`
                (`challenge_sets.perturbations.vocabulary_split`).
        """
        examples = [example for part in parts for example in part.examples]
        premises = list(dict.fromkeys(example.premise for example in examples))
        parser = Parser()
        self._pairs, self._words, self._seed = dict(pairs), words, seed
        self.identity = {"parser": parser.identity}
        wordnet: Any = None
        if is_wordnet_required(pairs):
            from unbag.baselines.wordnet.database import open_wordnet

            wordnet = open_wordnet()
            self.identity["wordnet"] = wordnet.identity
        self._makers = [_maker(kind, examples, premises, parser, wordnet, words) for kind in pairs]
        self._first: dict[str, Any] | None = None

    def __call__(self, epoch: int) -> list[Example]:
        """Build the augmented pairs of one epoch. Raises a `ValueError` if no pair of some kind can be built."""
        made: list[Example] = []
        record: dict[str, Any] = {}
        for maker in self._makers:
            excluded: Counter[str] = Counter()
            n = self._pairs[maker.kind]
            some = list(sample_generated_pairs(maker, epoch=epoch, n_pairs=n, seed=self._seed, counts=excluded))
            record[maker.kind] = {
                "pairs": len(some),
                "different": len({example[1:3] for example in some}),
                "labels": dict(sorted(Counter(example.label for example in some).items())),
                "excluded": dict(sorted(excluded.items())),
            }
            made += some
        if epoch == 0:
            self._first = record
        return made

    def build_record(self) -> dict[str, Any]:
        """Count the added pairs of the first epoch by kind and label, and the excluded candidates by reason."""
        return {"words": self._words, "first_epoch": self._first}


def _maker(
    kind: str, examples: list[Example], premises: list[str], parser: Parser, wordnet: Any, words: str
) -> PairGenerator:
    if kind == "soswap":
        if words != ALL:  # half the vocabulary allows few swaps of premises: swap hypotheses too
            premises = list(dict.fromkeys([*premises, *(example.hypothesis for example in examples)]))
        return create_soswap_generator(premises, parser, words=words)
    if kind == "addamod":
        return create_addamod_generator(premises, parser, adjectives=count_adjectives(examples, parser), words=words)
    if kind == "swapped":
        return create_swapped_generator(examples, parser)
    if kind == "recombined":
        return create_recombined_generator(examples, parser)
    if kind == "negation":
        return create_mirror_generator(premises, parser, words=words)
    if kind in ("substituted", "contrast"):
        from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates

        lists = (*WORD_LISTS, *NEUTRAL_LISTS)
        substituter = Substituter(
            count_words_and_bigrams(examples), lists=lists, more=WordNetCandidates(wordnet).get_candidates, words=words
        )
        if kind == "substituted":
            return create_substituted_generator(premises, substituter)
        return create_contrast_generator(
            premises, parser, adjectives=count_adjectives(examples, parser), substituter=substituter
        )
    from unbag.baselines.natlog.labeler import NatlogLabeler

    labeller = NatlogLabeler(parser, wordnet, wordnet.identity)
    if kind == "negated":
        return create_negated_generator(premises, parser, labeller, words=words)
    assert kind == "reversed"
    return create_reversed_generator(examples, labeller)
