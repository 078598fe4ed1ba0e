"""The pairs that `--augment` adds to each epoch, of which kinds and how many."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from unbag.challenge_sets.perturbations.augmentation import (
    PairGenerator,
    ReversedPairs,
    SoswapAddamodPairs,
    SwappedPairs,
    sample_epoch,
)
from unbag.challenge_sets.perturbations.corpus_counts import count_corpus
from unbag.challenge_sets.perturbations.negation import NegatedPairs
from unbag.challenge_sets.perturbations.soswap_addamod import ADDAMOD, SOSWAP, adjective_counts
from unbag.challenge_sets.perturbations.substitution import SubstitutedPairs, Substituter
from unbag.challenge_sets.perturbations.vocabulary_split import ALL
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, WORD_LISTS
from unbag.data.sources import Example
from unbag.data.text.parses import Parser
from unbag.training.config import asks_wordnet
from unbag.training.data import Part


class Augmented:
    """Pairs made of the training pairs, other ones each epoch.

    Attributes:
        identity: of the parser, and of WordNet where it is asked, for the record.
    """

    def __init__(self, parts: Sequence[Part], *, pairs: Mapping[str, int], words: str, seed: int) -> None:
        """Make ready what each kind is made with; adjectives and bigrams are counted here.

        Args:
            parts: the training pairs.
            pairs: how many pairs an epoch has of each kind.
            words: the half of the vocabulary that they are made with, or `all`
                (`challenge_sets.perturbations.vocabulary_split`).
            seed: decides the pairs, together with the epoch.

        Raises:
            ImportError: without spaCy, or where it is asked WordNet's reader.
            ValueError: without WordNet where it is asked.
        """
        examples = [example for part in parts for example in part.examples]
        premises = list(dict.fromkeys(example.premise for example in examples))
        parser = Parser()
        self._pairs, self._words, self._seed = dict(pairs), words, seed
        self.identity = {"parser": parser.identity}
        wordnet: Any = None
        if asks_wordnet(pairs):
            from unbag.baselines.wordnet.database import open_wordnet

            wordnet = open_wordnet()
            self.identity["wordnet"] = wordnet.identity
        self._makers = [_maker(kind, examples, premises, parser, wordnet, words) for kind in pairs]
        self._first: dict[str, Any] | None = None

    def __call__(self, epoch: int) -> list[Example]:
        """Return the pairs of one epoch.

        Raises:
            ValueError: if nothing makes a pair of some kind.
        """
        made: list[Example] = []
        record: dict[str, Any] = {}
        for maker in self._makers:
            left_out: Counter[str] = Counter()
            n = self._pairs[maker.kind]
            some = list(sample_epoch(maker, epoch=epoch, pairs=n, seed=self._seed, counts=left_out))
            labels = Counter(example.label for example in some)
            different = len({example[1:3] for example in some})
            record[maker.kind] = {
                "pairs": n,
                "different": different,
                "labels": dict(sorted(labels.items())),
                "left_out": dict(sorted(left_out.items())),
            }
            made += some
        if epoch == 0:
            self._first = record
        return made

    def record(self) -> dict[str, Any]:
        """Return, once the first epoch was made, how many pairs of it are of which kind and label, and what was not."""
        return {"words": self._words, "first_epoch": self._first}


def _maker(
    kind: str, examples: list[Example], premises: list[str], parser: Parser, wordnet: Any, words: str
) -> PairGenerator:
    if kind in (SOSWAP, ADDAMOD):
        if kind == SOSWAP and words != ALL:  # few verbs and nouns are all of one half: hypotheses are swapped too
            premises = list(dict.fromkeys([*premises, *(example.hypothesis for example in examples)]))
        adjectives = adjective_counts(examples, parser) if kind == ADDAMOD else None
        return SoswapAddamodPairs(premises, parser, kind=kind, adjectives=adjectives, words=words)
    if kind == SwappedPairs.kind:
        return SwappedPairs(examples, parser)
    if kind == SubstitutedPairs.kind:
        from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates

        lists = (*WORD_LISTS, *NEUTRAL_LISTS)
        return SubstitutedPairs(
            premises, Substituter(count_corpus(examples), lists=lists, more=WordNetCandidates(wordnet), words=words)
        )
    from unbag.baselines.natlog.sentences import Labeller

    labeller = Labeller(parser, wordnet, wordnet.identity)
    if kind == NegatedPairs.kind:
        return NegatedPairs(premises, parser, labeller, words=words)
    assert kind == ReversedPairs.kind
    return ReversedPairs(examples, labeller)
