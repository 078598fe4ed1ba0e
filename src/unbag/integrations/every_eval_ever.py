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
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from unbag import challenge_sets
from unbag.baselines.lexical.predictors import is_baseline
from unbag.challenge_sets.base import SCORE
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA
from unbag.evaluation.metrics import collect_metrics, describe_metrics
from unbag.hub.benchmarks import collect_published_options, find_benchmark, find_option_differences
from unbag.hub.cards import replace_paths_with_file_names
from unbag.hub.eval_results import find_result_model_name
from unbag.utils.files import write_json

VERSION: Final = "0.3.0"
"""Version of the Every Eval Ever schema."""

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


def export_eee_records(
    results: Iterable[Result],
    folder: Path,
    *,
    timestamp: int,
    model: str | None = None,
    hub: str | None = None,
    evaluator: str = "unknown",
    relationship: str = "other",
) -> list[str]:
    """Write one Every Eval Ever (EEE) record per model and challenge set. Returns the paths relative to the folder.

    `timestamp` is the time at which the results were written, in seconds since 1970. `model` is the id
    `developer/name` of the model, for results without a recorded id, such as those of a folder, a function or a
    predictions file. For the other parameters, see `build_eee_record`.
    """
    groups: dict[tuple[str, str, str], list[Result]] = {}
    ids: dict[str, set[str]] = {}
    for result in results:
        if challenge_sets.find_challenge_set(result.set) is None:
            raise ValueError(f"RUN: expected results on installed sets, got {result.set!r}; install its package")
        # The format stores records by developer and model.
        if is_baseline(result.model):
            model_id = f"unbag/{result.model['name']}"
        elif not _SAFE_ID.fullmatch(model_id := model or find_result_model_name(result) or ""):
            raise ValueError(
                "--model: expected an id DEVELOPER/NAME for "
                f"{replace_paths_with_file_names(result.model['name'])}, got {model_id or 'none'!r}; pass the id with "
                "--model"
            )
        ids.setdefault(model_id, set()).add(str(result.model["name"]))
        version = json.dumps([result.model.get(name) for name in _MODEL_FIELDS[1:5]], default=str)
        groups.setdefault((model_id, version, result.set), []).append(result)
    if model is not None and len(names := sorted(ids.get(model, ()))) > 1:
        raise ValueError(f"--model: expected results of one model, got {', '.join(names)}; export each run separately")
    files = []
    for (model_id, _, _), of_group in groups.items():
        record = build_eee_record(
            of_group, model_id, timestamp=timestamp, hub=hub, evaluator=evaluator, relationship=relationship
        )
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
    evaluator: str = "unknown",
    relationship: str = "other",
) -> dict[str, Any]:
    """Build the JSON record of one model on one challenge set.

    `hub` is the organization that published the challenge sets on the Hub (default: the source is the corpus).
    `evaluator` is the person or organization that ran the evaluation, and `relationship` that to the developer of the
    model: first_party, third_party, collaborative or other.
    """
    first = results[0]
    return {
        "schema_version": VERSION,
        "evaluation_id": f"unbag_{first.set}/{model_id}/{timestamp}",
        "evaluation_timestamp": str(timestamp),
        "retrieved_timestamp": str(timestamp),
        "source_metadata": {
            "source_name": "unbag",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator,
            "evaluator_relationship": relationship,
        },
        "eval_library": {
            "name": "unbag",
            "version": first.unbag_version,
            "additional_details": {name: value for name, value in first.environment.items() if name != "unbag"},
        },
        "model_info": _model_info(first, model_id),
        "evaluation_results": [entry for result in results for entry in _entries(result, hub)],
    }


def _model_info(result: Result, model_id: str) -> dict[str, Any]:
    about = result.model
    kind = about.get("kind")
    is_hub = kind in _LOADED and find_result_model_name(result) is not None
    # A record does not contain the provider of an endpoint or the origin of a predictions file.
    deployment = "unknown" if "base_url" in about or kind == "file" else "self_deployed"
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
    challenge_set, described = challenge_sets.get_challenge_set(result.set), describe_metrics(result.set)
    # Descriptions in the report, by the identity of the estimate. The list keeps computed estimates alive, because
    # another estimate could reuse the identity of a deleted one.
    measures = list(challenge_set.iter_set_metrics(result.scores))
    meanings = {id(estimate): f"{label}: {meaning}" for label, meaning, estimate in measures}
    source, generation = _source_data(result, hub), {}
    # The sampling parameters of a language model behind an endpoint.
    if parameters := json.loads(result.model.get("parameters") or "{}"):
        known = {name: parameters[name] for name in ("temperature", "top_p", "max_tokens") if name in parameters}
        others = {name: _text(value) for name, value in parameters.items() if name not in known}
        generation["generation_config"] = {"generation_args": known, "additional_details": others}
    entries = []
    for number in collect_metrics(result).values():
        value, low, high, n = number.estimate
        if value is None:
            continue
        uncertainty: dict[str, Any] = {"num_samples": n}
        if low is not None and high is not None:
            uncertainty["confidence_interval"] = {"lower": low, "upper": high, "confidence_level": 0.95}
        metric, is_common = described[number.name], number.name in _COMMON_METRICS
        # JSON has no infinite numbers.
        limits = [{math.inf: "Infinity", -math.inf: "-Infinity"}.get(limit, limit) for limit in metric.limits]
        config = {
            "evaluation_description": challenge_set.question,
            "metric_id": number.name if is_common else f"unbag.{result.set}.{number.name}",
            "metric_name": metric.label,
            "metric_kind": number.name,
            "lower_is_better": not metric.higher_is_better,
            "score_type": "continuous",
            "min_score": limits[0],
            "max_score": limits[1],
        }
        if metric.limits == (0.0, 1.0):
            config["metric_unit"] = "proportion"
        if meaning := _SCORE_MEANING if metric is SCORE else meanings.get(id(number.estimate)):
            config["additional_details"] = {"meaning": meaning}
        entry = {
            "evaluation_result_id": f"{result.set}/{result.corpus}/{result.data['sha256'][:12]}/{number.name}",
            "evaluation_name": f"{result.set} ({replace_paths_with_file_names(result.corpus)})",
            "source_data": source,
            "metric_config": config,
            "score_details": {
                "score": value,
                "details": {"n_sources": str(number.sources)},
                "uncertainty": uncertainty,
            },
        }
        entries.append(entry | generation)
    return entries


_SCORE_MEANING: Final = (
    "0 is the best of chance, a constant prediction, a bag of words and shuffled words; 1 is perfect"
)


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
    source = {"dataset_name": f"{result.set} of {replace_paths_with_file_names(result.corpus)}", "source_type": "other"}
    published = find_benchmark(result, hub) if hub and not find_option_differences(result) else None
    corpus = CORPORA.get(data["name"])
    if published is not None:
        source |= {"source_type": "hf_dataset", "hf_repo": published.repo}
        details["config"] = published.config
    elif corpus is not None and data["origin"].startswith(corpus.hub_id):
        source |= {"source_type": "hf_dataset", "hf_repo": corpus.hub_id}
    if "hf_repo" in source and data["split"]:
        source["hf_split"] = data["split"]
    return source | {"additional_details": details}


def _text(value: Any) -> str:
    value = replace_paths_with_file_names(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
