"""Tests of the fit of the lexical model: recipes, cross-fitting, loss, optimizer and regression."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from unbag.baselines.lexical import fitting
from unbag.baselines.lexical.features import compute_lms, rank_misleading_features
from unbag.baselines.lexical.fitting import (
    FLOOR,
    CrossFittedModel,
    LexicalTrainingOptions,
    compute_fold_index,
    fit_or_load_lexical_model,
    load_lexical_model,
)
from unbag.baselines.lexical.model import LexicalModel, fit_lexical_model, is_lexical_model, locate_lexical_model
from unbag.baselines.lexical.optimizer import NotConvergedError, minimize
from unbag.baselines.lexical.predictors import BASELINES
from unbag.baselines.lexical.regression import fit_softmax_regression
from unbag.baselines.lexical.scorer import fit_or_load_scorer_models, score_examples
from unbag.data.labels import LABELS, LabelError
from unbag.data.sources import Example, open_data

pytestmark = pytest.mark.usefixtures("empty_caches")

WHO, DOES = ("man", "woman", "boy", "dog", "girl", "cat", "bird", "horse"), ("runs", "sleeps", "reads", "eats")
HYPOTHESES = {"entailment": "the {} is in", "neutral": "the {} hopes", "contradiction": "no {} is in"}
EXAMPLES = [  # the words of the hypothesis determine the label
    Example(f"{who}-{does}-{label}", f"a {who} {does}", hypothesis.format(who), label)
    for who in WHO
    for does in DOES
    for label, hypothesis in HYPOTHESES.items()
]


def write_examples(path, examples=EXAMPLES):
    rows = [{"premise": each.premise, "hypothesis": each.hypothesis, "label": each.label} for each in examples]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def pairs(tmp_path):
    """Return a file of 96 pairs."""
    return write_examples(tmp_path / "pairs.jsonl")


def recipe(path, **options):
    return LexicalTrainingOptions((str(path),), pipeline="all", l2=1.0, **options)


def test_model_is_fitted_once(pairs):
    folder = fit_or_load_lexical_model(recipe(pairs))
    written = (folder / "config.json").stat().st_mtime_ns
    assert fit_or_load_lexical_model(recipe(pairs)) == folder
    assert (folder / "config.json").stat().st_mtime_ns == written
    pairs.write_text(pairs.read_text().replace("girl", "child"))
    assert fit_or_load_lexical_model(recipe(pairs)) != folder, "other training pairs make another model"
    assert fit_or_load_lexical_model(recipe(pairs, hypothesis_only=True)) != fit_or_load_lexical_model(recipe(pairs))


def test_fold_depends_only_on_sentences():
    def compute_fold(premise, **fields):
        return compute_fold_index(
            Example(**{"source_id": "", "hypothesis": "A dog.", **fields}, premise=premise), 5, 13
        )

    folds = {compute_fold("A dog runs.", source_id=str(n), label=label) for n in range(9) for label in LABELS}
    assert len(folds) == 1
    counts = np.bincount([compute_fold(f"Dog {n}.", label="neutral") for n in range(5000)])
    assert abs(counts - 1000).max() < 4 * np.sqrt(5000 * 0.2 * 0.8)


def test_example_is_scored_by_model_without_it(pairs, tmp_path):
    """The model that scores a fold equals, bit for bit, the model fitted to a file without that fold."""
    source = open_data(pairs)
    folders = fit_or_load_scorer_models(recipe(pairs), source, n_folds=3)
    assert len(folders) == 3
    examples = list(source.iter_examples())
    for number, folder in enumerate(folders):
        kept = [example for example in examples if compute_fold_index(example, 3, 13) != number]
        assert 0 < len(kept) < len(examples)
        rest = write_examples(tmp_path / f"without_{number}.jsonl", kept)
        alone = LexicalModel.load(fit_or_load_lexical_model(recipe(rest)))
        assert load_lexical_model(folder).regression.weights.tobytes() == alone.regression.weights.tobytes()
        assert load_lexical_model(folder).vocabulary.words == alone.vocabulary.words
    scores = score_examples([load_lexical_model(folder) for folder in folders], examples, seed=13)
    for example, score in zip(examples, scores, strict=True):
        model = load_lexical_model(folders[compute_fold_index(example, 3, 13)])
        [alone] = score_examples([model], [example])
        assert alone.probabilities.tobytes() == score.probabilities.tobytes()


def test_smaller_training_sample_is_subset_of_larger(pairs):
    few, more = (load_lexical_model(fit_or_load_lexical_model(recipe(pairs, max_train_pairs=n))) for n in (30, 60))
    assert (few.record["pairs"], more.record["pairs"]) == (30, 60)
    assert set(few.vocabulary.words) <= set(more.vocabulary.words)
    with pytest.raises(ValueError, match="max_train_pairs: expected at most 96 pairs, got 97"):
        fit_or_load_lexical_model(recipe(pairs, max_train_pairs=97))


def test_fitted_model_opens_from_folder(pairs, tmp_path):
    folder = fit_or_load_lexical_model(recipe(pairs))
    assert is_lexical_model(folder)
    assert locate_lexical_model(folder) == folder
    with pytest.raises(ValueError, match=r"got one fitted to pairs\.jsonl"):
        locate_lexical_model(folder, test_source=open_data(pairs))
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match=r"got a folder without config\.json"):
        LexicalModel.load(tmp_path / "other")
    (tmp_path / "other" / "config.json").write_text('{"model_type": "bert", "format": 7}')
    assert not is_lexical_model(tmp_path / "other")
    with pytest.raises(ValueError, match=r"got .*'format': 7.*; fit it with `unbag lexical fit`"):
        LexicalModel.load(tmp_path / "other")
    with pytest.raises(ValueError, match="lexical model: expected a folder"):
        locate_lexical_model(tmp_path / "other")


def test_baselines_use_only_their_inputs(pairs):
    texts = (["a dog naps", "a cat runs"], ["no dog is in", "no dog is in"])
    lexical = BASELINES["lexical"](recipe(pairs)).predict(*texts)
    assert lexical.argmax(axis=1).tolist()[0] == 2
    blind = BASELINES["hypothesis-only"](recipe(pairs)).predict(*texts)
    assert blind[0].tobytes() == blind[1].tobytes()
    always = BASELINES["majority"](recipe(pairs)).predict(*texts)
    assert always == pytest.approx(np.full((2, 3), 1 / 3))


def test_recipe_has_language_of_its_corpora():
    assert LexicalTrainingOptions().language == "en"
    assert LexicalTrainingOptions(("ocnli",)).language == "zh"
    assert LexicalTrainingOptions(("pairs.csv",)).language == "en"
    assert LexicalTrainingOptions(("snli",), language="zh").language == "zh"
    with pytest.raises(ValueError, match="expected corpora in one language, got en and zh"):
        LexicalTrainingOptions(("snli", "ocnli"))


def test_majority_of_two_label_pairs_is_rejected(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("document,claim,label\nA dog runs.,A dog moves.,supported\nA dog runs.,A cat runs.,unsupported\n")
    with pytest.raises(LabelError, match="labelled entailment, neutral, contradiction, got not_entailment"):
        BASELINES["majority"](LexicalTrainingOptions((str(path),)))


def build_model(examples=EXAMPLES, **options):
    return CrossFittedModel(examples, folds=3, **options)


def test_cross_fitted_model_predicts_labels_from_words_in_any_order():
    model = build_model()
    found = model.compute_log_probabilities(EXAMPLES)
    gold = [LABELS.index(example.label) for example in EXAMPLES]
    assert found.shape == (len(EXAMPLES), 3)
    assert np.exp(found).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (found.argmax(axis=1) == gold).mean() > 0.9
    assert found.min() >= np.log(np.float32(FLOOR))
    turned = [
        each._replace(source_id=f"{each.source_id}#1", premise=" ".join(reversed(each.premise.split())))
        for each in EXAMPLES
    ]
    assert np.array_equal(model.compute_log_probabilities(turned), found)
    new = [Example("a", EXAMPLES[0].premise, "no man runs a", "contradiction"), Example("b", "x y", "z", "neutral")]
    unseen = model.compute_log_probabilities(new)
    assert np.array_equal(model.compute_log_probabilities(new[1:]), unseen[1:])
    assert unseen[0].argmax() == LABELS.index("contradiction")
    assert model.compute_log_probabilities([]).shape == (0, 3)


@pytest.mark.parametrize("only", [False, True])
def test_pair_is_scored_by_model_without_its_premise(only):
    """Changed labels for one premise change the predictions for other premises, but not for this one."""
    turned = [
        example._replace(label=LABELS[(LABELS.index(example.label) + 1) % 3])
        if example.premise == EXAMPLES[0].premise
        else example
        for example in EXAMPLES
    ]
    models = [build_model(pairs, hypothesis_only=only) for pairs in (EXAMPLES, turned)]
    # The penalty is equal, although all pairs are used to choose it.
    assert len({LexicalModel.load(model._folders[0].with_name("penalty")).record["l2"] for model in models}) == 1
    one, other = (model.compute_log_probabilities(EXAMPLES) for model in models)
    same = np.array([example.premise == EXAMPLES[0].premise for example in EXAMPLES])
    assert np.array_equal(one[same], other[same])
    assert (one != other).any()


def test_models_are_stored_after_each_fit(tmp_path, monkeypatch):
    with monkeypatch.context() as context:
        context.setenv("UNBAG_CACHE", str(tmp_path / "whole"))
        whole = build_model().compute_log_probabilities(EXAMPLES)
    fit, calls = fitting.fit_lexical_model, []

    def raise_killed(*arguments, **options):
        if len(calls) == 2:  # the models for the penalty and the first fold
            raise KeyboardInterrupt
        calls.append(1)
        return fit(*arguments, **options)

    monkeypatch.setattr(fitting, "fit_lexical_model", raise_killed)
    with pytest.raises(KeyboardInterrupt):
        build_model()
    monkeypatch.setattr(fitting, "fit_lexical_model", lambda *a, **o: (calls.append(1), fit(*a, **o))[1])
    model = build_model()
    assert len(calls) == 4, "the other two folds alone"
    assert np.array_equal(model.compute_log_probabilities(EXAMPLES), whole)
    build_model()
    assert len(calls) == 4
    weights = model._folders[1] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    assert np.array_equal(build_model().compute_log_probabilities(EXAMPLES), whole), "a damaged model is fitted anew"


def test_identity_depends_on_pairs_and_options():
    relabelled = [EXAMPLES[0]._replace(label="neutral"), *EXAMPLES[1:]]
    renamed = [example._replace(source_id=f"x{i}") for i, example in enumerate(EXAMPLES)]
    one = build_model().identity
    assert build_model(renamed).identity == one
    others = {build_model(relabelled).identity, build_model(hypothesis_only=True).identity}
    assert len({one, *others, build_model(seed=1).identity}) == 4


def test_too_few_pairs_or_labels_raise():
    with pytest.raises(ValueError, match=r"expected training pairs of every label .* got none labelled"):
        build_model(EXAMPLES[:3])
    with pytest.raises(ValueError, match="got none labelled contradiction"):
        build_model([example for example in EXAMPLES if example.label != "contradiction"])
    with pytest.raises(ValueError, match="set a penalty"):
        fit_lexical_model([(("dog",), ("cat",))], ["neutral"])


def _select_words(examples):
    return [(tuple(sorted(each.premise.split())), tuple(sorted(each.hypothesis.split()))) for each in examples]


def test_model_with_selected_penalty_ranks_features_and_round_trips(tmp_path):
    model = fit_lexical_model(_select_words(EXAMPLES), [example.label for example in EXAMPLES])
    losses = model.record["held_out_loss"]
    assert losses[f"{model.record['l2']:g}"] == min(losses.values())
    assert len(losses) == 5
    probabilities = model.probabilities(_select_words(EXAMPLES))
    assert probabilities[:3].argmax(axis=1).tolist() == [0, 1, 2]
    assert probabilities.sum(axis=1) == pytest.approx(1)

    # The words of the third pair indicate contradiction, but the gold label is entailment.
    pair, gold = _select_words(EXAMPLES[2:3]), np.array([0])
    [found] = rank_misleading_features(
        model.vocabulary, model.regression.weights, model.vocabulary.matrix(pair), model.probabilities(pair), gold, 5
    )
    assert {contribution.label for contribution in found} == {"contradiction"}
    assert found[0].logit == max(contribution.logit for contribution in found) > 0
    assert any("no" in contribution[:2] for contribution in found[:2])
    assert compute_lms(model.probabilities(pair), gold)[0] > 0.5

    model.save(tmp_path)
    again = LexicalModel.load(tmp_path)
    assert again.probabilities(_select_words(EXAMPLES)).tobytes() == probabilities.tobytes()
    assert again.record == model.record
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checksums.json", "config.json", "model.safetensors"]


def test_function_without_minimum_raises():
    def linear_objective(x):
        return -float(x.sum()), -np.ones_like(x)

    with pytest.raises(NotConvergedError, match="larger l2"):
        minimize(linear_objective, np.zeros(2), 1e-4)


def _sample_data(seed=0, n=400, features=120, labels=3):
    rng = np.random.default_rng(seed)
    matrix = (rng.random((n, features)) < rng.random(features) * 0.2).astype(np.float32)
    matrix[:, 50:60] = matrix[:, [50]]  # identical columns, which are merged
    matrix[:, 60:70] = 0  # empty columns
    truth = rng.normal(size=(features, labels))
    gold = (matrix @ truth + rng.gumbel(size=(n, labels))).argmax(axis=1)
    return sparse.csr_matrix(matrix), gold


@pytest.mark.parametrize(("l2", "exact"), [(0.3, 1000), (0.3, 20), (1.0, 1000), (10.0, 1000)])
def test_probabilities_equal_scikit_learn(monkeypatch, l2, exact):
    """Only the first columns are decorrelated exactly."""
    monkeypatch.setattr("unbag.baselines.lexical.optimizer._EXACT", exact)
    matrix, gold = _sample_data()
    model = fit_softmax_regression(matrix, gold, l2=l2)
    assert (model.weights[50:60] == model.weights[50]).all(), "of equal columns"
    assert model.weights[50].any()
    assert not model.weights[60:70].any()
    theirs = LogisticRegression(C=1 / l2, tol=1e-10, max_iter=5000).fit(matrix.astype(np.float64), gold)
    assert np.abs(model.probabilities(matrix) - theirs.predict_proba(matrix)).max() < 1e-6


def test_few_pairs_are_fitted():
    """The optimizer must stop although the relative rounding error of a small loss is large."""
    for seed in range(40):
        matrix, gold = _sample_data(seed, n=3 + seed, features=120)
        model = fit_softmax_regression(matrix, gold, l2=0.3)
        error = model.probabilities(matrix) - np.eye(gold.max() + 1)[gold]
        gradient = matrix.T @ error + 0.3 * model.weights
        assert np.abs(gradient).max() < 1e-9
        assert model.steps < 500


def test_fit_of_invalid_input_raises():
    matrix, gold = _sample_data()
    with pytest.raises(ValueError, match="got 400 rows, 399 labels"):
        fit_softmax_regression(matrix, gold[1:], l2=1.0)
    with pytest.raises(ValueError, match="l2: expected a positive number, got 0"):
        fit_softmax_regression(matrix, gold, l2=0)
