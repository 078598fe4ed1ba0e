"""Results in a model repository: the files `.eval_results/*.yaml` and the `model-index` of the card.

`.eval_results` is the source of a benchmark leaderboard. It contains one score per dataset and task (higher is better),
with the commit of the dataset, the date and the library. The optional key `evaluation_framework` is omitted, because
only results that the Hub has verified need it. Only results on a complete, published set are written there, as the
set's score (`ChallengeSet.score`). The older `model-index` contains all quoted metrics with their options, also
for samples of the examples. A result belongs to a model on the Hub if it names the model, or a folder with the same
files.
"""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import MeasuredMetric
from unbag.challenge_sets.results import Result
from unbag.evaluation.verdict import compute_model_verdict, describe_skill_scale
from unbag.hub import cards, vendoring
from unbag.hub.benchmarks import (
    Benchmark,
    PublishedTask,
    collect_published_options,
    fetch_published_tasks,
    find_benchmark,
    find_option_differences,
)
from unbag.hub.push import HubUpload, explain_hub_errors, fetch_remote_repository
from unbag.inference.hub_files import combine_hashes, is_model_file

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


FOLDER_NAME: Final = "folder"
"""Model name in the results of a model loaded from a folder."""


def is_standard_head(result: Result) -> bool:
    """Check whether predictions come from the model's standard head, as loaded with transformers."""
    return "head" not in result.model


def find_result_model_name(result: Result) -> str | None:
    """Get the name of the evaluated model from a result, such as a Hub id. Return None for a local folder."""
    name: str = result.model.get("model", result.model["name"])
    return None if name == FOLDER_NAME else name


def select_model_results(repo: str, results: Iterable[Result]) -> list[Result]:
    """Select the results that belong to a Hub model, including results of a local folder with the same model files."""
    named = [(result, find_result_model_name(result)) for result in results]
    has_folder = any(name is None for _, name in named)
    # A folder has no Hub id, so the hash of its files identifies the model.
    held = _compute_remote_folder_revision(repo) if has_folder else None
    own = [r for r, name in named if name == repo or (name is None and r.model["revision"] == held)]
    if not own:
        others = sorted({name or f"the folder {result.model['name']}" for result, name in named})
        hint = "; publish the model in the folder first (unbag publish model)" if has_folder else ""
        raise ValueError(f"expected results of {repo}, got results of {', '.join(others) or 'nothing'}{hint}")
    return own


def _compute_remote_folder_revision(repo: str) -> str | None:
    """Compute the revision that a local copy of a Hub model would have, without downloading the weights.

    Returns None if the repository does not exist. For a repository with bundled code, the revision is that of the
    folder before the code was added.
    """
    with explain_hub_errors(repo, "model"):
        remote = fetch_remote_repository(repo, "model")
        if remote is None:
            return None
        hashes = {
            # The Hub lists the hashes of large files, so that only small files are downloaded.
            path: file.lfs.sha256 if file.lfs else hashlib.sha256(remote.read(path) or b"").hexdigest()
            for path, file in remote.files.items()
            if is_model_file(path)
        }
        if vendoring.MODEL_CODE_FILE in remote.files:
            before = vendoring.remove_model_code(remote.read("config.json") or b"{}")
            hashes["config.json"] = hashlib.sha256(before).hexdigest()
    return combine_hashes(hashes)


MESSAGE: Final = "Add results on challenge sets that test whether models use sentence structure"
"""Commit message, and title that identifies the user's open pull request."""


def build_model_results_upload(
    repo: str, results: Sequence[Result], organization: str, result_context: ResultContext | None = None
) -> HubUpload:
    """Build the files that add results to a model repository. The rest of the model card is unchanged.

    Results of other models are ignored. For the other parameters, see `build_eval_results`.
    """
    own = [result for result in select_model_results(repo, results) if is_standard_head(result)]
    index = build_model_index(own, organization)
    if not index:
        raise ValueError(
            f"{repo}: expected results of the model on a published challenge set, got only results on user-provided "
            "pairs or with another head (--head); evaluate the model on a corpus"
        )

    def card(existing: bytes | None) -> bytes:
        earlier = cards.split_card(existing)[0].get("model-index")
        merged = merge_model_index(earlier, repo.partition("/")[2], index)
        return cards.set_metadata_entry((existing or b"").decode(), "model-index", merged).encode()

    files = build_eval_results(own, organization, result_context)
    return HubUpload(repo, "model", {"README.md": card, **files}, MESSAGE)
