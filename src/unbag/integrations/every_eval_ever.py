"""Export of results as records of Every Eval Ever 0.3.0, the metadata format of the EvalEval Coalition.

    <folder>/data/unbag_<set>/<developer>/<model>/<uuid>.json

There is one record per model and challenge set. It contains all metrics of the set on each corpus. The file name is a
hash of the record, so that a repeated export writes the same files. Predictions of single examples are not exported.
"""

import hashlib
import json
import math
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from unbag import challenge_sets
from unbag.baselines.lexical.predictors import is_baseline
from unbag.challenge_sets.base import SCORE, MetricDefinition
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA
from unbag.evaluation.metrics import MetricValue, collect_metrics, describe_metrics
from unbag.hub.benchmarks import collect_published_options, find_benchmark, find_option_differences
from unbag.hub.cards import replace_paths_with_file_names
from unbag.hub.model_results import find_result_model_name
from unbag.utils.files import write_json

VERSION: Final = "0.3.0"
"""Version of the Every Eval Ever schema."""

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""Relationship between the evaluator and the model developer, with the values of the schema."""

_COMMON_METRICS: Final = ("accuracy", "auroc", "average_precision", "balanced_accuracy")
"""Metrics that other projects report under the same name. All other metrics get the set name as a prefix."""

_LOADED: Final = ("transformer", "causal")
"""Model types whose weights are loaded with transformers."""

_MODEL_FIELDS: Final = (
    *("kind", "revision", "weights", "recipe", "sha256", "dtype", "head", "threshold", "label_order", "max_length"),
    *("prompt", "num_fewshot", "form", "words", "label_probe", "label_probe_warning", "truncated_share", "n_abstained"),
    "unanswered",
)
"""Fields of a model record that determine or explain its metrics. Local paths and private URLs are excluded."""

_SAFE_ID: Final = re.compile(r"(?:\w(?:[\w.-]*\w)?/)+\w(?:[\w.-]*\w)?")


@dataclass(frozen=True)
class EvaluationAuthor:
    """Author of an evaluation."""

    organization: str = "unknown"  # person or organization that ran the evaluation
    relationship: Relationship = "other"  # to the developer of the model


def export_eee_records(
    results: Iterable[Result],
    folder: Path,
    *,
    timestamp: int,
    model: str | None = None,
    hub: str | None = None,
    evaluator: EvaluationAuthor = EvaluationAuthor(),
) -> list[str]:
    """Write one Every Eval Ever (EEE) record per model and challenge set. Returns the paths relative to the folder.

    `timestamp` is the time at which the results were written, in seconds since 1970. `model` is the id
    `developer/name` of the model, for results without a recorded id, such as those of a folder, a function or a
    predictions file. `hub` is the organization that published the challenge sets on the Hub (default: the source is the
    corpus).
    """
    groups: dict[tuple[str, str, str], list[Result]] = {}
    ids: dict[str, set[str]] = {}
    for result in results:
        if challenge_sets.find_challenge_set(result.set) is None:
            raise ValueError(f"RUN: expected results on installed sets, got {result.set!r}; install its package")
        model_id = _model_id(result, model)
        ids.setdefault(model_id, set()).add(str(result.model["name"]))
        version = json.dumps([result.model.get(name) for name in _MODEL_FIELDS[1:5]], default=str)
        groups.setdefault((model_id, version, result.set), []).append(result)
    if model is not None and len(names := sorted(ids.get(model, ()))) > 1:
        raise ValueError(f"--model: expected results of one model, got {', '.join(names)}; export each run separately")
    files = []
    for (model_id, _, _), of_group in groups.items():
        record = build_eee_record(of_group, model_id, timestamp=timestamp, hub=hub, evaluator=evaluator)
        if not record["evaluation_results"]:  # no example was scored
            continue
        developer, _, name = model_id.partition("/")
        digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).digest()
        # The format requires the file name to be a UUID of version 4. It comes from the content, so that a repeated
        # export writes the same file.
        file = f"{uuid.UUID(bytes=digest[:16], version=4)}.json"
        path = f"data/unbag_{of_group[0].set}/{developer}/{name.replace('/', '_')}/{file}"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_json(record, folder / path)
        files.append(path)
    return files


def build_eee_record(
    results: Sequence[Result],
    model_id: str,
    *,
    timestamp: int,
    hub: str | None = None,
    evaluator: EvaluationAuthor = EvaluationAuthor(),
) -> dict[str, Any]:
    """Build the JSON record of one model on one challenge set. For the parameters, see `export_eee_records`."""
    first = results[0]
    return {
        "schema_version": VERSION,
        "evaluation_id": f"unbag_{first.set}/{model_id}/{timestamp}",
        "evaluation_timestamp": str(timestamp),
        "retrieved_timestamp": str(timestamp),
        "source_metadata": {
            "source_name": "unbag",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator.organization,
            "evaluator_relationship": evaluator.relationship,
        },
        "eval_library": {
            "name": "unbag",
            "version": first.unbag_version,
            "additional_details": {name: value for name, value in first.environment.items() if name != "unbag"},
        },
        "model_info": _model_info(first, model_id),
        "evaluation_results": [entry for result in results for entry in _entries(result, hub)],
    }


def _model_id(result: Result, given: str | None) -> str:
    """Find the `developer/name` id of a result's model, since the format stores records by developer and model."""
    if is_baseline(result.model):
        return f"unbag/{result.model['name']}"
    recorded = find_result_model_name(result)
    found = given or recorded or ""
    if not _SAFE_ID.fullmatch(found):
        raise ValueError(
            f"--model: expected an id DEVELOPER/NAME for {replace_paths_with_file_names(result.model['name'])}, got "
            f"{found or 'none'!r}; pass the id with --model"
        )
    return found


def _model_info(result: Result, model_id: str) -> dict[str, Any]:
    about = result.model
    kind = about.get("kind")
    is_remote = "base_url" in about
    is_hub = kind in _LOADED and find_result_model_name(result) is not None
    # A record does not contain the provider of an endpoint or the origin of a predictions file.
    deployment = "unknown" if is_remote or kind == "file" else "self_deployed"
    info: dict[str, Any] = {
        "name": model_id.partition("/")[2],
        "id": model_id,
        "developer": model_id.partition("/")[0],
        "inference_platform": "HuggingFace" if is_hub else "unknown" if deployment == "unknown" else "local",
        "additional_details": {
            "deployment_type": deployment,
            "model_availability": "open_weights" if is_hub or is_baseline(about) else "unknown",
        }
        | {name: _text(about[name]) for name in _MODEL_FIELDS if about.get(name) is not None},
    }
    if kind in _LOADED:
        version = result.environment.get("transformers", "unknown")
        info["inference_engine"] = {"name": "transformers", "version": version}
    return info


def _entries(result: Result, hub: str | None) -> list[dict[str, Any]]:
    """Build one entry per metric of a result that has a value."""
    described = describe_metrics(result.set)
    # Descriptions in the report, by the identity of the estimate. The list keeps computed estimates alive, because
    # another estimate could reuse the identity of a deleted one.
    measures = list(challenge_sets.get_challenge_set(result.set).iter_set_metrics(result.scores))
    meanings = {id(estimate): f"{label}: {meaning}" for label, meaning, estimate in measures}
    source = _source_data(result, hub)
    generation = _generation_config(result.model)
    entries = []
    for number in collect_metrics(result).values():
        value, low, high, n = number.estimate
        if value is None:
            continue
        uncertainty: dict[str, Any] = {"num_samples": n}
        if low is not None and high is not None:
            uncertainty["confidence_interval"] = {"lower": low, "upper": high, "confidence_level": 0.95}
        entry = {
            "evaluation_result_id": f"{result.set}/{result.corpus}/{result.data['sha256'][:12]}/{number.name}",
            "evaluation_name": f"{result.set} ({replace_paths_with_file_names(result.corpus)})",
            "source_data": source,
            "metric_config": _metric_config(
                result.set, described[number.name], number, meanings.get(id(number.estimate))
            ),
            "score_details": {
                "score": value,
                "details": {"n_sources": str(number.sources)},
                "uncertainty": uncertainty,
            },
        }
        entries.append(entry | ({"generation_config": generation} if generation else {}))
    return entries


def _metric_config(set_name: str, metric: MetricDefinition, number: MetricValue, meaning: str | None) -> dict[str, Any]:
    question = challenge_sets.get_challenge_set(set_name).question
    is_common = number.name in _COMMON_METRICS
    # JSON has no infinite numbers.
    low, high = ({math.inf: "Infinity", -math.inf: "-Infinity"}.get(limit, limit) for limit in metric.limits)
    config = {
        "evaluation_description": question,
        "metric_id": number.name if is_common else f"unbag.{set_name}.{number.name}",
        "metric_name": metric.label,
        "metric_kind": number.name,
        "lower_is_better": not metric.higher_is_better,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }
    if metric.limits == (0.0, 1.0):
        config["metric_unit"] = "proportion"
    if metric is SCORE:
        meaning = "0 is the best of chance, a constant prediction, a bag of words and shuffled words; 1 is perfect"
    return config | ({"additional_details": {"meaning": meaning}} if meaning else {})


def _source_data(result: Result, hub: str | None) -> dict[str, Any]:
    """Describe the rows: the published set, or otherwise its corpus, or otherwise user-provided pairs."""
    data = result.data
    details = {
        "challenge_set": result.set,
        "corpus": replace_paths_with_file_names(data["name"]),
        "corpus_revision": data["revision"],
        "rows_sha256": data["sha256"],
        "options": json.dumps(collect_published_options(result), sort_keys=True, ensure_ascii=False),
    }
    name = f"{result.set} of {replace_paths_with_file_names(result.corpus)}"
    published = find_benchmark(result, hub) if hub and not find_option_differences(result) else None
    corpus = CORPORA.get(data["name"])
    is_corpus = corpus is not None and data["origin"].startswith(corpus.hub_id)
    if published is None and not is_corpus:
        return {"dataset_name": name, "source_type": "other", "additional_details": details}
    source: dict[str, Any] = {"dataset_name": name, "source_type": "hf_dataset"}
    if published is not None:
        source["hf_repo"] = published.repo
        details["config"] = published.config
    elif corpus is not None:
        source["hf_repo"] = corpus.hub_id
    if data["split"]:
        source["hf_split"] = data["split"]
    return source | {"additional_details": details}


def _generation_config(model: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the sampling parameters of a language model behind an endpoint. Empty for other models."""
    try:
        parameters = json.loads(model.get("parameters") or "{}")
    except (TypeError, ValueError):
        return {}
    if not isinstance(parameters, dict):
        return {}
    known = {name: parameters[name] for name in ("temperature", "top_p", "max_tokens") if name in parameters}
    others = {name: _text(value) for name, value in parameters.items() if name not in known}
    return {"generation_args": known, "additional_details": others} if parameters else {}


def _text(value: Any) -> str:
    value = replace_paths_with_file_names(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
