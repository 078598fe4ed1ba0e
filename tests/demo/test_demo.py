"""Tests of the demonstration: command, network, sets and pairs."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from tests.fork_server import PYTHON
from tools.demo_corpus.built_sets import build_set
from unbag import challenge_sets
from unbag.baselines import demo_reader
from unbag.baselines.demo_reader import DemoNetworkPredictor, tokenize_words
from unbag.challenge_sets import results, selection
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.request import read_exported_set
from unbag.data import demo
from unbag.data.labels import LABELS, get_label_id
from unbag.data.text.tagging import PIPELINE
from unbag.evaluation import demo as room
from unbag.evaluation.demo import (
    MODELS,
    get_seed_file,
    list_demo_sets,
    write_demo_data,
)
from unbag.evaluation.verdict import compute_model_verdict
from unbag.utils.hashing import hash_file


@pytest.fixture(scope="module")
def demo_output(tmp_path_factory):
    """Return the output folder of the command, its output and its error output."""
    folder = tmp_path_factory.mktemp("demo")
    nobody = "http://127.0.0.1:9"  # the discard port, where every connection fails
    caches = {"HF_HOME": str(folder / "hf"), "XDG_CACHE_HOME": str(folder / "cache"), "HF_ENDPOINT": nobody}
    done = PYTHON.run("-m", "unbag", "demo", "--output-dir", folder / "run", env=os.environ | caches, check=True)
    return folder / "run", done.stdout, done.stderr


def test_demo_evaluates_every_model_on_every_set_offline(demo_output):
    folder, _, complaints = demo_output
    assert not complaints.strip()
    asked = {(result.model["name"], result.set) for result in results.read_results(folder / "results.json")}
    assert asked == {(model, name) for model in MODELS for name in challenge_sets.list_set_names()}


def test_lexical_baseline_fails_where_order_matters(demo_output):
    folder, said, _ = demo_output
    for model in MODELS[1:]:
        assert f"Verdict on {model}: Better than the baseline on 0 of " in " ".join(said.split())
    lexical = {r.set: r for r in results.read_results(folder / "results.json") if r.model["name"] == "lexical"}
    assert 0.5 < lexical["plain"].scores["accuracy"].value < 0.95
    assert lexical["permuted"].scores["p_c"].value == 1
    assert lexical["permuted"].scores["n_f"] == 0
    whole, *_, hardest = lexical["cs_lambda"].scores["subsets"]
    assert hardest["accuracy"].value < whole["accuracy"].value
    assert lexical["swapped"].scores["n_examples"] == lexical["swapped"].data["rows"]


def test_reader_is_better_where_order_matters(demo_output):
    scores = {
        model: {
            r.set: r.scores for r in results.read_results(demo_output[0] / "results.json") if r.model["name"] == model
        }
        for model in MODELS
    }
    reader, lexical = scores["reader"], scores["lexical"]
    assert reader["plain"]["accuracy"].value > 0.88
    assert reader["swapped"]["accuracy_after"].low > lexical["swapped"]["accuracy_after"].high
    for name in ("resnli", "permuted", "soswap_addamod"):
        assert reader[name][SKILL]["score"].low > 0
    assert reader["permuted"]["p_c"].value < 0.6


def test_every_set_has_score_and_verdict(demo_output):
    found = results.read_results(demo_output[0] / "results.json")
    for model in MODELS:
        for each in compute_model_verdict([result for result in found if result.model["name"] == model]):
            assert each.standing != "inconclusive", (model, each.result.set)
    scores = {result.set: result.scores for result in found if result.model["name"] == "reader"}
    assert scores["sicck"][SKILL]["n_sources"] >= 40
    assert scores["cs_lambda"]["subsets"][-1]["accuracy"].n >= 150


def test_output_is_short_and_ends_with_report_path(demo_output):
    folder, said, _ = demo_output
    assert said.splitlines()[-1] == f"Report for a browser: {folder / 'report.html'}"
    assert (folder / "report.html").is_file()
    assert len(said.splitlines()) < 60
    assert said.index("Three models") < said.index("Verdict on reader") < said.index("premise ")
    assert "CS_0.5" not in said, "the sets' own tables are in a file"
    assert "CS_0.5" in (folder / "table.txt").read_text(encoding="utf-8")
    assert "unbag demo" in (folder / "report.html").read_text(encoding="utf-8")


def test_output_folder_contains_data_for_further_runs(demo_output):
    folder, _, _ = demo_output
    for path in (*map(demo.get_demo_file, demo.SPLITS), demo.VECTORS):
        assert (folder / path.name).read_bytes() == path.read_bytes()
    assert "http-equiv" in (folder / "report.html").read_text(encoding="utf-8")


def test_demo_sets_have_order_of_suite():
    assert [each.name for each in list_demo_sets(Path("out"))] == selection.list_suite_sets()


PAIRS = list(demo.iter_demo_pairs("validation"))


class FixedPredictor:
    """Predicts a given label for each pair, with a probability that increases slightly with the position."""

    def __init__(self, labels):
        self.labels = labels

    def predict(self, premises, hypotheses):
        sure = np.linspace(0.5, 0.9, len(premises), dtype=np.float32)[:, None]
        return np.where(np.eye(3)[[get_label_id(label) for label in self.labels]] == 1, sure, (1 - sure) / 2)


@pytest.fixture
def find_disagreements(monkeypatch, tmp_path):
    def ask(reader, bag):
        monkeypatch.setattr(room, "DemoNetworkPredictor", lambda: FixedPredictor(reader))
        monkeypatch.setattr(room, "load_predictor", lambda name, **_: (FixedPredictor(bag), name))
        return room.compare_demo_models(tmp_path)

    return ask


def test_correct_predictions_are_counted_where_models_differ(find_disagreements):
    gold = [pair.label for pair in PAIRS]
    other = [LABELS[(get_label_id(label) + 1) % 3] for label in gold]
    found = find_disagreements([*gold[:700], *other[700:]], [*other[:600], *gold[600:]])
    assert found[:4] == (2400, 600 + 1700, 600, 1700)
    assert found.example.pair in PAIRS[:600]
    assert found.example.reader.label == found.example.pair.label != found.example.bag.label


def test_shown_pair_has_same_words_in_both_sentences(find_disagreements):
    found = find_disagreements([pair.label for pair in PAIRS], ["entailment"] * len(PAIRS))
    pair = found.example.pair
    assert set(tokenize_words(pair.premise)) == set(tokenize_words(pair.hypothesis))
    assert pair.label != "entailment"


def test_pairs_have_fixed_order_and_triples_of_labels():
    pairs = list(demo.iter_demo_pairs("validation"))
    assert [pair.source_id for pair in pairs] == [f"demo-validation-{i:06d}" for i in range(2_400)]
    assert all(len({pair.label for pair in pairs[i : i + 3]}) == 3 for i in range(0, len(pairs), 3))
    assert sum(1 for _ in demo.iter_demo_pairs("train")) == 6_000


ODD = [("", "..."), ("A zebra!", "a zebra"), ("He isn't here", "x " * 60), ("A dog.", "")]


@pytest.fixture(scope="module")
def predictor():
    return DemoNetworkPredictor()


def predict(pairs):
    return [pair.premise for pair in pairs], [pair.hypothesis for pair in pairs]


def test_probabilities_equal_torch(predictor):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    from tools.demo_reader.network import Reader

    weights = {name: tensor.float() for name, tensor in load_file(demo_reader.WEIGHTS).items()}
    network = Reader(len(weights["words.weight"]))
    network.load_state_dict(weights)
    premises, hypotheses = (list(side) for side in zip(*zip(*predict(PAIRS[:100]), strict=True), *ODD, strict=True))
    with safe_open(demo_reader.WEIGHTS, framework="np") as file:
        known = {
            word: n
            for n, word in enumerate(json.loads(file.metadata()[demo_reader.RECORD])["words"], demo_reader.FIRST)
        }
    with torch.no_grad():
        logits = network.eval()(
            *(torch.from_numpy(demo_reader.encode_words(side, known)) for side in (premises, hypotheses))
        )
    np.testing.assert_allclose(predictor.predict(premises, hypotheses), logits.softmax(dim=1), atol=1e-5)


def test_weights_are_made_by_current_tool_and_pairs():
    pytest.importorskip("torch")
    from tools.demo_reader.__main__ import compute_training_hash

    with safe_open(demo_reader.WEIGHTS, framework="np") as file:
        record = json.loads(file.metadata()[demo_reader.RECORD])
    assert record["made_by"] == compute_training_hash(), "run `python -m tools.demo_reader`"


def test_reader_distinguishes_roles_in_every_construction(predictor):
    premise = "A girl is chasing a dog in the park."
    same = ["The girl is chasing the dog.", "A dog is being chased by a girl.", "There is a girl running after a dog."]
    turned = [
        "The dog is chasing the girl.",
        "A girl is being chased by a dog.",
        "There is a dog running after a girl.",
    ]
    answers = predictor.predict([premise] * 6, same + turned).argmax(axis=1)
    assert [LABELS[answer] for answer in answers] == ["entailment"] * 3 + ["contradiction"] * 3


def test_batch_does_not_change_predictions(predictor):
    premises, hypotheses = predict(PAIRS[:30])
    together = predictor.predict([*premises, "a " * 200], [*hypotheses, "."])
    alone = [
        predictor.predict([premise], [hypothesis]) for premise, hypothesis in zip(premises, hypotheses, strict=True)
    ]
    np.testing.assert_allclose(together[:30], np.concatenate(alone), atol=1e-5)


def test_any_text_and_empty_batch_are_accepted(predictor):
    answers = predictor.predict(*zip(*ODD, strict=True))
    assert answers.shape == (4, 3)
    assert answers.dtype == np.float32
    np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-6)
    assert predictor.predict([], []).shape == (0, 3)


every_set = pytest.mark.parametrize("name", demo.BUILT_SETS)


@pytest.fixture
def pipeline(pipeline, empty_caches):
    """Return the spaCy pipeline, with empty caches."""
    return pipeline


@every_set
def test_demo_record_names_pairs_but_no_local_path(name, tmp_path):
    built = read_exported_set(demo.BUILT_SETS[name])
    write_demo_data(tmp_path)
    source = get_seed_file(tmp_path) if name == "sicck" else demo.get_demo_file("validation")
    assert built.data["revision"] == hash_file(source)
    assert built.config["pipeline"] == (None if name == "sicck" else PIPELINE)
    assert "/" not in built.data["origin"]


@pytest.mark.nightly
@every_set
def test_demo_rows_equal_output_of_builder(pipeline, name):
    shipped, built = read_exported_set(demo.BUILT_SETS[name]), build_set(name, pipeline)
    assert len(shipped.rows) > 500
    assert shipped.rows.to_list() == built.rows.to_list()
    assert {**shipped.data, "sha256": ""} == {**built.data, "sha256": ""}
    machine_keys = ("pipeline", "parser")  # these contain the path of the pipeline and the version of spaCy
    assert {name: value for name, value in shipped.config.items() if name not in machine_keys} == {
        name: value for name, value in built.config.items() if name not in machine_keys
    }
