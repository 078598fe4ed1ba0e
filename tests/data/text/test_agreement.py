import pytest

from unbag.data.text.parses import OBJECTIVE, SUBJECTIVE, GrammaticalPerson, build_third_person_singular, conjugate_verb

FORMS = [
    # plural, third person singular, base form
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
def test_verb_agreement_is_reversible(plural, singular, lemma):
    for person, expected in ((GrammaticalPerson.SINGULAR, singular), (GrammaticalPerson.PLURAL, plural)):
        assert conjugate_verb(singular, lemma, person, is_third_person=True) == expected
        assert conjugate_verb(plural, lemma, person, is_third_person=False) == expected


def test_first_person_has_separate_forms():
    assert [
        conjugate_verb(verb, "", GrammaticalPerson.I, is_third_person=True) for verb in ("is", "are", "was", "holds")
    ] == [
        "am",
        "am",
        "was",
        "hold",
    ]


def test_impossible_lemma_is_ignored():
    assert conjugate_verb("rides", "rid", GrammaticalPerson.PLURAL, is_third_person=True) == "ride"
    assert conjugate_verb("catches", "", GrammaticalPerson.PLURAL, is_third_person=True) == "catch"


def test_capital_letter_is_kept():
    assert conjugate_verb("Is", "be", GrammaticalPerson.PLURAL, is_third_person=True) == "Are"


def test_third_person_singular_ends_in_s():
    assert all(build_third_person_singular(base).endswith("s") for _, _, base in FORMS if base != "be")


def test_pronoun_case_is_reversible():
    assert all(SUBJECTIVE[OBJECTIVE[pronoun]] == pronoun for pronoun in OBJECTIVE)
