"""Systems in a comparison: the results of one model, or of one recipe trained with several seeds."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final

from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result
from unbag.evaluation import samples as paired_samples
from unbag.scoring.bootstrap import Sample, to_json

_SEED: Final = re.compile(r"(?P<recipe>.*?)[-_/.]?seed[-_=]?(?P<seed>\d+)/?")
_SAME: Final = ("name", "split", "origin", "revision", "sha256")  # of a result's data


@dataclass(frozen=True)
class LocatedResult:
    """Result with its file and its index in this file."""

    result: Result
    file: Path  # results.json
    number: int
    seed: str | None  # training seed in the model's name

    @cached_property
    def samples(self) -> dict[str, Sample] | None:
        """Values per source example of each metric. None if the run stored no such values."""
        return paired_samples.read_samples(self.file.parent, self.number, self.result)

    @property
    def task_key(self) -> str:
        """Key of the task (set, data, options and labels). Results with equal keys can be compared pair by pair."""
        data = {name: self.result.data.get(name) for name in _SAME}
        return json.dumps([self.result.set, data, to_json(self.result.config), self._labels], sort_keys=True)

    @property
    def _labels(self) -> Any:
        return self.result.scores.get("labels")

    def describe_difference(self, other: "LocatedResult") -> str:
        """Describe the task fields in which two results differ, with both values."""
        ours, theirs = (
            {f"data {name}": run.result.data.get(name) for name in _SAME}
            | dict(to_json(run.result.config))
            | {"the model's labels": run._labels}
            for run in (self, other)
        )
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return "; ".join(f"{name}: {_short(ours.get(name))} and {_short(theirs.get(name))}" for name in names)


@dataclass(frozen=True)
class ComparedSystem:
    """Model, or group of models that differ only in the training seed."""

    letter: str  # stands for the system in tables
    name: str  # of the model or recipe
    runs: list[LocatedResult] = field(default_factory=list)  # one per set, or one per set and seed

    @property
    def seeds(self) -> list[str]:
        """Training seeds without duplicates. Empty if the model names contain no seed."""
        return list(dict.fromkeys(run.seed for run in self.runs if run.seed is not None))

    def group_by_task(self) -> dict[str, list[LocatedResult]]:
        """Group the results of the system by task. Raises `ValueError` if two runs of a seed have the same task."""
        by_task: dict[str, list[LocatedResult]] = {}
        for run in self.runs:
            same = by_task.setdefault(run.task_key, [])
            if any(run.seed == other.seed for other in same):
                what = "" if run.seed is None else f", seed {run.seed}"
                raise ValueError(
                    f"{self.name}{what}: expected one result on {run.result.set}, got two, in {same[0].file} and "
                    f"{run.file}; pass one of them"
                )
            same.append(run)
        return by_task


def load_systems(paths: Sequence[Path | str]) -> list[tuple[str, ComparedSystem]]:
    """Read results and group them by system. Returns the path and the system of each group."""
    if not paths:
        raise ValueError(
            "expected the results of at least two models to compare, got none; pass result folders or "
            f"{results.FILE} files"
        )
    for path in paths:
        if not isinstance(path, str | PathLike):
            raise ValueError(f"expected the path of a result folder or file, got {path!r}; pass a path")
    systems: dict[tuple[str, str], ComparedSystem] = {}
    for path in map(Path, paths):
        for file in _files(path):
            for number, result in enumerate(results.read_results(file)):
                name = str(result.model["name"])
                seeded = _SEED.fullmatch(name)
                key = ("recipe", seeded["recipe"]) if seeded else (str(path), name)
                title = (seeded["recipe"] or "models") if seeded else name
                system = systems.setdefault(key, ComparedSystem("", title))
                system.runs.append(LocatedResult(result, file, number, seeded["seed"] if seeded else None))
    if not systems:
        raise ValueError(f"{', '.join(map(str, paths))}: expected results, got empty result files; evaluate again")
    return [(where, system) for (where, _), system in systems.items()]


def assign_letters(systems: Sequence[tuple[str, ComparedSystem]]) -> list[ComparedSystem]:
    """Assign a letter to each system. If several systems have the same name, the path is added to the name."""
    names = [system.name for _, system in systems]
    return [
        replace(
            system,
            letter=ascii_uppercase[index] if index < len(ascii_uppercase) else f"#{index + 1}",
            name=system.name if names.count(system.name) == 1 else f"{system.name} ({where})",
        )
        for index, (where, system) in enumerate(systems)
    ]


def _files(path: Path) -> list[Path]:
    """Resolve a path to its results files."""
    if path.is_file():
        return [path]
    for file in (path / results.FILE, path / "evaluation" / results.FILE):
        if file.is_file():
            return [file]
    if seeds := sorted(path.glob(f"*seed-*/evaluation/{results.FILE}")):  # the layout that training.seeds writes
        return seeds
    raise ValueError(
        f"expected a {results.FILE} file or a folder written by `unbag evaluate`, got {path}; check the path"
    )


def load_single_system(path: Path | str) -> tuple[str, ComparedSystem]:
    """Load the only system in a results folder or file. Baselines are ignored, unless there is no other model."""
    systems = {system.name: system for _, system in load_systems([path])}
    name = select_single_model({name: system.runs[0].result for name, system in systems.items()}, path)
    return str(path), systems[name]


def select_single_model(models: Mapping[str, Result], path: Path | str) -> str:
    """Select the name of the only model in a run, given a result of each model. Baselines are ignored.

    If there is no other model, a single baseline is selected.
    """
    # Imported here, since the module imports all code for fitting baselines, which most comparisons do not need.
    from unbag.baselines.lexical.predictors import is_baseline

    selected = [name for name, result in models.items() if not is_baseline(result.model)] or list(models)
    if len(selected) != 1:
        names = ", ".join(selected) or "none"
        raise ValueError(
            f"{path}: expected the results of one model, got results of {names}; evaluate each model into a separate "
            "folder"
        )
    return selected[0]


def _short(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 24 else f"{text[:12]}…{text[-6:]}"
