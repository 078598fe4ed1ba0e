"""A data set of results: one row a model, challenge set, config and metric. Many may add to it at the same time."""

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
from unbag.hub.benchmarks import published_config_name, published_options
from unbag.hub.cards import describe_package, split_card
from unbag.hub.ownership import is_own_head, result_model_name, select_model_results
from unbag.hub.push import Publication

NAME: Final = "unbag-results"
FILE: Final = "data/train-00000-of-00001.parquet"

_COLUMNS: Final[Mapping[str, tuple[pa.DataType, str]]] = {
    "model": (pa.string(), "Hub id; or a built-in baseline: `lexical`, `hypothesis-only`, `majority`"),
    "model_revision": (pa.string(), "commit, or `sha256:` and a hash of the model's files"),
    "head": (
        pa.string(),
        "`plain`; of a HEX model `residual`: less what the words explain; of one output `threshold …`",
    ),
    "dtype": (pa.string(), "what the model computed in"),
    "set": (pa.string(), "the challenge set"),
    "config": (pa.string(), "its config: corpus, split, mode"),
    "options": (pa.string(), "the set's options as JSON; `max_examples`, where examples were drawn"),
    "data_revision": (pa.string(), "commit of the corpus, or sha256 of the file"),
    "data_sha256": (pa.string(), "of the rows that were asked: equal where two models answered the same"),
    "metric": (pa.string(), "the metric's name"),
    "metric_name": (pa.string(), "the same for people"),
    "value": (pa.float64(), "the number"),
    "low": (pa.float64(), "lower end of its 95 % interval; none where it was worked out of other numbers"),
    "high": (pa.float64(), "upper end"),
    "n": (pa.int64(), "examples it rests on"),
    "higher_is_better": (pa.bool_(), "the direction"),
    "is_score": (pa.bool_(), "whether this metric stands for the set in a leaderboard"),
    "unbag_version": (pa.string(), "what computed it"),
}
SCHEMA: Final = pa.schema([(name, kind) for name, (kind, _) in _COLUMNS.items()])
KEY: Final = (
    *("model", "model_revision", "head", "dtype"),
    *("set", "config", "options", "data_revision", "data_sha256", "metric"),
)
"""What tells rows apart: a row with the key of one that is there takes its place."""

_CONFIGS: Final = [{"config_name": "default", "data_files": [{"split": "train", "path": FILE}]}]
_CARD: Final = f"""---
pretty_name: Results on NLI challenge sets that are held against bags of words
license: cc0-1.0
language:
- en
task_categories:
- text-classification
tags:
- natural-language-inference
- unbag
- results
configs:
- config_name: default
  data_files:
  - split: train
    path: {FILE}
---

# Results on NLI challenge sets that are held against bags of words

One row is one number: a model, a challenge set, a config of it, a metric. Rows are added by
`unbag publish results-dataset RESULTS.json --to ORG`; a row about the same model, revision, rows and metric as one that
is there takes its place, and no other row is touched.

```python
from datasets import load_dataset

results = load_dataset("{{repo}}", split="train")
```

| column | |
|---|---|
{{columns}}

The metrics are those of the papers of the sets; see the cards of the sets. Where `is_score` is true, the metric is the
one that stands for its set alone. Intervals are over examples of one corpus: they say nothing of other corpora or
training seeds. Numbers are facts; they are offered under CC0.

{{about}}
"""


def results_publication(repo: str, results: Sequence[Result], *, model: str | None = None) -> Publication:
    """Return what adds results to a data set of results, and makes the data set where there is none.

    Args:
        repo: the data set's repository.
        results: of any models. Those of pairs of a user's own are left out: nobody else could compare with them.
        model: the Hub id of a model that results of a folder are of; its files are compared.

    Raises:
        ValueError: if no result is of a challenge set's own pairs, or one is of a folder and `model` does not say of
            which model's.
    """
    added = result_rows(results, model=model)
    if not added:
        raise ValueError("expected results of a challenge set's own pairs, found only results of pairs of your own")
    return Publication(
        repo,
        "dataset",
        {"README.md": partial(_merge_card, repo), FILE: partial(merge_result_rows, added)},
        "Add results",
    )


def result_rows(results: Iterable[Result], *, model: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of some results; `model` as in `publication`."""
    results = [result for result in results if published_config_name(result) is not None]
    if folders := [result for result in results if result_model_name(result) is None]:
        if model is None:
            raise ValueError(
                f"the results of {folders[0].model['name']} are of a folder; publish it and name its repository with "
                "--model"
            )
        select_model_results(model, folders)
    return [row for result in results for row in _rows_of_result(result, result_model_name(result) or str(model))]


def _rows_of_result(result: Result, model: str) -> list[dict[str, Any]]:
    about, described = result.model, challenge_sets.get(result.set)
    shared = {
        "model": model,
        "model_revision": about.get("revision")
        or about.get("weights")
        or about.get("recipe")
        or about.get("sha256")
        or "",
        "head": _describe_head(result),
        "dtype": about.get("dtype", ""),
        "set": result.set,
        "config": published_config_name(result),
        "options": json.dumps(published_options(result), sort_keys=True, ensure_ascii=False),
        "data_revision": result.data["revision"],
        "data_sha256": result.data["sha256"],
        "unbag_version": result.environment["unbag"],
    }
    return [
        shared
        | estimate._asdict()
        | {
            "metric": quantity.name,
            "metric_name": quantity.label,
            "higher_is_better": quantity.higher_is_better,
            "is_score": quantity is SCORE,
        }
        for quantity, estimate in described.measurements(result.scores, "quoted")
    ]


def _describe_head(result: Result) -> str:
    """Return what answered: two thresholds of a model of one output answer differently."""
    if threshold := result.model.get("threshold"):
        return f"threshold {threshold}"
    return "plain" if is_own_head(result) else "residual"


def merge_result_rows(added: Iterable[Mapping[str, Any]], existing: bytes | None) -> bytes:
    """Return the Parquet file with rows added, sorted by `KEY`; the file that is there if that changes no row.

    Raises:
        ValueError: if the file that is there has other columns.
    """
    old = _read_rows(existing) if existing is not None else {}
    new = old | {_row_key(row): row for row in added}
    if existing is not None and new == old:
        return existing
    table = pa.Table.from_pylist([new[key] for key in sorted(new)], schema=SCHEMA)
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _read_rows(content: bytes) -> dict[tuple[str, ...], Mapping[str, Any]]:
    parquet.validate_unpacked_size(io.BytesIO(content), FILE, len(content))
    table = pq.read_table(io.BytesIO(content))
    if table.schema.names != SCHEMA.names:
        raise ValueError(
            f"{FILE}: expected the columns {', '.join(SCHEMA.names)}, found {', '.join(table.schema.names)}; is this a "
            "data set of results?"
        )
    return {_row_key(row): row for row in table.to_pylist()}


def _row_key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def _merge_card(repo: str, existing: bytes | None) -> bytes:
    """Return the card; one that is there is its owners' own, and only told where the rows are."""
    if existing is not None:
        text = existing.decode()
        has_configs = bool(split_card(existing)[0].get("configs"))
        return existing if has_configs else cards.set_entry(text, "configs", _CONFIGS).encode()
    columns = "\n".join(f"| `{name}` | {meaning} |" for name, (_, meaning) in _COLUMNS.items())
    return _CARD.replace("{repo}", repo).replace("{columns}", columns).replace("{about}", describe_package()).encode()
