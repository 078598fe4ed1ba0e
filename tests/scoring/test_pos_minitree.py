"""Tests of mini-trees, of their overlap in a sentence, and of the ratio of permuted sentences."""

from collections import Counter

import numpy as np
import pytest

from unbag.challenge_sets.perturbations.minitrees import MiniTreeRatioCalculator, MiniTrees
from unbag.scoring.pos_minitree import (
    TAGS,
    compute_neighbor_distributions,
    compute_sentence_signature,
    compute_signatures,
    encode_tags,
    find_top_tags,
    pos_minitree,
)

D, N, V, P = (TAGS.index(tag) for tag in ("DET", "NOUN", "VERB", "ADP"))


def test_neighbor_distributions_equal_hand_computed_values():
    # the cat sleeps on the mat
    found = compute_neighbor_distributions(encode_tags(["DET", "NOUN", "VERB", "ADP", "DET", "NOUN"]))
    assert found.shape == (6, 17)
    assert found[0, [N, V]].tolist() == [0.5, 0.5]  # cat, sleeps
    assert found[2, [D, N, P]].tolist() == [0.5, 0.25, 0.25]  # the, cat | on, the
    assert found[5, [P, D]].tolist() == [0.5, 0.5]
    assert found.sum(axis=1) == pytest.approx(1)
    assert compute_neighbor_distributions(encode_tags(["NOUN"])).sum() == 0
    assert compute_neighbor_distributions(encode_tags(["NOUN", "VERB"]), radius=9)[0, V] == 1


def test_ties_between_tags_have_fixed_order():
    weights = np.zeros(17)
    weights[[9, 3]] = 0.5
    assert find_top_tags(weights, 4) == (1 << 3) | (1 << 9) | (1 << 0) | (1 << 1)
    assert find_top_tags(weights, 1) == 1 << 3
    assert all(bin(int(bits)).count("1") == 4 for bits in find_top_tags(np.random.default_rng(0).random((20, 17)), 4))


def test_signature_equals_hand_computed_value():
    # For the first word, the top 2 tags are DET, VERB here and DET, NOUN in training, an overlap of 1/2. The second
    # word is unknown. For the third, they are NOUN, ADJ here (ADJ does not occur, but is the first of the tags) and
    # NOUN, VERB in training: 1/2.
    usual = [
        find_top_tags(np.eye(17)[D] + 0.5 * np.eye(17)[N], 2),
        0,
        find_top_tags(np.eye(17)[N] + 0.5 * np.eye(17)[V], 2),
    ]
    tags = [[N, D, V], [N, V, D]]
    found = compute_signatures([tags[0]], [usual], [[True, False, True]], radius=1, k=2)
    # NOUN has the neighbors DET and ADJ (which does not occur): overlap DET. VERB has DET and ADJ: no overlap.
    assert found.tolist() == [(1 / 2 + 0) / 2]
    assert np.isnan(compute_signatures([D, N], [0, 0], [False, False])), "only unknown words"


def test_sentence_equal_to_training_has_signature_one():
    """Section 6: equal mini-trees in the sentence and in training have an overlap of 1."""
    words, tags = ["a", "cat", "sleeps", "here"], ["DET", "NOUN", "VERB", "ADV"]
    usual = dict(zip(words, compute_neighbor_distributions(encode_tags(tags)), strict=True))
    for k in (1, 2, 4, 17):
        for definition in ("code", "text"):
            assert compute_sentence_signature(words, tags, usual, k=k, definition=definition) == 1
    assert compute_sentence_signature(["A", "CAT", "sleeps", "here"], tags, usual) == 1
    assert compute_sentence_signature(["cat", "here", "a", "sleeps"], ["NOUN", "ADV", "DET", "VERB"], usual, k=1) < 1


def test_text_signature_equals_hand_computed_value():
    """Positions are pooled by word type, and an unknown word counts 0."""
    # "the dog sees the cat" with radius 1. The two positions of "the" have NOUN, VERB and NOUN: top 2 NOUN, VERB. dog:
    # DET, VERB. sees: NOUN, DET. cat: DET and ADJ (which does not occur).
    words, tags = ["the", "dog", "sees", "the", "cat"], ["DET", "NOUN", "VERB", "DET", "NOUN"]
    rows = np.eye(17)
    usual = {
        "the": 0.7 * rows[N] + 0.3 * rows[P],  # overlap NOUN
        "dog": 0.6 * rows[D] + 0.4 * rows[V],  # overlap of both
        "cat": 0.6 * rows[D] + 0.4 * rows[V],  # overlap DET
    }
    assert compute_sentence_signature(words, tags, usual, radius=1, k=2) == (1 / 2 + 1 + 0 + 1 / 2) / 4
    # With the definition of the text, each position counts. The first "the" has NOUN (and ADJ, which does not occur),
    # the second VERB and NOUN: both overlap in NOUN. "sees" is unknown and excluded.
    by_text = compute_sentence_signature(words, tags, usual, radius=1, k=2, definition="text")
    assert by_text == (1 / 2 + 1 + 1 / 2 + 1 / 2) / 4
    usual = {"the": rows[N]}  # "The" and "the" are one of three word types
    assert compute_sentence_signature(["The", "cat", "the", "dog"], ["DET", "NOUN", "DET", "NOUN"], usual, k=1) == 1 / 3


@pytest.mark.parametrize(("radius", "k"), [(1, 2), (2, 4)])
def test_code_signature_equals_plain_loop(radius, k):
    """An independent implementation, one word type at a time, with counters and sets."""

    def find_top(weights):
        return set(sorted(TAGS, key=lambda tag: (-weights[tag], TAGS.index(tag)))[:k])

    rng = np.random.default_rng(0)
    vocabulary = [f"w{i}" for i in range(6)]
    for _ in range(100):
        usual = {word: rng.dirichlet(np.ones(17)) for word in vocabulary[:4]}
        words, tags = rng.choice(vocabulary, 9).tolist(), rng.choice(TAGS, 9).tolist()
        near = {}
        for place, word in enumerate(words):
            others = [tag for other, tag in enumerate(tags) if other != place and abs(other - place) <= radius]
            near.setdefault(word, Counter()).update(others)
        overlaps = [
            len(find_top(counts) & find_top(dict(zip(TAGS, usual[word], strict=True)))) / k if word in usual else 0
            for word, counts in near.items()
        ]
        found = compute_sentence_signature(words, tags, usual, radius=radius, k=k)
        assert found == pytest.approx(sum(overlaps) / len(overlaps))


def test_ratios_and_acceptance_equal_hand_computed_values():
    scores = pos_minitree(
        [0.4, 0.5, 0.55, 0.2, np.nan, 0.5],
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.0],
        accepted=[True, True, False, False, True, True],
    )
    assert scores["ratios"] == [pytest.approx(0.8), 1.0, pytest.approx(1.1), pytest.approx(0.4), None, None]
    assert scores["ratio"] == pytest.approx((0.8 + 1 + 1.1 + 0.4) / 4)
    assert scores["n"] == 4
    assert [(row["low"], row["n"], row["acceptance"]) for row in scores["by_ratio"]] == [
        (0.4, 1, 0.0), (0.8, 1, 1.0), (1.0, 1, 1.0), (1.1, 1, 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: encode_tags(["NOUN", "NN"]), r"got \['NN'\]"),
        (lambda: find_top_tags(np.zeros(17), 18), "k: expected a value from 1 to 17, got 18"),
        (lambda: compute_neighbor_distributions([1, 2], 0), "radius: expected at least 1, got 0"),
        (lambda: compute_sentence_signature(["a"], [], {}), "got 1 words and 0 tags"),
        (lambda: pos_minitree([1.0], [1.0, 1.0]), r"\{'permuted': 1, 'original': 2\}"),
        (lambda: pos_minitree([], []), "expected at least one permutation, got none"),
    ],
)
def test_invalid_input_raises(call, words):
    with pytest.raises(ValueError, match=words):
        call()


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
