import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from unbag.baselines.lexical import optimizer
from unbag.baselines.lexical.embeddings import compute_mean_embeddings, load_embeddings
from unbag.baselines.lexical.optimizer import NotConvergedError
from unbag.baselines.lexical.rearrangement import NO_PARTITION, SPLITS, fit_mean_embedding_model, rearrange_examples
from unbag.data.labels import LABELS, get_label_id
from unbag.data.sources import open_data
from unbag.scoring.uncertainty_partitions import PARTITIONS

VALIDATION, TEST = SPLITS.index("validation"), SPLITS.index("test")


def rearrange(uncertainty, k_te, k_dv, seed=0):
    """Rearrange examples whose ids are in their order."""
    ids = [f"{number:04d}" for number in range(len(uncertainty))]
    return rearrange_examples(uncertainty, ids, k_te, k_dv, seed=seed)


def test_splits_equal_manual_examples():
    split, partition = rearrange(np.array([0.2, 0.8, 0.8, 0.1, 0.9, 0.3, 0.8]), 3, 0)
    # 0.9, then the first two of three pairs with 0.8, of which the second has the easiest partition.
    assert [SPLITS[number] for number in split] == ["train", "test", "test", "train", "test", "train", "train"]
    assert partition.tolist() == [-1, 1, 0, -1, 2, -1, -1]
    # Ties are broken by id, in any order of the examples.
    uncertainty, ids = np.array([0.8, 0.2, 0.8, 0.8, 0.1]), ["d", "e", "b", "c", "a"]
    split, partition = rearrange_examples(uncertainty, ids, 2, 0, seed=0)
    assert [ids[i] for i in np.flatnonzero(split == TEST)] == ["b", "c"]
    assert partition.tolist() == [-1, -1, 1, 0, -1]


@given(st.lists(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9, 1.0]), min_size=1, max_size=90), st.data())
def test_test_set_is_most_uncertain_in_equal_ordered_partitions(values, data):
    uncertainty = np.array(values)
    k_te = data.draw(st.integers(1, len(values)))
    k_dv = data.draw(st.integers(0, len(values) - k_te))
    split, partition = rearrange(uncertainty, k_te, k_dv, data.draw(st.integers(0, 5)))
    expected = sorted(range(len(values)), key=lambda i: (-uncertainty[i], i))[:k_te]
    assert sorted(expected) == np.flatnonzero(split == TEST).tolist()
    assert [int((split == number).sum()) for number in range(3)] == [len(values) - k_te - k_dv, k_dv, k_te]
    assert ((partition == NO_PARTITION) == (split != TEST)).all()
    numbers, sizes = np.unique(partition[split == TEST], return_counts=True)
    assert numbers.tolist() == list(range(min(PARTITIONS, k_te)))
    assert sizes.max() - sizes.min() <= 1
    for easier, harder in pairwise(numbers):
        assert uncertainty[partition == easier].max() <= uncertainty[partition == harder].min()


def test_seed_changes_only_validation_set():
    uncertainty = np.random.default_rng(0).random(400)
    one, same, other = (rearrange(uncertainty, 50, 100, seed) for seed in (1, 1, 2))
    assert (one.split == same.split).all()
    assert (one.split != other.split).any()
    assert ((one.split == TEST) == (other.split == TEST)).all()
    assert (one.partition == other.partition).all()


def test_validation_set_is_uniform_sample():
    uncertainty = np.linspace(0, 1, 4000)
    drawn = sum((rearrange(uncertainty, 1000, 1000, seed).split == VALIDATION).astype(int) for seed in range(60))
    shares = drawn[:3000].reshape(30, 100).mean(axis=1) / 60
    assert shares == pytest.approx(1 / 3, abs=0.03)  # 7 standard errors


@pytest.mark.parametrize(("k_te", "k_dv"), [(0, 1), (1, -1), (3, 1)])
def test_rearrange_with_impossible_sizes_raises(k_te, k_dv):
    with pytest.raises(ValueError, match=re.escape(f"(3), got k_te={k_te} and k_dv={k_dv}")):
        rearrange(np.array([0.1, 0.2, 0.3]), k_te, k_dv)


def _sample_data(seed=0, n=3000, rows=200, dimensions=12, labels=3):
    """Build token counts, vectors of very different scales, and labels that depend on the tokens."""
    rng = np.random.default_rng(seed)
    counts = sparse.csr_matrix(rng.poisson(0.06, size=(n, rows)).astype(np.float32))
    vectors = (rng.normal(size=(rows, dimensions)) + 2) * 10 ** rng.uniform(-2, 1, size=dimensions)
    signal = compute_mean_embeddings(counts, rng.normal(size=(rows, labels)))
    gold = (3 * signal + rng.gumbel(size=(n, labels))).argmax(axis=1)
    return counts, vectors.astype(np.float32), gold


def test_fit_equals_hand_computed_value():
    # One token and one dimension per word. Of the pairs with word a, 6 of 8 are entailment, 1 neutral and 1
    # contradiction; with word b, 1, 2 and 1 of 4. The best u are these proportions.
    words = [[1, 0]] * 8 + [[0, 1]] * 4
    gold = np.array([0] * 6 + [1, 2] + [0, 1, 1, 2])
    counts = sparse.csr_matrix(np.array(words, dtype=np.float32))
    model = fit_mean_embedding_model(counts, np.array([[2, 0], [0, 0.1]], dtype=np.float32), gold)
    assert model.probabilities(counts)[[0, 8]] == pytest.approx(np.array([[6, 1, 1], [2, 4, 2]]) / 8, abs=1e-7)
    expected = [1 - 6 / 8] * 6 + [7 / 8] * 2 + [3 / 4, 1 / 2, 1 / 2, 3 / 4]
    assert model.compute_uncertainty(counts, gold) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("seed", "labels"), [(0, 3), (1, 3), (2, 2)])
def test_fit_equals_other_solver_without_whitening(seed, labels):
    counts, vectors, gold = _sample_data(seed, labels=labels)
    means = compute_mean_embeddings(counts, vectors)
    # Newton's method is invariant to scaling, so it needs no whitening. Two labels are fitted as three labels without
    # the third.
    peer = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-10).fit(means, gold)
    theirs = 1 - peer.predict_proba(means)[np.arange(len(gold)), gold]
    ours = fit_mean_embedding_model(counts, vectors, gold).compute_uncertainty(counts, gold)
    assert np.abs(ours - theirs).max() < 1e-6


@pytest.fixture(scope="module")
def fitted():
    """Return sample data with a model fitted to it."""
    data = _sample_data()
    return *data, fit_mean_embedding_model(*data)


def test_change_without_influence_changes_only_rounding(fitted):
    counts, vectors, gold, model = fitted
    expected = model.compute_uncertainty(counts, gold)
    mapped = vectors.astype(float) @ np.random.default_rng(5).normal(size=(12, 12))  # by an invertible map
    redundant = np.hstack([vectors, vectors[:, :3] + vectors[:, 3:6], np.zeros((200, 2), dtype=np.float32)])
    for changed, tolerance in ((mapped, 1e-6), (redundant, 1e-5)):  # sums in float32 are rounded
        found = fit_mean_embedding_model(counts, changed, gold).compute_uncertainty(counts, gold)
        assert np.abs(found - expected).max() < tolerance


def test_pair_without_known_tokens_has_chance_uncertainty(fitted):
    nothing = sparse.csr_matrix((1, 200), dtype=np.float32)
    assert fitted[-1].compute_uncertainty(nothing, np.array([1])) == pytest.approx([2 / 3])


@pytest.mark.parametrize(
    ("counts", "vectors", "labels", "words"),
    [
        (np.eye(6), np.eye(6), [0, 1, 2] * 2, "6 pairs that a linear model on mean embeddings of 6 .*fewer dimensions"),
        (np.eye(3), np.eye(3), [0, 1], "3 texts, 2 labels"),
        (np.eye(3), np.eye(3), [0, 2, 0], r"label ids \[0, 2\]"),
        (np.eye(3), np.eye(3), [0, 0, 0], r"label ids \[0\]"),
        (np.zeros((3, 5)), np.ones((5, 2)), [0, 1, 2], "got none; check the language of the embeddings"),
    ],
)
def test_fit_on_unsuitable_pairs_raises(counts, vectors, labels, words):
    counts, vectors = sparse.csr_matrix(counts, dtype=np.float32), vectors.astype(np.float32)
    with pytest.raises(ValueError, match=words):
        fit_mean_embedding_model(counts, vectors, np.array(labels))


def test_fit_without_convergence_raises(monkeypatch):
    counts, vectors, gold = _sample_data()
    monkeypatch.setattr(optimizer, "_MOST_STEPS", 1)
    with pytest.raises(NotConvergedError, match="within 1 steps"):
        fit_mean_embedding_model(counts, vectors, gold)


def test_fit_on_real_pairs_is_above_chance(shared):
    table = load_embeddings(str(shared / "hub/models/nli-fixtures/minilm-l6-snli"))
    [path] = (shared / "hub/datasets/stanfordnlp/snli/plain_text").glob("validation*.parquet")
    pairs = list(open_data(path, labels=LABELS).iter_examples())
    counts = table.count_tokens((pair.premise, pair.hypothesis) for pair in pairs)
    gold = np.array([get_label_id(pair.label) for pair in pairs])
    model = fit_mean_embedding_model(counts, table.vectors, gold)
    assert model.steps < 25
    right = model.probabilities(counts).argmax(axis=1) == gold
    assert 0.5 < right.mean() < 0.65  # above the chance of one third, but far below a model that reads
    # If the uncertainty is below one half, the gold label is the most likely one.
    assert right[model.compute_uncertainty(counts, gold) < 0.5].all()
