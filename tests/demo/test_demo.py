"""Tests of the demonstration's network, pairs and bundled sets. `tests/evaluation/test_verdict.py` runs the command."""

import json

import numpy as np
import pytest
from safetensors import safe_open

from tools.demo_corpus.built_sets import build_set
from unbag.baselines import demo_reader
from unbag.baselines.demo_reader import DemoNetworkPredictor
from unbag.challenge_sets.request import read_exported_set
from unbag.data import demo
from unbag.data.text.tagging import PIPELINE
from unbag.evaluation.demo import get_seed_file, write_demo_data
from unbag.utils.hashing import hash_file

PAIRS = list(demo.iter_demo_pairs("validation"))
ODD = [("", "..."), ("A zebra!", "a zebra"), ("He isn't here", "x " * 60), ("A dog.", "")]
SIDES = tuple(zip(*((pair.premise, pair.hypothesis) for pair in PAIRS[:30]), *ODD, strict=True))
every_set = pytest.mark.parametrize("name", demo.BUILT_SETS)


def test_pairs_have_fixed_order_and_triples_of_labels():
    assert [pair.source_id for pair in PAIRS] == [f"demo-validation-{i:06d}" for i in range(2_400)]
    assert all(len({pair.label for pair in PAIRS[i : i + 3]}) == 3 for i in range(0, len(PAIRS), 3))
    assert sum(1 for _ in demo.iter_demo_pairs("train")) == 6_000


@pytest.fixture(scope="module")
def predictor():
    return DemoNetworkPredictor()


def read_record():
    """Read the record of the weights: the words and the hash of the training."""
    with safe_open(demo_reader.WEIGHTS, framework="np") as file:
        return json.loads(file.metadata()[demo_reader.RECORD])


def test_probabilities_equal_torch(predictor):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    from tools.demo_reader.network import Reader

    weights = {name: tensor.float() for name, tensor in load_file(demo_reader.WEIGHTS).items()}
    network = Reader(len(weights["words.weight"]))
    network.load_state_dict(weights)
    known = {word: n for n, word in enumerate(read_record()["words"], demo_reader.FIRST)}
    with torch.no_grad():
        logits = network.eval()(*(torch.from_numpy(demo_reader.encode_words(side, known)) for side in SIDES))
    np.testing.assert_allclose(predictor.predict(*SIDES), logits.softmax(dim=1), atol=1e-5)


@pytest.mark.nightly  # the shipped weights change only if somebody trains again
def test_weights_are_made_by_current_tool_and_pairs():
    pytest.importorskip("torch")
    from tools.demo_reader.__main__ import compute_training_hash

    assert read_record()["made_by"] == compute_training_hash(), "run `python -m tools.demo_reader`"


def test_batch_does_not_change_predictions(predictor):
    alone = [predictor.predict([premise], [hypothesis]) for premise, hypothesis in zip(*SIDES, strict=True)]
    np.testing.assert_allclose(predictor.predict(*SIDES), np.concatenate(alone), atol=1e-5)
    assert predictor.predict([], []).shape == (0, 3)


@every_set
def test_demo_record_names_pairs_but_no_local_path(name, tmp_path):
    built = read_exported_set(demo.BUILT_SETS[name])
    write_demo_data(tmp_path)
    source = get_seed_file(tmp_path) if name == "sicck" else demo.get_demo_file("validation")
    assert built.data["revision"] == hash_file(source)
    assert built.config["pipeline"] == (None if name == "sicck" else PIPELINE)
    assert "/" not in built.data["origin"]


@pytest.mark.nightly
@pytest.mark.usefixtures("empty_caches")
@every_set
def test_demo_rows_equal_output_of_builder(pipeline, name):
    shipped, built = read_exported_set(demo.BUILT_SETS[name]), build_set(name, pipeline)
    assert len(shipped.rows) > 500
    assert shipped.rows.to_list() == built.rows.to_list()
    assert {**shipped.data, "sha256": ""} == {**built.data, "sha256": ""}
    machine_keys = ("pipeline", "parser")  # these contain the path of the pipeline and the version of spaCy
    shipped, built = (
        {key: value for key, value in each.config.items() if key not in machine_keys} for each in (shipped, built)
    )
    assert shipped == built
