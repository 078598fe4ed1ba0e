import pytest

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates


@pytest.fixture(scope="module")
def candidates(wordnet):
    return WordNetCandidates(wordnet)


@pytest.mark.parametrize(
    ("word", "relation", "new"),
    [
        ("jackets", WordNetRelation.HYPONYM, "coats"),  # in its number
        ("attempted", WordNetRelation.SYNONYM, "tried"),  # in its tense
        ("baskets", WordNetRelation.HYPONYM, "containers"),
    ],
)
def test_the_usual_sense_gives_candidates_inflected_as_the_word(candidates, word, relation, new):
    assert (relation, new) in {(candidate.relation, candidate.new) for candidate in candidates.get_candidates(word)}


@pytest.mark.parametrize("word", ["run", "another", "there", "xyzzyx", "the"])
def test_wordnet_candidates_ambiguous_word_has_none(candidates, word):
    assert not candidates.get_candidates(word)


def test_categories_say_where_they_come_from(candidates):
    found = {
        candidate.category for word in ("jackets", "attempted", "sit") for candidate in candidates.get_candidates(word)
    }
    assert found
    assert all(category.endswith("_wordnet") for category in found)
