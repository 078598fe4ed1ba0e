from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.perturb import substitution as sub
from unbag.perturb.corpus_counts import count_corpus
from unbag.perturb.substitution import Candidate, Substituter
from unbag.perturb.word_lists import WordList
from unbag.sources import Example
from unbag.text.replacement import replacement
from unbag.wordnet.relations import Relation

LISTS = (
    WordList("colors", Relation.CO_HYPONYM, ("red", "blue"), ("red", "blue", "orange")),
    WordList("cardinals", Relation.CO_HYPONYM, ("two", "three"), ("two", "three")),
    WordList("rooms", Relation.CO_HYPONYM, ("living room", "kitchen"), ("living room", "kitchen")),
    WordList("antonyms", Relation.ANTONYM, ("man", "woman"), ("man", "woman")),
    WordList("synonyms", Relation.SYNONYM, ("sofa", "couch"), ("sofa", "couch")),
    WordList("hypernyms", Relation.HYPONYM, ("dog",), ("animal",)),
    WordList("countries", Relation.CO_HYPONYM, ("Peru", "Chile"), ("Peru", "Chile")),
)
CORPUS = [
    "A red ball.",
    "A blue ball.",
    "An orange ball.",
    "Two dogs in a living room.",
    "Three dogs in a kitchen.",
    "A man on a sofa.",
    "A woman on a couch.",
    "An animal runs.",
    "A dog runs.",
    "In Peru.",
    "In Chile.",
    "A dog in a living room.",
    "An animal in a kitchen.",
]


def _substituter(corpus=CORPUS, **options):
    counts = count_corpus(Example(str(i), sentence, "", "neutral") for i, sentence in enumerate(corpus))
    return Substituter(counts, **{"lists": LISTS, **options})


def _all(premise, **options):
    """Return what any seed makes of a premise, with labels."""
    made = [found for seed in range(30) for found in _substituter(seed=seed, **options).of(premise)]
    return {(found.hypothesis, found.label) for found in made}


@pytest.mark.parametrize(
    ("premise", "expected"),
    [
        ("A red ball.", {("A blue ball.", "contradiction"), ("An orange ball.", "contradiction")}),
        ("An orange ball.", set()),  # comes in, but is not replaced
        (
            "Two dogs in a living room.",
            {("Three dogs in a living room.", "contradiction"), ("Two dogs in a kitchen.", "contradiction")},
        ),
        ("A man on a sofa.", {("A woman on a sofa.", "contradiction"), ("A man on a couch.", "entailment")}),
        ("A dog runs.", {("An animal runs.", "entailment")}),
        ("In Peru.", {("In Chile.", "contradiction")}),
        ("a dog runs", {("an animal runs", "entailment")}),
        ("A Red ball.", set()),  # a name
        ("A red-blue ball.", set()),
    ],
)
def test_one_phrase_is_replaced_and_the_article_follows(premise, expected):
    assert _all(premise) == expected


@pytest.mark.parametrize(
    ("premise", "corpus", "reason"),
    [
        ("A red green light.", [*CORPUS, "A red green light."], sub.UNSEEN_BIGRAM),
        ("A red light.", CORPUS, sub.FIXED),
        ("A red ball on a red ball.", CORPUS, sub.REPEATED),
        ("A red ball, an orange ball, a blue ball.", CORPUS, sub.PRESENT),
        ("A man on his sofa.", CORPUS, sub.PRONOUN),
        ("Two dogs, one in a living room.", CORPUS, sub.COUNTED),
        ("No dog runs.", CORPUS, sub.SCOPE),
        ("A dog isn't red.", CORPUS, sub.SCOPE),
        ("In Peru.", ["In Peru."], sub.UNSEEN),
    ],
)
def test_what_is_not_replaced_is_counted_by_reason(premise, corpus, reason):
    rejected = Counter()
    made = _substituter(corpus).of(premise, rejected)
    assert rejected[reason] >= 1
    assert set(rejected) <= set(sub.REASONS)
    assert all(found.relation is Relation.SYNONYM or reason != sub.SCOPE for found in made)


def test_a_nationality_that_no_noun_follows_may_be_a_language():
    lists = (WordList("nationalities", Relation.CO_HYPONYM, ("Thai", "Greek"), ("Thai", "Greek")),)
    substituter = _substituter(["A Thai man.", "A Greek man.", "In Thai.", "In Greek."], lists=lists)
    rejected = Counter()
    assert [found.new for found in substituter.of("A Thai man.", rejected)] == ["Greek"]
    assert substituter.of("In Thai.", rejected) == []
    assert rejected == {sub.NO_NOUN: 1}


def test_under_a_negation_synonyms_stay_true():
    made = _substituter([*CORPUS, "No sofa.", "No couch."]).of("No sofa.")
    assert [(found.hypothesis, found.label) for found in made] == [("No couch.", "entailment")]


def test_bigrams_must_be_attested_often_enough():
    assert _substituter(least_bigrams=1).of("In Peru.")
    assert not _substituter(least_bigrams=2).of("In Peru.")
    assert _substituter(CORPUS * 2, least_bigrams=2).of("In Peru.")


def test_q_words_of_a_premise_are_replaced_each_by_one():
    premise = "Two dogs in a living room."
    assert len(_substituter(q=1).of(premise)) == 1
    both = _substituter(q=5).of(premise)
    assert [found.old for found in both] == ["two", "living room"]
    assert _substituter(q=1).of(premise)[0] in both  # q draws among them and changes none


def test_the_seed_decides_and_nothing_else():
    premises = ["A red ball.", "Two dogs in a living room.", "A man on a sofa."]
    first, again = _substituter(seed=1), _substituter(seed=1)
    assert [first.of(premise) for premise in premises] == [again.of(premise) for premise in premises[::-1]][::-1]
    assert len({tuple(_substituter(seed=seed).of("A red ball.")) for seed in range(20)}) == 2


def test_more_candidates_come_in_for_words_in_no_list():
    class More:
        def of(self, word):
            return [Candidate("more", Relation.SYNONYM, "sprints")] if word == "runs" else []

    made = _substituter([*CORPUS, "A dog sprints."], more=More(), q=9).of("A dog runs.")
    assert [(found.old, found.new) for found in made] == [("dog", "animal"), ("runs", "sprints")]


@given(st.lists(st.sampled_from(["a", "red", "two", "dog", "man", "sofa", "ball", "on", ",", "-"]), max_size=8))
def test_a_pair_differs_in_the_words_it_says(tokens):
    premise = " ".join(tokens)
    corpus = [premise, *(premise.replace(old, new) for old, new in [("red", "blue"), ("dog", "animal")])]
    for found in _substituter([*CORPUS, *corpus]).of(premise):
        difference = replacement(premise, found.hypothesis)
        assert (" ".join(difference.old), " ".join(difference.new)) == (found.old, found.new)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="found q = 0 and least_bigrams = 1"):
        _substituter(q=0)
