"""Tests of Every Eval Ever records: the required structure, the values of a run, and the datastore paths."""

import json
import re
from dataclasses import replace
from importlib.util import find_spec

import pytest

from tests.factories import build_result, write_run
from unbag import challenge_sets, cli
from unbag.challenge_sets import results
from unbag.evaluation.metrics import collect_metrics
from unbag.integrations.every_eval_ever import (
    build_eee_record,
    export_eee_records,
)

jsonschema = pytest.importorskip("jsonschema")  # not installed with the oldest packages
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


def _build_object_schema(required, optional=None, closed=False):
    """Build the schema of an object from the schemas of its required and optional fields."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | (optional or {}),
        "additionalProperties": not closed,
    }


TEXT, NUMBER, BOUND = {"type": "string"}, {"type": "number"}, {"type": ["number", "string"]}
TEXTS = {"type": "object", "additionalProperties": TEXT}
SOURCE = _build_object_schema(
    {"dataset_name": TEXT, "source_type": {"enum": ["hf_dataset", "other"]}},
    {"hf_repo": TEXT, "hf_split": TEXT, "additional_details": TEXTS},
)
METRIC = _build_object_schema(
    # Continuous scores require bounds, and every score here is continuous.
    {
        "lower_is_better": {"type": "boolean"},
        "score_type": {"const": "continuous"},
        "min_score": BOUND,
        "max_score": BOUND,
    },
    {"metric_id": TEXT, "metric_name": TEXT, "metric_kind": TEXT, "metric_unit": TEXT, "additional_details": TEXTS},
)
INTERVAL = _build_object_schema({"lower": NUMBER, "upper": NUMBER}, {"confidence_level": NUMBER})
SCORE = _build_object_schema(
    {"score": NUMBER},
    {
        "details": TEXTS,
        "uncertainty": _build_object_schema({}, {"confidence_interval": INTERVAL, "num_samples": {"type": "integer"}}),
    },
)
ENTRY = _build_object_schema(
    {"evaluation_name": TEXT, "source_data": SOURCE, "metric_config": METRIC, "score_details": SCORE}
)
MODEL_DETAILS = {
    **TEXTS,
    "required": ["deployment_type", "model_availability"],
    "properties": {
        "deployment_type": {"enum": ["self_deployed", "externally_managed", "unknown"]},
        "model_availability": {"enum": ["open_weights", "closed_weights", "unknown"]},
    },
}
RECORD = _build_object_schema(
    {
        "schema_version": {"const": "0.3.0"},
        "evaluation_id": TEXT,
        "retrieved_timestamp": TEXT,
        "source_metadata": _build_object_schema(
            {
                "source_type": {"const": "evaluation_run"},
                "source_organization_name": TEXT,
                "evaluator_relationship": {"enum": ["first_party", "third_party", "collaborative", "other"]},
            }
        ),
        "model_info": _build_object_schema(
            {"name": TEXT, "id": TEXT, "additional_details": MODEL_DETAILS},
            {"developer": TEXT, "inference_platform": TEXT},
        ),
        "eval_library": _build_object_schema({"name": TEXT, "version": TEXT}, {"additional_details": TEXTS}),
        "evaluation_results": {"type": "array", "items": ENTRY, "minItems": 1},
    },
    {"evaluation_timestamp": TEXT},
    closed=True,
)
"""The structure that version 0.3.0 requires, as far as our records use it."""


def _read(run):
    """Return the results of a run on two sets."""
    built = (build_result(set_name=name, data="pairs.jsonl") for name in ("plain", "swapped"))
    return [replace(each, model={"options": {}, **MODELS[run]}) for each in built]


def _export(folder, run, **options):
    files = export_eee_records(_read(run), folder, timestamp=TIME, **options)
    return {file: json.loads((folder / file).read_text(encoding="utf-8")) for file in files}


def _with_snli_origin(result):
    """Return the result with the origin of the pinned SNLI."""
    data = result.data | {"name": "snli", "split": "test", "origin": "stanfordnlp/snli (plain_text)"}
    return results.Result(**(vars(result) | {"data": data}))


@pytest.mark.parametrize("run", MODELS)
def test_records_of_each_model_kind_have_required_structure(run, tmp_path):
    records = _export(tmp_path, run, model="acme/model")
    assert records
    for file, record in records.items():
        assert PATH.fullmatch(file)
        jsonschema.validate(record, RECORD)
        # The datastore is searched by model id.
        assert file.split("/")[2:4] == record["model_info"]["id"].split("/")
        ids = [entry["evaluation_result_id"] for entry in record["evaluation_results"]]
        assert len(ids) == len(set(ids))
        if find_spec("every_eval_ever"):
            from every_eval_ever.validator.validation_core import validate_aggregate

            report = validate_aggregate(tmp_path / file, repo_path=file, run_semantic_checks=True)
            assert report.valid
            assert not report.warnings


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
    [result, *_] = _read("transformer")
    model = result.model | {"name": "acme/nli", "model": "acme/nli", "revision": "abc"}
    result = results.Result(**(vars(result) | {"model": model, "environment": {"unbag": "1", "transformers": "5.0"}}))
    about = build_eee_record([result], "acme/nli", timestamp=TIME)["model_info"]
    assert (about["name"], about["developer"], about["inference_platform"]) == ("nli", "acme", "HuggingFace")
    assert about["inference_engine"] == {"name": "transformers", "version": "5.0"}
    assert about["additional_details"]["model_availability"] == "open_weights"
    assert about["additional_details"]["revision"] == "abc"


def test_built_in_baselines_are_models_of_unbag(tmp_path):
    developers = {record["model_info"]["developer"] for record in _export(tmp_path, "words").values()}
    assert developers == {"unbag"}


def test_endpoint_parameters_are_generation_arguments(tmp_path):
    for record in _export(tmp_path, "endpoint", model="acme/tiny").values():
        assert record["model_info"]["additional_details"]["deployment_type"] == "unknown"
        for entry in record["evaluation_results"]:
            assert entry["generation_config"]["generation_args"] == {"temperature": 0, "max_tokens": 8}
        assert "base_url" not in json.dumps(record)


def test_source_is_published_set_corpus_or_own_pairs():
    result = next(each for each in _read("transformer") if each.set == "plain")

    def source(result, hub=None):
        return build_eee_record([result], "a/b", timestamp=TIME, hub=hub)["evaluation_results"][0]["source_data"]

    assert source(result, "org")["source_type"] == "other"
    snli = _with_snli_origin(result)
    assert (source(snli)["hf_repo"], source(snli)["hf_split"]) == ("stanfordnlp/snli", "test")
    assert source(snli, "org")["hf_repo"] == "org/plain"


def test_results_on_two_corpora_form_one_record(tmp_path):
    result = next(each for each in _read("transformer") if each.set == "plain")
    [file] = export_eee_records([result, _with_snli_origin(result)], tmp_path, timestamp=TIME, model="acme/model")
    entries = json.loads((tmp_path / file).read_text())["evaluation_results"]
    assert {entry["evaluation_name"] for entry in entries} == {"plain (pairs.jsonl)", "plain (snli test)"}


def test_model_without_developer_requires_id(tmp_path):
    with pytest.raises(ValueError, match=r"--model: expected an id DEVELOPER/NAME for answers, got 'answers'"):
        _export(tmp_path, "function")
    with pytest.raises(ValueError, match="--model: expected an id DEVELOPER/NAME for transformer, got 'none'"):
        _export(tmp_path, "transformer")


@pytest.mark.parametrize("model", ["../x", "a/../b", "a/b:c", "flat"])
def test_invalid_datastore_id_is_rejected(model, tmp_path):
    with pytest.raises(ValueError, match="--model: expected an id"):
        _export(tmp_path, "function", model=model)
    assert not list(tmp_path.iterdir())


def test_one_id_for_several_models_is_rejected(tmp_path):
    both = [*_read("function"), *_read("transformer")]
    with pytest.raises(ValueError, match="--model: expected results of one model"):
        export_eee_records(both, tmp_path, timestamp=TIME, model="acme/model")
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
