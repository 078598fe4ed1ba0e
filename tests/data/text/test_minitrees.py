import numpy as np
import pytest

from unbag.challenge_sets.perturbations.minitrees import MiniTreeRatioCalculator, MiniTrees
from unbag.scoring.pos_minitree import TAGS, compute_neighbor_distributions, compute_sentence_signature, encode_tags

CAT = (("The", "DET"), ("cat", "NOUN"), ("sees", "VERB"), ("the", "DET"), ("old", "ADJ"), ("dog", "NOUN"))
DOG = (("A", "DET"), ("dog", "NOUN"), ("sleeps", "VERB"))


def _build_trees(definition):
    made = MiniTrees(definition=definition)
    for tagged in (CAT, DOG, ()):
        made.add(tagged)
    return made


@pytest.fixture
def trees_of_code():
    return _build_trees("code")


@pytest.fixture
def trees_of_text():
    return _build_trees("text")


def test_word_profile_pools_neighbors_of_occurrences(trees_of_code):
    # neighbors of dog: the, old | a, sleeps, with the tags ADJ, DET, DET, VERB
    expected = np.zeros(17)
    expected[[TAGS.index(tag) for tag in ("ADJ", "DET", "VERB")]] = (1 / 4, 1 / 2, 1 / 4)
    assert trees_of_code.compute_tag_distributions(["dog"])[0] == pytest.approx(expected)
    # neighbors of the: cat, sees | cat, sees, old, dog; NOUN or VERB in all but one
    assert trees_of_code.compute_tag_distributions(["the"])[0, TAGS.index("NOUN")] == pytest.approx(3 / 6)
    assert trees_of_code.compute_tag_distributions(["the"]).sum() == pytest.approx(1)


def test_text_profile_is_mean_over_occurrences(trees_of_text):
    trees_of_code = trees_of_text
    in_cat, in_dog = (compute_neighbor_distributions(encode_tags([tag for _, tag in tagged])) for tagged in (CAT, DOG))
    assert trees_of_code.compute_tag_distributions(["dog"])[0] == pytest.approx((in_cat[5] + in_dog[1]) / 2)
    # "The" and "the" are one word
    assert trees_of_code.compute_tag_distributions(["the"])[0] == pytest.approx((in_cat[0] + in_cat[3]) / 2)
    assert trees_of_code.compute_tag_distributions(["unheard-of"]).sum() == 0
    assert "THE" in trees_of_code
    assert "unheard-of" not in trees_of_code


def test_vectorized_permutations_equal_single_ones(trees_of_text):
    trees_of_code = trees_of_text
    rng = np.random.default_rng(0)
    orders = np.stack([rng.permutation(len(CAT)) for _ in range(20)])
    found = trees_of_code.compute_permuted_signatures(CAT, orders)
    table = trees_of_code.compute_table()
    for order, signature in zip(orders, found, strict=True):
        words, tags = zip(*(CAT[place] for place in order), strict=True)
        assert signature == compute_sentence_signature(words, tags, table, definition="text")
    assert trees_of_code.compute_signature(CAT) == compute_sentence_signature(
        *zip(*CAT, strict=True), table, definition="text"
    )
    assert len(set(found)) > 1


class _Tagger:
    """A stub tagger for known sentences. "tac" is the permuted cat sentence, in which *sees* is tagged as a noun."""

    def tag(self, sentences, *, keep=True):
        again = (("dog", "NOUN"), ("The", "DET"), ("sees", "NOUN"), ("old", "ADJ"), ("cat", "NOUN"), ("the", "DET"))
        known = {"cat": CAT, "dog": DOG, "odd": (("zzz", "NOUN"), ("yyy", "VERB")), "tac": again}
        return {sentence: known[sentence] for sentence in sentences}


def test_signature_equals_standalone_module(trees_of_code):
    for tagged in (CAT, DOG, _Tagger().tag(["tac"])["tac"]):
        signature = compute_sentence_signature(*zip(*tagged, strict=True), trees_of_code.compute_table())
        assert trees_of_code.compute_signature(tagged) == signature
    assert trees_of_code.compute_signature(DOG, k=2) != trees_of_code.compute_signature(DOG, k=4)


def test_permuted_sentence_is_tagged_again(trees_of_code):
    orders = [np.array([[5, 0, 2, 4, 1, 3]]), np.zeros((0, 3), dtype=np.int64)]
    cat, dog = MiniTreeRatioCalculator(trees_of_code, _Tagger()).compute_terms(["cat", "dog"], [["tac"], []], orders)
    again = _Tagger().tag(["tac"])["tac"]
    assert cat.tolist() == [trees_of_code.compute_signature(CAT), trees_of_code.compute_signature(again)]
    in_its_own_tags = tuple(CAT[place] for place in orders[0][0])
    assert trees_of_code.compute_signature(again) != trees_of_code.compute_signature(in_its_own_tags)
    assert dog.tolist() == [trees_of_code.compute_signature(DOG)]
    [odd] = MiniTreeRatioCalculator(trees_of_code, _Tagger()).compute_terms(
        ["odd"], [[]], [np.zeros((0, 2), dtype=np.int64)]
    )
    assert odd.tolist() == [0.0]  # unknown words have an overlap of 0


def test_text_definition_moves_tags_with_words(trees_of_text):
    orders = [np.array([[1, 0, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]]), np.array([[0, 1, 2]]), np.array([[1, 0]])]
    cat, dog, odd = MiniTreeRatioCalculator(trees_of_text, _Tagger()).compute_terms(
        ["cat", "dog", "odd"], [["", ""], [""], [""]], orders
    )
    assert cat.tolist() == [
        trees_of_text.compute_signature(CAT),
        *trees_of_text.compute_permuted_signatures(CAT, orders[0]),
    ]
    assert dog.tolist() == [trees_of_text.compute_signature(DOG)] * 2
    assert np.isnan(odd).all()  # all its words are unknown


def test_text_definition_requires_same_tokens(trees_of_text):
    [found] = MiniTreeRatioCalculator(trees_of_text, _Tagger()).compute_terms(
        ["dog"], [[""]], [np.array([[3, 1, 2, 0]])]
    )
    assert np.isnan(found).all()
