"""Tests of classifiers behind text-embeddings-inference and vLLM routes: formats, labels, storage, errors."""

import numpy as np
import pytest

import unbag
from tests.factories import QUICK
from tests.fake_llm.classifier import LABELS as SERVED
from tests.fake_llm.classifier import Classifier, compute_probabilities_by_letters, score_by_letters
from unbag.data.labels import LABELS, TWO_WAY, LabelError
from unbag.evaluation.model_loading import load_predictor
from unbag.inference.classification_endpoint import ROUTES, ClassificationEndpointPredictor
from unbag.inference.label_probe import PAIRS
from unbag.inference.predictor import EndpointError

PREMISES = [f"A woman with {n} red apples waits." for n in range(50)]
HYPOTHESES = [f"Somebody waits for {n % 7} hours." for n in range(50)]
ONE_OUTPUT = Classifier(outputs=score_by_letters, labels=("LABEL_0",))
GENERIC = ("LABEL_0", "LABEL_1", "LABEL_2")
UNNAMED = Classifier(outputs=lambda premise, hypothesis: [0.2, 0.6, 0.2])  # always predicts one label
SEPARATOR = {"separator": "[SEP]"}
GOLD = {(premise, hypothesis): label for premise, hypothesis, label in PAIRS["en"]}


def predict_probe_pairs(premise, hypothesis):
    """Return probability .8 for the label of a label-probe pair, in the label order of the server."""
    if (premise, hypothesis) not in GOLD:
        return compute_probabilities_by_letters(premise, hypothesis)
    return [0.8 if name == GOLD[premise, hypothesis] else 0.1 for name in SERVED]


def connect(endpoint, route, **options):
    return ClassificationEndpointPredictor("tiny", base_url=endpoint.route(route), **options)


@pytest.mark.parametrize("route", ["predict", "classify"])
def test_predict_probabilities_match_server_by_label_name(endpoint, route):
    endpoint.classifier.outputs = predict_probe_pairs
    predictor = connect(endpoint, route, **(SEPARATOR if route == "classify" else {}))
    assert hasattr(predictor, "iter_batches")
    assert (predictor.order, predictor.label_space) == (SERVED, LABELS)
    values = predictor.predict(PREMISES, HYPOTHESES)
    expected = [compute_probabilities_by_letters(*pair) for pair in zip(PREMISES, HYPOTHESES, strict=True)]
    columns = [SERVED.index(label) for label in LABELS]
    np.testing.assert_allclose(values, np.array(expected)[:, columns], atol=1e-6)
    sizes = [len(request.body.get("inputs") or request.body.get("input")) for request in endpoint.requests]
    assert sorted(sizes) == [12, 18, 32], "the label probe, then fifty pairs in two requests"


def test_label_of_tied_outputs_names_none_of_them():
    item = {"index": 0, "label": "neutral", "probs": [0.4, 0.4, 0.2]}
    assert ROUTES["classify"].parse({"data": [item]}, 1) == [(("", "", ""), (0.4, 0.4, 0.2))]


@pytest.mark.parametrize("route", ["score", "rerank", "predict"])
def test_one_output_is_probability_of_entailment(endpoint, route):
    endpoint.classifier = ONE_OUTPUT
    predictor = connect(endpoint, route, threshold=0.9)
    assert (predictor.label_space, predictor.n_outputs, predictor.threshold) == (TWO_WAY, 1, 0.9)
    values = predictor.predict(PREMISES, HYPOTHESES)
    scores = np.array([score_by_letters(*pair)[0] for pair in zip(PREMISES, HYPOTHESES, strict=True)])
    np.testing.assert_allclose(values, np.stack([scores, 1 - scores], axis=1), atol=1e-6)


def test_predict_resumes_without_repeated_pairs(endpoint):
    first = connect(endpoint, "predict")
    values = first.predict(PREMISES[:20] * 2, HYPOTHESES[:20] * 2)
    np.testing.assert_array_equal(values[:20], values[20:])
    connect(endpoint, "predict").predict(PREMISES, HYPOTHESES)
    sent = [tuple(pair) for request in endpoint.requests for pair in request.body["inputs"]]
    assert len(set(sent)) == len(PREMISES) + 12
    assert len(sent) == len(set(sent)) + 12, "each run sends the pairs of the label probe"
    again = connect(endpoint, "predict")
    endpoint.arm({"status": 500, "times": 100})
    np.testing.assert_array_equal(again.predict(PREMISES, HYPOTHESES)[:20], values[:20])


def test_smaller_batch_limit_of_server_is_found(endpoint):
    endpoint.classifier.most_pairs = 5
    values = connect(endpoint, "predict").predict(PREMISES, HYPOTHESES)
    endpoint.reset()
    again = connect(endpoint, "predict", no_cache=True)
    np.testing.assert_array_equal(again.predict(PREMISES, HYPOTHESES), values)


@pytest.mark.parametrize(
    ("route", "classifier", "options", "error", "words"),
    [
        ("predict", Classifier(labels=GENERIC), {}, LabelError, "--label-map 0="),
        ("classify", UNNAMED, SEPARATOR, LabelError, "names only"),
        ("classify", Classifier(), {}, EndpointError, "--separator: expected a separator, got no value"),
        ("predict", Classifier(), SEPARATOR, EndpointError, "--separator: not supported by /predict, which"),
        ("score", ONE_OUTPUT, {}, EndpointError, "expected --threshold for a model with one output, got none"),
        ("score", Classifier(), {"threshold": 0.5}, EndpointError, "400 to tiny: .*only enabled for num_labels"),
        ("chat", Classifier(), {}, EndpointError, "--base-url: expected the URL with a route, such as"),
    ],
)
def test_load_unsuitable_classifier_is_rejected(endpoint, route, classifier, options, error, words):
    endpoint.classifier = classifier
    with pytest.raises(error, match=words):
        connect(endpoint, route, **options)


def test_other_number_of_outputs_than_before_is_rejected(endpoint):
    predictor = connect(endpoint, "predict")
    endpoint.classifier = ONE_OUTPUT
    with pytest.raises(EndpointError, match="expected 3 outputs per pair, as for the first pairs, got a different"):
        predictor.predict(PREMISES, HYPOTHESES)


def test_load_label_map_resolves_generic_names(endpoint):
    endpoint.classifier.labels = GENERIC
    for names in ("012", GENERIC):
        assert connect(endpoint, "predict", label_map=dict(zip(names, SERVED, strict=True))).order == SERVED


def test_load_unreachable_server_and_unknown_format_raise_error(endpoint):
    with pytest.raises(EndpointError, match=r"cannot reach http://127\.0\.0\.1:9/predict: .*start the server"):
        ClassificationEndpointPredictor("tiny", base_url="http://127.0.0.1:9/predict", retries=0)
    endpoint.arm({"content": "<html>it works!</html>"})
    with pytest.raises(EndpointError, match="predict: expected one list of labels with scores per pair, got '<html>"):
        connect(endpoint, "predict")
    endpoint.classifier = Classifier(outputs=lambda premise, hypothesis: [-0.3], labels=("LABEL_0",))
    predictor = connect(endpoint, "score", threshold=0.5)
    with pytest.raises(EndpointError, match=r"expected scores from 0 to 1, got -0\.3"):
        predictor.predict(PREMISES, HYPOTHESES)


def test_address_selects_predictor_kind(endpoint):
    predictor, _ = load_predictor("endpoint:tiny", base_url=endpoint.route("predict"))
    assert predictor.identity["kind"] == "classification-endpoint"
    with pytest.raises(ValueError, match="num_fewshot: not supported for URLs that end in /predict, /rerank"):
        load_predictor("endpoint:tiny", base_url=endpoint.route("predict"), num_fewshot=3)
    with pytest.raises(ValueError, match="separator: supported only for URLs that end in /predict"):
        load_predictor("endpoint:tiny", base_url=endpoint.base_url, separator="[SEP]")


def test_evaluate_classifier_endpoint_is_probed_and_recorded(endpoint, tmp_path):
    endpoint.classifier.outputs = predict_probe_pairs
    route = endpoint.route("predict")
    [result] = unbag.evaluate("endpoint:tiny", "plain", base_url=route, output_dir=tmp_path / "run", **QUICK)
    assert result.model["label_probe"] == {"en": "12 of 12"}
    assert (result.model["kind"], result.model["base_url"]) == ("classification-endpoint", route)
    assert result.scores["verification"]["auroc"] is not None
    endpoint.classifier.labels = ("entailment", "contradiction", "neutral")  # incorrect label names of the server
    fix = "entailment,contradiction,neutral"
    with pytest.raises(ValueError, match=f"--label-map {fix}"):
        unbag.evaluate("endpoint:tiny", "plain", base_url=route, output_dir=tmp_path / "wrong", **QUICK)
    again = {"base_url": route, "label_map": fix, "output_dir": tmp_path / "again"}
    [mapped] = unbag.evaluate("endpoint:tiny", "plain", **again, **QUICK)
    assert mapped.model["label_probe"] == {"en": "12 of 12"}
    assert mapped.scores["accuracy"] == result.scores["accuracy"]
