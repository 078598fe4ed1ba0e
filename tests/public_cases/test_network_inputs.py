"""Each network gets the inputs that it was trained with, whatever its tokenizer or its exported graph leaves out."""

import json
import string
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs unbag[models]")
transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.inference.fixtures import SIZES, export_graph, tiny_tokenizer  # noqa: E402
from unbag.data.labels import LABELS  # noqa: E402
from unbag.evaluation.model_loading import load_predictor  # noqa: E402
from unbag.inference.loading import load_classifier_for_training  # noqa: E402
from unbag.inference.predictor import ModelError  # noqa: E402
from unbag.training.dataset import PairEncoder  # noqa: E402

PREMISES = ["A man reads a map in the park.", "Two dogs run.", "The boy feeds a dog near the river, slowly."]
HYPOTHESES = ["He reads.", "No animal is moving at all today.", "A boy buys bread."]
BERT = "[CLS] $A [SEP] $B:1 [SEP]:1"
CASES = {
    "Albert": (BERT, {"embedding_size": 16}),
    "Bert": (BERT, {}),
    "RemBert": (BERT, {"input_embedding_size": 16}),
    "BigBird": (BERT, {"attention_type": "original_full"}),
    "RoFormer": (BERT, {"embedding_size": 16}),
    "ConvBert": (BERT, {"embedding_size": 16}),  # its convolutions read padding
    "XLNet": ("$A [SEP] $B:1 [SEP]:1 [CLS]:2", {"d_model": 32, "n_head": 2, "d_inner": 64, "n_layer": 1}),
}
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def save_model(folder, kind, template=None, sizes=None):
    """Save a random classifier, whose tokenizer returns no segment ids by default. Returns network and tokenizer."""
    template, sizes = template or CASES[kind][0], CASES[kind][1] if sizes is None else sizes
    characters = [character for character in string.printable if not character.isspace()]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *characters, *("##" + character for character in characters)]
    tokenizer = tiny_tokenizer(
        {word: number for number, word in enumerate(words)},
        pair=template,
        model_input_names=["input_ids", "attention_mask"],
        padding_side="left" if kind == "XLNet" else "right",
    )
    torch.manual_seed(0)
    if kind != "XLNet":
        sizes = SIZES | {"type_vocab_size": 2} | sizes
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(words),
        initializer_range=0.3,
        pad_token_id=0,
        id2label=dict(enumerate(LABELS)),
        label2id={label: output for output, label in enumerate(LABELS)},
        **sizes,
    )
    network = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return network, tokenizer


def compute_probabilities(network, tokenizer, **options):
    """Run a network on one pair at a time, with or without segment ids."""
    rows = []
    for pair in zip(PREMISES, HYPOTHESES, strict=True):
        encoded = tokenizer(*pair, return_tensors="pt", **options)
        with torch.no_grad():
            rows.append(network(**encoded).logits.softmax(dim=-1)[0].numpy())
    return np.array(rows)


def check_predictions(model, expected, *, atol=1e-5, **options):
    """Load a model, compare its predictions for all pairs at once, and return the predictor."""
    predictor, _ = load_predictor(model, **options)
    np.testing.assert_allclose(predictor.predict(PREMISES, HYPOTHESES), expected, atol=atol)
    return predictor


@pytest.mark.parametrize("kind", CASES)
def test_missing_segment_ids_are_supplied_as_trained(kind, tmp_path, caplog):
    network, tokenizer = save_model(tmp_path, kind)
    expected = compute_probabilities(network, tokenizer, return_token_type_ids=True)
    without = compute_probabilities(network, tokenizer, return_token_type_ids=False)
    assert np.abs(expected - without).max() > 1e-3, "the network reads the segments"
    assert check_predictions(str(tmp_path), expected).identity["segment_ids"] == "supplied"
    assert "returns no segment ids" in caplog.text


@pytest.mark.parametrize("made", ["CrossEncoder", "pipeline"])
def test_classifier_in_memory_gets_segment_ids(made, tmp_path):
    network, tokenizer = save_model(tmp_path, "Albert")
    if made == "pipeline":
        model = transformers.pipeline("text-classification", model=str(tmp_path), device="cpu")
    else:
        model = pytest.importorskip("sentence_transformers").CrossEncoder(str(tmp_path), device="cpu")
    check_predictions(model, compute_probabilities(network, tokenizer, return_token_type_ids=True))


def test_training_reads_segment_ids_and_saves_a_tokenizer_that_returns_them(tmp_path, caplog):
    save_model(tmp_path, "Albert")
    classifier = load_classifier_for_training(str(tmp_path), revision=None, label_map=None, seed=0)
    assert "computed from premise and hypothesis" in caplog.text
    assert "pass a function" not in caplog.text, "no function can be trained"
    encoder = PairEncoder.from_classifier(classifier)
    batch = encoder.pad([encoder.encode([(PREMISES[0], HYPOTHESES[0])]).get_tokens(0)])
    expected = classifier.tokenizer(PREMISES[0], HYPOTHESES[0], return_token_type_ids=True)["token_type_ids"]
    assert set(expected) == {0, 1}
    assert batch["token_type_ids"].tolist() == [expected]
    classifier.tokenizer.save_pretrained(tmp_path / "saved")
    saved = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert saved(PREMISES[0], HYPOTHESES[0])["token_type_ids"] == expected


def test_network_with_one_segment_needs_no_segment_ids(tmp_path):
    network, tokenizer = save_model(tmp_path, "Roberta", BERT, {"type_vocab_size": 1})
    predictor = check_predictions(str(tmp_path), compute_probabilities(network, tokenizer))
    assert "segment_ids" not in predictor.identity


def test_segment_ids_that_no_tokenizer_defines_are_refused_with_advice_that_works(tmp_path):
    network, tokenizer = save_model(tmp_path, "Bert", "[CLS] $A [SEP] $B [SEP]")
    train = {"revision": None, "label_map": None, "seed": 0}
    for load in (load_predictor, partial(load_classifier_for_training, **train)):
        with pytest.raises(ModelError, match=r"expected segment ids.*model_input_names"):
            load(str(tmp_path))
    tokenizer.init_kwargs["model_input_names"] = tokenizer.model_input_names = INPUTS
    tokenizer.save_pretrained(tmp_path)
    check_predictions(str(tmp_path), compute_probabilities(network, tokenizer, return_token_type_ids=False))
    encoder = PairEncoder.from_classifier(load_classifier_for_training(str(tmp_path), **train))
    assert not encoder.pad([encoder.encode([(PREMISES[0], HYPOTHESES[0])]).get_tokens(0)])["token_type_ids"].any()


@pytest.mark.parametrize("kind", ["Albert", "XLNet"])
@pytest.mark.parametrize("fixed", [False, True])
def test_exported_graph_gets_segment_ids_and_its_declared_shape(kind, fixed, tmp_path):
    """A graph of batches of 2 with 96 tokens runs 3 pairs of other lengths."""
    network, tokenizer = save_model(tmp_path, kind)
    export_graph(tmp_path / "model.onnx", network, INPUTS, fixed=fixed)
    expected = compute_probabilities(network, tokenizer, return_token_type_ids=True)
    predictor = check_predictions(str(tmp_path), expected, atol=1e-4)
    if fixed:
        assert predictor.max_length == 96
        predictor.predict(["a " * 200], ["a b"])
        assert predictor.truncated == 1
        with pytest.raises(ModelError, match="expected 1 to 96 tokens"):
            load_predictor(str(tmp_path), max_length=97)


def test_exported_graph_that_ends_with_a_softmax_gives_its_probabilities(tmp_path):
    network, tokenizer = save_model(tmp_path, "Albert")
    expected = compute_probabilities(network, tokenizer, return_token_type_ids=True)
    assert np.ptp(expected, axis=1).max() > 0.1, "a second softmax would flatten them"
    export_graph(tmp_path / "model.onnx", network, INPUTS, has_softmax=True)
    check_predictions(str(tmp_path), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["Albert", "XLNet"])
def test_openvino_graph_gets_segment_ids(kind, tmp_path):
    openvino = pytest.importorskip("openvino", reason="needs unbag[openvino]")
    network, tokenizer = save_model(tmp_path, kind)
    export_graph(tmp_path / "model.onnx", network, INPUTS)
    graph = openvino.convert_model(str(tmp_path / "model.onnx"))
    openvino.save_model(graph, str(tmp_path / "openvino_model.xml"), compress_to_fp16=False)
    expected = compute_probabilities(network, tokenizer, return_token_type_ids=True)
    predictor = check_predictions(str(tmp_path), expected, atol=1e-4, model_file="openvino_model.xml")
    assert predictor.identity["segment_ids"] == "supplied"


@pytest.mark.parametrize("names", [INPUTS[:2], INPUTS])
def test_exported_graph_without_segment_ids_is_refused_with_advice_that_works(names, tmp_path):
    network, tokenizer = save_model(tmp_path, "Bert")
    tokenizer.init_kwargs["model_input_names"] = tokenizer.model_input_names = names
    tokenizer.save_pretrained(tmp_path)
    export_graph(tmp_path / "model.onnx", network, INPUTS[:2])
    message = r"expected the input token_type_ids.*set type_vocab_size to 1 in config\.json"
    with pytest.raises(ModelError, match=message):
        load_predictor(str(tmp_path))
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "type_vocab_size": 1}))
    expected = compute_probabilities(network, tokenizer, return_token_type_ids=False)
    check_predictions(str(tmp_path), expected, atol=1e-4)
