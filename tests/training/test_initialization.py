"""Tests of initializing models from corpora: files, lexical tables, training, evaluation and rejected options."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.baselines.wordnet.tiny_lexicon import TinyLexicon
from tests.factories import run_unbag
from tests.models.conftest import tiny_model
from tests.training.conftest import write_pairs
from unbag.api import evaluate
from unbag.baselines.lexical import embeddings
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor
from unbag.models import ARCHITECTURES
from unbag.training.config import TrainConfig
from unbag.training.initialization import compute_word_relations, initialize_model
from unbag.training.run import run

SMALL = {"hidden_size": "8"}


def train(model, out, pairs, **options):
    given = {"batch_size": 12, "max_steps": 12, "learning_rate": 2e-2, "num_train_epochs": 1, **options}
    config = TrainConfig(model=str(model), corpus=(str(pairs),), validation=(str(pairs),), output_dir=out, **given)
    return run(config)


def test_vectors_equal_table_and_other_weights_are_random(pairs_path, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("dog 1 2 3\nman 4 5 6\nwoman 7 8 9\n")
    record = initialize_model("dam", [str(pairs_path)], tmp_path / "dam", vectors=str(vectors), options=SMALL)
    ids = AutoTokenizer.from_pretrained(tmp_path / "dam").get_vocab()
    weights = load_file(tmp_path / "dam" / "model.safetensors")
    assert list(weights) == ["embeddings.words.weight"], "all else is drawn when it is trained"
    table = weights["embeddings.words.weight"]
    assert table[[ids["dog"], ids["man"]]].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert table[0].tolist() == [0, 0, 0], "padding"
    assert table[ids["boy"]].any()
    assert (record["words"], record["words_with_vectors"]) == (len(ids) - 3, 3)
    assert record["vectors"].startswith("sha256:")
    assert record["vectors_multiplied_by"] == 1
    assert json.loads((tmp_path / "dam" / "made_with.json").read_text()) == record
    initialize_model("dam", [str(pairs_path)], tmp_path / "again", vectors=str(vectors), options=SMALL)
    assert np.array_equal(load_file(tmp_path / "again" / "model.safetensors")["embeddings.words.weight"], table)


def test_transformer_input_layer_has_scale_of_word_vectors(tiny_bert, pairs_path, tmp_path):
    record = initialize_model("dam", [str(pairs_path)], tmp_path / "dam", vectors=str(tiny_bert), options=SMALL)
    ids = AutoTokenizer.from_pretrained(tmp_path / "dam").get_vocab()
    made = load_file(tmp_path / "dam" / "model.safetensors")["embeddings.words.weight"].numpy()
    layer = embeddings.load_embeddings(str(tiny_bert))
    words = [word for word in ids if not word.startswith("[")]
    known = [word for word in words if layer.count_tokens([(word,)]).nnz]
    expected = layer.compute_means([(word,) for word in known]) * record["vectors_multiplied_by"]
    found = made[[ids[word] for word in known]]
    assert len(known) == record["words_with_vectors"] > 3
    assert np.allclose(found, expected, atol=1e-6)
    assert found.std() == pytest.approx(0.3)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_training_initializes_all_weights_above_embeddings(name, tmp_path):
    network = tiny_model(name)
    weights = {key: each for key, each in network.state_dict().items() if key.startswith("embeddings.")}
    network.config.save_pretrained(tmp_path)
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    torch.use_deterministic_algorithms(True)  # fills uninitialized memory with NaN
    try:
        loaded = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            loaded.append(AutoModelForSequenceClassification.from_pretrained(tmp_path).state_dict())
    finally:
        torch.use_deterministic_algorithms(False)
    one, same, other = loaded
    assert all(torch.equal(value, same[key]) for key, value in one.items()), "the seed decides all, and none is NaN"
    # The bias of a forget gate is initialized with 1 for all seeds.
    drawn = [key for key, value in one.items() if key not in weights and "bias" not in key and value.std() > 0]
    assert drawn
    assert not any(torch.equal(one[key], other[key]) for key in drawn)


def test_model_is_evaluated_once_trained(pairs_path, tmp_path):
    options = {**SMALL, "classifier_size": "8"}
    initialize_model("infersent", [str(pairs_path)], tmp_path / "model", dimensions=8, options=options)
    with pytest.raises(ModelError, match="pass a model that was fine-tuned for classification"):
        TransformerPredictor.load(tmp_path / "model")
    record = train(tmp_path / "model", tmp_path / "run", pairs_path, max_steps=30)
    assert record["evaluations"][-1]["all"]["accuracy"] > 0.6, "no more than a coin"
    request = SetRequest("plain", options={"data": str(pairs_path)})
    [result] = evaluate(tmp_path / "run", [request], output_dir=tmp_path / "results", trust_labels=True)
    assert result.model["kind"] == "transformer"
    assert results.read_results(tmp_path / "results" / "results.json")


def test_frozen_encoder_replaces_vectors(tiny_bert, pairs_path, tmp_path):
    record = initialize_model("dam", [], tmp_path / "dam", encoder=str(tiny_bert), options=SMALL)
    assert record["encoder"] == tiny_bert.name, "wherever it lies"
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "dam")
    assert tokenizer.convert_ids_to_tokens(tokenizer("a dog", "a cat")["input_ids"]) == [
        *("[CLS]", "a", "dog", "[SEP]"),
        *("[CLS]", "a", "cat", "[SEP]"),
    ]
    train(tmp_path / "dam", tmp_path / "run", pairs_path)
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("dam", "run"))
    assert before
    assert all(np.array_equal(value, after[name]) for name, value in before.items()), "frozen"
    assert TransformerPredictor.load(tmp_path / "run").max_length == 64


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dann", {}, "model: expected one of dan, hypothesis-only, .* got 'dann'"),
        ("dan", {"options": {"size": "3"}}, r"expected an option of dan \(dropout, hidden_size, layers, train_emb"),
        ("dan", {"options": {"hidden_size": "0"}}, "hidden_size: expected a whole number of at least 1, got 0"),
        (
            "esim-bow",
            {"options": {"bag_of_words": "false"}},
            r"expected an option of esim-bow \(.*\), got bag_of_words",
        ),
        ("dan", {"corpora": ["nowhere"]}, r"expected corpora \(snli, .*\) or files, got 'nowhere'"),
        ("dan", {"corpora": ["ocnli"]}, "expected English pairs, .* got ocnli"),
        ("dan", {"min_count": 999}, "expected words that occur at least 999 times in .*, got none"),
        ("kim", {"encoder": "org/encoder"}, "--encoder: not supported with kim, which requires whole words"),
    ],
)
def test_initialize_model_invalid_options_are_rejected(name, options, message, pairs_path, tmp_path):
    given = {"corpora": [str(pairs_path)], **options}
    with pytest.raises(ValueError, match=message):
        initialize_model(name, output_dir=tmp_path / "out", **given)
    assert list(tmp_path.iterdir()) == []


def test_relation_features_use_tagger_and_wordnet(wordnet, pipeline, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.csv", [("two dogs run", "the dog runs", "entailment")])
    initialize_model("diin", [str(pairs)], tmp_path / "diin", dimensions=8, pipeline=pipeline)
    made = load_file(tmp_path / "diin" / "model.safetensors")
    ids = AutoTokenizer.from_pretrained(tmp_path / "diin").get_vocab()
    stem, tag = made["embeddings.stem"], made["embeddings.tag"]
    assert stem[ids["dog"]] == stem[ids["dogs"]] != stem[ids["two"]]
    assert tag[ids["the"]] != tag[ids["dog"]] != tag[ids["dogs"]], "DT, NN, NNS"
    assert bytes(made["embeddings.spelling"][ids["dogs"]]).rstrip(b"\0") == b"dogs"
    initialize_model("kim", [str(pairs)], tmp_path / "kim", dimensions=8)
    known = load_file(tmp_path / "kim" / "model.safetensors")
    key = ids["dog"] * len(ids) + ids["dogs"]
    row = (known["embeddings.related"] == key).nonzero().item()
    assert known["embeddings.relation"][row].tolist() == [1, 0, 0, 0, 0]


def test_command_lists_all_architectures():
    listed = json.loads(run_unbag("models", "--json").stdout)
    assert [each["name"] for each in listed] == list(ARCHITECTURES)
    assert all(each["paper"] and each["sees"] and each["parameters"] > 100_000 for each in listed)


def test_missing_encoder_error_names_model(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, told in (("org/nobody", "the model org/nobody"), (str(tmp_path), "with config.json, got only")):
        with pytest.raises(ModelError, match=told):
            initialize_model("dam", [], tmp_path / "dam", encoder=name)


def test_relations_of_tiny_lexicon_equal_hand_computed_values():
    words = ["poodle", "dogs", "hound", "animal", "cat", "hot", "cold", "rose", "unheard", "kitchen", "living room"]
    pairs, rows = compute_word_relations(words, TinyLexicon())
    assert np.array_equal(pairs, pairs[np.lexsort(pairs.T[::-1])]), "in ascending order"
    found = {(words[w], words[v]): row for (w, v), row in zip(pairs.tolist(), rows.tolist(), strict=True)}
    expected = {  # synonym, antonym, hypernym, hyponym, co-hyponym
        ("dogs", "hound"): [1, 0, 0, 0, 0],
        ("poodle", "dogs"): [0, 0, 7 / 8, 0, 0],
        ("dogs", "poodle"): [0, 0, 0, 7 / 8, 0],
        ("poodle", "animal"): [0, 0, 5 / 8, 0, 0],  # dog, pet, animal: the shortest path
        ("hot", "cold"): [0, 1, 0, 0, 0],
        ("kitchen", "kitchen"): [1, 0, 0, 0, 0],
        ("kitchen", "living room"): [0, 0, 0, 0, 1],
        ("living room", "kitchen"): [0, 0, 0, 0, 1],
    }
    assert {pair: found[pair] for pair in expected} == expected
    # Feline and canine differ.
    assert found.keys().isdisjoint([("rose", "cat"), ("unheard", "unheard"), ("cat", "dogs")])


def test_relations_equal_examples_of_paper(wordnet):
    """Chen et al. 2018, section 3.1: [dog, wolf] 0 and 1, [dog, canid] 0.875, [dog, carnivore] 0.75, [wet, dry] 1."""
    words = ["dog", "wolf", "canid", "carnivore", "wet", "dry"]
    pairs, rows = compute_word_relations(words, wordnet)
    known = {(words[w], words[v]): row for (w, v), row in zip(pairs.tolist(), rows.tolist(), strict=True)}
    assert known["dog", "wolf"] == [0, 0, 0, 0, 1]
    assert known["dog", "canid"] == known["wolf", "canid"] == [0, 0, 0.875, 0, 0]
    assert known["canid", "dog"] == [0, 0, 0, 0.875, 0]
    assert known["dog", "carnivore"][2] == 0.75
    assert known["wet", "dry"][1] == 1
