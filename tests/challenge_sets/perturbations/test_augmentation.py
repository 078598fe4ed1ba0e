"""Tests of sampling from pair generators, and of the separation of training and held-out vocabulary."""

from collections import Counter

import pytest

from unbag.baselines.natlog.labeler import NatlogResult
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations.augmentation import (
    MAY_FOLLOW,
    NO_PROOF,
    NOT_SYMMETRIC,
    UNBALANCED,
    GeneratedPair,
    PairGenerator,
    create_reversed_generator,
    create_soswap_generator,
    create_swapped_generator,
    get_proved_label,
    parse_pair_kind,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.corpus_counts import count_words_and_bigrams
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


def _create_letter_generator(labels, *, balanced):
    """Create a generator of one pair per label."""

    def generate(order, seed):
        for i in order:
            yield [GeneratedPair(str(i), label, label) for label in labels[i]] or "none"

    return PairGenerator("letters", labels, generate, balanced=balanced)


def _count_sampled_labels(labels, pairs, *, balanced):
    counts = Counter()
    made = sample_generated_pairs(
        _create_letter_generator(labels, balanced=balanced), epoch=0, n_pairs=pairs, counts=counts
    )
    return Counter(pair.label for pair in made), counts


def test_sample_epoch_prefers_rarest_label():
    assert _count_sampled_labels(["EC", "EC", "EC", "EC"], 4, balanced=False)[0] == {"E": 2, "C": 2}


def test_sample_epoch_balanced_limits_each_label_to_half():
    labels, counts = _count_sampled_labels(["C"] * 30 + ["E"] * 5 + ["N"] * 5 + [""], 20, balanced=True)
    assert labels["C"] in (10, 11)
    assert counts[UNBALANCED] > 0
    assert _count_sampled_labels(["C"] * 30, 20, balanced=True)[0] == {"C": 20}


def test_kind_of_parses_id():
    made = list(sample_generated_pairs(_create_letter_generator(["C"] * 3, balanced=False), epoch=2, n_pairs=7))
    assert len({pair.source_id for pair in made}) == 7
    assert {parse_pair_kind(pair.source_id) for pair in made} == {"letters"}
    assert parse_pair_kind("snli-train-3") is parse_pair_kind("snli-train-3#1") is parse_pair_kind("17#0") is None


@pytest.fixture(scope="module")
def words_by_half(parser, real_premises, real_adjectives):
    """Return the words that the pairs of each half depend on, by pair type."""
    examples = [Example(str(i), text, "", "neutral") for i, text in enumerate(real_premises)]
    counts = count_words_and_bigrams(examples)
    words = {}
    for half in (TRAINING, HELD_OUT):
        operators = build_soswap_addamod_operators(adjectives=real_adjectives, min_count=1, words=half)
        rows = list(iter_soswap_addamod_rows(examples, parser, operators))
        words[half, "soswap"] = {tuple(_list_nouns(parser, row)) for row in rows if row["kind"] == "soswap"}
        words[half, "addamod"] = {
            (row["adjective"], row["premise_noun"], row["hypothesis_noun"]) for row in rows if row["kind"] == "addamod"
        }
        substituter = Substituter(counts, lists=(*WORD_LISTS, *NEUTRAL_LISTS), words=half)
        pairs = sample_generated_pairs(create_substituted_generator(real_premises, substituter), epoch=0, n_pairs=60)
        words[half, "substituted"] = {
            " ".join(side).lower()
            for pair in pairs
            for found in [find_phrase_difference(pair.premise, pair.hypothesis)]
            for side in (found.old, found.new)
        }
    return words


def _list_nouns(parser, row):
    from unbag.challenge_sets.perturbations.soswap import swap_subject_and_object

    [parse] = parser.parse([row["premise"]])
    return swap_subject_and_object(parse).lemmas


@pytest.mark.nightly
def test_training_pairs_share_no_word_with_held_out_half(words_by_half):
    for kind in ("soswap", "addamod", "substituted"):
        training, held_out = words_by_half[TRAINING, kind], words_by_half[HELD_OUT, kind]
        assert training
        assert held_out
        if kind != "substituted":
            training, held_out = ({word for words in side for word in words} for side in (training, held_out))
        assert training.isdisjoint(held_out)


def test_pairs_of_half_are_subset_of_all(parser, real_premises):
    [*parses] = parser.parse(real_premises)
    every = {str(parse): swap for parse in parses if not isinstance(swap := swap_within_vocabulary_half(parse), str)}
    halves = [
        {str(parse): swap for parse in parses if not isinstance(swap := swap_within_vocabulary_half(parse, half), str)}
        for half in (TRAINING, HELD_OUT)
    ]
    assert halves[0] | halves[1] == {text: every[text] for text in (halves[0] | halves[1])}
    assert not halves[0].keys() & halves[1].keys()
    assert 0 < len(halves[0]) + len(halves[1]) < len(every)


def test_premise_without_swap_is_parsed_once(parser):
    asked = []

    class Counting:
        def parse(self, sentences):
            for sentence in sentences:
                asked.append(sentence)
                yield from parser.parse([sentence])

    maker = create_soswap_generator(["A man is pushing a car.", "The dog sleeps."], Counting())
    assert len(list(sample_generated_pairs(maker, epoch=0, n_pairs=5))) == 5
    assert Counter(asked)["The dog sleeps."] <= 1


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
            relation = self.relations.get(pair)
            yield NatlogResult(None, relation)


def test_reversed_pairs_require_proof_in_both_orders():
    forward, independence = Relation.FORWARD_ENTAILMENT, Relation.INDEPENDENCE
    known = {(pair.premise, pair.hypothesis): forward for pair in PAIRS}  # as d is labelled, unlike the others
    known |= {(pair.hypothesis, pair.premise): forward.converse for pair in PAIRS}
    labeller = FixedLabeler(known)
    maker = create_reversed_generator(PAIRS, labeller)
    expected = [NO_PROOF, NO_PROOF, NO_PROOF, [("A dog barks.", "A poodle barks.", "neutral")]]
    assert list(maker.generate(range(4), seed=1)) == expected
    assert labeller.asked == 5  # the reverse order only for d
    assert list(maker.generate([3, 2], seed=2)) == expected[:1:-1]
    assert labeller.asked == 5
    known["A dog barks.", "A poodle barks."] = independence
    assert list(create_reversed_generator(PAIRS, FixedLabeler(known)).generate([3], seed=1)) == [NO_PROOF]


def test_proved_label_of_independence_is_none():
    labels = {relation: get_proved_label(NatlogResult("neutral", relation)) for relation in Relation}
    assert labels.pop(Relation.INDEPENDENCE) is None
    assert {relation for relation, label in labels.items() if label == "neutral"} == {
        Relation.REVERSE_ENTAILMENT,
        Relation.COVER,
    }
    assert None not in labels.values()
    assert get_proved_label(NatlogResult(None, None)) is None


def test_real_reversed_pairs_have_proved_labels(parser, wordnet):
    from unbag.baselines.natlog.labeler import NatlogLabeler

    labeller = NatlogLabeler(parser, wordnet, wordnet.identity)
    kinds = [PAIRS[3], Example("e", "A dog is not barking.", "A dog is barking.", "contradiction")]
    assert [
        pair[1:4]
        for pair in sorted(sample_generated_pairs(create_reversed_generator(kinds, labeller), epoch=0, n_pairs=2))
    ] == [
        ("A dog barks.", "A poodle barks.", "neutral"),
        ("A dog is barking.", "A dog is not barking.", "contradiction"),
    ]
