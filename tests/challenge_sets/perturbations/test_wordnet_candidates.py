import pytest

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates


@pytest.fixture(scope="module")
def candidates(wordnet):
    return WordNetCandidates(wordnet)


@pytest.mark.parametrize(
    ("word", "relation", "new"),
    [
        ("jackets", WordNetRelation.HYPONYM, "coats"),  # with the same number
        ("attempted", WordNetRelation.SYNONYM, "tried"),  # with the same tense
        ("baskets", WordNetRelation.HYPONYM, "containers"),
    ],
)
def test_most_frequent_sense_gives_inflected_candidates(candidates, word, relation, new):
    assert (relation, new) in {(candidate.relation, candidate.new) for candidate in candidates.get_candidates(word)}


@pytest.mark.parametrize("word", ["run", "another", "there", "xyzzyx", "the"])
def test_ambiguous_word_has_no_candidates(candidates, word):
    assert not candidates.get_candidates(word)


def test_categories_end_with_wordnet(candidates):
    found = {
        candidate.category for word in ("jackets", "attempted", "sit") for candidate in candidates.get_candidates(word)
    }
    assert found
    assert all(category.endswith("_wordnet") for category in found)
