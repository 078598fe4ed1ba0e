"""The file `eval.yaml`, which registers a dataset as a Hub benchmark with one task per config.

The format is described at https://huggingface.co/docs/hub/eval-results: `name`, `description`, `evaluation_framework`
and `tasks`, each with an `id`, a `config` and a `split`. A result refers to its task by the id, which is the config
name here. According to that page, the framework "could be your own". The Hub validates the framework against
`packages/tasks/src/eval.ts` of huggingface.js, and shows a benchmark after adding it to an allow-list.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import yaml  # type: ignore[import-untyped]

from unbag import challenge_sets
from unbag.hub import cards
from unbag.hub.benchmarks import Benchmark
from unbag.hub.cards import split_card
from unbag.hub.dataset_card import parse_build_records
from unbag.hub.push import explain_hub_errors, fetch_remote_repository

FILE: Final = "eval.yaml"
FRAMEWORK: Final = "unbag"
_CARD: Final = "README.md"


class PublishedTask(NamedTuple):
    """Benchmark task published on the Hub."""

    commit: str
    rows_sha256: str | None  # of the evaluated rows; None if the card does not contain it


def merge_tasks(existing: bytes | None, set_name: str, split_by_config: Mapping[str, str]) -> bytes:
    """Merge the tasks of configs, each with its evaluated split, into a benchmark file. Other tasks are unchanged."""
    current = _parse_tasks(existing) if existing is not None else {}
    described = challenge_sets.get_challenge_set(set_name)
    tasks = {task["id"]: task for task in current.get("tasks", [])}
    for config, split in split_by_config.items():
        tasks[config] = tasks.get(config, {}) | {"id": config, "config": config, "split": split}
    new = {
        "name": f"{set_name}: {described.title}",
        "description": described.question,
        "evaluation_framework": FRAMEWORK,
        # Entries that people have changed on the Hub are kept.
        **{key: value for key, value in current.items() if key != "tasks"},
        "tasks": list(tasks.values()),
    }
    # If the content is equal, the bytes are kept, so that publishing again creates no commit.
    if existing is not None and new == current:
        return existing
    return cards.dump_yaml(new).encode()


def fetch_published_tasks(benchmarks: Iterable[Benchmark]) -> dict[Benchmark, PublishedTask]:
    """Fetch the benchmark tasks of the given configs from the Hub. Configs without a task are omitted."""
    published: dict[Benchmark, PublishedTask] = {}
    wanted = list(dict.fromkeys(benchmarks))
    for repo in dict.fromkeys(target.repo for target in wanted):
        with explain_hub_errors(repo, "dataset"):
            remote = fetch_remote_repository(repo, "dataset")
            tasks = remote.read(FILE) if remote else None
            card = remote.read(_CARD) if remote else None
        if remote is None or tasks is None:
            continue
        ids = {task["id"] for task in _parse_tasks(tasks).get("tasks", [])}
        records = parse_build_records(split_card(card)[1])
        for target in wanted:
            if target.repo == repo and target.config in ids:
                rows = records.get(target.config, {}).get("data", {}).get("sha256")
                published[target] = PublishedTask(remote.commit, rows)
    return published


def _parse_tasks(content: bytes) -> dict[str, Any]:
    try:
        read = yaml.safe_load(content)
        tasks = read.get("tasks", []) if isinstance(read, dict) else None
        if isinstance(tasks, list) and all(isinstance(task, dict) and "id" in task for task in tasks):
            return dict(read)
        raise ValueError("expected a mapping with a list of tasks, each with an id")
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{FILE} on the Hub: expected a valid file, got an error ({reason}); correct or delete the file first"
        ) from None
