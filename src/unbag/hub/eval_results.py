"""Results as the Hub reads them from a model's repository: `.eval_results/*.yaml`, and `model-index` in its card.

The first holds one scalar for each data set and task, higher the better, from which a benchmark's leaderboard is made,
with the commit of the data set, the day, and what computed it. Only results of a set as it is
published, whole, go there, by the number that stands for it (`ChallengeSet.score`).
The older second one holds all quoted numbers, also of examples drawn, with the options beside them.
"""

import copy
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import Measurement
from unbag.challenge_sets.results import Result
from unbag.evaluation.verdict import of_model, scale
from unbag.hub import cards
from unbag.hub.benchmark_file import PublishedTask, fetch_published_tasks
from unbag.hub.benchmarks import Benchmark, find_benchmark, find_deviations, published_config_name, published_options
from unbag.scoring.bootstrap import Estimate

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

FOLDER: Final = ".eval_results"
OWNS: Final = f"{FOLDER}/unbag-*"
TASK: Final = "text-classification"
_TASK_NAME: Final = "Natural Language Inference"
_HUB_METRICS: Final = ("accuracy", "f1", "precision", "recall")  # what the Hub knows by name
logger = logging.getLogger(__name__)


class ResultContext(NamedTuple):
    """What is known of results beside themselves.

    Attributes:
        tasks: where on the Hub their sets are, as `benchmark_file.published` found them.
        date: the day they were written, YYYY-MM-DD.
    """

    tasks: Mapping[Benchmark, PublishedTask]
    date: str


def fetch_result_context(results: Iterable[Result], organisation: str, written: Iterable[Path]) -> ResultContext:
    """Ask the Hub for the benchmarks that results are about.

    Args:
        results: the results.
        organisation: where the challenge sets are published.
        written: the files they were read from; the newest gives the date.

    Raises:
        HubError: if the Hub does not say.
    """
    targets = [target for result in results if (target := find_benchmark(result, organisation)) is not None]
    newest = max((path.stat().st_mtime for path in written), default=0.0)
    return ResultContext(fetch_published_tasks(targets), datetime.fromtimestamp(newest, tz=UTC).date().isoformat())


def build_eval_results(
    results: Iterable[Result], organisation: str, about: ResultContext | None = None
) -> dict[str, bytes]:
    """Return the files of `.eval_results`, by path: one a challenge set and config, with one entry.

    Results of the user's own pairs, of examples drawn and of unusual options are left out, and told.

    Args:
        results: of one model; where two are of the same config, the later one counts.
        organisation: where the challenge sets are published.
        about: what else is known of them; then those are left out too whose set is no benchmark on the Hub, or has
            other rows there. None where that shall not be looked at.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    contents = {}
    for result in results:
        target = find_benchmark(result, organisation)
        main = challenge_sets.get(result.set).score(result.scores)
        if target is None or main is None or find_deviations(result):
            logger.warning(
                "%s of %s: not for %s, %s", result.set, result.data["name"], FOLDER, _exclusion_reason(result)
            )
            continue
        task = about.tasks.get(target) if about else None
        if about and (fault := _benchmark_mismatch(result, target, task)):
            logger.warning("%s of %s: not for %s, %s", result.set, result.data["name"], FOLDER, fault)
            continue
        entry = EvalResultEntry(
            dataset_id=target.repo,
            task_id=target.config,
            value=main.estimate.value,
            dataset_revision=task.commit if task else None,
            date=about.date if about else None,
            source_url=f"https://huggingface.co/datasets/{target.repo}",
            source_name=f"unbag {result.environment['unbag']}",
            notes=_build_notes(result, main),
        )
        content = cards.dump_yaml(eval_result_entries_to_yaml([entry]))
        contents[f"{FOLDER}/unbag-{result.set}-{target.config}.yaml"] = content.encode()
    return contents


def build_model_index(results: Iterable[Result], organisation: str) -> "list[EvalResult]":
    """Return all quoted numbers of results of the challenge sets, as `ModelCardData` takes them.

    Args:
        results: as for `files`.
        organisation: likewise.
    """
    from huggingface_hub import EvalResult

    by_target = {target: result for result in results if (target := find_benchmark(result, organisation)) is not None}
    return [
        EvalResult(
            task_type=TASK,
            task_name=_TASK_NAME,
            dataset_type=target.repo,
            dataset_name=f"{result.set}, {target.config}",
            dataset_config=target.config,
            dataset_args=published_options(result)
            | {"corpus_revision": result.data["revision"], "rows_sha256": result.data["sha256"]},
            metric_type=hub_metric_name(quantity.name),
            metric_name=quantity.label,
            metric_value=estimate.value,
            metric_args=_interval(estimate),
        )
        for target, result in by_target.items()
        for quantity, estimate in challenge_sets.get(result.set).measurements(result.scores, "quoted")
    ]


def merge_model_index(index: Any, name: str, results: "Sequence[EvalResult]") -> list[dict[str, Any]]:
    """Return a card's `model-index` with results added; those of the same data set and config are replaced.

    Args:
        index: what the card has; None for nothing.
        name: of the model, where there is nothing.
        results: what is added.

    Raises:
        ValueError: if the card's is no model index.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    [ours] = eval_results_to_model_index(name, list(results))
    if not index:
        return [ours]
    updated: list[dict[str, Any]] = copy.deepcopy(index)
    try:
        entries = updated[0]["results"]
        indices = {(entry["dataset"]["type"], entry["dataset"].get("config")): i for i, entry in enumerate(entries)}
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(
            "expected the model-index of the card to be as the Hub describes it, found another "
            f"({type(error).__name__}: {error}); mend it first"
        ) from None
    for entry in ours["results"]:
        key = entry["dataset"]["type"], entry["dataset"].get("config")
        if key in indices:
            entries[indices[key]] = entry
        else:
            entries.append(entry)
    return updated


def hub_metric_name(metric: str) -> str:
    """Return the Hub's name for a metric where it has one, else ours.

    >>> hub_metric_name("accuracy_cs_0.7"), hub_metric_name("p_c")
    ('accuracy', 'p_c')
    """
    return next((name for name in _HUB_METRICS if metric == name or metric.startswith(f"{name}_")), metric)


def _exclusion_reason(result: Result) -> str:
    """Return why a result is not one of a benchmark."""
    if published_config_name(result) is None:
        return "which is for published sets; these are pairs of your own"
    differences = ", ".join(f"{name} = {value}" for name, value in find_deviations(result).items())
    return (
        f"which is for sets as they are published; here {differences}" if differences else "for no example was scored"
    )


def _benchmark_mismatch(result: Result, target: Benchmark, task: PublishedTask | None) -> str | None:
    """Return why a result is not one of a benchmark on the Hub; None if it is."""
    if task is None:
        return (
            f"since {target.repo} is no benchmark with the task {target.config} on the Hub; publish the set first: "
            f"unbag publish dataset {result.set} --to {target.repo.partition('/')[0]} --config {target.config}"
        )
    if task.rows_sha256 not in (None, result.data["sha256"]):
        return f"since {target.repo} has other rows in {target.config} than were asked (sha256 {task.rows_sha256:.8}…)"
    return None


def _build_notes(result: Result, main: Measurement) -> str:
    """Return what the scalar is, how sure, and of which rows."""
    _, low, high, n = main.estimate
    parts = [main.quantity.label, f"n = {n:,}"]
    if low is not None and high is not None:
        parts.append(f"95 % interval {low:.4f} to {high:.4f}")
    parts.append(scale(of_model([result])).removesuffix("."))
    parts += [f"{name} {result.model[name]}" for name in ("revision", "dtype") if name in result.model]
    return "; ".join([*parts, f"rows sha256 {result.data['sha256']}", f"unbag {result.environment['unbag']}"])


def _interval(estimate: Estimate) -> dict[str, Any]:
    return {name: value for name, value in estimate._asdict().items() if name != "value" and value is not None}
