"""What the Hub is told of results: a scalar for each benchmark, and the card's index."""

from dataclasses import replace

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from tests.hub.made import SNLI, plain, swapped
from unbag.hub import eval_results, front_matter
from unbag.hub.benchmarks import Benchmark, benchmark, config_of, deviations, options


@pytest.mark.parametrize(
    ("name", "config", "data", "expected"),
    [
        ("permuted", {"mode": "both"}, {"name": "mnli", "split": "validation_matched"}, "mnli-validation_matched"),
        ("permuted", {"mode": "clumped_25"}, {}, "snli-test-clumped_25"),
        ("resnli", {}, {"split": "train+validation+test"}, "snli"),
        ("breaking_nli", {}, {"name": "official", "split": "", "origin": "an address"}, "official"),
        ("sicck", {"space": "seven_way"}, {"name": "official", "split": ""}, "official-seven_way"),
        ("plain", {}, {"name": "pairs.csv", "split": "", "origin": "pairs.csv"}, None),
        ("plain", {}, {"origin": "somebody/else (default)"}, None),  # of the corpus's name, and not it
    ],
)
def test_the_config_that_a_result_is_about(name, config, data, expected):
    origins = {"mnli": "nyu-mll/multi_nli (default)"}
    data = {**SNLI, "origin": origins.get(data.get("name"), SNLI["origin"]), **data}
    result = replace(plain(), set=name, config=config, data=data)
    assert config_of(result) == expected
    assert benchmark(result, "org") == (Benchmark(f"org/{name}", expected) if expected else None)


def test_options_that_are_not_the_benchmarks():
    def changed(**config):
        return deviations(replace(plain(), set="permuted", config={"mode": "both", "q": 100, "seed": 13, **config}))

    assert changed() == {}
    assert changed(mode="hypothesis") == {}  # a config of its own
    assert changed(q=10) == {"q": 10}
    assert changed(examples=50, examples_seed=13) == {"examples": 50}
    assert deviations(replace(plain(), set="cs_lambda", config={"training": ["snli"]})) == {"training": ["snli"]}


def test_options_name_no_folders():
    config = {"embeddings": "/home/me/models/glove.txt", "training": ["snli", "./mine/pairs.csv"]}
    found = options(replace(plain(), set="breaking_nli", config=config))
    assert found == {"embeddings": "glove.txt", "training": ["snli", "pairs.csv"]}


def test_one_file_a_benchmark_as_the_clients_read_it():
    drawn = replace(swapped(seed=5), config={"examples": 5})
    files = eval_results.files([plain(), swapped(), drawn], "org")
    assert sorted(files) == [
        ".eval_results/unbag-plain-snli-test.yaml",
        ".eval_results/unbag-swapped-snli-test.yaml",
    ]
    [entry] = parse_eval_result_entries(yaml.safe_load(files[".eval_results/unbag-swapped-snli-test.yaml"]))
    assert (entry.dataset_id, entry.task_id) == ("org/swapped", "snli-test")
    assert entry.value == swapped().scores["beyond_words"]["score"].value
    assert entry.notes.startswith("beyond words; n = 60; 95 % interval")
    assert "; 0 is a guess or one answer for all; 1 a perfect reader" in entry.notes
    assert swapped().data["sha256"] in entry.notes


def test_the_index_is_added_to_and_ours_in_it_replaced():
    theirs = {
        "task": {"type": "text-classification"},
        "dataset": {"type": "glue", "name": "GLUE"},
        "metrics": [{"type": "accuracy", "value": "90 ± 1"}],
    }
    index = [{"name": "theirs", "results": [theirs]}]
    once = eval_results.merged(index, "ours", eval_results.model_index([plain(), swapped()], "org"))
    [entry] = once
    assert (entry["name"], entry["results"][0]) == ("theirs", theirs)
    assert [each["dataset"]["type"] for each in entry["results"]] == ["glue", "org/plain", "org/swapped"]
    again = eval_results.merged(once, "ours", eval_results.model_index([swapped(seed=5)], "org"))
    assert again[0]["results"][:2] == entry["results"][:2]
    assert again[0]["results"][2] != entry["results"][2]
    assert len(again[0]["results"]) == 3
    card = ModelCard(front_matter.with_entry("---\nlicense: mit\n---\n", "model-index", once))
    assert len(card.data.eval_results) == 1 + 2 + 5


@pytest.mark.parametrize("index", ["text", [{"name": "a"}], [{"name": "a", "results": [{}]}]])
def test_an_index_of_another_form_is_not_touched(index):
    with pytest.raises(ValueError, match="expected the model-index of the card to be as the Hub describes it"):
        eval_results.merged(index, "ours", eval_results.model_index([plain()], "org"))
