import pytest

from unbag.data.text.parses import OBJECTIVE, SUBJECTIVE, Person, conjugate, third_singular

FORMS = [
    # plural, third person singular
    ("are", "is", "be"),
    ("were", "was", "be"),
    ("have", "has", "have"),
    ("do", "does", "do"),
    ("go", "goes", "go"),
    ("undergo", "undergoes", "undergo"),
    ("ride", "rides", "ride"),
    ("watch", "watches", "watch"),
    ("pass", "passes", "pass"),
    ("focus", "focuses", "focus"),
    ("carry", "carries", "carry"),
    ("lie", "lies", "lie"),
    ("play", "plays", "play"),
    ("fix", "fixes", "fix"),
    ("push", "pushes", "push"),
    ("close", "closes", "close"),
]


@pytest.mark.parametrize(("plural", "singular", "lemma"), FORMS)
def test_a_verb_agrees_both_ways_and_stays_where_it_agrees(plural, singular, lemma):
    for person, expected in ((Person.SINGULAR, singular), (Person.PLURAL, plural)):
        assert conjugate(singular, lemma, person, third=True) == expected
        assert conjugate(plural, lemma, person, third=False) == expected


def test_i_has_forms_of_its_own():
    assert [conjugate(verb, "", Person.I, third=True) for verb in ("is", "are", "was", "holds")] == [
        "am",
        "am",
        "was",
        "hold",
    ]


def test_conjugate_impossible_lemma_is_ignored():
    assert conjugate("rides", "rid", Person.PLURAL, third=True) == "ride"
    assert conjugate("catches", "", Person.PLURAL, third=True) == "catch"


def test_a_capital_stays():
    assert conjugate("Is", "be", Person.PLURAL, third=True) == "Are"


def test_the_third_person_always_ends_in_s():
    assert all(third_singular(base).endswith("s") for _, _, base in FORMS if base != "be")


def test_case_is_changed_and_back():
    assert all(SUBJECTIVE[OBJECTIVE[pronoun]] == pronoun for pronoun in OBJECTIVE)
