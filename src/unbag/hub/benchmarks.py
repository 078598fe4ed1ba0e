"""Hub benchmarks: the file `eval.yaml` of a dataset, the benchmark of a result, and differences of the evaluated rows.

`eval.yaml` registers a dataset as a benchmark with one task per config. The format is described at
https://huggingface.co/docs/hub/eval-results: `name`, `description`, `evaluation_framework` and `tasks`, each with an
`id`, a `config` and a `split`. A result refers to its task by the id, which is the config name here. According to that
page, the framework "could be your own". The Hub validates the framework against `packages/tasks/src/eval.ts` of
huggingface.js, and shows a benchmark after adding it to an allow-list.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import yaml  # type: ignore[import-untyped]

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.results import Result
from unbag.data.corpora import CORPORA, OFFICIAL
from unbag.hub import cards
from unbag.hub.dataset_card import parse_build_records
from unbag.hub.push import explain_hub_errors, fetch_remote_repository

FILE: Final = "eval.yaml"
FRAMEWORK: Final = "unbag"
_MAX_EXAMPLES: Final = "max_examples"
_SAMPLING: Final = (_MAX_EXAMPLES, "sample_seed")  # in a result's config if only a sample of the examples was evaluated


class Benchmark(NamedTuple):
    """Benchmark on the Hub, which consists of one config of a challenge set."""

    repo: str
    config: str


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
    return existing if existing is not None and new == current else cards.dump_yaml(new).encode()


def fetch_published_tasks(benchmarks: Iterable[Benchmark]) -> dict[Benchmark, PublishedTask]:
    """Fetch the benchmark tasks in the repositories of the given configs from the Hub."""
    published: dict[Benchmark, PublishedTask] = {}
    for repo in dict.fromkeys(target.repo for target in benchmarks):
        with explain_hub_errors(repo, "dataset"):
            remote = fetch_remote_repository(repo, "dataset")
            tasks, card = (remote.read(FILE), remote.read("README.md")) if remote else (None, None)
        if remote is None or tasks is None:
            continue
        records = parse_build_records(cards.split_card(card)[1])
        for task in _parse_tasks(tasks).get("tasks", []):
            rows = records.get(task["id"], {}).get("data", {}).get("sha256")
            published[Benchmark(repo, task["id"])] = PublishedTask(remote.commit, rows)
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


def find_benchmark(result: Result, organization: str) -> Benchmark | None:
    """Find the Hub benchmark of a result among the sets of an organization. None for user-provided pairs.

    >>> data = {"name": "snli", "split": "test", "origin": "stanfordnlp/snli (plain_text)"}
    >>> find_benchmark(Result("permuted", {"mode": "hypothesis"}, {}, data, {}, {}), "org")
    Benchmark(repo='org/permuted', config='snli-test-hypothesis')
    """
    name, split = result.data["name"], result.data["split"]
    ours = CORPORA.get(name)
    if name != OFFICIAL and (ours is None or not result.data["origin"].startswith(ours.hub_id)):
        return None
    chosen = {option: value for option, value in result.config.items() if isinstance(value, str)}
    # A set that merges the splits of a corpus has a single config.
    single = split if split and "+" not in split else None
    try:
        config = loading.resolve_config(result.set, name, single, chosen)[0]
    except ValueError:
        return None
    return Benchmark(f"{organization}/{result.set}", config)


def find_option_differences(result: Result) -> dict[str, Any]:
    """Find the options in which a result differs from the published config, including `max_examples`.

    Options whose default is "" are ignored, because the set fills them in. For the official pairs of a set, only
    `max_examples` is a deviation, because the other options select additional counts and do not change the rows.
    """
    sampled = {name: value for name, value in result.config.items() if name == _MAX_EXAMPLES}
    if result.data["name"] == OFFICIAL:
        return sampled
    benchmark = find_benchmark(result, "")
    config = benchmark.config if benchmark else ""
    defaults = {
        option.name: option.default for option in loading.describe_set_options(result.set) if option.default != ""
    }
    changed = {
        name: value
        for name, value in result.config.items()
        # Results read from JSON have lists instead of tuples.
        if name in defaults and json.dumps(value) != json.dumps(defaults[name]) and not config.endswith(f"-{value}")
    }
    return changed | sampled


def collect_published_options(result: Result) -> dict[str, Any]:
    """Collect the challenge-set options of a result for publication, including the size and seed of a sample.

    Files are listed without their folders, which are meaningless to other users.
    """
    own = {option.name for option in loading.describe_set_options(result.set)}
    chosen = {name: value for name, value in result.config.items() if name in own or name in _SAMPLING}
    return {
        name: cards.replace_paths_with_file_names(value) for name, value in sorted(chosen.items()) if value is not None
    }
