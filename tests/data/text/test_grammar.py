"""Tests of agreement, articles, plurals, entities and replacement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.data.text.entities import Entity, EntityRecognizer
from unbag.data.text.grammar import (
    adapt_article,
    find_phrase_difference,
    has_matching_determiners,
    is_matching_article,
    pluralize_noun,
)
from unbag.data.text.parses import GrammaticalPerson, Parser, conjugate_verb


@pytest.mark.parametrize(
    ("plural", "singular", "lemma"),
    [
        *[("are", "is", "be"), ("have", "has", "have"), ("go", "goes", "go"), ("watch", "watches", "watch")],
        *[("focus", "focuses", "focus"), ("carry", "carries", "carry"), ("lie", "lies", "lie")],
        *[("play", "plays", "play"), ("push", "pushes", "push")],
    ],
)
def test_verb_agreement_is_reversible(plural, singular, lemma):
    for person, expected in ((GrammaticalPerson.SINGULAR, singular), (GrammaticalPerson.PLURAL, plural)):
        assert conjugate_verb(singular, lemma, person, is_third_person=True) == expected
        assert conjugate_verb(plural, lemma, person, is_third_person=False) == expected


def test_first_person_has_separate_forms():
    for verb, expected in {"is": "am", "are": "am", "was": "was", "holds": "hold"}.items():
        assert conjugate_verb(verb, "", GrammaticalPerson.I, is_third_person=True) == expected


AN = [
    *("apple", "umbrella", "hour", "unimportant", "uninteresting", "uncle", "8", "8th", "11", "18th", "11,000", "800"),
    *("X", "MRI", "F-16", "urn", "usher", "utter", "unidentified", "us", "old-fashioned", "oboe"),
]

A = [
    *("banana", "house", "union", "unicycle", "useful", "European", "ewe", "one-way", "once", "ukulele", "utility"),
    *("urinal", "UFO", "1", "110", "1,100", "yellow", "B", "US", "unanimous", "usual", "ouija", "Utah", "12-year-old"),
]


@pytest.mark.parametrize(
    ("word", "article", "other"), [*((word, "an", "a") for word in AN), *((word, "a", "an") for word in A)]
)
def test_article_matches_first_sound(word, article, other):
    assert adapt_article(other, word) == article
    assert is_matching_article(article, word)
    assert not is_matching_article(other, word)


@pytest.mark.parametrize(
    ("one", "many"),
    [
        *[("cat", "cats"), ("box", "boxes"), ("woman", "women"), ("child", "children"), ("deer", "deer")],
        *[("lady", "ladies"), ("toy", "toys"), ("snowman", "snowmen"), ("goldfish", "goldfish"), ("human", "humans")],
        *[("tooth", "teeth"), ("little old lady", "little old ladies"), ("piano", "pianos")],
    ],
)
def test_nouns_are_pluralized(one, many):
    assert pluralize_noun(one) == many


SENTENCES = ["They arrived in Paris on Monday.", "The dog sleeps.", "Mary Smith lives in the United States."]


def test_entity_positions_match_parse_in_any_order(pipeline, tmp_path):
    recognizer = EntityRecognizer(pipeline, cache=tmp_path)
    found = list(recognizer.recognize(SENTENCES))
    assert all(isinstance(entity, Entity) for entities in found for entity in entities)
    texts = [
        {parse.text(start, end): label for start, end, label in entities}
        for parse, entities in zip(Parser(pipeline, cache=tmp_path).parse(SENTENCES), found, strict=True)
    ]
    assert texts[0]["Paris"] == "GPE"
    assert texts[1] == {}
    assert texts[2] == {"Mary Smith": "PERSON", "the United States": "GPE"}
    assert list(recognizer.recognize([*SENTENCES[::-1], *SENTENCES])) == [*found[::-1], *found], "also from the cache"


def _difference(premise, hypothesis):
    found = find_phrase_difference(premise, hypothesis)
    return found and (" ".join(found.old), " ".join(found.new))


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("A man has a violin.", "A man has a cello.", ("violin", "cello")),
        ("A man has a violin.", "A man has an accordion.", ("violin", "accordion")),
        ("An old man sits.", "A young man sits.", ("old", "young")),
        ("He stands near the wall.", "He stands far away from the wall.", ("near", "far away from")),
        ("A four-wheeled cart.", "A 10-wheeled cart.", ("four", "10")),
        ("Red hat, red coat.", "Blue hat, blue coat.", ("Red", "Blue")),  # the same replacement twice
        ("A man sits, a man eats.", "A man stands, a man sleeps.", None),  # two different replacements
        ("A man sits.", "A man sits.", None),
        ("A man sits.", "Two dogs run over the wide green field.", None),
        ("He is not here.", "He is here.", ("not", "")),
    ],
)
def test_find_replacement_equals_manual_example(premise, hypothesis, expected):
    assert _difference(premise, hypothesis) == expected


WORDS = st.lists(st.sampled_from(["red", "dog", "runs", "tree", "here"]), min_size=1, max_size=6)


@given(WORDS, WORDS)
def test_single_inserted_word_is_found(before, after):
    premise, hypothesis = (" ".join([*before, word, *after]) for word in ("apple", "pear"))
    assert _difference(premise, hypothesis) == ("apple", "pear")


def noun_phrase(text):
    """Build a noun phrase whose words all depend on the last word. Determiners and numbers are recognized by form."""
    *before, noun = text.split()
    kinds = {
        **dict.fromkeys("a an the these this".split(), "DET DT {} det"),
        **dict.fromkeys("two one twelve 20".split(), "NUM CD {} nummod"),
        "and": "CCONJ CC {} cc",
    }
    lines = [f"{word} {word} {kinds.get(word, 'ADJ JJ {} amod').format(len(before) + 1)}" for word in before]
    plural = noun.endswith("s") or noun in ("men", "women", "people")
    return build_parse("\n".join([*lines, f"{noun} {noun} NOUN {'NNS' if plural else 'NN'} {len(before) + 1} ROOT"]))


CORRECT = [
    *("a dog", "an old dog", "the dogs", "two big dogs", "these women", "two sheep", "a few people", "a dozen dogs"),
]
WRONG = [
    *("a old dog", "an dog", "a dogs", "a men", "a two people", "two dog", "two big dog", "one women", "these dog"),
]


@pytest.mark.parametrize("text", [*CORRECT, *WRONG])
def test_determiners_match_only_in_correct_phrase(text):
    assert has_matching_determiners(noun_phrase(text)) == (text in CORRECT)


@pytest.mark.parametrize(
    "parse",
    [
        """
        a    a    DET  DT 4 det
        two  two  NUM  CD 3 nummod
        man  man  NOUN NN 4 compound
        team team NOUN NN 4 ROOT
        """,
        """
        an     an   DET   DT 4 det
        "      "    PUNCT `` 4 punct
        +open  open ADJ   JJ 4 amod
        sign   sign NOUN  NN 4 ROOT
        """,
    ],
    ids=["compound with own determiner", "quotation mark"],
)
def test_determiners_match_in_compound_and_before_quotation_mark(parse):
    assert has_matching_determiners(build_parse(parse))
