"""Tests of classifiers in memory, which give the same predictions as the library they come from."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs unbag[models]")
transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.inference.fixtures import ORDER, PAIRS  # noqa: E402
from unbag.data.labels import LABELS, LabelError  # noqa: E402
from unbag.evaluation.model_loading import load_predictor  # noqa: E402
from unbag.inference.predictor import ModelError  # noqa: E402

PREMISES, HYPOTHESES = map(list, zip(*PAIRS, strict=True))


def load_cross_encoder(folder, **options):
    return pytest.importorskip("sentence_transformers").CrossEncoder(str(folder), device="cpu", **options)


def load_pipeline(folder, **options):
    return transformers.pipeline("text-classification", model=str(folder), device="cpu", **options)


BOTH = pytest.mark.parametrize("made", [load_cross_encoder, load_pipeline])


def compute_library_probabilities(model):
    """Return the probabilities of a CrossEncoder or pipeline in the order of `LABELS`."""
    if hasattr(model, "tokenizer") and hasattr(model, "task"):
        pairs = [{"text": premise, "text_pair": hypothesis} for premise, hypothesis in PAIRS]
        said = [{each["label"]: each["score"] for each in found} for found in model(pairs, top_k=None)]
        return np.array([[found[label] for label in LABELS] for found in said])
    scores = model.predict(PAIRS, apply_softmax=True)
    return scores[:, [ORDER.index(label) for label in LABELS]]


@BOTH
def test_probabilities_equal_those_of_library_which_is_unchanged(made, make_model):
    folder = make_model()
    file = folder / "tokenizer.json"  # of a tokenizer that does not truncate, as in a pipeline
    file.write_text(json.dumps(json.loads(file.read_text()) | {"truncation": None}))
    model = made(folder)
    weights, expected = list(model.model.state_dict()), compute_library_probabilities(model)
    for _ in range(2):
        predictor, name = load_predictor(model)
        np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES), expected, atol=1e-5)
    assert name == folder.name
    assert predictor.identity["kind"] == "transformer", "so its labels are probed"
    assert predictor.identity["label_order"] == ",".join(ORDER)
    assert list(model.model.state_dict()) == weights
    assert (compute_library_probabilities(model) == expected).all()


def test_float16_weights_on_cpu_are_copied_to_float32(tiny_bert, caplog):
    model = load_pipeline(tiny_bert)
    model.model.half()
    predictor, _ = load_predictor(model)
    assert predictor.identity["dtype"] == "float32"
    assert {each.dtype for each in model.model.parameters()} == {torch.float16}, "what was handed in is left as it is"
    rounded = load_pipeline(tiny_bert)
    rounded.model.half().float()
    expected = load_predictor(rounded)[0].predict(PREMISES, HYPOTHESES)
    np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES), expected, atol=1e-6)
    assert "has float16 weights, which are slow on a CPU: evaluating a float32 copy" in caplog.text


@BOTH
def test_identity_depends_on_weights_and_tokenizer(made, tiny_bert, make_model):
    model = made(tiny_bert)
    first = load_predictor(model)[0].identity
    compute_library_probabilities(model)  # sets truncation and padding of the tokenizer
    assert load_predictor(model)[0].identity == first
    assert load_predictor(made(tiny_bert))[0].identity == first
    others = [load_predictor(made(make_model(seed=1)))[0].identity]
    with torch.no_grad():
        next(model.model.parameters())[0, 0] += 1
    others.append(load_predictor(model)[0].identity)
    model.tokenizer.add_tokens(["unheard"])
    others.append(load_predictor(model)[0].identity)
    assert len({each["revision"] for each in (first, *others)}) == 4
    assert str(tiny_bert.parent) not in str(first)


def test_given_maximum_length_is_kept(tiny_bert):
    assert load_predictor(load_cross_encoder(tiny_bert, max_length=16))[0].max_length == 16
    assert load_predictor(load_pipeline(tiny_bert, truncation=True, max_length=16))[0].max_length == 16
    assert load_predictor(load_pipeline(tiny_bert), max_length=12)[0].max_length == 12


def test_unknown_label_order_is_rejected(make_model):
    unnamed = make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))
    for model in (load_pipeline(unnamed), load_cross_encoder(unnamed), unnamed):
        with pytest.raises(LabelError, match=r"expected label names in the model's id2label.*--label-map"):
            load_predictor(model)
        mapped, _ = load_predictor(model, label_map=dict(zip("012", ORDER, strict=True)))
        assert mapped.order == ORDER
    two, _ = load_predictor(load_pipeline(make_model(order=("entailment", "not_entailment"))))
    assert two.label_space == ("entailment", "not_entailment")
    with pytest.raises(ModelError, match="has one output, like rerankers"):
        load_predictor(load_pipeline(make_model(order=("LABEL_0",))))
