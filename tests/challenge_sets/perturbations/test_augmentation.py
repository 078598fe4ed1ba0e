"""Tests of sampling from pair generators, and of the two halves of the vocabulary."""

from collections import Counter

import numpy as np
import pytest

from unbag.baselines.natlog.labeler import NatlogResult
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations.augmentation import (
    MAY_FOLLOW,
    NO_PROOF,
    NOT_SYMMETRIC,
    OFFICIAL,
    UNBALANCED,
    GeneratedPair,
    PairGenerator,
    create_reversed_generator,
    create_swapped_generator,
    get_proved_label,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.corpus_counts import count_words_and_bigrams
from unbag.challenge_sets.perturbations.negation import TEMPLATES
from unbag.challenge_sets.perturbations.soswap import swap_subject_and_object
from unbag.challenge_sets.perturbations.soswap_addamod import (
    build_soswap_addamod_operators,
    iter_soswap_addamod_rows,
)
from unbag.challenge_sets.perturbations.substitution import Substituter, create_substituted_generator
from unbag.challenge_sets.perturbations.vocabulary_split import (
    HASHES,
    HELD_OUT,
    TRAINING,
    are_in_vocabulary_half,
    get_vocabulary_half,
    hash_sentences,
    is_official_sentence,
    stem_phrase,
)
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, WORD_LISTS
from unbag.data.sources import Example
from unbag.data.text.grammar import find_phrase_difference, pluralize_noun


def test_vocabulary_half_is_stable():
    """The halves must not change, because a model may be tested years later and on another machine."""
    some = "dog woman man person red blue hold ride wear".split()
    assert [word for word in some if get_vocabulary_half(word) == TRAINING] == ["dog", "man", "red", "ride"]
    assert {get_vocabulary_half("it is not true that"), get_vocabulary_half("no")} == {TRAINING}
    assert {get_vocabulary_half("not"), get_vocabulary_half("n't")} == {HELD_OUT}


@pytest.mark.parametrize(
    "forms",
    [
        *("cry cries crying cried", "lie lies lying", "ride rides riding", "hug hugs hugging", "go goes going"),
        *("dress dresses", "policewoman policewomen", "child children", "Dog dogs"),
    ],
)
def test_inflected_forms_have_same_stem(forms):
    assert len({stem_phrase(form) for form in forms.split()}) == 1


def test_noun_and_plural_are_in_same_half():
    nouns = {noun for each in WORD_LISTS if each.category in ("animals", "vehicles", "fruits") for noun in each.old}
    with_plural = [noun for noun in nouns if pluralize_noun(noun) in nouns]
    assert len(with_plural) > 20
    assert all(get_vocabulary_half(noun) == get_vocabulary_half(pluralize_noun(noun)) for noun in with_plural)


def test_both_halves_have_all_word_classes():
    for chosen in (TRAINING, HELD_OUT):
        assert any(are_in_vocabulary_half(chosen, [template]) for template in TEMPLATES)
        pairs = [
            (each.relation, old, new)
            for each in (*WORD_LISTS, *NEUTRAL_LISTS)
            for old in each.old
            for new in each.new
            if old != new and are_in_vocabulary_half(chosen, (old, new))
        ]
        assert len({relation for relation, _, _ in pairs}) == 5
        assert len(pairs) > 150


def test_are_in_half_mixed_pair_is_in_neither():
    halves = [half for half in ("all", TRAINING, HELD_OUT) if are_in_vocabulary_half(half, ["dog", "woman"])]
    assert halves == ["all"]


@pytest.mark.nightly
def test_hashes_match_official_files(shared):
    from tools.official_sentences import iter_sentences

    files = ("breaking_nli/breaking_nli_dataset.zip", "sicck/SICCK-Ground-Truth-apr24.csv")
    official = sorted(set(iter_sentences([str(shared / "data" / file) for file in files])))
    assert np.array_equal(hash_sentences(official), np.fromfile(HASHES, dtype="<u4"))
    assert all(map(is_official_sentence, official))
    assert is_official_sentence(official[0].upper().rstrip(".") + " !")


def test_other_sentences_are_not_official(real_premises):
    assert not any(map(is_official_sentence, real_premises))


def test_pairs_contain_no_official_sentence(monkeypatch):
    def generate(order, seed):
        for i in order:
            yield [GeneratedPair(f"A dog number {i}.", "A dog.", "entailment")]

    monkeypatch.setattr(
        "unbag.challenge_sets.perturbations.augmentation.is_official_sentence", lambda text: text == "A dog number 1."
    )
    counts = Counter()
    made = sample_generated_pairs(PairGenerator("three", range(3), generate), epoch=0, n_pairs=4, counts=counts)
    assert {pair.premise for pair in made} == {"A dog number 0.", "A dog number 2."}
    assert counts[OFFICIAL] in (1, 2)


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
