import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbag.perturb.permutation import MODES, Permuter, TooFewPermutationsError
from unbag.text.tokens import tokenize

PREMISE = tokenize("Two young dogs, and a cat, chase a red ball in the park.")
HYPOTHESIS = tokenize("Some small animals aren't playing with a toy outside today!")


def _word_places(tokens, text):
    """Return which original word stands at each word place of a permuted text, for sentences without repeated words."""
    permuted = text.split(" ")
    return [tokens.texts.index(permuted[place]) for place in tokens.words]


def test_every_word_leaves_its_place_and_punctuation_keeps_it():
    tokens = tokenize("One two, three four; five six seven (eight) nine!")
    assert len(set(tokens.texts)) == len(tokens.texts), "a repeated token would hide who moved where"
    premise, _ = Permuter(q=50).pair("a", tokens, HYPOTHESIS)
    for text in premise.texts:
        permuted = text.split(" ")
        assert sorted(permuted) == sorted(tokens.texts)
        for place, (before, after) in enumerate(zip(tokens.texts, permuted, strict=True)):
            assert (before == after) == (place not in tokens.words)


def test_the_pairs_of_an_example_are_pairwise_different():
    short = tokenize("a b c d"), tokenize("e f g h")  # 9 derangements each, 81 pairs: draws collide often
    premise, hypothesis = Permuter(q=81).pair("a", *short)
    assert len(set(zip(premise.texts, hypothesis.texts, strict=True))) == 81


def test_repeated_words_do_not_make_equal_pairs():
    tokens = tokenize("the dog the cat the bird"), tokenize("the cow the pig the hen")
    premise, hypothesis = Permuter(q=100).pair("a", *tokens)
    assert len(set(zip(premise.texts, hypothesis.texts, strict=True))) == 100


def test_more_permutations_than_there_are_is_refused():
    short = tokenize("a b c d"), tokenize("e f g h")
    with pytest.raises(TooFewPermutationsError, match="fewer than 82"):
        Permuter(q=82).pair("a", *short)
    with pytest.raises(TooFewPermutationsError):  # 44 derangements each by index, but only one text
        Permuter(q=2).pair("a", tokenize("x x x x x"), tokenize("y y y y y"))


@pytest.mark.parametrize("mode", MODES)
def test_a_permutation_is_rebuilt_alone(mode):
    many = Permuter(q=40, mode=mode).pair("a", PREMISE, HYPOTHESIS)
    for k in (0, 1, 17, 39):
        alone = Permuter(q=1, mode=mode).one("a", PREMISE, HYPOTHESIS, k)
        assert alone == (many[0].texts[k], many[1].texts[k])


def test_a_collision_changes_no_earlier_permutation():
    short = tokenize("a b c d"), tokenize("e f g h")
    few, many = (Permuter(q=q).pair("a", *short) for q in (20, 60))
    assert [side.texts for side in few] == [side.texts[:20] for side in many]


@pytest.mark.parametrize("change", [{"seed": 14}, {"mode": "hypothesis"}])
def test_seed_and_mode_decide(change):
    assert (
        Permuter(q=5).pair("a", PREMISE, HYPOTHESIS)[1].texts == Permuter(q=5).pair("a", PREMISE, HYPOTHESIS)[1].texts
    )
    assert (
        Permuter(q=5).pair("a", PREMISE, HYPOTHESIS)[1].texts
        != Permuter(q=5, **change).pair("a", PREMISE, HYPOTHESIS)[1].texts
    )


def test_each_example_is_permuted_its_own_way():
    assert (
        Permuter(q=5).pair("a", PREMISE, HYPOTHESIS)[0].texts != Permuter(q=5).pair("b", PREMISE, HYPOTHESIS)[0].texts
    )


def test_premise_and_hypothesis_move_independently():
    same = tokenize("one two three four five six seven eight")
    premise, hypothesis = Permuter(q=20).pair("a", same, same)
    assert not set(premise.texts) & set(hypothesis.texts)


def test_hypothesis_only_leaves_the_premise():
    premise, hypothesis = Permuter(q=5, mode="hypothesis").pair("a", PREMISE, HYPOTHESIS)
    assert set(premise.texts) == {" ".join(PREMISE.texts)}
    assert (premise.bleu == 1).all()
    assert len(set(hypothesis.texts)) == 5


@pytest.mark.parametrize(("mode", "run"), [("clumped_25", 3), ("clumped_50", 6), ("clumped_75", 9)])
def test_a_clump_moves_as_one(mode, run):
    tokens = tokenize("zero one two three four five six seven eight nine ten eleven.")  # 12 words
    premise, _ = Permuter(q=30, mode=mode).pair("a", tokens, tokens)
    starts = set()
    for text in premise.texts:
        places = _word_places(tokens, text)
        runs = [
            places[i]
            for i in range(12 - run + 1)
            if places[i : i + run] == list(range(places[i], places[i] + run)) and i != places[i]
        ]
        assert runs, f"no run of {run} words stayed together in {text!r}"
        starts.update(runs)
    assert len(starts) > 1, "the run should begin anywhere"


@pytest.mark.slow
def test_derangements_are_uniform():
    """Each of the 9 derangements of 4 words is drawn equally often: chi-square with 8 degrees of freedom."""
    tokens, other = tokenize("a b c d"), HYPOTHESIS
    seen = Counter(Permuter(q=1, seed=seed).pair("x", tokens, other)[0].texts[0] for seed in range(3600))
    assert len(seen) == 9
    chi_square = sum((n - 400) ** 2 / 400 for n in seen.values())
    assert chi_square < 26.1, "p < .001"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["dog", "cat", "the", "a", ",", "runs", ".", "big", "n't", "é", "…"]), min_size=1, max_size=14
    ),
    st.sampled_from(MODES),
)
def test_words_are_neither_lost_nor_made(words, mode):
    tokens = tokenize(" ".join(words))
    try:
        premise, hypothesis = Permuter(q=3, mode=mode).pair("a", tokens, tokens)
    except TooFewPermutationsError:
        return
    for text in itertools.chain(premise.texts, hypothesis.texts):
        assert Counter(text.split(" ")) == Counter(tokens.texts)


def test_chinese_is_joined_without_spaces():
    tokens = tokenize("身上裹一件工厂发的棉大衣,手插在袖筒里", "zh")
    premise, _ = Permuter(q=3).pair("a", tokens, tokens)
    assert all(" " not in text and sorted(text) == sorted("".join(tokens.texts)) for text in premise.texts)


@pytest.mark.parametrize(("options", "words"), [({"q": 0}, "q = 0"), ({"mode": "upside_down"}, "'upside_down'")])
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Permuter(**options)


def test_bleu_is_that_of_the_texts():
    premise, _ = Permuter(q=20, mode="clumped_50").pair("a", PREMISE, HYPOTHESIS)
    original = list(PREMISE.texts)
    for text, bleu in zip(premise.texts, premise.bleu, strict=True):
        permuted = text.split(" ")
        pairs = Counter(itertools.pairwise(permuted)) & Counter(itertools.pairwise(original))
        assert bleu[0] == pytest.approx(np.sqrt(pairs.total() / (len(original) - 1)))
