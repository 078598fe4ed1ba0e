"""Results beside results: which differences between models are more than chance."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cached_property
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final, NamedTuple

from unbag import challenge_sets, paired_samples, results
from unbag.challenge_sets.base import BEYOND_WORDS, SCORE
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate, Sample, plain
from unbag.scoring.mcnemar import mcnemar
from unbag.scoring.multiplicity import holm
from unbag.scoring.paired import (
    DEFAULT_RESAMPLES,
    Floats,
    difference_of_draws,
    draws,
    outcomes,
    unpaired_difference,
)
from unbag.scoring.paths import estimates
from unbag.scoring.seeds import seed_test, spread

LEVEL: Final = 0.05
FEW: Final = 30
"""Source examples below which a bootstrap is said to be optimistic."""
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
        return json.dumps([self.result.set, data, plain(self.result.config), self._labels], sort_keys=True)

    @property
    def _labels(self) -> Any:
        return self.result.scores.get("labels")

    def differs(self, other: "Run") -> str:
        """Say in what two results are not of the same task."""
        ours, theirs = (
            {f"data {name}": run.result.data.get(name) for name in _SAME}
            | dict(plain(run.result.config))
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


class Difference(NamedTuple):
    """One number of two systems.

    Attributes:
        set: the challenge set.
        data: what it is made from.
        quantity: the number's path in the scores.
        label: what to call it.
        first: the one's letter.
        second: the other's.
        values: theirs; means over seeds.
        deviations: standard deviations over seeds; None of one.
        difference: second less first, with its 95 % interval; n is of examples, or of seeds.
        test: `mcnemar`, `bootstrap`, `seeds`, or `unpaired` for none.
        p: two-sided; None without a test.
        p_holm: corrected for all tests of the comparison.
    """

    set: str
    data: str
    quantity: str
    label: str
    first: str
    second: str
    values: tuple[float | None, float | None]
    deviations: tuple[float | None, float | None]
    difference: Estimate
    test: str
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison.

    Attributes:
        systems: what was compared.
        differences: every number of every two.
        notes: what could not be compared, or not pair by pair, and why.
        level: at which a corrected p value is significant.
    """

    systems: list[System]
    differences: list[Difference]
    notes: list[str]
    level: float = LEVEL

    def significant(self, difference: Difference) -> bool | None:
        """Tell whether a difference is significant after correction; None where it was not tested."""
        return None if difference.p_holm is None else difference.p_holm <= self.level

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON takes it."""
        return {
            "level": self.level,
            "correction": "holm",
            "systems": [
                {
                    "letter": system.letter,
                    "name": system.name,
                    "seeds": system.seeds,
                    "files": list(dict.fromkeys(str(run.file) for run in system.runs)),
                }
                for system in self.systems
            ],
            "differences": [
                plain(difference._asdict()) | {"significant": self.significant(difference)}
                for difference in self.differences
            ],
            "notes": self.notes,
        }


def compare(
    *paths: Path | str,
    across_data: bool = False,
    quantities: Sequence[str] = (),
    level: float = LEVEL,
    resamples: int = DEFAULT_RESAMPLES,
) -> Comparison:
    """Compare the results of two systems or more.

    Results of the same set, made from the same data with the same options, are compared example by example: by
    McNemar's test where each example counts whole or not at all, else by a paired bootstrap over source examples, which
    also gives every interval (`scoring.mcnemar`, `scoring.paired`). Models whose names differ in a training seed alone
    (`…seed-1`, `…seed-2`) are one system: its numbers are means, tested over seeds (`scoring.seeds`). All p values are
    corrected together (`scoring.multiplicity`). Runs that kept no examples are compared by their intervals only, taken
    for independent, without a test.

    Args:
        paths: results files, folders that `unbag.evaluate` left, trained models with an evaluation in them, or the
            folder of a recipe with several seeds.
        across_data: compare also what was not evaluated on the same data with the same options, unpaired.
        quantities: which numbers: patterns of their paths, such as `p_c` or `by_category.*`; by default
            those of the role "compared" (`challenge_sets`).
        level: at which a corrected p value is significant.
        resamples: of the bootstrap.

    Raises:
        ValueError: if there are no results, fewer than two systems, nothing in common, or other data or options.
    """
    systems = _systems(paths)
    if len(systems) < 2:
        only = f"one, {systems[0].name}" + (f", with seeds {', '.join(systems[0].seeds)}" if systems[0].seeds else "")
        raise ValueError(f"expected two models or more to compare, found {only}")
    notes: list[str] = []
    pairs = _Pairs(systems, quantities, resamples)
    differences: list[Difference] = []
    alone: dict[str, set[str]] = {}
    for one, two in combinations(systems, 2):
        for ours, theirs, same in _matched(one, two, notes, alone, across=across_data):
            differences += pairs.differences(one, ours, two, theirs, same=same, notes=notes)
    notes += [f"{title}: only {_listed(letters)} evaluated on it" for title, letters in alone.items()]
    notes += [
        f"{title}: {_listed(letters)} kept no examples; intervals unpaired, no test"
        for title, letters in pairs.without_examples.items()
    ]
    if not differences:
        raise ValueError("nothing to compare: " + ("; ".join(notes) or f"no number is called {', '.join(quantities)}"))
    tested = [index for index, difference in enumerate(differences) if difference.p is not None]
    for index, p in zip(tested, holm([differences[index].p or 0.0 for index in tested]), strict=True):
        differences[index] = differences[index]._replace(p_holm=float(p))
    return Comparison(systems, differences, list(dict.fromkeys(notes)), level)


def _systems(paths: Sequence[Path | str]) -> list[System]:
    """Read results, and gather what belongs to one system."""
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
    names = [system.name for system in systems.values()]
    return [
        replace(
            system,
            letter=ascii_uppercase[index] if index < len(ascii_uppercase) else f"#{index + 1}",
            name=system.name if names.count(system.name) == 1 else f"{system.name} ({where})",
        )
        for index, ((where, _), system) in enumerate(systems.items())
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


def _matched(
    one: System, two: System, notes: list[str], alone: dict[str, set[str]], *, across: bool
) -> Iterator[tuple[list[Run], list[Run], bool]]:
    """Yield the runs of both systems on each task, and whether it is the same one; note who alone has a task.

    Raises:
        ValueError: if a set was evaluated on other data or with other options, unless across these.
    """
    ours, theirs = one.tasks(), two.tasks()
    for task, runs in ours.items():
        if task in theirs:
            yield runs, theirs[task], True
    ours_only, theirs_only = (
        [runs for task, runs in tasks.items() if task not in others]
        for tasks, others in ((ours, theirs), (theirs, ours))
    )
    shared = {runs[0].result.set for task, runs in ours.items() if task in theirs}
    for runs in ours_only:
        first = runs[0].result
        others = [each for each in theirs_only if each[0].result.set == first.set]
        if first.set in shared:  # both have the set elsewhere: here it is missing, unless it is of the same pairs
            others = [each for each in others if _title(each[0].result) == _title(first)]
        if not others:
            alone.setdefault(_title(first), set()).add(one.letter)
            continue
        other = others[0]
        theirs_only.remove(other)
        how = runs[0].differs(other[0])
        if not across:
            raise ValueError(
                f"{one.name} and {two.name} were not evaluated on the same {first.set} set ({how}); evaluate both with "
                "the same options, or compare them unpaired all the same (--across-data)"
            )
        notes.append(f"{first.set}: {one.letter} and {two.letter} differ in {how}; intervals unpaired, no test")
        yield runs, other, False
    for runs in theirs_only:
        alone.setdefault(_title(runs[0].result), set()).add(two.letter)


class _Pairs:
    """Makes the differences of two systems; the resamples are drawn once for all systems on a task.

    Attributes:
        without_examples: by task, the letters of the systems that kept none.
    """

    def __init__(self, systems: Sequence[System], quantities: Sequence[str], resamples: int) -> None:
        self._systems, self._quantities, self._resamples = systems, quantities, resamples
        self.without_examples: dict[str, set[str]] = {}
        self._drawn: dict[str, dict[tuple[Path, int, str], Floats]] = {}

    def differences(
        self, one: System, ours: list[Run], two: System, theirs: list[Run], *, same: bool, notes: list[str]
    ) -> Iterator[Difference]:
        """Yield the difference of each quantity that both have."""
        first, second = ours[0], theirs[0]
        alone = len(ours) == len(theirs) == 1
        scores = [[dict(estimates(run.result.scores)) for run in runs] for runs in (ours, theirs)]
        if alone and same and (first.samples is None or second.samples is None):
            less = {system.letter for system, run in ((one, first), (two, second)) if run.samples is None}
            self.without_examples.setdefault(_title(first.result), set()).update(less)
        for path, label in self._chosen(first.result).items():
            if path == SCORE.path and len({_counter(run) for run in (*ours, *theirs)}) > 1:
                notes.append(f"{_title(first.result)}: beyond words by other lexical models, hence not compared")
                continue
            values = [[by_path[path].value for by_path in each if path in by_path] for each in scores]
            known = [[value for value in each if value is not None] for each in values]
            if not all(known):
                continue
            spreads = [spread(each) for each in known]
            about = (first.result.set, _data(first.result), path, label, one.letter, two.letter)
            means = (spreads[0].mean, spreads[1].mean)
            deviations = (spreads[0].standard_deviation, spreads[1].standard_deviation)
            if not alone:
                if same:
                    tested = seed_test(*known)
                    yield Difference(*about, means, deviations, tested.difference, "seeds", tested.p)
                else:
                    gap = Estimate(means[1] - means[0], None, None, sum(map(len, known)))
                    yield Difference(*about, means, deviations, gap, "unpaired", None)
                continue
            pair = tuple((run.samples or {}).get(path) for run in (first, second))
            if not same or pair[0] is None or pair[1] is None:
                gap = unpaired_difference(scores[0][0][path], scores[1][0][path])
                yield Difference(*about, means, deviations, gap, "unpaired", None)
                continue
            drawn = [self._draws(run)[run.file, run.number, path] for run in (first, second)]
            bootstrap = difference_of_draws(pair[0], pair[1], drawn[0], drawn[1], level=0.95)
            binary = outcomes(pair[0], pair[1])
            test, p = ("bootstrap", bootstrap.p) if binary is None else ("mcnemar", mcnemar(*binary).p)
            if binary is None and bootstrap.difference.n < FEW:
                n = bootstrap.difference.n
                notes.append(f"{_title(first.result)}: {n} source examples are few to resample; p values are too small")
            yield Difference(*about, means, deviations, bootstrap.difference, test, p)

    def _chosen(self, result: Result) -> dict[str, str]:
        """Return the quantities of a result to compare, by path, and what to call them."""
        paths = [path for path, _ in estimates(result.scores)]
        if self._quantities:
            return {path: path for path in paths if any(fnmatch(path, pattern) for pattern in self._quantities)}
        described = challenge_sets.find(result.set)
        if described is None:  # not installed here: the numbers on top
            return {path: path for path in paths if "." not in path}
        # Few: every further one makes the correction of all p values harsher.
        return {each.path: each.label for each in described.of_role("compared") if each.path in paths}

    def _draws(self, run: Run) -> dict[tuple[Path, int, str], Floats]:
        """Return the resampled values of all systems with examples on a run's task."""
        task = run.task
        if task not in self._drawn:
            on_task = [other for system in self._systems for other in system.runs if other.task == task]
            wanted = {
                (other.file, other.number, path): other.samples[path]
                for other in on_task
                if other.samples
                for path in self._chosen(other.result)
                if path in other.samples
            }
            values = draws(list(wanted.values()), resamples=self._resamples)
            self._drawn[task] = dict(zip(wanted, values, strict=True))
        return self._drawn[task]


def _counter(run: Run) -> str:
    """Return what a run's score beyond words was held against, as text."""
    return json.dumps((run.result.scores.get(BEYOND_WORDS) or {}).get("lexical_model"), sort_keys=True)


def _listed(letters: set[str]) -> str:
    return ", ".join(sorted(letters))


def _title(result: Result) -> str:
    return f"{result.set} · {_data(result)}"


def _data(result: Result) -> str:
    return f"{result.data['name']} {result.data['split']}".strip()


def _short(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 24 else f"{text[:12]}…{text[-6:]}"
