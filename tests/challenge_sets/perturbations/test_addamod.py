from collections import Counter
from itertools import pairwise, zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.addamod import (
    AddAmodExclusionReason,
    AddAmodPair,
    AdjectiveCounts,
    build_addamod_pair,
)
from unbag.data.text.grammar import get_adjective_rank
from unbag.data.text.parses import Parse

ADJECTIVES = ["red", "old", "honest", "tiny", "homeless", "unusual", "wooden"]


def build_adjective_counts(adjectives, nouns, times=2):
    """Build counts of all adjectives with all nouns, attributive and predicative, each the given number of times."""
    phrases = [_parse_noun_phrase(adjective, noun) for adjective in adjectives for noun in nouns]
    return AdjectiveCounts([*phrases, *map(_parse_predicate, adjectives)] * times)


def _parse_predicate(adjective):
    return build_parse(f"it it PRON PRP 2 nsubj\nis be AUX VBZ 2 ROOT\n{adjective} {adjective} ADJ JJ 2 acomp")


def _parse_noun_phrase(adjective, noun):
    return build_parse(f"{adjective} {adjective} ADJ JJ 2 amod\n{noun} {noun} NOUN NN 2 ROOT")


def build_sentence(first, second):
    """Build the parse of "<first> sees <second>.". Both are lists of (word, POS, tag, dependency), ending with the
    head.
    """
    words, pos, tags, deps = zip(
        *first, ("sees", "VERB", "VBZ", "ROOT"), *second, (".", "PUNCT", ".", "punct"), strict=True
    )
    verb = len(first)
    heads = [verb - 1] * (verb - 1) + [verb, verb] + [verb + len(second)] * (len(second) - 1) + [verb, verb]
    words = [words[0].capitalize(), *words[1:]]
    spaces = [True] * (len(words) - 2) + [False, False]
    lemmas = [word.lower().removesuffix("s") for word in words]
    return Parse(*map(tuple, (words, spaces, lemmas, pos, tags, heads, deps)))


def build_noun_phrase(determiner, adjectives, compound, noun, dep):
    """Build a noun phrase for `build_sentence`."""
    tag = "NNS" if noun.endswith("s") else "NN"
    return [
        *([(determiner, "DET", "DT", "det")] if determiner else []),
        *((adjective, "ADJ", "JJ", "amod") for adjective in adjectives),
        *([(compound, "NOUN", "NN", "compound")] if compound else []),
        (noun, "NOUN", tag, dep),
    ]


def phrases(nouns, dep):
    """Generate noun phrases with optional article, adjective and compound. Singular phrases have an article."""
    return st.builds(
        lambda determiner, adjectives, compound, noun: build_noun_phrase(
            {"a": "the"}.get(determiner, determiner) if noun.endswith("s") else determiner or "a",
            adjectives,
            compound,
            noun,
            dep,
        ),
        st.sampled_from(["a", "the", ""]),
        st.sampled_from([[], ["big"], ["new"], ["blue"]]),
        st.sampled_from(["", "street"]),
        st.sampled_from(nouns),
    )


def _list_words(text):
    return ["a" if word in ("a", "an") else word for word in text.lower().removesuffix(".").split()]


@given(phrases(["lamp", "lamps"], "nsubj"), phrases(["bird", "birds"], "dobj"), st.integers(0, 50))
def test_both_sentences_add_one_adjective_to_premise(first, second, seed):
    parse = build_sentence(first, second)
    made = build_addamod_pair(parse, build_adjective_counts(ADJECTIVES, ["lamp", "bird"]), seed=seed)
    for text in (made.premise, made.hypothesis):
        words = _list_words(text)
        words.remove(made.adjective)
        assert words == _list_words(str(parse))
    assert made.premise != made.hypothesis
    nouns = {noun.lower() for noun in (made.premise_noun, made.hypothesis_noun)}
    assert nouns == {first[-1][0], second[-1][0]}


@given(phrases(["lamp", "lamps"], "nsubj"), phrases(["bird", "birds"], "dobj"), st.integers(0, 50))
def test_adjectives_are_ordered_by_class_before_compound(first, second, seed):
    made = build_addamod_pair(
        build_sentence(first, second), build_adjective_counts(ADJECTIVES, ["lamp", "bird"]), seed=seed
    )
    for text in (made.premise, made.hypothesis):
        words = text.lower().removesuffix(".").split()
        ranks = [get_adjective_rank(word) for word in words]
        runs = [pair for pair in pairwise(ranks) if None not in pair]
        assert all(before < after for before, after in runs)
        at = words.index(made.adjective)
        assert words[at + 1] in {"street", "lamp", "lamps", "bird", "birds", "big", "new", "blue"}
        if at and words[at - 1] in ("a", "an"):
            assert words[at - 1] == ("an" if words[at][0] in "aeiou" or words[at] == "honest" else "a")


def sample_nouns(parse, adjectives):
    """Return the pairs of nouns drawn with fifty seeds."""
    made = [build_addamod_pair(parse, adjectives, seed=seed) for seed in range(50)]
    return {frozenset((one.premise_noun, one.hypothesis_noun)) for one in made}


THE_MAN = build_noun_phrase("the", [], "", "man", "nsubj")
A_DOG = build_noun_phrase("a", [], "", "dog", "dobj")


def test_addamod_equals_manual_example():
    made = build_addamod_pair(build_sentence(THE_MAN, A_DOG), build_adjective_counts(["old"], ["man", "dog"]), seed=0)
    sentences = {"man": "The old man sees a dog.", "dog": "The man sees an old dog."}
    assert made == AddAmodPair(
        sentences[made.premise_noun], sentences[made.hypothesis_noun], "old", made.premise_noun, made.hypothesis_noun
    )


def test_addamod_at_sentence_start_moves_capital_letter():
    parse = build_sentence(build_noun_phrase("", [], "", "dogs", "nsubj"), [*A_DOG[:1], ("cat", "NOUN", "NN", "dobj")])
    made = build_addamod_pair(parse, build_adjective_counts(["asian", "old"], ["dog", "cat"]))
    [first] = [text for text in (made.premise, made.hypothesis) if not text.startswith("Dogs")]
    assert first == f"{made.adjective.capitalize()} dogs sees a cat."


def test_article_agrees_with_added_adjective():
    parse = build_sentence(
        build_noun_phrase("an", [], "", "egg", "nsubj"), build_noun_phrase("a", [], "", "dog", "dobj")
    )
    assert build_addamod_pair(parse, build_adjective_counts(["red"], ["egg", "dog"])).premise in (
        "A red egg sees a dog.",
        "An egg sees a red dog.",
    )
    made = build_addamod_pair(parse, build_adjective_counts(["unusual"], ["egg", "dog"]))
    assert {made.premise, made.hypothesis} == {"An unusual egg sees a dog.", "An egg sees an unusual dog."}


def test_adjectives_of_same_or_unknown_class_are_not_combined():
    big_man = build_sentence(build_noun_phrase("the", ["big"], "", "man", "nsubj"), A_DOG)
    assert (
        build_addamod_pair(big_man, build_adjective_counts(["tiny", "rusty"], ["man", "dog"]))
        is AddAmodExclusionReason.NOT_TAKEN
    )
    rusty_man = build_sentence(build_noun_phrase("the", ["rusty"], "", "man", "nsubj"), A_DOG)
    assert (
        build_addamod_pair(rusty_man, build_adjective_counts(["old"], ["man", "dog"]))
        is AddAmodExclusionReason.NOT_TAKEN
    )
    assert build_addamod_pair(big_man, build_adjective_counts(["old"], ["man", "dog"])).adjective == "old"


@pytest.mark.parametrize("adjective", ["red", "elderly", "teenage"])
def test_people_are_not_red_and_only_people_are_elderly(adjective):
    assert (
        build_addamod_pair(build_sentence(THE_MAN, A_DOG), build_adjective_counts([adjective], ["man", "dog"]))
        is AddAmodExclusionReason.NOT_TAKEN
    )
    things = build_sentence(
        build_noun_phrase("the", [], "", "hat", "nsubj"), build_noun_phrase("a", [], "", "car", "dobj")
    )
    made = build_addamod_pair(things, build_adjective_counts([adjective], ["hat", "car"]))
    assert made.adjective == "red" if adjective == "red" else made is AddAmodExclusionReason.NOT_TAKEN
    people = build_sentence(THE_MAN, build_noun_phrase("a", [], "", "woman", "dobj"))
    made = build_addamod_pair(people, build_adjective_counts([adjective], ["man", "woman"]))
    assert made is AddAmodExclusionReason.NOT_TAKEN if adjective == "red" else made.adjective == adjective


def test_animals_can_be_young_but_cars_cannot():
    young = build_adjective_counts(["young"], ["man", "dog", "car"])
    assert build_addamod_pair(build_sentence(THE_MAN, A_DOG), young).adjective == "young"
    a_car = build_noun_phrase("a", [], "", "car", "dobj")
    assert build_addamod_pair(build_sentence(THE_MAN, a_car), young) is AddAmodExclusionReason.NOT_TAKEN


def test_adjective_must_be_frequent_with_both_nouns():
    adjectives = build_adjective_counts(["wet"], ["man"], times=9)
    adjectives.add(_parse_noun_phrase("wet", "dog"))
    parse = build_sentence(THE_MAN, A_DOG)
    assert build_addamod_pair(parse, adjectives) is AddAmodExclusionReason.NOT_SHARED
    assert build_addamod_pair(parse, adjectives, min_count=1).adjective == "wet"


def test_adjectives_are_sampled_by_smaller_count():
    adjectives = build_adjective_counts(["wet"], ["man", "dog"], times=30)
    for parse in [_parse_noun_phrase("old", "man")] * 500 + [_parse_noun_phrase("old", "dog")] * 10:
        adjectives.add(parse)
    drawn = Counter(
        build_addamod_pair(build_sentence(THE_MAN, A_DOG), adjectives, seed=seed).adjective for seed in range(1000)
    )
    # 30 to 10. Three standard deviations of a proportion of 3/4 of 1,000 are 0.04.
    assert drawn["wet"] / 1000 == pytest.approx(0.75, abs=0.045)


def test_directions_are_balanced_and_depend_on_seed():
    adjectives = build_adjective_counts(["old"], ["man", "dog"])
    made = [build_addamod_pair(build_sentence(THE_MAN, A_DOG), adjectives, seed=seed) for seed in range(200)]
    assert 60 < sum(addition.premise_noun == "man" for addition in made) < 140
    assert made == [build_addamod_pair(build_sentence(THE_MAN, A_DOG), adjectives, seed=seed) for seed in range(200)]


def test_written_text_uses_only_ordered_neutral_adjectives():
    # English orders no "homeless", and "good" is an opinion; size and age stay.
    adjectives = ["homeless", "good", "old", "tiny"]
    parse, counts = build_sentence(THE_MAN, A_DOG), build_adjective_counts(adjectives, ["man", "dog"])
    drawn = [
        {build_addamod_pair(parse, counts, seed=i, is_written_text=w).adjective for i in range(100)}
        for w in (False, True)
    ]
    assert drawn == [set(adjectives), {"old", "tiny"}]
    assert (
        build_addamod_pair(parse, build_adjective_counts(["homeless"], ["man", "dog"]), is_written_text=True)
        is AddAmodExclusionReason.NOT_SHARED
    )


def test_addamod_written_text_with_group_and_members_is_excluded():
    including = [*A_DOG, ("including", "VERB", "VBG", "prep")]
    parse, counts = build_sentence(THE_MAN, including), build_adjective_counts(["old"], ["man", "dog"])
    assert build_addamod_pair(parse, counts, is_written_text=True) is AddAmodExclusionReason.MEMBERS
    assert build_addamod_pair(parse, counts) is not AddAmodExclusionReason.MEMBERS


# Exclusion reasons, with sentences for the pipeline. Each adjective below is attested with each noun.
NOUNS = "man dog cat hat group person clown front jean teacher car house woman street pair shoe fisherman".split()
REFUSED = {
    "The man sleeps.": AddAmodExclusionReason.ONE_NOUN,
    "A dog sees a dog.": AddAmodExclusionReason.ONE_NOUN,
    "Tom sees a dog.": AddAmodExclusionReason.ONE_NOUN,
    "He sees a dog.": AddAmodExclusionReason.ONE_NOUN,
    "A man in jeans": AddAmodExclusionReason.ONE_NOUN,
    "A group of people sleeps.": AddAmodExclusionReason.ONE_NOUN,
    "The man is a teacher.": AddAmodExclusionReason.ONE_NOUN,
    "A man is dressed as a clown.": AddAmodExclusionReason.ONE_NOUN,
    "The dog sleeps in front of the house.": None,
    "The men and women sleep.": AddAmodExclusionReason.ONE_NOUN,
    "The man has a fisherman's hat.": AddAmodExclusionReason.ONE_NOUN,
    "Another man sees a dog.": AddAmodExclusionReason.ONE_NOUN,
    "The man does not see the dog.": AddAmodExclusionReason.NEGATED,
    "The man sleeps without a hat.": AddAmodExclusionReason.NEGATED,
    "The red man sees a dog.": AddAmodExclusionReason.NOT_SHARED,
    "A old man sees a dog.": AddAmodExclusionReason.DETERMINER,
}


@pytest.mark.parametrize(("premise", "refusal"), REFUSED.items())
def test_addamod_excluded_premise_has_reason(parser, premise, refusal):
    [parse] = parser.parse([premise])
    made = build_addamod_pair(parse, build_adjective_counts(["red"], NOUNS))
    if refusal is None:
        assert {made.premise_noun, made.hypothesis_noun} == {"dog", "house"}
    else:
        assert made is refusal


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


THE_HAT = build_noun_phrase("the", [], "", "hat", "nsubj")
A_CAR = build_noun_phrase("a", [], "", "car", "dobj")


@pytest.mark.parametrize(
    ("attested", "moves"),
    [
        ([("live", "hat"), ("live", "car")], False),  # without a class, and never a predicate
        ([("live", "hat"), ("live", "car"), ("live", None)], True),
        ([("big", "hat"), ("big", "car")], True),  # with a class
        ([("asian", "hat"), ("asian", "car")], False),  # for things, an origin is a type rather than a property
    ],
)
def test_only_intersective_adjective_is_moved(attested, moves):
    adjectives = AdjectiveCounts(
        [_parse_noun_phrase(adjective, noun) if noun else _parse_predicate(adjective) for adjective, noun in attested]
        * 2
    )
    made = build_addamod_pair(build_sentence(THE_HAT, A_CAR), adjectives)
    assert isinstance(made, AddAmodPair) if moves else made is AddAmodExclusionReason.NOT_FREE


@pytest.mark.parametrize(("others", "moves"), [(124, True), (128, False)])
def test_adjective_of_fixed_name_is_not_moved(others, moves):
    """The word red modifies 2 hats and 2 cars, of 4 red things and 2 hats: 2 c / (4 * 2) times
    chance, 64 at c = 256.
    """
    parses = [_parse_noun_phrase("red", "hat"), _parse_noun_phrase("red", "car")] * 2
    parses += [_parse_noun_phrase("old", "car"), _parse_noun_phrase("old", "house")] * others
    adjectives = AdjectiveCounts(parses)
    assert adjectives.compute_association("red", "hat") == (4 + 2 * others) / 4
    assert adjectives.compute_association("red", "car") == (4 + 2 * others) * 2 / (4 * (2 + others))
    assert adjectives.compute_association("red", "house") == 0
    made = build_addamod_pair(build_sentence(THE_HAT, A_CAR), adjectives)
    assert isinstance(made, AddAmodPair) if moves else made is AddAmodExclusionReason.NOT_FREE


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


@pytest.mark.parametrize(
    ("adjective", "noun", "more"),
    [("old", "girl", []), ("blond", "woman", [("hair", "NOUN", "NN", "compound")]), ("blue", "horse", [])],
)
def test_adjective_that_contradicts_context_is_not_added(adjective, noun, more):
    person = build_noun_phrase("a", [], "", noun, "nsubj")
    other = build_noun_phrase("the", [], "", "lady" if adjective == "blond" else "car", "dobj")
    adjectives = build_adjective_counts([adjective], [noun, "lady", "car"])
    assert (
        build_addamod_pair(build_sentence(person, [*other[:-1], *(more or []), other[-1]]), adjectives)
        is AddAmodExclusionReason.NOT_TAKEN
    )


def test_adjective_is_not_added_inside_fixed_name():
    parse = build_sentence(
        build_noun_phrase("the", [], "", "man", "nsubj"), build_noun_phrase("a", ["hard"], "", "hat", "dobj")
    )
    assert build_addamod_pair(parse, build_adjective_counts(["old"], ["man", "hat"])) is AddAmodExclusionReason.ONE_NOUN


def test_addamod_excludes_group_with_listed_members():
    parse = build_parse("""
        three    three NUM   CD  2 nummod
        children child NOUN  NNS 2 ROOT
        +,       ,     PUNCT ,   2 punct
        two      two   NUM   CD  5 nummod
        boys     boy   NOUN  NNS 2 conj
        and      and   CCONJ CC  5 cc
        a        a     DET   DT  8 det
        girl     girl  NOUN  NN  5 conj
    """)
    assert sample_nouns(parse, build_adjective_counts(["tall"], ["child", "boy", "girl"])) == {
        frozenset(("boys", "girl"))
    }


def test_addamod_treats_group_and_members_as_one():
    parse = build_parse("""
        a      a     DET   DT  2 det
        group  group NOUN  NN  2 ROOT
        of     of    ADP   IN  2 prep
        two    two   NUM   CD  5 nummod
        men    man   NOUN  NNS 3 pobj
        and    and   CCONJ CC  5 cc
        a      a     DET   DT  8 det
        woman  woman NOUN  NN  5 conj
    """)
    assert sample_nouns(parse, build_adjective_counts(["old"], ["group", "man", "woman"])) == {
        frozenset(("men", "woman"))
    }


def test_real_pairs_differ_in_adjective_position(real_parses):
    adjectives = AdjectiveCounts(real_parses)
    made = [
        (parse, addition)
        for parse in real_parses
        if isinstance(addition := build_addamod_pair(parse, adjectives, min_count=1), AddAmodPair)
    ]
    assert len(made) > 30
    for parse, addition in made:
        without = []
        for text in (addition.premise, addition.hypothesis):
            words = text.split()
            at = next(
                i for i, (new, old) in enumerate(zip_longest(words, str(parse).split())) if not _is_same_word(new, old)
            )
            assert words[at].lower() == addition.adjective
            without.append(_list_words(" ".join(words[:at] + words[at + 1 :])))
        assert without[0] == without[1] == _list_words(str(parse))
        assert addition.premise != addition.hypothesis
        assert addition.premise_noun in parse.words
        assert addition.hypothesis_noun in parse.words


def _is_same_word(new, old):
    return new.lower() == old.lower() or {new.lower(), old.lower()} == {"a", "an"}
