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


def test_permuter_too_few_permutations_raises():
    short = tokenize("a b c d"), tokenize("e f g h")
    with pytest.raises(TooFewPermutationsError, match="fewer than 82"):
        Permuter(q=82).permute_pair("a", *short)
    with pytest.raises(TooFewPermutationsError):  # 44 derangements of the positions, but only one text
        Permuter(q=2).permute_pair("a", tokenize("x x x x x"), tokenize("y y y y y"))


@pytest.mark.parametrize("mode", MODES)
def test_permutation_is_reproduced_by_index(mode):
    many = Permuter(q=40, mode=mode).permute_pair("a", TWELVE, HYPOTHESIS)
    for k in (0, 1, 17, 39):
        alone = Permuter(q=1, mode=mode).permute_once("a", TWELVE, HYPOTHESIS, k)
        assert alone == (many[0].texts[k], many[1].texts[k])


def test_collision_does_not_change_earlier_permutations():
    short = tokenize("a b c d"), tokenize("e f g h")
    few, many = (Permuter(q=q).permute_pair("a", *short) for q in (20, 60))
    assert [side.texts for side in few] == [side.texts[:20] for side in many]


@pytest.mark.parametrize("change", [{"seed": 14}, {"mode": "hypothesis"}])
def test_permuter_depends_on_seed_and_mode(change):
    assert (
        Permuter(q=5).permute_pair("a", PREMISE, HYPOTHESIS)[1].texts
        == Permuter(q=5).permute_pair("a", PREMISE, HYPOTHESIS)[1].texts
    )
    assert (
        Permuter(q=5).permute_pair("a", PREMISE, HYPOTHESIS)[1].texts
        != Permuter(q=5, **change).permute_pair("a", PREMISE, HYPOTHESIS)[1].texts
    )


def test_premise_and_hypothesis_are_permuted_independently():
    same = tokenize("one two three four five six seven eight")
    premise, hypothesis = Permuter(q=20).permute_pair("a", same, same)
    assert not set(premise.texts) & set(hypothesis.texts)


def test_hypothesis_mode_keeps_premise():
    premise, hypothesis = Permuter(q=5, mode="hypothesis").permute_pair("a", PREMISE, HYPOTHESIS)
    assert set(premise.texts) == {"Two young dogs, and a cat, chase a red ball in the park."}
    assert (premise.bleu == 1).all()
    assert len(set(hypothesis.texts)) == 5


@pytest.mark.parametrize(
    "odd", ["two  spaces", " around ", "no-break\u00a0space", "tab\t.", "e\u0301 is not \u00e9", "x ,y"]
)
def test_hypothesis_mode_keeps_whitespace_and_unicode(odd):
    premise, _ = Permuter(q=3, mode="hypothesis").permute_pair("a", tokenize(odd), HYPOTHESIS)
    assert premise.texts == [odd] * 3
    assert Permuter(mode="hypothesis").permute_once("a", tokenize(odd), HYPOTHESIS, 2)[0] == odd


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


@pytest.mark.parametrize(
    ("sentence", "longest"),
    [
        ("a b c d e f g h", 4),  # 8 tokens
        ("a b c d e f g h .", 4),  # int(4.5)
        ("a , b , c d e f g h", 5),  # 10 tokens including punctuation, of which 8 are words
    ],
)
def test_clump_length_is_fraction_of_all_tokens(sentence, longest):
    tokens = tokenize(sentence)
    premise, _ = Permuter(q=20, mode="clumped_50").permute_pair("a", tokens, tokens)
    together = []
    for text in premise.texts:
        order = _find_word_positions(tokens, text)
        order = [tokens.words.index(word) for word in order]
        lengths = [len(list(run)) for _, run in itertools.groupby(enumerate(order), lambda pair: pair[1] - pair[0])]
        together.append(max(lengths))
    assert min(together) == longest  # words next to the run can follow it by chance


def test_permuter_clump_of_all_words_raises():
    dotted = tokenize("a , b , c , d , e")  # int(.75 × 9) = 6 of 5 words
    for q in (1, 100):
        with pytest.raises(TooFewPermutationsError, match=f"fewer than {q} different"):
            Permuter(q=q, mode="clumped_75").permute_pair("a", dotted, HYPOTHESIS)


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
    tokens = tokenize("a b c d e .")  # int(.5 × 6) = 3
    ways = Counter(order for _, order in _iter_clumped_orders(5, 3))
    shares = Counter()
    for start in range(3):
        orders = [order for begin, order in _iter_clumped_orders(5, 3) if begin == start]
        for order in orders:
            shares[order] += 1 / 3 / len(orders)
    draws = 1500
    permuters = (Permuter(q=1, mode="clumped_50", seed=seed) for seed in range(draws))
    seen = Counter(
        tuple(_find_word_positions(tokens, each.permute_once("x", tokens, HYPOTHESIS, 0)[0])) for each in permuters
    )
    assert set(seen) == set(ways)
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
    assert all(one != two for one, two in zip(shuffled, words, strict=True))


def test_derangements_are_uniform():
    """Chi-square test with 8 degrees of freedom for the 9 derangements of 4 words."""
    tokens, other = tokenize("a b c d"), HYPOTHESIS
    seen = Counter(Permuter(q=1, seed=seed).permute_pair("x", tokens, other)[0].texts[0] for seed in range(900))
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
