import numpy as np
import pytest

from unbag.baselines.lexical import fitting
from unbag.baselines.lexical.fitting import FLOOR, CrossFittedModel
from unbag.baselines.lexical.model import LexicalModel
from unbag.data.labels import LABELS
from unbag.data.sources import Example

WHO, DOES = ("man", "woman", "boy", "dog", "girl", "cat", "bird", "horse"), ("runs", "sleeps", "reads", "eats")
HYPOTHESES = {"entailment": "the {} is in", "neutral": "the {} hopes", "contradiction": "no {} is in"}
EXAMPLES = [
    Example(f"{who}-{does}-{label}", f"a {who} {does}", hypothesis.format(who), label)
    for who in WHO
    for does in DOES
    for label, hypothesis in HYPOTHESES.items()
]


def build_model(tmp_path, examples=EXAMPLES, **options):
    return CrossFittedModel(examples, cache=tmp_path, folds=3, **options)


def test_cross_fitted_model_predicts_labels_from_words(tmp_path):
    found = build_model(tmp_path).compute_log_probabilities(EXAMPLES)
    gold = [LABELS.index(example.label) for example in EXAMPLES]
    assert found.shape == (len(EXAMPLES), 3)
    assert np.exp(found).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (found.argmax(axis=1) == gold).mean() > 0.9
    assert found.min() >= np.log(np.float32(FLOOR))


@pytest.mark.parametrize("only", [False, True])
def test_pair_is_scored_by_model_without_its_premise(tmp_path, only):
    """Changed labels for one premise change the predictions for other premises, but not for this one."""
    turned = [
        example._replace(label=LABELS[(LABELS.index(example.label) + 1) % 3])
        if example.premise == EXAMPLES[0].premise
        else example
        for example in EXAMPLES
    ]
    models = [build_model(tmp_path, pairs, hypothesis_only=only) for pairs in (EXAMPLES, turned)]
    # The penalty is equal, although all pairs are used to choose it.
    assert len({LexicalModel.load(model._folder / "penalty").record["l2"] for model in models}) == 1
    one, other = (model.compute_log_probabilities(EXAMPLES) for model in models)
    same = np.array([example.premise == EXAMPLES[0].premise for example in EXAMPLES])
    assert np.array_equal(one[same], other[same])
    assert (one != other).any()


def test_predictions_do_not_depend_on_word_order_and_copies(tmp_path):
    model = build_model(tmp_path)
    turned = [
        Example(f"{each.source_id}#1", " ".join(reversed(each.premise.split())), each.hypothesis, each.label)
        for each in EXAMPLES
    ]
    assert np.array_equal(model.compute_log_probabilities(turned), model.compute_log_probabilities(EXAMPLES))


def test_unseen_pairs_are_scored(tmp_path):
    model = build_model(tmp_path)
    new = [Example("a", EXAMPLES[0].premise, "no man runs a", "contradiction"), Example("b", "x y", "z", "neutral")]
    found = model.compute_log_probabilities(new)
    assert np.array_equal(model.compute_log_probabilities(new[1:]), found[1:])
    assert found[0].argmax() == LABELS.index("contradiction")
    assert model.compute_log_probabilities([]).shape == (0, 3)


def test_models_are_stored_after_each_fit(tmp_path, monkeypatch):
    whole = build_model(tmp_path / "whole").compute_log_probabilities(EXAMPLES)
    fit, calls = fitting.fit_lexical_model, []

    def raise_killed(*arguments, **options):
        if len(calls) == 2:  # the models for the penalty and the first fold
            raise KeyboardInterrupt
        calls.append(1)
        return fit(*arguments, **options)

    monkeypatch.setattr(fitting, "fit_lexical_model", raise_killed)
    with pytest.raises(KeyboardInterrupt):
        build_model(tmp_path)
    monkeypatch.setattr(fitting, "fit_lexical_model", lambda *a, **o: (calls.append(1), fit(*a, **o))[1])
    model = build_model(tmp_path)
    assert len(calls) == 4, "the other two folds alone"
    assert np.array_equal(model.compute_log_probabilities(EXAMPLES), whole)
    build_model(tmp_path)
    assert len(calls) == 4
    weights = model._path(1) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    assert np.array_equal(build_model(tmp_path).compute_log_probabilities(EXAMPLES), whole), (
        "a damaged model is fitted anew"
    )


def test_identity_depends_on_pairs_and_options(tmp_path):
    relabelled = [EXAMPLES[0]._replace(label="neutral"), *EXAMPLES[1:]]
    renamed = [example._replace(source_id=f"x{i}") for i, example in enumerate(EXAMPLES)]
    one = build_model(tmp_path).identity
    assert build_model(tmp_path, renamed).identity == one
    others = {build_model(tmp_path, relabelled).identity, build_model(tmp_path, hypothesis_only=True).identity}
    assert len({one, *others, build_model(tmp_path, seed=1).identity}) == 4


def test_cross_fitting_without_every_label_raises(tmp_path):
    with pytest.raises(ValueError, match=r"expected training pairs of every label .* got none labelled"):
        build_model(tmp_path, EXAMPLES[:3])
    with pytest.raises(ValueError, match="got none labelled contradiction"):
        build_model(tmp_path, [example for example in EXAMPLES if example.label != "contradiction"])
