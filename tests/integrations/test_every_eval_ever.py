"""Tests of Every Eval Ever records: the required structure, the values of a run, and the datastore paths."""

import json
import re
from dataclasses import replace
from typing import Literal

import pytest
from pydantic import TypeAdapter

from tests.factories import SNLI, build_result, write_run
from unbag import challenge_sets, cli
from unbag.evaluation.metrics import collect_metrics
from unbag.integrations.every_eval_ever import build_eee_record, export_eee_records

_FOLDER = {"model": "folder", "revision": "sha256:1", "dtype": "float32", "max_length": "64"}
_SENT = {"max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 20}
MODELS = {
    "function": {"name": "answers", "sha256": "2"},
    "words": {"name": "lexical", "kind": "lexical", "recipe": "3"},
    "transformer": {"name": "./transformer", "kind": "transformer", **_FOLDER},
    "causal": {"name": "causal:./causal", "kind": "causal", "prompt": "sha256:4", "num_fewshot": "0", **_FOLDER},
    "endpoint": {"name": "endpoint:tiny", "kind": "endpoint", "model": "tiny", "base_url": "http://localhost"}
    | {"parameters": json.dumps(_SENT)},
    "file": {"name": "probabilities.jsonl", "kind": "file", "sha256": "5"},
}
"""The model of a run, by its kind."""
TIME = 1_700_000_000
PATH = re.compile(
    r"data/unbag_[a-z_]+/[\w.-]+/[\w.-]+/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
)


TEXTS = dict[str, str]
ENTRY = {
    "evaluation_name": str,
    "source_data": {
        "dataset_name": str,
        "source_type": Literal["hf_dataset", "other"],
        "additional_details": TEXTS,
    },
    # Continuous scores require bounds, and every score here is continuous.
    "metric_config": {
        "lower_is_better": bool,
        "score_type": Literal["continuous"],
        "min_score": float | str,
        "max_score": float | str,
    },
    "score_details": {"score": float, "details": TEXTS, "uncertainty": {"num_samples": int}},
}
RECORD = {
    "schema_version": Literal["0.3.0"],
    "evaluation_id": str,
    "evaluation_timestamp": str,
    "retrieved_timestamp": str,
    "source_metadata": {
        "source_name": str,
        "source_type": Literal["evaluation_run"],
        "source_organization_name": str,
        "evaluator_relationship": Literal["first_party", "third_party", "collaborative", "other"],
    },
    "model_info": {"name": str, "id": str, "developer": str, "inference_platform": str, "additional_details": TEXTS},
    "eval_library": {"name": str, "version": str, "additional_details": TEXTS},
    "evaluation_results": list,
}
MODEL_DETAILS = {
    "deployment_type": Literal["self_deployed", "externally_managed", "unknown"],
    "model_availability": Literal["open_weights", "closed_weights", "unknown"],
}
"""The structure that version 0.3.0 requires, as far as our records use it."""


def check_structure(found, required):
    """Check the types of all required fields of an object."""
    for name, kind in required.items():
        if isinstance(kind, dict):
            check_structure(found[name], kind)
        else:
            TypeAdapter(kind).validate_python(found[name], strict=True)


def _read(run):
    """Return the results of a run on two sets."""
    built = (build_result(set_name=name, data="pairs.jsonl") for name in ("plain", "swapped"))
    return [replace(each, model={"options": {}, **MODELS[run]}) for each in built]


def _export(folder, run, **options):
    files = export_eee_records(_read(run), folder, timestamp=TIME, **options)
    return {file: json.loads((folder / file).read_text(encoding="utf-8")) for file in files}


@pytest.mark.parametrize("run", MODELS)
def test_records_of_each_model_kind_have_required_structure(run, tmp_path):
    records = _export(tmp_path, run, model="acme/model")
    assert records
    for file, record in records.items():
        assert PATH.fullmatch(file)
        assert record.keys() == RECORD.keys()
        check_structure(record, RECORD)
        check_structure(record["model_info"]["additional_details"], MODEL_DETAILS)
        for entry in record["evaluation_results"]:
            check_structure(entry, ENTRY)
        # The datastore is searched by model id.
        assert file.split("/")[2:4] == record["model_info"]["id"].split("/")
        ids = [entry["evaluation_result_id"] for entry in record["evaluation_results"]]
        assert len(ids) == len(set(ids)) > 0


def test_record_contains_every_metric_with_interval_and_direction(tmp_path):
    records = _export(tmp_path, "transformer", model="acme/model")
    by_set = {record["evaluation_id"].split("/")[0].removeprefix("unbag_"): record for record in records.values()}
    assert set(by_set) == {result.set for result in _read("transformer")}
    for result in _read("transformer"):
        numbers = {name: each for name, each in collect_metrics(result).items() if each.estimate.value is not None}
        entries = {
            entry["evaluation_result_id"].rsplit("/", 1)[1]: entry for entry in by_set[result.set]["evaluation_results"]
        }
        assert entries.keys() == numbers.keys()
        for name, number in numbers.items():
            metric, score = entries[name]["metric_config"], entries[name]["score_details"]
            value, low, high, n = number.estimate
            assert (score["score"], score["uncertainty"]["num_samples"]) == (value, n)
            interval = score["uncertainty"].get("confidence_interval", {})
            assert (interval.get("lower"), interval.get("upper")) == (low, high)
            assert metric["lower_is_better"] is not number.higher_is_better
            assert metric["evaluation_description"] == challenge_sets.get_challenge_set(result.set).question
            assert float(metric["min_score"]) <= value <= float(metric["max_score"])


def test_hub_model_keeps_id_and_names_platform():
    [result, _] = _read("transformer")
    model = result.model | {"name": "acme/nli", "model": "acme/nli", "revision": "abc"}
    result = replace(result, model=model, environment={"unbag": "1", "transformers": "5.0"})
    about = build_eee_record([result], "acme/nli", timestamp=TIME)["model_info"]
    assert (about["name"], about["developer"], about["inference_platform"]) == ("nli", "acme", "HuggingFace")
    assert about["inference_engine"] == {"name": "transformers", "version": "5.0"}
    assert about["additional_details"]["model_availability"] == "open_weights"
    assert about["additional_details"]["revision"] == "abc"


def test_baseline_is_model_of_unbag_and_endpoint_has_generation_arguments(tmp_path):
    assert {record["model_info"]["developer"] for record in _export(tmp_path, "words").values()} == {"unbag"}
    for record in _export(tmp_path, "endpoint", model="acme/tiny").values():
        assert record["model_info"]["additional_details"]["deployment_type"] == "unknown"
        for entry in record["evaluation_results"]:
            assert entry["generation_config"]["generation_args"] == {"temperature": 0, "max_tokens": 8}
        assert "base_url" not in json.dumps(record)


def test_source_is_published_set_corpus_or_own_pairs(tmp_path):
    [result, _] = _read("transformer")
    snli = replace(result, data=SNLI)

    def source(result, hub=None):
        return build_eee_record([result], "a/b", timestamp=TIME, hub=hub)["evaluation_results"][0]["source_data"]

    assert source(result, "org")["source_type"] == "other"
    assert (source(snli)["hf_repo"], source(snli)["hf_split"]) == ("stanfordnlp/snli", "test")
    assert source(snli, "org")["hf_repo"] == "org/plain"
    [file] = export_eee_records([result, snli], tmp_path, timestamp=TIME, model="acme/model")
    entries = json.loads((tmp_path / file).read_text())["evaluation_results"]
    assert {entry["evaluation_name"] for entry in entries} == {"plain (pairs.jsonl)", "plain (snli test)"}


@pytest.mark.parametrize(
    ("runs", "model", "message"),
    [
        (["function"], None, "an id DEVELOPER/NAME for answers, got 'answers'"),
        (["transformer"], None, "an id DEVELOPER/NAME for transformer, got 'none'"),
        *((["function"], model, "an id") for model in ("../x", "a/../b", "a/b:c", "flat")),
        (["function", "transformer"], "acme/model", "results of one model"),
    ],
)
def test_unclear_model_id_is_rejected(runs, model, message, tmp_path):
    found = [result for run in runs for result in _read(run)]
    with pytest.raises(ValueError, match=f"--model: expected {message}"):
        export_eee_records(found, tmp_path, timestamp=TIME, model=model)
    assert not list(tmp_path.iterdir())


def test_export_eee_writes_records_with_evaluator(tmp_path, capsys):
    run = write_run(tmp_path / "run", *_read("function"))
    command = ["export", "eee", str(run), "--output-dir", str(tmp_path), "--model", "acme/model"]
    assert cli.run(cli.app, [*command, "--evaluator", "Acme", "--relationship", "first_party", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert len(files) == len(_read("function"))
    source = json.loads((tmp_path / files[0]).read_text())["source_metadata"]
    assert (source["source_organization_name"], source["evaluator_relationship"]) == ("Acme", "first_party")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eee"], "RUN: expected a results.json file"),
        (["lm-eval", "runs"], "RUN: not supported by the format lm-eval"),
        (["eee", "runs", "--hub", "org/name"], "--hub: expected an organization"),
    ],
)
def test_export_with_arguments_of_other_kind_names_them(arguments, message, tmp_path, capsys):
    assert cli.run(cli.app, ["export", *arguments, "--output-dir", str(tmp_path / "out")]) != 0
    assert message in " ".join(capsys.readouterr().err.split())


def test_metric_of_pairs_with_common_documents_has_sources_of_documents():
    result = build_result(rows=120)
    assert collect_metrics(result)["accuracy"].sources == 120
    result.data["documents"] = 20
    number = collect_metrics(result)["accuracy"]
    assert (number.estimate.n, number.sources) == (120, 20)
