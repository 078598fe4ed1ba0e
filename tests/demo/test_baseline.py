import random
import re
import subprocess
import sys

import numpy as np
import pytest

from unbag import labels
from unbag.demo import DemoPair, generate
from unbag.demo.baseline import LexicalBaseline, words_of

PAIRS = list(generate("validation"))


@pytest.fixture(scope="module")
def baseline() -> LexicalBaseline:
    return LexicalBaseline()


@pytest.fixture(scope="module")
def probabilities(baseline: LexicalBaseline) -> np.ndarray:
    return predict(baseline, PAIRS)


def predict(baseline: LexicalBaseline, pairs: list[DemoPair]) -> np.ndarray:
    return baseline.predict([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])


def permuted(sentence: str, rng: random.Random) -> str:
    """Permute as the challenge set does: punctuation is a token of its own, tokens are joined by single spaces."""
    tokens = re.findall(r"\w+|[^\w\s]", sentence)
    shuffled = rng.sample(tokens, len(tokens))
    return " ".join(shuffled)


def test_it_predicts_probabilities_in_the_order_of_the_labels(baseline: LexicalBaseline, probabilities: np.ndarray):
    assert baseline.space == labels.LABELS
    assert probabilities.shape == (len(PAIRS), 3)
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


def test_it_is_good_and_not_perfect(probabilities: np.ndarray):
    gold = np.array([labels.label_id(pair.label) for pair in PAIRS])
    accuracy = float(np.mean(probabilities.argmax(axis=1) == gold))
    majority = np.bincount(gold).max() / len(gold)
    assert majority < 0.35
    assert 0.65 < accuracy < 0.92


def test_no_permutation_changes_a_bit(baseline: LexicalBaseline, probabilities: np.ndarray):
    rng = random.Random(2)
    shuffled = [
        pair._replace(premise=permuted(pair.premise, rng), hypothesis=permuted(pair.hypothesis, rng)) for pair in PAIRS
    ]
    assert all(new.premise != old.premise for new, old in zip(shuffled, PAIRS, strict=True))
    assert np.array_equal(predict(baseline, shuffled), probabilities)


def test_order_and_size_of_the_batch_change_no_bit(baseline: LexicalBaseline, probabilities: np.ndarray):
    order = np.random.default_rng(0).permutation(len(PAIRS))
    assert np.array_equal(predict(baseline, [PAIRS[i] for i in order]), probabilities[order])
    for size in (1, 2, 7):
        parts = [predict(baseline, PAIRS[i : i + size]) for i in range(0, 140, size)]
        assert np.array_equal(np.concatenate(parts), probabilities[:140])


def test_two_fits_are_one(baseline: LexicalBaseline):
    first, second = LexicalBaseline(seed=3, size=600), LexicalBaseline(seed=3, size=600)
    assert first.identity == second.identity
    assert np.array_equal(predict(first, PAIRS[:100]), predict(second, PAIRS[:100]))
    assert LexicalBaseline(seed=4, size=600).identity["training_data"] != first.identity["training_data"]
    assert baseline.identity["training_size"] == "6000"
    assert baseline.identity["demo_seed"] == "0"


def test_what_it_returns_as_its_identity_is_a_copy(baseline: LexicalBaseline):
    dict(baseline.identity)["name"] = "another"
    assert baseline.identity["name"] == "lexical-baseline"


def test_words_are_a_sorted_set_whatever_the_spacing():
    assert words_of("The dog, a big dog.") == ("a", "big", "dog", "the")
    assert words_of("dog . big a dog , The") == words_of("The dog, a big dog.")


def test_words_never_seen_say_nothing(baseline: LexicalBaseline):
    plain = baseline.predict(["A dog is running."], ["An animal is running."])
    strange = baseline.predict(["A dog is running qwrtz."], ["An animal is running xkcdf."])
    assert np.array_equal(plain, strange)


def test_empty_sentences_and_no_sentences(baseline: LexicalBaseline):
    assert baseline.predict([], []).shape == (0, 3)
    np.testing.assert_allclose(baseline.predict([""], [""]).sum(), 1, atol=1e-6)


def test_unequal_lengths_are_reported(baseline: LexicalBaseline):
    with pytest.raises(ValueError, match=re.escape("{'premises': 1, 'hypotheses': 2}")):
        baseline.predict(["A dog."], ["A dog.", "A cat."])


def test_too_few_pairs_are_refused():
    with pytest.raises(ValueError, match="at least 3 training pairs, one a label, got 2"):
        LexicalBaseline(size=2)


def test_importing_the_demo_imports_no_learner():
    code = (
        "import sys, unbag.demo, unbag.demo.baseline; "
        "print(sorted({'sklearn', 'scipy', 'torch', 'spacy', 'datasets'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
