from collections import Counter
from itertools import zip_longest

import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.addamod import AddAmodPair, AdjectiveCounts, build_addamod_pair

NO_NOUNS = "fewer than two nouns that take an adjective"
NOT_ATTESTED = "no adjective that is attested with two of its nouns"
NOT_FREE = "no such adjective outside fixed phrases (American flag, live band)"
NOT_FITTING = "no such adjective that fits both nouns in this sentence"


def build_adjective_counts(adjectives, nouns, times=2):
    """Build counts of all adjectives with all nouns, attributive and predicative, each the given number of times."""
    phrases = [_parse_noun_phrase(adjective, noun) for adjective in adjectives for noun in nouns]
    return AdjectiveCounts([*phrases, *map(_parse_predicate, adjectives)] * times)


def _parse_predicate(adjective):
    return build_parse(f"it it PRON PRP 2 nsubj\nis be AUX VBZ 2 ROOT\n{adjective} {adjective} ADJ JJ 2 acomp")


def _parse_noun_phrase(adjective, noun):
    return build_parse(f"{adjective} {adjective} ADJ JJ 2 amod\n{noun} {noun} NOUN NN 2 ROOT")


def sample_nouns(parse, adjectives):
    """Return the pairs of nouns drawn with fifty seeds."""
    made = [build_addamod_pair(parse, adjectives, seed=seed) for seed in range(50)]
    return {frozenset((one.premise_noun, one.hypothesis_noun)) for one in made}


@pytest.fixture
def add(parse):
    """Return a function that adds one of some adjectives, which occur with some nouns, to a sentence."""

    def add_adjective(sentence, adjectives, nouns, **options):
        return build_addamod_pair(parse(sentence), build_adjective_counts(adjectives, nouns), **options)

    return add_adjective


SENTENCE, NOUNS_OF_SENTENCE = "The man sees a dog.", ["man", "dog"]


@pytest.mark.parametrize(
    ("sentence", "adjective", "expected"),
    [
        (SENTENCE, "old", {"man": "The old man sees a dog.", "dog": "The man sees an old dog."}),
        ("Dogs see a cat.", "asian", {"Dogs": "Asian dogs see a cat.", "cat": "Dogs see an Asian cat."}),
        ("An egg hits a dog.", "red", {"egg": "A red egg hits a dog.", "dog": "An egg hits a red dog."}),
        ("An egg hits a dog.", "unusual", {"egg": "An unusual egg hits a dog.", "dog": "An egg hits an unusual dog."}),
    ],
)
def test_addamod_equals_manual_example(add, sentence, adjective, expected):
    made = add(sentence, [adjective], ["man", "dog", "cat", "egg"])
    first, second = made.premise_noun, made.hypothesis_noun
    assert made == AddAmodPair(expected[first], expected[second], adjective, first, second)
    assert first != second


@pytest.mark.parametrize(
    ("sentence", "adjectives", "nouns", "taken"),
    [
        # adjectives of the same or of an unknown class are not combined
        ("The big man sees a dog.", ["tiny", "rusty"], ["man", "dog"], False),
        ("The rusty man sees a dog.", ["old"], ["man", "dog"], False),
        ("The big man sees a dog.", ["old"], ["man", "dog"], True),
        # people are not red, and only people are elderly or teenage
        *((SENTENCE, [each], ["man", "dog"], False) for each in ("red", "elderly", "teenage")),
        *(("The hat touches a car.", [each], ["hat", "car"], each == "red") for each in ("red", "elderly", "teenage")),
        *(("The man sees a woman.", [each], ["man", "woman"], each != "red") for each in ("red", "elderly", "teenage")),
        # animals can be young, but cars cannot
        ("The man sees a car.", ["young"], ["man", "car"], False),
        # the context contradicts the adjective
        ("A girl sees the car.", ["old"], ["girl", "car"], False),
    ],
)
def test_adjective_is_added_only_if_both_nouns_take_it(add, sentence, adjectives, nouns, taken):
    made = add(sentence, adjectives, nouns)
    assert made.adjective in adjectives if taken else made == NOT_FITTING


def test_adjective_must_be_frequent_with_both_nouns(parse):
    adjectives = build_adjective_counts(["wet"], ["man"], times=9)
    adjectives.add(_parse_noun_phrase("wet", "dog"))
    assert build_addamod_pair(parse(SENTENCE), adjectives) == NOT_ATTESTED
    assert build_addamod_pair(parse(SENTENCE), adjectives, min_count=1).adjective == "wet"


def test_adjectives_are_sampled_by_smaller_count(parse):
    adjectives = build_adjective_counts(["wet"], NOUNS_OF_SENTENCE, times=30)
    for each in [_parse_noun_phrase("old", "man")] * 500 + [_parse_noun_phrase("old", "dog")] * 10:
        adjectives.add(each)
    parsed = parse(SENTENCE)
    drawn = Counter(build_addamod_pair(parsed, adjectives, seed=seed).adjective for seed in range(1000))
    # 30 to 10. Three standard deviations of a proportion of 3/4 of 1,000 are 0.04.
    assert drawn["wet"] / 1000 == pytest.approx(0.75, abs=0.045)


def test_directions_are_balanced(parse):
    adjectives, parsed = build_adjective_counts(["old"], NOUNS_OF_SENTENCE), parse(SENTENCE)
    made = [build_addamod_pair(parsed, adjectives, seed=seed) for seed in range(200)]
    assert 60 < sum(addition.premise_noun == "man" for addition in made) < 140


@pytest.mark.parametrize(
    ("sentence", "adjective", "reason"),
    [
        (SENTENCE, "homeless", NOT_ATTESTED),
        ("The man sees dogs including a poodle.", "old", "a group and its members (people including a man)"),
    ],
)
def test_addamod_written_text_excludes_groups_and_unordered_adjectives(add, sentence, adjective, reason):
    assert add(sentence, [adjective], NOUNS_OF_SENTENCE, is_written_text=True) == reason
    assert add(sentence, [adjective], NOUNS_OF_SENTENCE) != reason


# Exclusion reasons, with sentences for the pipeline. Each adjective below is attested with each noun.
NOUNS = "man dog cat hat group person clown front jean teacher car house woman street pair shoe fisherman".split()
REFUSED = {
    "A dog sees a dog.": NO_NOUNS,
    "A group of people sleeps.": NO_NOUNS,
    "The man wears a hard hat.": NO_NOUNS,  # a fixed name
    "The men and women sleep.": NO_NOUNS,
    "The man has a fisherman's hat.": NO_NOUNS,
    "Another man sees a dog.": NO_NOUNS,
    "The man does not see the dog.": "a negation",
    "The red man sees a dog.": NOT_ATTESTED,
    "A old man sees a dog.": "a determiner that does not fit its noun",
}


@pytest.mark.parametrize(("premise", "refusal"), REFUSED.items())
def test_addamod_excluded_premise_has_reason(add, premise, refusal):
    assert add(premise, ["red"], NOUNS) == refusal


def test_noun_of_place_takes_no_adjective(add):
    made = add("The dog sleeps in front of the house.", ["red"], NOUNS)
    assert {made.premise_noun, made.hypothesis_noun} == {"dog", "house"}


def test_addamod_plural_in_verb_context_is_excluded():
    """Parse of "A man near a dog and waves a hat" as a man near a dog and near waves."""
    parse = build_parse("""
        A     a    DET   DT  2 det
        man   man  NOUN  NN  2 ROOT
        near  near ADP   IN  2 prep
        a     a    DET   DT  5 det
        dog   dog  NOUN  NN  3 pobj
        and   and  CCONJ CC  5 cc
        waves wave NOUN  NNS 5 conj
        a     a    DET   DT  9 det
        hat   hat  NOUN  NN  7 dobj
    """)
    # The dog is excluded, too, since the plural "waves" next to it has no determiner.
    assert sample_nouns(parse, build_adjective_counts(["old"], ["man", "dog", "wave", "hat"])) == {
        frozenset(("man", "hat"))
    }


@pytest.mark.parametrize(
    ("attested", "moves"),
    [
        ([("live", "hat"), ("live", "car")], False),  # without a class, and never a predicate
        ([("live", "hat"), ("live", "car"), ("live", None)], True),
        ([("big", "hat"), ("big", "car")], True),  # with a class
        ([("asian", "hat"), ("asian", "car")], False),  # for things, an origin is a type rather than a property
    ],
)
def test_only_intersective_adjective_is_moved(parse, attested, moves):
    adjectives = AdjectiveCounts(
        [_parse_noun_phrase(adjective, noun) if noun else _parse_predicate(adjective) for adjective, noun in attested]
        * 2
    )
    made = build_addamod_pair(parse("The hat touches a car."), adjectives)
    assert isinstance(made, AddAmodPair) if moves else made == NOT_FREE


@pytest.mark.parametrize(("others", "moves"), [(124, True), (128, False)])
def test_adjective_of_fixed_name_is_not_moved(parse, others, moves):
    """The word red modifies 2 hats and 2 cars, of 4 red things and 2 hats: 2 c / (4 * 2) times
    chance, 64 at c = 256.
    """
    parses = [_parse_noun_phrase("red", "hat"), _parse_noun_phrase("red", "car")] * 2
    parses += [_parse_noun_phrase("old", "car"), _parse_noun_phrase("old", "house")] * others
    adjectives = AdjectiveCounts(parses)
    assert adjectives.compute_association("red", "hat") == (4 + 2 * others) / 4
    assert adjectives.compute_association("red", "car") == (4 + 2 * others) * 2 / (4 * (2 + others))
    assert adjectives.compute_association("red", "house") == 0
    made = build_addamod_pair(parse("The hat touches a car."), adjectives)
    assert isinstance(made, AddAmodPair) if moves else made == NOT_FREE


def test_only_adjectives_directly_before_noun_are_counted():
    adjectives = AdjectiveCounts(
        [
            build_parse("short short ADJ JJ 3 amod\nsleeve sleeve NOUN NN 3 compound\nshirt shirt NOUN NN 3 ROOT"),
            build_parse("dark dark ADJ JJ 3 amod\nblue blue ADJ JJ 3 amod\nshirt shirt NOUN NN 3 ROOT"),
            build_parse("white white ADJ JJ 2 amod\nwater water NOUN NN 3 compound\nrafting rafting NOUN NN 3 ROOT"),
        ]
    )
    assert adjectives.find_shared("shirt", "shirt", 1) == {"blue": 1}
    assert adjectives.find_shared("water", "water", 1) == adjectives.find_shared("rafting", "rafting", 1) == {}


def test_addamod_excludes_group_with_listed_members(parse):
    nouns = sample_nouns(
        parse("three children, two boys and a girl"), build_adjective_counts(["tall"], ["child", "boy", "girl"])
    )
    assert nouns == {frozenset(("boys", "girl"))}


def test_real_pairs_differ_in_adjective_position(real_parses, real_adjectives):
    pairs = [(parse, build_addamod_pair(parse, real_adjectives, min_count=1)) for parse in real_parses]
    pairs = [(parse, made) for parse, made in pairs if isinstance(made, AddAmodPair)]
    assert len(pairs) > 30
    for parse, made in pairs:
        original = _list_words(str(parse))
        for text in (made.premise, made.hypothesis):
            words = _list_words(text)
            at = next(i for i, (new, old) in enumerate(zip_longest(words, original)) if new != old)
            assert words[at] == made.adjective
            assert [*words[:at], *words[at + 1 :]] == original
        assert made.premise != made.hypothesis
        assert {made.premise_noun, made.hypothesis_noun} <= set(parse.words)


def _list_words(text):
    return ["a" if word in ("a", "an") else word for word in text.lower().removesuffix(".").split()]
