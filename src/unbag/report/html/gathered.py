"""What runs left in their folders, sorted for a report: by set and data, the models on the same rows together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from unbag import results
from unbag.lexical.predictors import BASELINES
from unbag.report import examples
from unbag.report.examples import Chosen
from unbag.results import Result
from unbag.scoring.bootstrap import plain

ORDER: Final = ("plain", "permuted", "cs_lambda", "resnli", "swapped", "soswap_addamod", "breaking_nli", "sicck")
"""Of the sets in a report; others come last."""
_OF_THE_RUN: Final = ("label_probe", "options", "truncated_pairs", "unanswered_pairs")
"""What is not of the model but of what it was asked, and how."""


@dataclass(frozen=True)
class Model:
    """A model of the report: its name there, its record, and whether it is one of the built-in baselines."""

    name: str
    record: dict[str, Any]
    is_baseline: bool


@dataclass(frozen=True)
class Scored:
    """One model's result on the rows of a group, with the examples chosen of it, if any were kept."""

    model: Model
    result: Result
    chosen: Chosen | None


@dataclass(frozen=True)
class Group:
    """A set built from the same data in the same way, and the models that answered its rows.

    Attributes:
        key: unique, for anchors.
        title: of the data, e.g. "snli validation".
        scored: in the order of the report's models.
    """

    key: str
    title: str
    scored: tuple[Scored, ...]

    @property
    def set(self) -> str:
        """The challenge set."""
        return self.scored[0].result.set

    @property
    def corpus(self) -> str:
        """What the pairs come from, as `papers.beside` names it."""
        data = self.scored[0].result.data
        return f"{data['name']} {data['split']}".strip()


@dataclass(frozen=True)
class Gathered:
    """What a report is made of; the models that were asked come before the baselines."""

    models: tuple[Model, ...]
    groups: tuple[Group, ...]

    @property
    def subject(self) -> Model:
        """The model that the report is about: the first."""
        return self.models[0]


def gather(folders: Sequence[Path]) -> Gathered:
    """Read the results and examples in some folders.

    The same model on the same rows twice counts once, as the later folder has it.

    Raises:
        ValueError: if there is no folder or no result in it.
    """
    if not folders:
        raise ValueError("expected at least one folder with results, found none")
    found = [pair for folder in folders for pair in _read(Path(folder))]
    if not found:
        raise ValueError(f"expected results in {', '.join(map(str, folders))}, found none; evaluate a model first")
    models = _models([result for result, _ in found])
    groups: dict[tuple[str, ...], dict[str, Scored]] = {}
    for result, chosen in found:
        key = (result.set, str(result.data["sha256"]), json.dumps(plain(result.config), sort_keys=True))
        model = models[_identity(result)]
        groups.setdefault(key, {})[model.name] = Scored(model, result, chosen)
    order = sorted(models.values(), key=lambda model: model.is_baseline)  # stable: else as they came
    return Gathered(tuple(order), tuple(_named(list(groups.values()), order)))


def _read(folder: Path) -> list[tuple[Result, Chosen | None]]:
    path = folder / results.FILE
    if not path.is_file():
        raise ValueError(f"expected {results.FILE} in {folder}, found none; name a folder that unbag evaluate left")
    scored = results.read(path)
    kept = examples.read(folder / examples.FILE) if (folder / examples.FILE).is_file() else []
    by_result = {(each.set, each.model, each.sha256): each for each in kept}
    return [(each, by_result.get((each.set, each.model["name"], each.data["sha256"]))) for each in scored]


def _identity(result: Result) -> str:
    said = {name: value for name, value in result.model.items() if name not in _OF_THE_RUN}
    return json.dumps(said, sort_keys=True)


def _models(found: Sequence[Result]) -> dict[str, Model]:
    """Return the models by identity; those of one name are numbered."""
    models: dict[str, Model] = {}
    for result in found:
        identity = _identity(result)
        if identity not in models:
            name = str(result.model["name"])
            same = sum(model.record["name"] == name for model in models.values())
            record = dict(json.loads(identity))
            is_baseline = name in BASELINES or record.get("kind") in BASELINES
            models[identity] = Model(f"{name} ({same + 1})" if same else name, record, is_baseline)
    return models


def _named(groups: list[dict[str, Scored]], order: Sequence[Model]) -> list[Group]:
    place = {model.name: number for number, model in enumerate(order)}
    made: list[Group] = []
    for members in groups:
        scored = tuple(sorted(members.values(), key=lambda each: place[each.model.name]))
        group = Group("", "", scored)
        same = sum((each.set, each.corpus) == (group.set, group.corpus) for each in made)
        number = f" ({same + 1})" if same else ""
        made.append(replace(group, key=f"set-{len(made)}", title=f"{group.corpus}{number}"))
    rank = {name: number for number, name in enumerate(ORDER)}
    return sorted(made, key=lambda group: rank.get(group.set, len(rank)))
