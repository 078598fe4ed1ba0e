"""Results in a model repository: the files `.eval_results/*.yaml` and the `model-index` of the card.

`.eval_results` is the source of a benchmark leaderboard. It contains one score per dataset and task (higher is better),
with the commit of the dataset, the date and the library. The optional key `evaluation_framework` is omitted, because
only results that the Hub has verified need it. Only results on a complete, published set are written there, as the
set's score (`ChallengeSet.score`). The older `model-index` contains all quoted metrics with their options, also
for samples of the examples.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import MeasuredMetric
from unbag.challenge_sets.results import Result
from unbag.evaluation.verdict import compute_model_verdict, describe_skill_scale
from unbag.hub import cards
from unbag.hub.benchmarks import (
    Benchmark,
    PublishedTask,
    collect_published_options,
    fetch_published_tasks,
    find_benchmark,
    find_option_differences,
)

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

FOLDER: Final = ".eval_results"
OWNED_PATTERN: Final = f"{FOLDER}/unbag-*"
TASK: Final = "text-classification"
_TASK_NAME: Final = "Natural Language Inference"
HUB_METRICS: Final = ("accuracy", "f1", "precision", "recall")
"""Metrics that the Hub knows by name."""
logger = logging.getLogger(__name__)


class ResultContext(NamedTuple):
    """Additional information about results that is not stored in the results files."""

    tasks: Mapping[Benchmark, PublishedTask]  # benchmark tasks on the Hub
    date: str  # modification date of the newest results file, YYYY-MM-DD


def fetch_result_context(results: Iterable[Result], organization: str, result_files: Iterable[Path]) -> ResultContext:
    """Fetch the benchmark tasks of results from the Hub. The newest of the results files determines the date."""
    targets = [target for result in results if (target := find_benchmark(result, organization)) is not None]
    # Results files store no date.
    newest = max((path.stat().st_mtime for path in result_files), default=0.0)
    return ResultContext(fetch_published_tasks(targets), datetime.fromtimestamp(newest, tz=UTC).date().isoformat())


def build_eval_results(
    results: Iterable[Result], organization: str, result_context: ResultContext | None = None
) -> dict[str, bytes]:
    """Build the `.eval_results` files of one model, as a dict by path, with one file per challenge set and config.

    Results on user-provided pairs, on a sample or with changed options are skipped with a warning. Later results on the
    same config replace earlier ones.

    `organization` publishes the challenge sets. With `result_context`, results are also skipped if their set is not a
    benchmark on the Hub or has different rows there.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    contents = {}
    for result in results:
        target = find_benchmark(result, organization)
        main = challenge_sets.get_challenge_set(result.set).get_skill_score(result.scores)
        reason = _explain_exclusion(result, target, result_context)
        if target is None or main is None or reason:
            reason = reason or "because no example was scored"
            logger.warning("%s of %s: not written to %s, %s", result.set, result.data["name"], FOLDER, reason)
            continue
        task = result_context.tasks[target] if result_context else None
        entry = EvalResultEntry(
            dataset_id=target.repo,
            task_id=target.config,
            value=main.estimate.value,
            dataset_revision=task.commit if task else None,
            date=result_context.date if result_context else None,
            source_url=f"https://huggingface.co/datasets/{target.repo}",
            source_name=f"unbag {result.unbag_version}",
            notes=_build_notes(result, main),
        )
        content = cards.dump_yaml(eval_result_entries_to_yaml([entry]))
        contents[f"{FOLDER}/unbag-{result.set}-{target.config}.yaml"] = content.encode()
    return contents


def build_model_index(results: Iterable[Result], organization: str) -> "list[EvalResult]":
    """Build the `ModelCardData.eval_results` entries of a model: one per result and metric shown in model cards.

    Later results on the same config replace earlier ones.
    """
    from huggingface_hub import EvalResult

    # A dict keeps the last result for each target.
    by_target = {target: result for result in results if (target := find_benchmark(result, organization)) is not None}
    return [
        EvalResult(
            task_type=TASK,
            task_name=_TASK_NAME,
            dataset_type=target.repo,
            dataset_name=f"{result.set}, {target.config}",
            dataset_config=target.config,
            dataset_args=collect_published_options(result)
            | {"corpus_revision": result.data["revision"], "rows_sha256": result.data["sha256"]},
            # The Hub knows `accuracy`, for example, but not `accuracy_cs_0.7`.
            metric_type=next(
                (name for name in HUB_METRICS if f"{quantity.name}_".startswith(f"{name}_")), quantity.name
            ),
            metric_name=quantity.label,
            metric_value=estimate.value,
            metric_args={k: v for k, v in estimate._asdict().items() if k != "value" and v is not None},
        )
        for target, result in by_target.items()
        for quantity, estimate in challenge_sets.get_challenge_set(result.set).list_metric_values(
            result.scores, "quoted"
        )
    ]


def merge_model_index(index: Any, name: str, results: "Sequence[EvalResult]") -> list[dict[str, Any]]:
    """Merge results into a card's `model-index`. Entries with the same dataset and config are replaced."""
    from huggingface_hub.repocard_data import eval_results_to_model_index

    [ours] = eval_results_to_model_index(name, list(results))
    if not index:
        return [ours]
    try:
        head, *others = index
        entries = {(each["dataset"]["type"], each["dataset"].get("config")): each for each in head["results"]}
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(
            "model-index of the card: expected the format documented by the Hub, got an invalid one "
            f"({type(error).__name__}: {error}); correct it first"
        ) from None
    entries |= {(each["dataset"]["type"], each["dataset"].get("config")): each for each in ours["results"]}
    return [{**head, "results": list(entries.values())}, *others]


def _explain_exclusion(result: Result, target: Benchmark | None, context: ResultContext | None) -> str | None:
    """Explain why a result is not on the rows of a benchmark; None if it is."""
    if target is None:
        return "because the pairs are user-provided; only published sets have a benchmark"
    if differences := find_option_differences(result):
        listed = ", ".join(f"{name} = {value}" for name, value in differences.items())
        return f"because its options differ from the published set: {listed}"
    if context is None:
        return None
    if (task := context.tasks.get(target)) is None:
        return (
            f"because {target.repo} has no benchmark task {target.config} on the Hub; publish the set first: "
            f"unbag publish dataset {result.set} --repo-id {target.repo.partition('/')[0]} --config {target.config}"
        )
    if task.rows_sha256 not in (None, result.data["sha256"]):
        return (
            f"because the rows of {target.config} in {target.repo} (sha256 {task.rows_sha256:.8}…) differ from the "
            "evaluated rows"
        )
    return None


def _build_notes(result: Result, main: MeasuredMetric) -> str:
    _, low, high, n = main.estimate
    parts = [main.definition.label, f"n = {n:,}"]
    if low is not None and high is not None:
        parts.append(f"95 % interval {low:.4f} to {high:.4f}")
    parts.append(describe_skill_scale(compute_model_verdict([result])).removesuffix("."))
    parts += [f"{name} {result.model[name]}" for name in ("revision", "dtype") if name in result.model]
    return "; ".join([*parts, f"rows sha256 {result.data['sha256']}", f"unbag {result.unbag_version}"])
