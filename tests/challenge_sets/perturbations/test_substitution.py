"""Tests of word lists, corpus counts, and the substitution of words."""

import gzip
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations import substitution as sub
from unbag.challenge_sets.perturbations.corpus_counts import (
    BOUNDARY,
    BigramCounts,
    count_words_and_bigrams,
    merge_bigram_counts,
    read_bigrams,
)
from unbag.challenge_sets.perturbations.substitution import ReplacementCandidate, Substituter
from unbag.challenge_sets.perturbations.word_lists import (
    LABEL_BY_RELATION,
    NEUTRAL_LISTS,
    TEXT_LISTS,
    WORD_LISTS,
    WordList,
)
from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates
from unbag.data.sources import Example
from unbag.data.text.grammar import find_phrase_difference
from unbag.data.text.tokens import tokenize_words
from unbag.utils.safe_io import DataError


def _list_pairs(lists, *relations):
    """Return the pairs of words of all lists, or of those with the given relations."""
    return {(old, new) for g in lists if not relations or g.relation in relations for old in g.old for new in g.new}


def test_lists_contain_distinct_whole_tokens():
    for group in (*WORD_LISTS, *NEUTRAL_LISTS):
        assert len({*group.old, *group.new}) > 1
        assert group.relation in LABEL_BY_RELATION
        for side in (group.old, group.new):
            assert len(set(side)) == len(side) > 0, group.category
            for phrase in side:
                assert phrase == " ".join(word.text for word in tokenize_words(phrase))


def test_no_word_pair_has_two_labels():
    labels = defaultdict(set)
    for group in (*WORD_LISTS, *NEUTRAL_LISTS):
        for old, new in _list_pairs([group]):
            if old != new:
                labels[old, new].add(LABEL_BY_RELATION[group.relation])
    assert len(labels) > 1000
    assert [pair for pair, found in labels.items() if len(found) > 1] == []


def test_neutral_lists_are_reversed_hypernyms():
    below = {(new, old) for old, new in _list_pairs(NEUTRAL_LISTS)}
    assert below <= _list_pairs(WORD_LISTS, WordNetRelation.HYPONYM)
    assert ("dog", "animal") in below
    assert not any(old in ("building", "talking") for _, old in below)  # these are also verbs
    assert {LABEL_BY_RELATION[g.relation] for g in NEUTRAL_LISTS} == {"neutral"}


def test_text_lists_replace_unambiguous_words_by_antonyms_synonyms_and_singular_hypernyms():
    assert {g.category for g in TEXT_LISTS} == {"antonyms", "synonyms", "hypernyms"}
    for group in TEXT_LISTS:
        assert _list_pairs([group]) <= _list_pairs(WORD_LISTS, group.relation)
    pairs = _list_pairs(TEXT_LISTS)
    assert {("always", "never"), ("film", "movie"), ("dog", "animal"), ("large", "small")} <= pairs
    assert pairs.isdisjoint({("small", "large"), ("old", "young"), ("dogs", "animals"), ("school", "building")})


@pytest.mark.parametrize(
    ("word", "relation", "new"),
    [
        ("jackets", WordNetRelation.HYPONYM, "coats"),  # with the same number
        ("attempted", WordNetRelation.SYNONYM, "tried"),  # with the same tense
    ],
)
def test_most_frequent_sense_gives_inflected_candidates(wordnet, word, relation, new):
    candidates = WordNetCandidates(wordnet).get_candidates(word)
    assert (relation, new) in {(candidate.relation, candidate.new) for candidate in candidates}
    assert all(candidate.category.endswith("_wordnet") for candidate in candidates)


@pytest.mark.parametrize("word", ["run", "another", "there", "xyzzyx"])
def test_ambiguous_word_has_no_candidates(wordnet, word):
    assert not WordNetCandidates(wordnet).get_candidates(word)


LISTS = (
    WordList("colors", WordNetRelation.CO_HYPONYM, ("red", "blue"), ("red", "blue", "orange")),
    WordList("cardinals", WordNetRelation.CO_HYPONYM, ("two", "three"), ("two", "three")),
    WordList("rooms", WordNetRelation.CO_HYPONYM, ("living room", "kitchen"), ("living room", "kitchen")),
    WordList("antonyms", WordNetRelation.ANTONYM, ("man", "woman"), ("man", "woman")),
    WordList("synonyms", WordNetRelation.SYNONYM, ("sofa", "couch"), ("sofa", "couch")),
    WordList("hypernyms", WordNetRelation.HYPONYM, ("dog",), ("animal",)),
    WordList("countries", WordNetRelation.CO_HYPONYM, ("Peru", "Chile"), ("Peru", "Chile")),
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


def _build_substituter(corpus=CORPUS, **options):
    counts = count_words_and_bigrams(Example(str(i), sentence, "", "neutral") for i, sentence in enumerate(corpus))
    return Substituter(counts, **{"lists": LISTS, **options})


def _substitute(substituter, premise):
    """Return the new sentences, and the rejected candidates by reason."""
    rejected = Counter()
    return [found.hypothesis for found in substituter.substitute(premise, rejected)], dict(rejected)


@pytest.mark.parametrize(
    ("premise", "expected"),
    [
        ("A red ball.", {("A blue ball.", "contradiction"), ("An orange ball.", "contradiction")}),
        ("An orange ball.", set()),  # only a replacement word, never replaced itself
        (
            "Two dogs in a living room.",
            {("Three dogs in a living room.", "contradiction"), ("Two dogs in a kitchen.", "contradiction")},
        ),
        ("A man on a sofa.", {("A woman on a sofa.", "contradiction"), ("A man on a couch.", "entailment")}),
        ("In Peru.", {("In Chile.", "contradiction")}),
        ("a dog runs", {("an animal runs", "entailment")}),
        ("A Red ball.", set()),  # a name
        ("A red-blue ball.", set()),
    ],
)
def test_one_phrase_is_replaced_and_article_agrees(premise, expected):
    found = [each for seed in range(30) for each in _build_substituter(seed=seed).substitute(premise)]
    assert {(each.hypothesis, each.label) for each in found} == expected


@pytest.mark.parametrize(
    ("premise", "corpus", "reason"),
    [
        ("A red green light.", [*CORPUS, "A red green light."], sub.UNSEEN_BIGRAM),
        ("A red light.", CORPUS, sub.FIXED),
        ("A blue light.", CORPUS, sub.FIXED),  # a phrase with the new word
        ("A red ball on a red ball.", CORPUS, sub.REPEATED),
        ("A red ball, an orange ball, a blue ball.", CORPUS, sub.PRESENT),
        ("A man on his sofa.", CORPUS, sub.PRONOUN),
        ("Two dogs, one in a living room.", CORPUS, sub.COUNTED),
        ("No dog runs.", CORPUS, sub.SCOPE),
        ("A dog isn't red.", CORPUS, sub.SCOPE),
        ("In Peru.", ["In Peru."], sub.UNSEEN),
        ("In Peru " + "so " * (sub.MAX_WORDS - 2) + ".", CORPUS, sub.LONG),
    ],
)
def test_substituter_counts_rejections_by_reason(premise, corpus, reason):
    rejected = Counter()
    substitute_runs = _build_substituter(corpus).substitute(premise, rejected)
    assert rejected[reason] >= 1
    assert all(found.relation is WordNetRelation.SYNONYM or reason != sub.SCOPE for found in substitute_runs)


def test_nationality_without_noun_is_rejected():
    lists = (WordList("nationalities", WordNetRelation.CO_HYPONYM, ("Thai", "Greek"), ("Thai", "Greek")),)
    substituter = _build_substituter(["A Thai man.", "A Greek man.", "In Thai.", "In Greek."], lists=lists)
    assert _substitute(substituter, "A Thai man.") == (["A Greek man."], {})
    assert _substitute(substituter, "In Thai.") == ([], {sub.NO_NOUN: 1})


def test_negated_synonyms_keep_entailment():
    [found] = _build_substituter([*CORPUS, "No sofa.", "No couch."]).substitute("No sofa.")
    assert (found.hypothesis, found.label) == ("No couch.", "entailment")


def test_q_words_are_replaced_once_each():
    premise = "Two dogs in a living room."
    [one] = _build_substituter(q=1).substitute(premise)
    both = _build_substituter(q=5).substitute(premise)
    assert [found.old for found in both] == ["two", "living room"]
    assert one in both, "q selects among the same replacements"


def test_bigrams_must_be_frequent_enough_in_their_corpus():
    assert _build_substituter(min_bigrams=1).substitute("In Peru.")
    assert not _build_substituter(min_bigrams=2).substitute("In Peru.")
    other = BigramCounts(Counter({("in", "chile"): 10}), has_sentence_ends=False)
    assert _build_substituter(bigrams=other, min_bigrams=10).substitute("In Peru.")
    assert not _build_substituter(bigrams=other, min_bigrams=11).substitute("In Peru.")
    # "Chile" is never at the end of a sentence of this corpus.
    with_ends = other._replace(has_sentence_ends=True)
    assert not _build_substituter(bigrams=with_ends, min_bigrams=10).substitute("In Peru.")
    # Replacement words must still occur in the training corpus.
    assert _substitute(_build_substituter(["In Peru."], bigrams=other), "In Peru.") == ([], {sub.UNSEEN: 1})


class _AnyCount(Counter):
    def __missing__(self, pair):
        return 1


ALL_BIGRAMS = BigramCounts(_AnyCount())
PLACES = (
    WordList("rooms", WordNetRelation.CO_HYPONYM, ("kitchen", "balcony"), ("kitchen", "balcony")),
    WordList("vehicles", WordNetRelation.CO_HYPONYM, ("truck", "bus"), ("truck", "bus")),
)


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        ("He sits in the kitchen.", "He sits on the balcony."),
        ("On a bus he sits.", "In a truck he sits."),
        ("He climbs onto the bus.", "He climbs into the truck."),
        ("He sleeps in trucks.", None),  # the plural is not in the list of places
        ("He is behind the truck.", "He is behind the bus."),
        ("He paints a truck.", "He paints a bus."),
        ("He is in a big truck.", None),  # "in" may not belong to the truck
        ("He sits on the truck.", None),  # on top of the truck
        ("He steps out of the truck.", None),
        ("On Monday, a truck stops.", "On Monday, a bus stops."),  # separated by punctuation
    ],
)
def test_preposition_of_place_agrees_with_noun(premise, hypothesis):
    corpus = [premise, hypothesis or "", "truck bus in on into onto"]
    found, _ = _substitute(_build_substituter(corpus, lists=PLACES, bigrams=ALL_BIGRAMS), premise)
    assert found == ([hypothesis] if hypothesis else [])


def test_prepositions_can_be_kept():
    corpus = ["He sits in the kitchen.", "On the balcony.", "He is near the kitchen.", "Near the balcony."]
    kept = _build_substituter(corpus, lists=PLACES, prepositions=False, bigrams=ALL_BIGRAMS)
    assert _substitute(kept, "He sits in the kitchen.") == ([], {sub.PREPOSITION: 1})
    assert _substitute(kept, "He is near the kitchen.") == (["He is near the balcony."], {})


def test_hyponym_gives_neutral_pair():
    lists = (WordList("hyponyms", WordNetRelation.HYPERNYM, ("animal",), ("dog",)),)
    substituter = _build_substituter(lists=lists, bigrams=ALL_BIGRAMS)
    [found] = substituter.substitute("An animal runs.")
    assert (found.hypothesis, found.label, found.relation) == ("A dog runs.", "neutral", WordNetRelation.HYPERNYM)
    for premise in ("A farm animal.", "No animal runs."):
        assert _substitute(substituter, premise) == ([], {sub.NO_ARTICLE: 1})


def test_person_with_pronoun_is_not_replaced_by_man():
    lists = (WordList("hyponyms", WordNetRelation.HYPERNYM, ("person",), ("woman",)),)
    substituter = _build_substituter([*CORPUS, "A person."], lists=lists, bigrams=ALL_BIGRAMS)
    assert _substitute(substituter, "A person runs.") == (["A woman runs."], {})
    assert _substitute(substituter, "A person lifts his hat.") == ([], {sub.PRONOUN: 1})


@pytest.mark.parametrize(
    ("similarity", "minimum", "is_taken"),
    [(0.5, 0.5, True), (0.1, None, True), (0.4, 0.5, False), (None, 0.5, False)],  # None: a word without embedding
)
def test_wordnet_antonyms_must_be_similar_enough(similarity, minimum, is_taken):
    antonym = ReplacementCandidate(sub.WORDNET_ANTONYMS, WordNetRelation.ANTONYM, "rests")
    options = {"more": lambda word: [antonym] if word == "runs" else [], "similarity": lambda old, new: similarity}
    substituter = _build_substituter([*CORPUS, "A dog rests."], lists=(), min_similarity=minimum, **options)
    expected = (["A dog rests."], {}) if is_taken else ([], {sub.DISSIMILAR: 1})
    assert _substitute(substituter, "A dog runs.") == expected


def test_substituter_depends_only_on_seed_and_premise():
    premises = ["A red ball.", "Two dogs in a living room.", "A man on a sofa."]
    found = [_build_substituter(seed=1).substitute(premise) for premise in premises]
    assert found[::-1] == [_build_substituter(seed=1).substitute(premise) for premise in premises[::-1]]
    assert len({tuple(_build_substituter(seed=seed).substitute("A red ball.")) for seed in range(20)}) == 2


@given(st.lists(st.sampled_from(["a", "red", "two", "dog", "man", "sofa", "ball", "on", ",", "-"]), max_size=8))
def test_pair_differs_only_in_stated_words(tokens):
    premise = " ".join(tokens)
    corpus = [premise, *(premise.replace(old, new) for old, new in [("red", "blue"), ("dog", "animal")])]
    for found in _build_substituter([*CORPUS, *corpus]).substitute(premise):
        difference = find_phrase_difference(premise, found.hypothesis)
        assert (" ".join(difference.old), " ".join(difference.new)) == (found.old, found.new)


EXAMPLES = [
    Example("a", "A red dog runs.", "A dog is asleep.", "contradiction"),
    Example("b", "A red dog runs.", "A cat runs.", "contradiction"),
    Example("c", "A red dog runs.", "A dog, a cat.", "entailment"),
    Example("d", "Two cats run", "A red dog runs.", "neutral"),
]


def test_words_bigrams_and_contradicting_words_are_counted():
    found = count_words_and_bigrams(EXAMPLES, {"dog", "cat", "red"})
    assert found.words["red"] == 2  # one premise, which several pairs share, and one hypothesis
    assert found.bigrams["red", "dog"] == 2
    assert found.bigrams["dog", BOUNDARY] == 1  # before the comma
    assert found.bigrams["run", BOUNDARY] == 1  # at the end of the sentence
    assert found.bigrams[BOUNDARY, "a"] == 6
    assert not found.bigrams["dog", "cat"]
    assert found.pairs == {("dog", "cat"): 1, ("red", "dog"): 1, ("red", "cat"): 1}


def test_read_bigrams_text_counts_each_line(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("A red dog runs.\nThe dog runs, too.\n")
    found = read_bigrams(text)
    assert found.counts["dog", "runs"] == 2
    assert not found.counts["runs", "the"]
    assert not found.is_attested(("runs", "too"), 1)  # a comma between


def test_read_bigrams_table_has_no_sentence_ends(tmp_path):
    table = tmp_path / "bigrams.txt.gz"
    with gzip.open(table, "wt") as file:
        file.write("red dog\t12\nRed\tDog\t3\ndog runs\t1\n")
    found = read_bigrams(table)
    assert found.counts == {("red", "dog"): 15, ("dog", "runs"): 1}
    assert found.is_attested(("dog", BOUNDARY), 10)  # sentence ends are unknown, so they count as attested
    assert not found.is_attested(("dog", "runs"), 2)


def test_read_bigrams_invalid_line_error_names_line(tmp_path):
    table = tmp_path / "bigrams.txt"
    table.write_text("red dog\t12\na sentence\n")
    message = r"bigrams.txt, line 2: expected two words and the count of the bigram.*'a sentence'"
    with pytest.raises(DataError, match=message):
        read_bigrams(table)


def test_merge_bigrams_adds_counts_and_combines_ends():
    one = BigramCounts(Counter({("a", "dog"): 2}))
    table = BigramCounts(Counter({("a", "dog"): 3}), has_sentence_ends=False)
    assert merge_bigram_counts([one, one]) == BigramCounts(Counter({("a", "dog"): 4}))
    assert merge_bigram_counts([one, table]) == BigramCounts(Counter({("a", "dog"): 5}), has_sentence_ends=False)
