"""Tests of sampling from pair generators, and of the separation of training and held-out vocabulary."""

from collections import Counter

import pytest

from unbag.baselines.natlog.labeler import NatlogLabeler, NatlogResult
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations.augmentation import (
    MAY_FOLLOW,
    NO_PROOF,
    NOT_SYMMETRIC,
    UNBALANCED,
    GeneratedPair,
    PairGenerator,
    create_reversed_generator,
    create_swapped_generator,
    get_proved_label,
    parse_pair_kind,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.corpus_counts import count_words_and_bigrams
from unbag.challenge_sets.perturbations.soswap import SwappedSentence, swap_subject_and_object
from unbag.challenge_sets.perturbations.soswap_addamod import (
    build_soswap_addamod_operators,
    iter_soswap_addamod_rows,
    swap_within_vocabulary_half,
)
from unbag.challenge_sets.perturbations.substitution import Substituter, create_substituted_generator
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, WORD_LISTS
from unbag.data.sources import Example
from unbag.data.text.grammar import find_phrase_difference


def _sample_letters(labels, n_pairs, *, balanced):
    """Sample pairs from a generator of one pair per label, and count the exclusions."""

    def generate(order, seed):
        for i in order:
            yield [GeneratedPair(str(i), label, label) for label in labels[i]] or "none"

    counts = Counter()
    generator = PairGenerator("letters", labels, generate, balanced=balanced)
    return list(sample_generated_pairs(generator, epoch=2, n_pairs=n_pairs, counts=counts)), counts


def test_sample_epoch_prefers_rarest_label_or_limits_each_to_half():
    made, _ = _sample_letters(["EC", "EC", "EC", "EC"], 4, balanced=False)
    assert Counter(pair.label for pair in made) == {"E": 2, "C": 2}
    made, counts = _sample_letters(["C"] * 30 + ["E"] * 5 + ["N"] * 5 + [""], 20, balanced=True)
    assert Counter(pair.label for pair in made)["C"] in (10, 11)
    assert counts[UNBALANCED] > 0
    made, _ = _sample_letters(["C"] * 30, 20, balanced=True)
    assert {pair.label for pair in made} == {"C"}


def test_pair_kind_is_parsed_from_unique_id():
    made, _ = _sample_letters(["C"] * 3, 7, balanced=False)
    assert len({pair.source_id for pair in made}) == 7
    assert {parse_pair_kind(pair.source_id) for pair in made} == {"letters"}
    assert parse_pair_kind("snli-train-3#1") is parse_pair_kind("17#0") is None


@pytest.mark.nightly
def test_training_pairs_share_no_word_with_held_out_half(parser, real_premises, real_adjectives):
    examples = [Example(str(i), text, "", "neutral") for i, text in enumerate(real_premises)]
    counts = count_words_and_bigrams(examples)
    words = {}
    for half in (TRAINING, HELD_OUT):
        operators = build_soswap_addamod_operators(adjectives=real_adjectives, min_count=1, words=half)
        rows = list(iter_soswap_addamod_rows(examples, parser, operators))
        swapped = parser.parse(row["premise"] for row in rows if row["kind"] == "soswap")
        added = [row for row in rows if row["kind"] == "addamod"]
        substituter = Substituter(counts, lists=(*WORD_LISTS, *NEUTRAL_LISTS), words=half)
        pairs = sample_generated_pairs(create_substituted_generator(real_premises, substituter), epoch=0, n_pairs=60)
        replaced = [find_phrase_difference(pair.premise, pair.hypothesis) for pair in pairs]
        words[half] = (
            {lemma for parse in swapped for lemma in swap_subject_and_object(parse).lemmas},
            {row[name] for row in added for name in ("adjective", "premise_noun", "hypothesis_noun")},
            {" ".join(side).lower() for each in replaced for side in (each.old, each.new)},
        )
    for training, held_out in zip(words[TRAINING], words[HELD_OUT], strict=True):
        assert training
        assert held_out
        assert training.isdisjoint(held_out)


def test_swaps_of_both_halves_are_some_of_all_swaps(real_parses):
    every, training, held_out = swaps = [
        {swap for parse in real_parses if isinstance(swap := swap_within_vocabulary_half(parse, half), SwappedSentence)}
        for half in ("all", TRAINING, HELD_OUT)
    ]
    assert min(map(len, swaps)) > 0
    assert training | held_out < every
    assert training.isdisjoint(held_out)


PAIRS = [
    Example("a", "A man sleeps in a bed.", "A man is awake.", "contradiction"),
    Example("b", "A man reads.", "A tall man reads a letter.", "neutral"),
    Example("c", "An old man in a hat reads a letter.", "A man is at home.", "neutral"),
    Example("d", "A poodle barks.", "A dog barks.", "entailment"),
]


def test_swapped_pairs_keep_only_symmetric_labels(parser):
    made = list(create_swapped_generator(PAIRS, parser).generate([0, 1, 2, 3], seed=1))
    assert made == [
        [("A man is awake.", "A man sleeps in a bed.", "contradiction")],
        MAY_FOLLOW,
        [("A man is at home.", "An old man in a hat reads a letter.", "neutral")],
        NOT_SYMMETRIC,
    ]
    assert list(create_swapped_generator(PAIRS, parser).generate([3, 0], seed=2)) == [made[3], made[0]]


class FixedLabeler:
    """A labeller with fixed verdicts that counts its calls."""

    def __init__(self, relations):
        self.relations, self.asked = relations, 0

    def iter_verdicts(self, premises, hypotheses):
        for pair in zip(premises, hypotheses, strict=True):
            self.asked += 1
            yield NatlogResult(None, self.relations.get(pair))


def test_reversed_pairs_require_proof_in_both_orders():
    forward, independence = Relation.FORWARD_ENTAILMENT, Relation.INDEPENDENCE
    known = {(pair.premise, pair.hypothesis): forward for pair in PAIRS}  # as d is labelled, unlike the others
    known |= {(pair.hypothesis, pair.premise): forward.converse for pair in PAIRS}
    labeller = FixedLabeler(known)
    maker = create_reversed_generator(PAIRS, labeller)
    expected = [NO_PROOF, NO_PROOF, NO_PROOF, [("A dog barks.", "A poodle barks.", "neutral")]]
    assert list(maker.generate(range(4), seed=1)) == expected
    assert list(maker.generate([3, 2], seed=2)) == expected[:1:-1]
    assert labeller.asked == 5, "the reverse order only for d, and each pair once"
    known["A dog barks.", "A poodle barks."] = independence
    assert list(create_reversed_generator(PAIRS, FixedLabeler(known)).generate([3], seed=1)) == [NO_PROOF]


def test_proved_label_of_independence_is_none():
    labels = {relation: get_proved_label(NatlogResult("neutral", relation)) for relation in Relation}
    assert labels.pop(Relation.INDEPENDENCE) is get_proved_label(NatlogResult(None, None)) is None
    neutral = {relation for relation, label in labels.items() if label == "neutral"}
    assert neutral == {Relation.REVERSE_ENTAILMENT, Relation.COVER}
    assert None not in labels.values()


def test_real_reversed_pairs_have_proved_labels(parser, wordnet):
    labeller = NatlogLabeler(parser, wordnet, wordnet.identity)
    pairs = [PAIRS[3], Example("e", "A dog is not barking.", "A dog is barking.", "contradiction")]
    made = sample_generated_pairs(create_reversed_generator(pairs, labeller), epoch=0, n_pairs=2)
    assert sorted(pair[1:4] for pair in made) == [
        ("A dog barks.", "A poodle barks.", "neutral"),
        ("A dog is barking.", "A dog is not barking.", "contradiction"),
    ]
