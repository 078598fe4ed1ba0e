"""Tests of results in model repositories (a score per benchmark, the `model-index` of the card) and in a dataset."""

import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import ModelCard

from tests.factories import SNLI, build_model_record, build_plain_result, build_swapped_result
from unbag.hub import cards, eval_results
from unbag.hub.benchmarks import (
    Benchmark,
    PublishedTask,
    collect_published_options,
    find_benchmark,
    find_option_differences,
    merge_tasks,
)
from unbag.hub.eval_results import ResultContext
from unbag.hub.results_dataset import FILE, SCHEMA, build_result_rows, build_results_dataset_upload, merge_result_rows


@pytest.mark.parametrize(
    ("name", "config", "data", "expected"),
    [
        ("permuted", {"mode": "both"}, {"name": "mnli", "split": "validation_matched"}, "mnli-validation_matched"),
        ("permuted", {"mode": "clumped_25"}, {}, "snli-test-clumped_25"),
        ("resnli", {}, {"split": "train+validation+test"}, "snli"),
        ("breaking_nli", {}, {"name": "official", "split": "", "origin": "an address"}, "official"),
        ("sicck", {"space": "seven_way"}, {"name": "official", "split": ""}, "official-seven_way"),
        ("plain", {}, {"name": "pairs.csv", "split": "", "origin": "pairs.csv"}, None),
        # has the name of the corpus, but a different origin
        ("plain", {}, {"origin": "somebody/else (default)"}, None),
    ],
)
def test_published_config_name_of_result(name, config, data, expected):
    origins = {"mnli": "nyu-mll/multi_nli (default)"}
    data = {**SNLI, "origin": origins.get(data.get("name"), SNLI["origin"]), **data}
    result = replace(build_plain_result(), set=name, config=config, data=data)
    assert find_benchmark(result, "org") == (Benchmark(f"org/{name}", expected) if expected else None)


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("permuted", {}, {}),
        ("permuted", {"mode": "hypothesis"}, {}),  # a separate config
        ("permuted", {"q": 10}, {"q": 10}),
        ("permuted", {"max_examples": 50, "sample_seed": 13}, {"max_examples": 50}),
        ("cs_lambda", {"train_data": ["snli"]}, {"train_data": ["snli"]}),
    ],
)
def test_find_deviations_lists_changed_options(name, config, expected):
    default = {"mode": "both", "q": 100, "seed": 13} if name == "permuted" else {}
    result = replace(build_plain_result(), set=name, config={**default, **config})
    assert find_option_differences(result) == expected


def test_published_options_contain_no_folders():
    config = {"embeddings": "/home/me/models/glove.txt", "train_data": ["snli", "./mine/pairs.csv"]}
    found = collect_published_options(replace(build_plain_result(), set="breaking_nli", config=config))
    assert found == {"embeddings": "glove.txt", "train_data": ["snli", "pairs.csv"]}


def _build_context(sha256):
    return ResultContext({Benchmark("org/swapped", "snli-test"): PublishedTask("c0" * 20, sha256)}, "2026-01-31")


def test_build_eval_results_without_matching_benchmark_warns_and_skips(caplog):
    assert eval_results.build_eval_results([build_plain_result()], "org", _build_context(None)) == {}
    assert "org/plain has no benchmark task snli-test on the Hub; publish the set first" in caplog.text
    assert eval_results.build_eval_results([build_swapped_result()], "org", _build_context("7" * 64)) == {}
    assert "the rows of snli-test in org/swapped (sha256 77777777…) differ from the evaluated rows" in caplog.text


def test_merge_tasks_adds_one_task_per_config():
    once = merge_tasks(None, "swapped", {"snli-test": "test"})
    read = yaml.safe_load(once)
    assert read["tasks"] == [{"id": "snli-test", "config": "snli-test", "split": "test"}]
    assert (read["evaluation_framework"], bool(read["name"]), bool(read["description"])) == ("unbag", True, True)
    assert merge_tasks(once, "swapped", {"snli-test": "test"}) == once
    theirs = once.replace(b"evaluation_framework: unbag", b"evaluation_framework: inspect-ai") + b"more: 1\n"
    more = yaml.safe_load(merge_tasks(theirs, "swapped", {"mnli": "data"}))
    assert [task["id"] for task in more["tasks"]] == ["snli-test", "mnli"]
    assert (more["evaluation_framework"], more["more"]) == ("inspect-ai", 1)


@pytest.mark.parametrize("content", [b"[", b"- a", b"tasks: [1]", b"tasks: [{config: a}]"])
def test_merge_tasks_with_malformed_file_raises(content):
    with pytest.raises(ValueError, match=r"eval.yaml on the Hub: expected a valid file.*; correct or delete"):
        merge_tasks(content, "swapped", {})


def test_merge_model_index_replaces_only_unbag_entries():
    theirs = {
        "task": {"type": "text-classification"},
        "dataset": {"type": "glue", "name": "GLUE"},
        "metrics": [{"type": "accuracy", "value": "90 ± 1"}],
    }
    index = [{"name": "theirs", "results": [theirs]}]
    once = eval_results.merge_model_index(
        index, "ours", eval_results.build_model_index([build_plain_result(), build_swapped_result()], "org")
    )
    [entry] = once
    assert (entry["name"], entry["results"][0]) == ("theirs", theirs)
    assert [each["dataset"]["type"] for each in entry["results"]] == ["glue", "org/plain", "org/swapped"]
    again = eval_results.merge_model_index(
        once, "ours", eval_results.build_model_index([build_swapped_result(seed=5)], "org")
    )
    assert again[0]["results"][:2] == entry["results"][:2]
    assert again[0]["results"][2] != entry["results"][2]
    assert len(again[0]["results"]) == 3
    card = ModelCard(cards.set_metadata_entry("---\nlicense: mit\n---\n", "model-index", once))
    assert len(card.data.eval_results) == 1 + 2 + 5


@pytest.mark.parametrize("index", ["text", [{"name": "a"}], [{"name": "a", "results": [{}]}]])
def test_merge_model_index_with_malformed_index_raises(index):
    with pytest.raises(ValueError, match="model-index of the card: expected the format documented by the Hub"):
        eval_results.merge_model_index(index, "ours", eval_results.build_model_index([build_plain_result()], "org"))


def test_merge_replaces_rows_with_same_key_in_any_order_of_publishers():
    ours = build_result_rows([build_plain_result(), build_swapped_result()])
    theirs = build_result_rows([build_plain_result(build_model_record("other/model"))])
    both = merge_result_rows(theirs, merge_result_rows(ours, None))
    assert both == merge_result_rows(ours, merge_result_rows(theirs, None))
    assert merge_result_rows(ours, both) is both
    changed = build_plain_result(seed=2)
    assert changed.scores["accuracy"] != build_plain_result().scores["accuracy"]
    rows = pq.read_table(io.BytesIO(merge_result_rows(build_result_rows([changed]), both))).to_pylist()
    assert len(rows) == 9
    assert changed.scores["accuracy"].value in [row["value"] for row in rows if row["model"] == "org/model"]


def test_merge_result_rows_with_other_columns_raises():
    file = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), file)
    with pytest.raises(ValueError, match="got a; check that the repository is a results dataset"):
        merge_result_rows(build_result_rows([build_plain_result()]), file.getvalue())


def test_results_publication_without_published_results_raises():
    own = replace(build_plain_result(), data={**SNLI, "name": "pairs.csv", "origin": "pairs.csv"})
    with pytest.raises(ValueError, match="got only results on user-provided pairs"):
        build_results_dataset_upload("org/results", [own])
    local = build_plain_result(build_model_record("runs/a", "sha256:0", model="folder"))
    with pytest.raises(ValueError, match=r"expected the Hub id of the model in the folder .*; publish the model and"):
        build_results_dataset_upload("org/results", [local])


def test_existing_card_gets_only_configs_entry():
    card = build_results_dataset_upload("org/results", [build_plain_result()]).files["README.md"]
    fresh = card(None).decode()
    assert 'load_dataset("org/results", split="train")' in fresh
    assert all(f"`{name}`" in fresh for name in SCHEMA.names)
    assert card(fresh.encode()) == fresh.encode()
    told = card(b"---\nlicense: mit\n---\nOurs\n").decode()
    assert told.startswith("---\nlicense: mit\nconfigs:\n")
    assert told.endswith("---\nOurs\n")
    configs, expected = (cards.split_card(each.encode())[0]["configs"] for each in (told, fresh))
    assert configs == expected
    assert configs[0]["data_files"][0]["path"] == FILE
