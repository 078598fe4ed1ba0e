import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbag.challenge_sets.perturbations.permutation import (
    CLUMPS,
    MODES,
    Permuter,
    TooFewPermutationsError,
    _clumped_count,
    _placements,
    draw_derangement,
)
from unbag.data.text.tokens import tokenize

PREMISE = tokenize("Two young dogs, and a cat, chase a red ball in the park.")
HYPOTHESIS = tokenize("Some small animals aren't playing with a toy outside today!")
TWELVE = tokenize("zero one two three four five six seven eight nine ten eleven.")  # 12 words, 13 tokens


def _find_word_positions(tokens, text):
    """Return the original position of the word at each position of a permuted text without repeated words."""
    permuted = text.split(" ")
    return [tokens.texts.index(permuted[place]) for place in tokens.words]


def test_every_word_moves_and_punctuation_stays():
    tokens = tokenize("One two, three four; five six seven (eight) nine!")
    assert len(set(tokens.texts)) == len(tokens.texts), "a repeated token would hide who moved where"
    premise, _ = Permuter(q=50).permute_pair("a", tokens, HYPOTHESIS)
    for text in premise.texts:
        permuted = text.split(" ")
        assert sorted(permuted) == sorted(tokens.texts)
        for place, (before, after) in enumerate(zip(tokens.texts, permuted, strict=True)):
            assert (before == after) == (place not in tokens.words)


def test_repeated_words_give_distinct_pairs():
    tokens = tokenize("the dog the cat the bird"), tokenize("the cow the pig the hen")
    premise, hypothesis = Permuter(q=100).permute_pair("a", *tokens)
    assert len(set(zip(premise.texts, hypothesis.texts, strict=True))) == 100


@pytest.mark.parametrize(
    ("words", "mode", "q"),
    [
        (("a b c d", "e f g h"), "both", 82),  # nine orders of each sentence
        (("x x x x x", "y y y y y"), "both", 2),  # 44 derangements of the positions, but only one text
        (("a , b , c , d , e", "some animals play with a toy"), "clumped_75", 1),  # int(.75 × 9) = 6 of 5 words
    ],
)
def test_permuter_too_few_permutations_raises(words, mode, q):
    with pytest.raises(TooFewPermutationsError, match=f"fewer than {q} different"):
        Permuter(q=q, mode=mode).permute_pair("a", *map(tokenize, words))


@pytest.mark.parametrize("mode", MODES)
def test_permutation_is_reproduced_by_index(mode):
    many = Permuter(q=40, mode=mode).permute_pair("a", TWELVE, HYPOTHESIS)
    for k in (0, 1, 39):
        alone = Permuter(q=1, mode=mode).permute_once("a", TWELVE, HYPOTHESIS, k)
        assert alone == (many[0].texts[k], many[1].texts[k])


def test_collision_does_not_change_earlier_permutations():
    short = tokenize("a b c d"), tokenize("e f g h")
    few, many = (Permuter(q=q).permute_pair("a", *short) for q in (20, 60))
    assert [side.texts for side in few] == [side.texts[:20] for side in many]


def test_permuter_depends_on_seed_and_mode():
    given, again, other_seed, other_mode = (
        Permuter(q=5, **options).permute_pair("a", PREMISE, HYPOTHESIS)[1].texts
        for options in ({}, {}, {"seed": 14}, {"mode": "hypothesis"})
    )
    assert given == again
    assert given not in (other_seed, other_mode)


def test_premise_and_hypothesis_are_permuted_independently():
    same = tokenize("one two three four five six seven eight")
    premise, hypothesis = Permuter(q=20).permute_pair("a", same, same)
    assert not set(premise.texts) & set(hypothesis.texts)


@pytest.mark.parametrize(
    "sentence",
    [
        "Two dogs, and a cat.",
        *("two  spaces", " all around ", "no-break\u00a0space", "tab\t.", "e\u0301 is not \u00e9", "x ,y"),
    ],
)
def test_hypothesis_mode_keeps_premise_byte_for_byte(sentence):
    premise, hypothesis = Permuter(q=3, mode="hypothesis").permute_pair("a", tokenize(sentence), HYPOTHESIS)
    assert premise.texts == [sentence] * 3
    assert (premise.bleu[:, 0] == 1).all()
    assert len(set(hypothesis.texts)) == 3


@pytest.mark.parametrize(("mode", "run"), [("clumped_25", 3), ("clumped_50", 6), ("clumped_75", 9)])
def test_clump_stays_together_and_every_word_moves(mode, run):
    assert run == int(CLUMPS[mode] * 13)
    premise, _ = Permuter(q=30, mode=mode).permute_pair("a", TWELVE, TWELVE)
    starts = set()
    for text in premise.texts:
        places = _find_word_positions(TWELVE, text)
        assert all(place != word for place, word in enumerate(places))
        runs = [
            places[i] for i in range(12 - run + 1) if places[i : i + run] == list(range(places[i], places[i] + run))
        ]
        assert runs, f"no run of {run} words stayed together in {text!r}"
        starts.update(runs)
    assert len(starts) > 1, "the run should begin anywhere"


def _iter_clumped_orders(n, run):
    """Generate by brute force all choices of a run, and all ways to move the run and the other words."""
    for start in range(n - run + 1):
        units = [(word,) for word in range(start)] + [tuple(range(start, start + run))]
        units += [(word,) for word in range(start + run, n)]
        for order in itertools.permutations(units):
            words = [word for unit in order for word in unit]
            if all(place != word for place, word in enumerate(words)):
                yield start, tuple(words)


@pytest.mark.parametrize(("n", "run"), [(n, run) for n in range(1, 7) for run in range(1, 8)])
def test_clumped_order_count_equals_enumeration(n, run):
    assert _clumped_count(n, run) == sum(1 for _ in _iter_clumped_orders(n, run))
    assert _placements(n, n) == sum(1 for _ in _iter_clumped_orders(n, 1)) / n


@pytest.mark.slow
def test_clumped_orders_are_uniform_given_run():
    """Chi-square test for a run of 3 of 5 words, separately for each of its three starts."""
    tokens = tokenize("a b c d e .")  # punctuation counts for the length: int(.5 × 6) = 3
    shares, ways = Counter(), list(_iter_clumped_orders(5, 3))
    of_start = Counter(start for start, _ in ways)
    for start, order in ways:
        shares[order] += 1 / 3 / of_start[start]
    draws = 1500
    permuters = (Permuter(q=1, mode="clumped_50", seed=seed) for seed in range(draws))
    texts = (each.permute_once("x", tokens, HYPOTHESIS, 0)[0] for each in permuters)
    seen = Counter(tuple(_find_word_positions(tokens, text)) for text in texts)
    assert set(seen) == set(shares)
    chi_square = sum((seen[order] - draws * share) ** 2 / (draws * share) for order, share in shares.items())
    assert len(shares) - 1 < 10
    assert chi_square < 27.9, "p < .001 of 9 degrees of freedom"


@pytest.mark.nightly
@pytest.mark.slow
def test_long_document_is_permuted_without_counting_orders(monkeypatch):
    def count(*_):
        raise AssertionError("their number has 60,000 digits, and took minutes")

    monkeypatch.setattr("unbag.challenge_sets.perturbations.permutation._placements", count)
    words = [f"w{number}" for number in range(16_000)]
    shuffled = draw_derangement(tokenize(" ".join(words)), ("document",), 0).split()
    assert sorted(shuffled) == sorted(words)


def test_derangements_are_uniform():
    """Chi-square test with 8 degrees of freedom for the 9 derangements of 4 words."""
    tokens = tokenize("a b c d")
    seen = Counter(Permuter(q=1, seed=seed).permute_once("x", tokens, HYPOTHESIS, 0)[0] for seed in range(900))
    assert len(seen) == 9
    chi_square = sum((n - 100) ** 2 / 100 for n in seen.values())
    assert chi_square < 26.1, "p < .001"


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["dog", "cat", "the", "a", ",", "runs", ".", "big", "n't", "é", "…"]), min_size=1, max_size=14
    ),
    st.sampled_from(MODES),
)
def test_permutation_keeps_all_words(words, mode):
    tokens = tokenize(" ".join(words))
    try:
        premise, hypothesis = Permuter(q=3, mode=mode).permute_pair("a", tokens, tokens)
    except TooFewPermutationsError:
        return
    for text in itertools.chain(premise.texts, hypothesis.texts):
        assert Counter(text.split(" ")) == Counter(tokens.texts)


@pytest.mark.parametrize("characters", [False, True])
def test_chinese_is_joined_without_spaces(characters):
    tokens = tokenize("身上裹一件工厂发的棉大衣,手插在袖筒里", "zh", characters=characters)
    premise, _ = Permuter(q=3).permute_pair("a", tokens, tokens)
    assert all(" " not in text and sorted(text) == sorted(tokens.sentence) for text in premise.texts)


def test_bleu_is_computed_from_texts():
    premise, _ = Permuter(q=20, mode="clumped_50").permute_pair("a", PREMISE, HYPOTHESIS)
    original = list(PREMISE.texts)
    for text, bleu in zip(premise.texts, premise.bleu, strict=True):
        permuted = text.split(" ")
        pairs = Counter(itertools.pairwise(permuted)) & Counter(itertools.pairwise(original))
        assert bleu[0] == pytest.approx(np.sqrt(pairs.total() / (len(original) - 1)))
