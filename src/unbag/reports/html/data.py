"""Data of a report: results of all runs, grouped by set and corpus, and the verdicts on each model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from unbag.baselines.lexical.predictors import is_baseline
from unbag.challenge_sets.results import Result, SkippedSet
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.evaluation.result_folder import FolderContents
from unbag.evaluation.verdict import SetVerdict, compute_model_verdict, get_report_position
from unbag.scoring.bootstrap import to_json

_RUN_KEYS: Final = (
    "label_probe",
    "label_probe_warning",
    "matched",
    "options",
    "ranking",
    "truncated_pairs",
    "truncated_share",
    "answered",
    "stored_answers",
    "n_abstained",
    "abstained_share",
    "unanswered",
)
"""Keys of a model record that describe the run, not the model."""


@dataclass(frozen=True)
class ReportData:
    """The data of a report: models, results and skipped sets."""

    models: tuple[ReportModel, ...]  # baselines last
    groups: tuple[ResultGroup, ...]
    skipped: tuple[SkippedSet, ...] = ()

    @property
    def main_model(self) -> ReportModel:
        """Main model of the report: the first one."""
        return self.models[0]

    @property
    def names(self) -> list[str]:
        """Names of the models."""
        return [model.name for model in self.models]

    def list_results_of_model(self, model: ReportModel) -> list[tuple[ResultGroup, ScoredModel]]:
        """List the results of one model, as tuples (group, result)."""
        return [(group, each) for group in self.groups for each in group.scored_models if each.model == model]


def load_report_data(runs: Sequence[Path | FolderContents]) -> ReportData:
    """Load the results and examples of one or more runs, given by their folders or the contents of these.

    If several folders contain results of the same model on the same rows, the last folder is used.
    """
    read = [each if isinstance(each, FolderContents) else FolderContents.read(Path(each)) for each in runs]
    scored = [pair for each in read for pair in zip(each.results, each.examples, strict=True)]
    if not scored:
        raise ValueError(f"{', '.join(map(str, runs))}: expected results, got none; run `unbag evaluate` first")
    models: dict[str, ReportModel] = {}
    for result, _ in scored:
        if (identity := _identity(result)) not in models:
            name = str(result.model["name"])
            same = sum(model.record["name"] == name for model in models.values())
            record = dict(json.loads(identity))
            models[identity] = ReportModel(f"{name} ({same + 1})" if same else name, record, is_baseline(record))
    groups: dict[tuple[str, ...], dict[str, ScoredModel]] = {}
    for result, selection in scored:
        # Results are comparable only on equal rows of a set with equal options.
        key = (result.set, str(result.data["sha256"]), json.dumps(to_json(result.config), sort_keys=True))
        model = models[_identity(result)]
        groups.setdefault(key, {})[model.name] = ScoredModel(model, result, selection)
    order = sorted(models.values(), key=lambda model: model.is_baseline)  # a stable sort
    skipped = [each for of_run in read for each in of_run.skipped]
    # A set that was skipped for all models has no model.
    evaluated = {(result.set, name) for result, _ in scored for name in (None, result.model["name"])}
    # A set that one folder skipped may have results in another.
    missing = [each for each in dict.fromkeys(skipped) if (each.set, each.model) not in evaluated]
    named: list[ResultGroup] = []
    for members in groups.values():
        group = ResultGroup("", "", tuple(sorted(members.values(), key=lambda each: order.index(each.model))))
        same = sum((each.set, each.corpus) == (group.set, group.corpus) for each in named)
        number = f" ({same + 1})" if same else ""
        named.append(replace(group, key=f"set-{len(named)}", title=f"{group.corpus}{number}"))
    named.sort(key=lambda group: get_report_position(group.scored_models[0].result))
    return ReportData(tuple(order), tuple(named), tuple(missing))


def _identity(result: Result) -> str:
    identity = {name: value for name, value in result.model.items() if name not in _RUN_KEYS}
    return json.dumps(identity, sort_keys=True)


VerdictsByModel = Mapping[str, Mapping[str, SetVerdict]]
"""Verdict on each model per group, by model name and group key."""


def compute_verdicts_by_group(report_data: ReportData) -> dict[str, dict[str, SetVerdict]]:
    """Compute the verdict on each model for each group. A group contains the results on one challenge set and corpus.

    The p values of a model are corrected for multiple testing over the groups.
    """
    by_model: dict[str, dict[str, SetVerdict]] = {}
    for model in report_data.models:
        own = report_data.list_results_of_model(model)
        verdicts = compute_model_verdict([scored.result for _, scored in own])
        by_model[model.name] = {group.key: verdict for (group, _), verdict in zip(own, verdicts, strict=True)}
    return by_model


def select_main_model_result(group: ResultGroup, report_data: ReportData) -> ScoredModel:
    """Select the main model's result in a group. If the group has none, select the first result."""
    own = [scored for scored in group.scored_models if scored.model == report_data.main_model]
    return (own or list(group.scored_models))[0]
