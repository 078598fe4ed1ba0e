"""What runs left in their folders, sorted for a report: by set and data, the models on the same rows together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from unbag import challenge_sets, report_examples, results
from unbag.lexical.predictors import BASELINES
from unbag.results import LeftOut, Result
from unbag.scoring.bootstrap import plain
from unbag.views.examples import ExampleSelection
from unbag.views.group import Group, Model, Scored

_OF_THE_RUN: Final = ("label_probe", "options", "truncated_pairs", "unanswered_pairs")
"""What is not of the model but of what it was asked, and how."""


@dataclass(frozen=True)
class Gathered:
    """What a report is made of: the models asked, before the baselines; their results; the sets that have none."""

    models: tuple[Model, ...]
    groups: tuple[Group, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def subject(self) -> Model:
        """The model that the report is about: the first."""
        return self.models[0]


def gather(folders: Sequence[Path]) -> Gathered:
    """Read the results and examples in some folders.

    The same model on the same rows twice counts once, as the later folder has it.

    Raises:
        ValueError: if there is no folder, no result in it, or one is of a challenge set that is not installed here.
    """
    if not folders:
        raise ValueError("expected at least one folder with results, found none")
    scored = [pair for folder in folders for pair in _read(Path(folder))]
    if not scored:
        raise ValueError(f"expected results in {', '.join(map(str, folders))}, found none; evaluate a model first")
    models = _models([result for result, _ in scored])
    groups: dict[tuple[str, ...], dict[str, Scored]] = {}
    for result, selection in scored:
        key = (result.set, str(result.data["sha256"]), json.dumps(plain(result.config), sort_keys=True))
        model = models[_identity(result)]
        groups.setdefault(key, {})[model.name] = Scored(model, result, selection)
    order = sorted(models.values(), key=lambda model: model.is_baseline)  # stable: else as they came
    left_out = [each for folder in folders for each in results.read_left_out(Path(folder) / results.FILE)]
    return Gathered(tuple(order), tuple(_named(list(groups.values()), order)), tuple(dict.fromkeys(left_out)))


def _read(folder: Path) -> list[tuple[Result, ExampleSelection | None]]:
    path = folder / results.FILE
    if not path.is_file():
        raise ValueError(f"expected {results.FILE} in {folder}, found none; name a folder that unbag evaluate left")
    scored = results.read(path)
    kept = report_examples.read(folder / report_examples.FILE) if (folder / report_examples.FILE).is_file() else []
    by_result = {(each.set, each.model, each.sha256): each for each in kept}
    return [(each, by_result.get((each.set, each.model["name"], each.data["sha256"]))) for each in scored]


def _identity(result: Result) -> str:
    identity = {name: value for name, value in result.model.items() if name not in _OF_THE_RUN}
    return json.dumps(identity, sort_keys=True)


def _models(all_results: Sequence[Result]) -> dict[str, Model]:
    """Return the models by identity; those of one name are numbered."""
    models: dict[str, Model] = {}
    for result in all_results:
        identity = _identity(result)
        if identity not in models:
            name = str(result.model["name"])
            same = sum(model.record["name"] == name for model in models.values())
            record = dict(json.loads(identity))
            is_baseline = name in BASELINES or record.get("kind") in BASELINES
            models[identity] = Model(f"{name} ({same + 1})" if same else name, record, is_baseline)
    return models


def _named(groups: list[dict[str, Scored]], order: Sequence[Model]) -> list[Group]:
    position = {model.name: number for number, model in enumerate(order)}
    named: list[Group] = []
    for members in groups:
        scored = tuple(sorted(members.values(), key=lambda each: position[each.model.name]))
        group = Group("", "", scored)
        same = sum((each.set, each.corpus) == (group.set, group.corpus) for each in named)
        number = f" ({same + 1})" if same else ""
        named.append(replace(group, key=f"set-{len(named)}", title=f"{group.corpus}{number}"))
    return sorted(named, key=lambda group: challenge_sets.get(group.set).report_order)
