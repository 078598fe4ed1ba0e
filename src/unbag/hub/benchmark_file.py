"""`eval.yaml`, by which a data set asks to be a benchmark of the Hub: each of its configs is a task.

As https://huggingface.co/docs/hub/eval-results says: the file has `name`, `description`, `evaluation_framework` and
`tasks`, each with an `id`, a `config` and a `split`. A result names the task by its id, here the config's name. The
framework "could be your own", that page says; the Hub's list of those it knows is `packages/tasks/src/eval.ts` of
huggingface.js, and it takes a benchmark once it has put it on a list of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import yaml  # type: ignore[import-untyped]

from unbag import challenge_sets
from unbag.hub import cards
from unbag.hub.benchmarks import Benchmark
from unbag.hub.cards import split_card
from unbag.hub.dataset_card import parse_records
from unbag.hub.push import explain_hub_errors, fetch_remote

FILE: Final = "eval.yaml"
FRAMEWORK: Final = "unbag"
_CARD: Final = "README.md"


class PublishedTask(NamedTuple):
    """A task of a benchmark as it is on the Hub.

    Attributes:
        commit: of the repository.
        rows_sha256: of the rows that models are asked; None where the card does not say.
    """

    commit: str
    rows_sha256: str | None


def merge_tasks(existing: bytes | None, set_name: str, splits: Mapping[str, str]) -> bytes:
    """Return the file of a repository in which some configs are new, or new again; other tasks in it stay.

    Args:
        existing: the file that is there.
        set_name: the challenge set.
        splits: by config, the split that models are evaluated on.

    Raises:
        ValueError: if the file that is there cannot be read.
    """
    there = _parse_tasks(existing) if existing is not None else {}
    described = challenge_sets.get(set_name)
    tasks = {task["id"]: task for task in there.get("tasks", [])}
    for config, split in splits.items():
        tasks[config] = tasks.get(config, {}) | {"id": config, "config": config, "split": split}
    new = {
        "name": f"{set_name}: {described.title}",
        "description": described.question,
        "evaluation_framework": FRAMEWORK,
        **{key: value for key, value in there.items() if key != "tasks"},
        "tasks": list(tasks.values()),
    }
    if existing is not None and new == there:
        return existing
    return cards.dump_yaml(new).encode()


def fetch_published_tasks(targets: Iterable[Benchmark]) -> dict[Benchmark, PublishedTask]:
    """Return those of some configs that are tasks of a benchmark on the Hub, as they are there.

    Raises:
        HubError: if the Hub does not say.
        ValueError: if the file of one cannot be read.
    """
    found: dict[Benchmark, PublishedTask] = {}
    wanted = list(dict.fromkeys(targets))
    for repo in dict.fromkeys(target.repo for target in wanted):
        with explain_hub_errors(repo, "dataset"):
            remote = fetch_remote(repo, "dataset")
            tasks = remote.read(FILE) if remote else None
            card = remote.read(_CARD) if remote else None
        if remote is None or tasks is None:
            continue
        ids = {task["id"] for task in _parse_tasks(tasks).get("tasks", [])}
        told = parse_records(split_card(card)[1])
        for target in wanted:
            if target.repo == repo and target.config in ids:
                rows = told.get(target.config, {}).get("data", {}).get("sha256")
                found[target] = PublishedTask(remote.commit, rows)
    return found


def _parse_tasks(content: bytes) -> dict[str, Any]:
    try:
        read = yaml.safe_load(content)
        tasks = read.get("tasks", []) if isinstance(read, dict) else None
        if isinstance(tasks, list) and all(isinstance(task, dict) and "id" in task for task in tasks):
            return dict(read)
        raise ValueError("no mapping with tasks that have ids")
    except (yaml.YAMLError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"the {FILE} that is there cannot be read ({reason}); mend or delete it first") from None
