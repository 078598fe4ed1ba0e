"""Which results belong to one system that is compared: a model, or one recipe trained with several seeds."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final, TypeVar

from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result
from unbag.evaluation import samples as paired_samples
from unbag.scoring.bootstrap import Sample, to_json

T = TypeVar("T")

_SEED: Final = re.compile(r"(?P<recipe>.*?)[-_/.]?seed[-_=]?(?P<seed>\d+)/?")
_SAME: Final = ("name", "split", "origin", "revision", "sha256")  # of a result's data


@dataclass(frozen=True)
class Run:
    """One result, and where it lies.

    Attributes:
        result: the result.
        file: the results.json it is in.
        number: its place there.
        seed: the training seed, where the model's name tells one.
    """

    result: Result
    file: Path
    number: int
    seed: str | None

    @cached_property
    def samples(self) -> dict[str, Sample] | None:
        """The examples behind its numbers, where the run kept them."""
        return paired_samples.read(self.file.parent, self.number, self.result)

    @property
    def task(self) -> str:
        """All that must be the same for two results to be compared pair by pair, as text."""
        data = {name: self.result.data.get(name) for name in _SAME}
        return json.dumps([self.result.set, data, to_json(self.result.config), self._labels], sort_keys=True)

    @property
    def _labels(self) -> Any:
        return self.result.scores.get("labels")

    def differs(self, other: "Run") -> str:
        """Say in what two results are not of the same task."""
        ours, theirs = (
            {f"data {name}": run.result.data.get(name) for name in _SAME}
            | dict(to_json(run.result.config))
            | {"the model's labels": run._labels}
            for run in (self, other)
        )
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return "; ".join(f"{name}: {_short(ours.get(name))} and {_short(theirs.get(name))}" for name in names)


@dataclass(frozen=True)
class System:
    """A model, or one recipe trained with several seeds.

    Attributes:
        letter: what stands for it.
        name: of the model or recipe.
        runs: its results: of each set one, or one a seed.
    """

    letter: str
    name: str
    runs: list[Run] = field(default_factory=list)

    @property
    def seeds(self) -> list[str]:
        """The training seeds, in the order given; none of a model whose name tells none."""
        return list(dict.fromkeys(run.seed for run in self.runs if run.seed is not None))

    def tasks(self) -> dict[str, list[Run]]:
        """Return the runs of each task."""
        by_task: dict[str, list[Run]] = {}
        for run in self.runs:
            same = by_task.setdefault(run.task, [])
            if any(run.seed == other.seed for other in same):
                what = "" if run.seed is None else f", seed {run.seed},"
                raise ValueError(
                    f"{self.name}{what} has the set {run.result.set} twice: in {same[0].file} and {run.file}"
                )
            same.append(run)
        return by_task


def systems_in(paths: Sequence[Path | str]) -> list[tuple[str, System]]:
    """Read results, and gather what belongs to one system; with the path that each was found by.

    Raises:
        ValueError: if there are no paths, one is no path, or there are no results.
    """
    if not paths:
        raise ValueError(
            f"expected the results of two models or more to compare, got none; name the folders of runs, or their "
            f"{results.FILE}"
        )
    for path in paths:
        if not isinstance(path, str | PathLike):
            raise ValueError(f"expected the path of results, found {path!r}")
    systems: dict[tuple[str, str], System] = {}
    for path in map(Path, paths):
        for file in _files(path):
            for number, result in enumerate(results.read(file)):
                name = str(result.model["name"])
                seeded = _SEED.fullmatch(name)
                key = ("recipe", seeded["recipe"]) if seeded else (str(path), name)
                title = (seeded["recipe"] or "models") if seeded else name
                system = systems.setdefault(key, System("", title))
                system.runs.append(Run(result, file, number, seeded["seed"] if seeded else None))
    if not systems:
        raise ValueError(f"{', '.join(map(str, paths))}: expected results, got files without any; evaluate again")
    return [(where, system) for (where, _), system in systems.items()]


def lettered(systems: Sequence[tuple[str, System]]) -> list[System]:
    """Return systems with a letter each, and where they were found in the names that several have."""
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
    """Return the results files that a path stands for."""
    if path.is_file():
        return [path]
    for file in (path / results.FILE, path / "evaluation" / results.FILE):
        if file.is_file():
            return [file]
    if seeds := sorted(path.glob(f"*seed-*/evaluation/{results.FILE}")):  # as training.seeds leaves them
        return seeds
    raise ValueError(f"expected a {results.FILE} or a folder with one (unbag evaluate leaves it), found {path}")


def asked_in(path: Path | str) -> tuple[str, System]:
    """Return the one system in a path that is no baseline, or else the one baseline, and where it is."""
    found = [(system.name, system.runs[0].result, system) for _, system in systems_in([path])]
    return str(path), one_asked(found, str(path))


def one_asked(found: Sequence[tuple[str, Result, T]], where: str) -> T:
    """Return what there is of the one model that is no baseline, or else of the one baseline.

    Args:
        found: of each model its name, a result, and what there is of it.
        where: it was found.

    Raises:
        ValueError: if there are several.
    """
    from unbag.baselines.lexical.predictors import (
        is_baseline,  # with all that fits one; other comparisons need not wait for it
    )

    asked = [each for each in found if not is_baseline(each[1].model)] or found
    if len(asked) != 1:
        names = ", ".join(name for name, *_ in asked) or "none"
        raise ValueError(f"expected the results of one model in {where}, found those of {names}; evaluate them apart")
    [(*_, one)] = asked
    return one


def _short(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 24 else f"{text[:12]}…{text[-6:]}"
