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


BY_CODE, BY_TEXT = _build_trees("code"), _build_trees("text")


def test_word_profile_pools_neighbors_of_occurrences():
    # neighbors of dog: the, old | a, sleeps, with the tags ADJ, DET, DET, VERB
    expected = np.zeros(17)
    expected[[TAGS.index(tag) for tag in ("ADJ", "DET", "VERB")]] = (1 / 4, 1 / 2, 1 / 4)
    assert BY_CODE.compute_tag_distributions(["dog"])[0] == pytest.approx(expected)
    # neighbors of the: cat, sees | cat, sees, old, dog; NOUN or VERB in all but one
    [found] = BY_CODE.compute_tag_distributions(["the"])
    assert found[TAGS.index("NOUN")] == pytest.approx(3 / 6)
    assert found.sum() == pytest.approx(1)


def test_text_profile_is_mean_over_occurrences():
    in_cat, in_dog = (compute_neighbor_distributions(encode_tags([tag for _, tag in tagged])) for tagged in (CAT, DOG))
    found = BY_TEXT.compute_tag_distributions(["dog", "the", "unheard-of"])
    assert found[0] == pytest.approx((in_cat[5] + in_dog[1]) / 2)
    assert found[1] == pytest.approx((in_cat[0] + in_cat[3]) / 2)  # "The" and "the" are one word
    assert found[2].sum() == 0
    assert "THE" in BY_TEXT
    assert "unheard-of" not in BY_TEXT


def test_vectorized_permutations_equal_single_ones():
    rng = np.random.default_rng(0)
    orders = np.stack([np.arange(len(CAT)), *(rng.permutation(len(CAT)) for _ in range(20))])
    found = BY_TEXT.compute_permuted_signatures(CAT, orders)
    for order, signature in zip(orders, found, strict=True):
        words, tags = zip(*(CAT[place] for place in order), strict=True)
        assert signature == compute_sentence_signature(words, tags, BY_TEXT.compute_table(), definition="text")
    assert BY_TEXT.compute_signature(CAT) == found[0]
    assert len(set(found)) > 1


class _Tagger:
    """A stub tagger for known sentences. "tac" is the permuted cat sentence, in which *sees* is tagged as a noun."""

    def tag(self, sentences, *, keep=True):
        again = (("dog", "NOUN"), ("The", "DET"), ("sees", "NOUN"), ("old", "ADJ"), ("cat", "NOUN"), ("the", "DET"))
        known = {"cat": CAT, "dog": DOG, "odd": (("zzz", "NOUN"), ("yyy", "VERB")), "tac": again}
        return {sentence: known[sentence] for sentence in sentences}


def _compute_terms(trees, *arguments):
    return MiniTreeRatioCalculator(trees, _Tagger()).compute_terms(*arguments)


def test_signature_equals_standalone_module():
    for tagged in (CAT, DOG, _Tagger().tag(["tac"])["tac"]):
        signature = compute_sentence_signature(*zip(*tagged, strict=True), BY_CODE.compute_table())
        assert BY_CODE.compute_signature(tagged) == signature
    assert BY_CODE.compute_signature(DOG, k=2) != BY_CODE.compute_signature(DOG, k=4)


def test_permuted_sentence_is_tagged_again():
    orders = [np.array([[5, 0, 2, 4, 1, 3]]), np.zeros((0, 3), dtype=np.int64), np.zeros((0, 2), dtype=np.int64)]
    cat, dog, odd = _compute_terms(BY_CODE, ["cat", "dog", "odd"], [["tac"], [], []], orders)
    again = _Tagger().tag(["tac"])["tac"]
    assert cat.tolist() == [BY_CODE.compute_signature(CAT), BY_CODE.compute_signature(again)]
    in_its_own_tags = tuple(CAT[place] for place in orders[0][0])
    assert BY_CODE.compute_signature(again) != BY_CODE.compute_signature(in_its_own_tags)
    assert dog.tolist() == [BY_CODE.compute_signature(DOG)]
    assert odd.tolist() == [0.0]  # unknown words have an overlap of 0


def test_text_definition_moves_tags_with_words():
    orders = [np.array([[1, 0, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]]), np.array([[0, 1, 2]]), np.array([[1, 0]])]
    cat, dog, odd = _compute_terms(BY_TEXT, ["cat", "dog", "odd"], [["", ""], [""], [""]], orders)
    permuted = BY_TEXT.compute_permuted_signatures(CAT, orders[0])
    assert cat.tolist() == [BY_TEXT.compute_signature(CAT), *permuted]
    assert dog.tolist() == [BY_TEXT.compute_signature(DOG)] * 2
    assert np.isnan(odd).all()  # all its words are unknown
    [found] = _compute_terms(BY_TEXT, ["dog"], [[""]], [np.array([[3, 1, 2, 0]])])
    assert np.isnan(found).all(), "other tokens"
