import warnings

import numpy as np
import pytest

from unbag.scoring.bleu import compute_reordering_bleu


def test_bleu_equals_nltk():
    """Compared with NLTK's unsmoothed sentence BLEU where all n-gram lengths have a match."""
    from nltk.translate.bleu_score import sentence_bleu

    rng = np.random.default_rng(0)
    compared = 0
    for length in (4, 7, 12, 30):
        original = rng.integers(0, length // 2, length)  # with repeated words, so that counts are clipped
        blocks = np.array_split(original, 3)
        rows = np.array([np.concatenate([blocks[i] for i in rng.permutation(3)]) for _ in range(20)])
        ours = compute_reordering_bleu(original.tolist(), rows, [2, 3, 4])
        for row, values in zip(rows.tolist(), ours, strict=True):
            for n, value in zip((2, 3, 4), values, strict=True):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # NLTK warns about a precision of 0
                    theirs = sentence_bleu([original.tolist()], row, weights=[1 / n] * n)
                assert value == pytest.approx(theirs, abs=1e-9)
                compared += value > 0
    assert compared > 100


def test_unchanged_sentence_has_bleu_one():
    assert compute_reordering_bleu([3, 1, 2, 0], np.array([[3, 1, 2, 0]]), [1, 2, 3, 4]).tolist() == [[1, 1, 1, 1]]


def test_sentence_shorter_than_n_has_bleu_zero():
    assert compute_reordering_bleu([0, 1, 2], np.array([[0, 1, 2]]), [3, 4]).tolist() == [[1, 0]]


def test_bleu_counts_are_clipped():
    # The bigrams of 0 0 0 1 0 are 00 00 01 10, those of 0 1 0 0 0 are 01 10 00 00. All four match.
    assert compute_reordering_bleu([0, 0, 0, 1, 0], np.array([[0, 1, 0, 0, 0]]), [2])[0, 0] == 1
    # The bigrams of 1 0 0 0 0 are 10 00 00 00. The reference has 00 twice, so three of four match.
    assert compute_reordering_bleu([0, 0, 0, 1, 0], np.array([[1, 0, 0, 0, 0]]), [2])[0, 0] == pytest.approx(0.75**0.5)
