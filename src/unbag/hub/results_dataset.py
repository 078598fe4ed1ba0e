"""Results dataset: one row per model, challenge set, config and metric. Concurrent additions are merged."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE
from unbag.challenge_sets.results import Result
from unbag.data import parquet
from unbag.hub import cards
from unbag.hub.benchmarks import Benchmark, collect_published_options, find_benchmark
from unbag.hub.eval_results import find_result_model_name, is_standard_head, select_model_results
from unbag.hub.push import HubUpload

NAME: Final = "unbag-results"
FILE: Final = "data/train-00000-of-00001.parquet"

_COLUMNS: Final[Mapping[str, tuple[pa.DataType, str]]] = {
    "model": (pa.string(), "Hub id, or a built-in baseline: `lexical`, `hypothesis-only`, `majority`"),
    "model_revision": (pa.string(), "commit, or `sha256:` and a hash of the model's files"),
    "head": (
        pa.string(),
        "`plain`; `residual` for the residual head of a HEX model; `threshold …` for a threshold of entailment",
    ),
    "dtype": (pa.string(), "data type of the model's computation"),
    "set": (pa.string(), "challenge set"),
    "config": (pa.string(), "config of the set: corpus, split, mode"),
    "options": (pa.string(), "options of the set as JSON, with `max_examples` for a sample of the examples"),
    "data_revision": (pa.string(), "commit of the corpus, or sha256 of the file"),
    "data_sha256": (pa.string(), "sha256 of the evaluated rows; equal if two models were evaluated on the same rows"),
    "metric": (pa.string(), "id of the metric"),
    "metric_name": (pa.string(), "display name of the metric"),
    "value": (pa.float64(), "value of the metric"),
    "low": (pa.float64(), "lower end of the 95 % interval; none for values derived from other metrics"),
    "high": (pa.float64(), "upper end of the 95 % interval"),
    "n": (pa.int64(), "number of examples behind the value"),
    "higher_is_better": (pa.bool_(), "whether higher values are better"),
    "is_score": (pa.bool_(), "whether the metric is the set's score on the leaderboard"),
    "unbag_version": (pa.string(), "version of unbag that computed the value"),
}
SCHEMA: Final = pa.schema([(name, kind) for name, (kind, _) in _COLUMNS.items()])
KEY: Final = (
    *("model", "model_revision", "head", "dtype"),
    *("set", "config", "options", "data_revision", "data_sha256", "metric"),
)
"""Columns that form the key of a row. A new row replaces the existing row with the same key."""

_CONFIGS: Final = [{"config_name": "default", "data_files": [{"split": "train", "path": FILE}]}]


def build_results_dataset_upload(repo: str, results: Sequence[Result], *, model: str | None = None) -> HubUpload:
    """Build the files that add results to a results dataset. A missing dataset is created.

    Results on user-provided pairs are skipped, as they are not comparable. `model` is the Hub id of the model that was
    evaluated from a folder. Its files must be equal to those of the folder.
    """
    added = build_result_rows(results, model=model)
    if not added:
        raise ValueError(
            "expected results on a published challenge set, got only results on user-provided pairs; remove --data"
        )
    return HubUpload(
        repo,
        "dataset",
        {"README.md": partial(_merge_card, repo), FILE: partial(merge_result_rows, added)},
        "Add results",
    )


def build_result_rows(results: Iterable[Result], *, model: str | None = None) -> list[dict[str, Any]]:
    """Convert results to rows of the results dataset. For `model`, see `build_results_dataset_upload`."""
    published = [(result, target) for result in results if (target := find_benchmark(result, "")) is not None]
    if folders := [result for result, _ in published if find_result_model_name(result) is None]:
        if model is None:
            raise ValueError(
                f"--model: expected the Hub id of the model in the folder {folders[0].model['name']}, got none; "
                "publish the model and pass its Hub id with --model"
            )
        select_model_results(model, folders)  # raises if the files of the model on the Hub differ
    return [row for result, target in published for row in _list_rows(result, target, model)]


def _list_rows(result: Result, target: Benchmark, model: str | None) -> list[dict[str, Any]]:
    about, described = result.model, challenge_sets.get_challenge_set(result.set)
    versions = (about[name] for name in ("revision", "weights", "recipe", "sha256") if about.get(name))
    head = "plain" if is_standard_head(result) else "residual"
    shared = {
        "model": find_result_model_name(result) or model,
        "model_revision": next(versions, ""),
        "head": f"threshold {about['threshold']}" if about.get("threshold") else head,
        "dtype": about.get("dtype", ""),
        "set": result.set,
        "config": target.config,
        "options": json.dumps(collect_published_options(result), sort_keys=True, ensure_ascii=False),
        "data_revision": result.data["revision"],
        "data_sha256": result.data["sha256"],
        "unbag_version": result.unbag_version,
    }
    return [
        shared
        | estimate._asdict()
        | {
            "metric": metric.name,
            "metric_name": metric.label,
            "higher_is_better": metric.higher_is_better,
            "is_score": metric is SCORE,
        }
        for metric, estimate in described.list_metric_values(result.scores, "quoted")
    ]


def merge_result_rows(new_rows: Iterable[Mapping[str, Any]], existing_file: bytes | None) -> bytes:
    """Merge new rows into the existing Parquet file, and sort all rows by the columns in `KEY`.

    Returns `existing_file` if no row changes.
    """
    old: dict[tuple[str, ...], Mapping[str, Any]] = {}
    if existing_file is not None:
        # The file may come from other people, and a small Parquet file can unpack to any size.
        parquet.validate_unpacked_size(io.BytesIO(existing_file), FILE)
        table = pq.read_table(io.BytesIO(existing_file))
        if table.schema.names != SCHEMA.names:
            raise ValueError(
                f"{FILE}: expected the columns {', '.join(SCHEMA.names)}, got {', '.join(table.schema.names)}; check "
                "that the repository is a results dataset"
            )
        old = _index_rows(table.to_pylist())
    new = old | _index_rows(new_rows)
    # Another version of pyarrow may write other bytes for equal rows, which would be a commit without a change.
    if existing_file is not None and new == old:
        return existing_file
    # The order of the rows does not depend on the order of the additions.
    table = pa.Table.from_pylist([new[key] for key in sorted(new)], schema=SCHEMA)
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _index_rows(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], Mapping[str, Any]]:
    return {tuple(row[name] for name in KEY): row for row in rows}


def _merge_card(repo: str, existing: bytes | None) -> bytes:
    """Build the card. An existing card gets only a missing `configs` entry, because people edit it."""
    if existing is not None:
        has_configs = bool(cards.split_card(existing)[0].get("configs"))
        return existing if has_configs else cards.set_metadata_entry(existing.decode(), "configs", _CONFIGS).encode()
    columns = [[f"`{name}`", meaning] for name, (_, meaning) in _COLUMNS.items()]
    about = cards.describe_package()
    return cards.render_card("results_dataset.md", repo=repo, columns=columns, file=FILE, about=about).encode()
