"""Tests of determiners and their replacement."""

import pytest

from unbag.baselines.natlog.determiners import (
    ANY,
    EVERY,
    FEW,
    NO,
    A,
    Determiner,
    DeterminerKind,
    build_restrictor_projection,
    build_scope_projection,
    compute_determiner_relation,
    replace_determiners,
)
from unbag.baselines.natlog.models import find_truth_value_models
from unbag.baselines.natlog.parsing import ClauseLogicalForm, NounPhrase, PairLogicalForm, Quantifier, WordRelations
from unbag.baselines.natlog.relations import Relation, classify_relation

_SIGNS = dict(zip("≡⊏⊐^|‿#", Relation, strict=True))


@pytest.mark.parametrize(
    ("determiner", "first", "second"),
    [  # The table of projectivity in section 4.2 of MacCartney & Manning 2009: the projections of ≡ ⊏ ⊐ ^ | ‿ #
        (NO, "≡⊐⊏|#|#", "≡⊐⊏|#|#"),
        (EVERY, "≡⊐⊏|#|#", "≡⊏⊐||##"),
        (Determiner(DeterminerKind.NOT_EVERY), "≡⊏⊐‿#‿#", "≡⊐⊏‿‿##"),
        (Determiner(DeterminerKind.MOST), "≡######", "≡⊏⊐||##"),
    ],
)
def test_projectivity_equals_paper(determiner, first, second):
    for build, signs in ((build_restrictor_projection, first), (build_scope_projection, second)):
        assert list(map(build(determiner), Relation)) == [_SIGNS[sign] for sign in signs]


@pytest.mark.parametrize(
    ("quantifier", "determiner"),
    [
        (Quantifier.EVERY, EVERY),
        (Quantifier.NO, NO),
        (Quantifier.NOT_EVERY, Determiner(DeterminerKind.NOT_EVERY)),
        (Quantifier.AT_LEAST, Determiner(DeterminerKind.SOME)),
        (Quantifier.EXACTLY, Determiner(DeterminerKind.EXACTLY)),
        (Quantifier.ALL_BUT, Determiner(DeterminerKind.ALL_BUT)),
    ],
)
def test_projections_of_inclusions_match_finite_models(quantifier, determiner):
    clause = ClauseLogicalForm(NounPhrase(quantifier))
    for relation in (Relation.FORWARD_ENTAILMENT, Relation.REVERSE_ENTAILMENT):
        for part, build in (("subject", build_restrictor_projection), ("verb", build_scope_projection)):
            models = find_truth_value_models(PairLogicalForm(clause, clause, WordRelations(**{part: relation})))
            assert build(determiner)(relation) is (classify_relation(models) or Relation.INDEPENDENCE)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (EVERY, A, Relation.FORWARD_ENTAILMENT),
        (EVERY, NO, Relation.ALTERNATION),
        (NO, A, Relation.NEGATION),
        (A, Determiner(DeterminerKind.NOT_EVERY), Relation.COVER),
        (Determiner(DeterminerKind.SOME, 3), Determiner(DeterminerKind.SOME, 2), Relation.FORWARD_ENTAILMENT),
        (Determiner(DeterminerKind.AT_MOST, 3), Determiner(DeterminerKind.SOME, 4), Relation.NEGATION),
        (Determiner(DeterminerKind.AT_MOST, 3), Determiner(DeterminerKind.EXACTLY, 2), Relation.REVERSE_ENTAILMENT),
        (FEW, NO, Relation.REVERSE_ENTAILMENT),
        (FEW, Determiner(DeterminerKind.SOME, 5), None),  # the number for "few" is undefined
        (Determiner(DeterminerKind.SHARE, 60), Determiner(DeterminerKind.MOST), Relation.FORWARD_ENTAILMENT),
        (Determiner(DeterminerKind.SHARE, 40), Determiner(DeterminerKind.SHARE, 30), Relation.FORWARD_ENTAILMENT),
        (Determiner(DeterminerKind.OTHER, words="every other"), EVERY, None),
        (*[Determiner(DeterminerKind.OTHER, words="both")] * 2, Relation.EQUIVALENCE),
    ],
)
def test_determiner_relation_follows_from_conditions(first, second, expected):
    assert compute_determiner_relation(first, second) is expected


def test_unknown_determiner_is_not_monotone():
    other = Determiner(DeterminerKind.OTHER, words="every other")
    for projection in (build_restrictor_projection(other), build_scope_projection(other)):
        assert projection(Relation.EQUIVALENCE) is Relation.EQUIVALENCE
        assert projection(Relation.FORWARD_ENTAILMENT) is Relation.INDEPENDENCE
    with pytest.raises(ValueError, match="every other"):
        other.is_satisfied_by(1, 1)


@pytest.mark.parametrize(
    ("sentence", "text", "determiner"),
    [
        ("At least three students read.", "Some students read.", Determiner(DeterminerKind.SOME, 3)),
        ("More than five of the boys left.", "Some boys left.", Determiner(DeterminerKind.SOME, 6)),
        ("Fewer than ten boys left.", "Some boys left.", Determiner(DeterminerKind.AT_MOST, 9)),
        ("Exactly two dogs bark.", "Some dogs bark.", Determiner(DeterminerKind.EXACTLY, 2)),
        ("All but one man sat.", "Some man sat.", Determiner(DeterminerKind.ALL_BUT, 1)),
        ("Every one of the two dogs sat.", "Some dogs sat.", EVERY),
        ("Nobody left.", "No person left.", NO),
        ("He saw anything.", "He saw some thing.", ANY),
        ("He sings every morning.", "He sings some morning.", EVERY),
        ("At no time did he sing.", "At no time did he sing.", NO),
        ("Thirty percent of the boys left.", "Some boys left.", Determiner(DeterminerKind.SHARE, 30)),
        ("He sings every other day.", "He sings some day.", Determiner(DeterminerKind.OTHER, words="every other")),
        ("Three out of ten boys left.", "Some boys left.", Determiner(DeterminerKind.OTHER, words="three out of ten")),
    ],
)
def test_replace_determiners_merges_several_words(sentence, text, determiner):
    found = replace_determiners(sentence)
    assert found.text == text
    assert [each for each, _ in found.determiners.values()] == [determiner]
    [place] = found.determiners
    assert text[place:].lower().startswith(("some", "no"))


@pytest.mark.parametrize(
    "sentence",
    [
        "It was the most beautiful town.",
        "He did not like it at all.",
        "He jumped over a fence.",
        "The boys all sang.",
        "He no longer sings.",
    ],
)
def test_replace_determiners_keeps_other_uses(sentence):
    assert replace_determiners(sentence) == (sentence, {})
