"""Metrics of a result by name, for gates and exports."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE, SKILL, MetricDefinition
from unbag.challenge_sets.results import Result
from unbag.evaluation.verdict import SetVerdict, compute_model_verdict, format_verdict
from unbag.scoring.bootstrap import Estimate, to_json
from unbag.scoring.nested import iter_estimates

SCORE_NAME: Final = "score"
"""Name of the skill score among the metrics of a set."""

CHANGED_LABELS: Final = MetricDefinition("changed_labels", "changed labels", higher_is_better=False)
"""Metric of a pair of runs for gates (`evaluation.parity`). The scores of a single run do not contain it."""


class MetricValue(NamedTuple):
    """Metric of a result, with its value and confidence interval."""

    name: str  # name in gates and exports
    label: str  # label in tables
    higher_is_better: bool | None  # None if unknown
    estimate: Estimate
    sources: int  # number of source examples behind the interval; for a part of the rows, an upper limit


def describe_metrics(set_name: str) -> dict[str, MetricDefinition]:
    """Collect the definitions of a challenge set's metrics, by metric name."""
    return {SCORE_NAME: SCORE} | {each.name: each for each in challenge_sets.get_challenge_set(set_name).named_metrics}


def collect_metrics(result: Result) -> dict[str, MetricValue]:
    """Collect the metrics of a result, by metric name.

    If the challenge set of the result is not installed, the top-level scores are used as metrics. The skill score
    is included for every set that defines it, even if its value is None.
    """
    if challenge_sets.find_challenge_set(result.set) is None:
        top = {path: estimate for path, estimate in iter_estimates(result.scores) if "." not in path}
        return {path: MetricValue(path, path, None, estimate, estimate.n) for path, estimate in top.items()}
    numbers = {}
    for name, metric in describe_metrics(result.set).items():
        if (estimate := metric.get_estimate(result.scores)) is not None:
            # Rows of a document, and variants of a pair, have a common source.
            total = result.data.get("documents", (result.scores.get(SKILL) or {}).get("n_sources", estimate.n))
            sources = result.scores[SKILL]["n_sources"] if metric is SCORE else min(estimate.n, total)
            numbers[name] = MetricValue(name, metric.label, metric.higher_is_better, estimate, sources)
    return numbers


def compute_verdicts(results: Sequence[Result]) -> dict[str, list[SetVerdict]]:
    """Compute the verdicts on each model for all challenge sets, by model name."""
    return {name: compute_model_verdict(of_one) for name, of_one in group_by_model(results).items()}


def build_metric_records(verdicts: Mapping[str, Sequence[SetVerdict]]) -> list[dict[str, Any]]:
    """Convert the metrics of all models, by their display names, to flat records, one per metric.

    `standing` is set only for the skill score (`verdict`).
    """
    rows = []
    for name, of_one in verdicts.items():
        for verdict in of_one:
            result = verdict.result
            fields = {
                "model": name,
                "revision": result.model.get("revision"),
                "set": result.set,
                "data": result.data["name"],
                "split": result.data["split"],
                "options": json.dumps(to_json(result.config), sort_keys=True, ensure_ascii=False),
                "data_sha256": result.data["sha256"],
            }
            for number in collect_metrics(result).values():
                is_score = number.name == SCORE_NAME
                rows.append(
                    fields
                    | {"number": number.name, "label": number.label, "higher_is_better": number.higher_is_better}
                    | number.estimate._asdict()
                    | {"standing": verdict.standing if is_score else None}
                )
    return rows


def summarize_verdicts(verdicts: Mapping[str, Sequence[SetVerdict]]) -> dict[str, Any]:
    """Build a JSON summary with all metrics, and each model's verdict as a sentence."""
    sentences = {name: format_verdict(of_one) for name, of_one in verdicts.items()}
    return {"numbers": build_metric_records(verdicts), "verdicts": sentences}


def group_by_model(results: Sequence[Result]) -> Mapping[str, list[Result]]:
    """Group results by model name, in order of first appearance."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(str(result.model["name"]), []).append(result)
    return groups
