import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.data.text.grammar import has_matching_determiners


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


@pytest.mark.parametrize(
    "text",
    [
        "a dog",
        "an old dog",
        "the dogs",
        "two big dogs",
        "these women",
        "two sheep",
        "a few people",
        "a dozen dogs",
    ],
)
def test_determiners_match_in_correct_phrase(text):
    assert has_matching_determiners(noun_phrase(text))


@pytest.mark.parametrize(
    "text",
    ["a old dog", "an dog", "a dogs", "a men", "a two people", "two dog", "two big dog", "one women", "these dog"],
)
def test_determiners_do_not_match_in_wrong_phrase(text):
    assert not has_matching_determiners(noun_phrase(text))


def test_compound_includes_determiners_of_its_noun():
    parse = build_parse("""
        a    a    DET  DT 4 det
        two  two  NUM  CD 3 nummod
        man  man  NOUN NN 4 compound
        team team NOUN NN 4 ROOT
    """)
    assert has_matching_determiners(parse)


def test_quotation_mark_before_word_is_ignored():
    parse = build_parse("""
        an     an   DET   DT 4 det
        "      "    PUNCT `` 4 punct
        +open  open ADJ   JJ 4 amod
        sign   sign NOUN  NN 4 ROOT
    """)
    assert has_matching_determiners(parse)
