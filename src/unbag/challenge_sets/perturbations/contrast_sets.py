"""Contrast sets for training: four pairs from one premise with nearly the same words and all three labels.

Gardner et al. (2020, https://arxiv.org/abs/2004.02709) call a few small changes of one example that change its label a
contrast set. Here, an adjective is added to one noun of a sentence, to another noun (`addamod`), or exchanged for one
that excludes it (`substitution`):

- M: "A man in a white hat walks a dog."
- O: "A man in a hat walks a white dog."
- S: "A man in a black hat walks a dog."

The pairs (premise, hypothesis) are (M, M) entailment, (O, M) neutral, (M, S) contradiction and (O, S) neutral, because
O leaves the color of the hat open. M and O have the same words except for capitals. So each hypothesis has premises of
the same words with two labels: no bag of words is right on more than half of the pairs, and no model that reads the
hypothesis alone. If the article of one noun adapts to the adjective and that of the other noun does not ("an old man in
the hat", "a man in the old hat"), the words differ, and there is no contrast set.

If subject and object of M can be exchanged without a change of words (`swap_subject_and_object`), the result X
replaces O in the first hypothesis: (X, M) is a contradiction.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from unbag.challenge_sets.perturbations.addamod import AddAmodPair, AdjectiveCounts, build_addamod_pair, modify_noun
from unbag.challenge_sets.perturbations.augmentation import (
    Candidates,
    GeneratedPair,
    PairGenerator,
    create_premise_generator,
)
from unbag.challenge_sets.perturbations.soswap import SwappedSentence
from unbag.challenge_sets.perturbations.soswap_addamod import swap_within_vocabulary_half
from unbag.challenge_sets.perturbations.substitution import SubstitutedSentence, Substituter
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.text.grammar import get_adjective_rank
from unbag.data.text.parses import Parse, Parser
from unbag.data.text.tokens import tokenize_words

NO_EXCLUSIVE: Final = "no adjective that excludes the added one"
OTHER_ARTICLE: Final = "an article that reveals the noun of the adjective (an old man in the hat)"
_UNLIMITED: Final = 100  # replacements per premise, more than any premise has


def create_contrast_generator(
    premises: Sequence[str], parser: Parser, *, adjectives: AdjectiveCounts, substituter: Substituter
) -> PairGenerator:
    """Create a generator of contrast sets: groups of four similar pairs. The seed selects the nouns and the adjectives.

    The substituter generates the exclusive adjectives. Its `words` also restricts the adjectives and nouns of AddAmod
    and the verb and nouns of SOSwap. Its `seed` and `q` have no effect.
    """

    def build_pairs(parse: Parse, seed: int) -> Candidates:
        return build_contrast_set(parse, adjectives, replace(substituter, q=_UNLIMITED, seed=seed))

    return create_premise_generator("contrast", premises, parser, build_pairs, group_size=4)


def build_contrast_set(parse: Parse, adjectives: AdjectiveCounts, substituter: Substituter) -> Candidates:
    """Build the contrast set of one sentence, or return the reason why there is none.

    The substituter generates the exclusive adjectives and has no limit per sentence. Its `seed` and `words` also apply
    to the other changes.
    """
    added = build_addamod_pair(parse, adjectives, seed=substituter.seed, words=substituter.words)
    if isinstance(added, str):
        return str(added)
    if _bag(added.premise) != _bag(added.hypothesis):
        return OTHER_ARTICLE
    modified = modify_noun(parse, added.premise_noun, added.adjective)
    assert modified is not None, "addamod adds only adjectives that the noun takes"
    exclusive = next(
        (each.hypothesis for each in substituter.substitute(added.premise) if _excludes(parse, added, each)), None
    )
    if exclusive is None:
        return NO_EXCLUSIVE
    other, label = added.hypothesis, NEUTRAL
    swap = swap_within_vocabulary_half(modified, substituter.words)
    # A repaired verb or pronoun is another word, which would give the label away.
    if isinstance(swap, SwappedSentence) and _bag(swap.hypothesis) == _bag(added.premise):
        other, label = swap.hypothesis, CONTRADICTION
    return [
        GeneratedPair(added.premise, added.premise, ENTAILMENT),
        GeneratedPair(other, added.premise, label),
        GeneratedPair(added.premise, exclusive, CONTRADICTION),
        GeneratedPair(added.hypothesis, exclusive, NEUTRAL),
    ]


def _excludes(parse: Parse, added: AddAmodPair, substitute: SubstitutedSentence) -> bool:
    """Check whether a replacement is an adjective that excludes the added adjective and can modify its noun."""
    # Both must be of one class that English orders, such as size, age or color. Other adjectives may say something
    # about the whole scene: on a crowded street, a city is not empty.
    ranks = {get_adjective_rank(added.adjective), get_adjective_rank(substitute.new)}
    return (
        (substitute.old, substitute.label) == (added.adjective, CONTRADICTION)
        and len(ranks) == 1
        and None not in ranks
        and modify_noun(parse, added.premise_noun, substitute.new) is not None
    )


def _bag(sentence: str) -> Counter[str]:
    return Counter(word.text.lower() for word in tokenize_words(sentence))
