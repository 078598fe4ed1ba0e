"""Results beside results: which differences between models are more than chance."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from itertools import combinations
from numbers import Real
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE, SKILL
from unbag.challenge_sets.results import Result
from unbag.evaluation.systems import Run, System, asked_in, lettered, systems_in
from unbag.scoring.bootstrap import Estimate, to_json
from unbag.scoring.nested import iter_estimates
from unbag.scoring.significance import (
    DEFAULT_RESAMPLES,
    Floats,
    binary_outcomes,
    difference_of_draws,
    holm,
    mcnemar,
    resample_statistics,
    seed_test,
    spread,
    unpaired_difference,
)
from unbag.utils.options import check_int

LEVEL: Final = 0.05
FEW: Final = 30
"""Source examples below which a bootstrap is said to be optimistic."""


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
        difference: second less first, with its 95 % interval; n is that of the number in either result, the smaller.
        sources: the source examples, or the trained seeds, that the interval was drawn from.
        test: `mcnemar`, `bootstrap`, `seeds`, or `unpaired` for none.
        p: two-sided; None without a test.
        p_holm: corrected for all tests of the comparison.
        higher_is_better: the number's direction; None where nobody says it.
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
    sources: int
    test: str
    p: float | None
    p_holm: float | None = None
    higher_is_better: bool | None = None


class _Title(NamedTuple):
    """What a note is about: a set, and what it is made from."""

    set: str
    data: str

    def __str__(self) -> str:
        return f"{challenge_sets.display_name(self.set)} · {self.data}"


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison.

    Attributes:
        systems: what was compared.
        differences: every number of every two.
        notes: what could not be compared, or not pair by pair, and why.
        level: at which a corrected p value is significant.
        untold: the sets of which the notes say that a number, or all of them, could not be compared on some data.
    """

    systems: list[System]
    differences: list[Difference]
    notes: list[str]
    level: float = LEVEL
    untold: frozenset[str] = frozenset()

    def significant(self, difference: Difference) -> bool | None:
        """Tell whether a difference is significant after correction; None where it was not tested."""
        return None if difference.p_holm is None else difference.p_holm <= self.level

    def better(self, difference: Difference) -> str | None:
        """Return the letter of the system that is significantly better by a number's own direction; None if neither.

        That number alone: a guess has a low P^c too, which only the skill score tells from reading.
        """
        gap = difference.difference.value
        if not self.significant(difference) or not gap or difference.higher_is_better is None:
            return None
        return difference.second if (gap > 0) == difference.higher_is_better else difference.first

    def name(self, letter: str) -> str:
        """Return the name of the system that a letter stands for."""
        return next(system.name for system in self.systems if system.letter == letter)

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
                to_json(difference._asdict())
                | {"significant": self.significant(difference), "better": self.better(difference)}
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
    McNemar's test where each example counts whole or not at all, else by a paired bootstrap over source examples.
    Models whose names differ in a training seed alone (`…seed-1`, `…seed-2`) are one system: its numbers are means,
    tested over seeds. All p values are corrected together (`scoring.significance`). Differences have the intervals of
    `scoring.intervals`. Runs that kept no examples are compared by their intervals only, as if they were independent,
    without a test.

    Args:
        paths: results files, folders that `unbag.evaluate` left, trained models with an evaluation in them, or the
            folder of a recipe with several seeds.
        across_data: compare also what was not evaluated on the same data with the same options, unpaired.
        quantities: which numbers: their names (`auroc`), or patterns of their paths, such as `p_c` or `by_category.*`;
            by default those of the role "compared" (`challenge_sets`).
        level: at which a corrected p value is significant.
        resamples: of the bootstrap.

    Raises:
        ValueError: if there are no results, fewer than two systems, nothing in common, or other data or options.
    """
    _require(quantities, level, resamples)
    systems = lettered(systems_in(paths))
    if len(systems) < 2:
        only = f"one, {systems[0].name}" + (f", with seeds {', '.join(systems[0].seeds)}" if systems[0].seeds else "")
        raise ValueError(f"expected two models or more to compare, found {only}")
    return _compared(systems, across_data=across_data, quantities=quantities, level=level, resamples=resamples)


def compare_two(
    before: Path | str, after: Path | str, *, quantities: Sequence[str] = (), level: float = LEVEL
) -> Comparison:
    """Compare the one model of a path with the one of another, as `compare` does; baselines beside them do not count.

    Names say nothing here: the same recipe trained again under its old name is another system.

    Raises:
        ValueError: if a path has several models, or as `compare`.
    """
    _require(quantities, level)
    systems = [asked_in(path) for path in (before, after)]
    return _compared(lettered(systems), across_data=False, quantities=quantities, level=level)


def _require(quantities: Sequence[str], level: float, resamples: int = DEFAULT_RESAMPLES) -> None:
    """Refuse what says nothing of how to compare.

    Raises:
        ValueError: naming the first that is something else.
    """
    if not (isinstance(quantities, list | tuple) and all(isinstance(each, str) for each in quantities)):
        raise ValueError(f"expected quantities to be a list of patterns, such as ['p_c'], found {quantities!r}")
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 <= level <= 1:
        raise ValueError(f"expected a level from 0 to 1, found {level!r}")
    check_int("resamples", resamples, least=1)


def _compared(
    systems: list[System],
    *,
    across_data: bool,
    quantities: Sequence[str],
    level: float,
    resamples: int = DEFAULT_RESAMPLES,
) -> Comparison:
    notes: list[str] = []
    pairs = _Pairs(systems, quantities, resamples)
    differences: list[Difference] = []
    alone: dict[_Title, set[str]] = {}
    for one, two in combinations(systems, 2):
        for ours, theirs, same in _matched(one, two, notes, alone, across=across_data):
            differences += pairs.differences(one, ours, two, theirs, same=same, notes=notes)
    notes += [f"{title}: only {_listed(letters)} evaluated on it" for title, letters in alone.items()]
    notes += [
        f"{title}: {_listed(letters)} kept no examples; intervals unpaired, no test"
        for title, letters in pairs.without_examples.items()
    ]
    if not differences:
        raise ValueError(
            "nothing to compare: " + ("; ".join(notes) or f"no number is called {', '.join(quantities)} in both")
        )
    tested = [index for index, difference in enumerate(differences) if difference.p is not None]
    for index, p in zip(tested, holm([differences[index].p or 0.0 for index in tested]), strict=True):
        differences[index] = differences[index]._replace(p_holm=float(p))
    least = 2 / (resamples + 1)
    if len(tested) * least > level and any(differences[index].test == "bootstrap" for index in tested):
        notes.append(
            f"a bootstrap of {resamples:,} resamples gives no p below {least:.1g}, which among {len(tested)} tests is "
            "not significant; compare fewer systems, or name the numbers (--metric)"
        )
    untold = frozenset(title.set for title in (*alone, *pairs.other_baselines))
    return Comparison(systems, differences, list(dict.fromkeys(notes)), level, untold)


def _matched(
    one: System, two: System, notes: list[str], alone: dict[_Title, set[str]], *, across: bool
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
                "the same options (`unbag compare --across-data` compares them unpaired all the same)"
            )
        notes.append(f"{first.set}: {one.letter} and {two.letter} differ in {how}; intervals unpaired, no test")
        yield runs, other, False
    for runs in theirs_only:
        alone.setdefault(_title(runs[0].result), set()).add(two.letter)


class _Pairs:
    """Makes the differences of two systems; the resamples are drawn once for all systems on a task.

    Attributes:
        without_examples: by task, the letters of the systems that kept none.
        other_baselines: the tasks whose skill score are held against different baselines, and so not compared.
    """

    def __init__(self, systems: Sequence[System], quantities: Sequence[str], resamples: int) -> None:
        self._systems, self._quantities, self._resamples = systems, quantities, resamples
        self.without_examples: dict[_Title, set[str]] = {}
        self.other_baselines: set[_Title] = set()
        self._drawn: dict[str, dict[tuple[Path, int, str], Floats]] = {}

    def differences(
        self, one: System, ours: list[Run], two: System, theirs: list[Run], *, same: bool, notes: list[str]
    ) -> Iterator[Difference]:
        """Yield the difference of each quantity that both have."""
        first, second = ours[0], theirs[0]
        alone = len(ours) == len(theirs) == 1
        scores = [[dict(iter_estimates(run.result.scores)) for run in runs] for runs in (ours, theirs)]
        if alone and same and (first.samples is None or second.samples is None):
            less = {system.letter for system, run in ((one, first), (two, second)) if run.samples is None}
            self.without_examples.setdefault(_title(first.result), set()).update(less)
        for path, (label, direction) in self._chosen(first.result).items():
            if path == SCORE.path and len({_baselines(run) for run in (*ours, *theirs)}) > 1:
                self.other_baselines.add(_title(first.result))
                notes.append(f"{_title(first.result)}: skill score against other baselines, hence not compared")
                continue
            values = [[by_path[path].value for by_path in each if path in by_path] for each in scores]
            known = [[value for value in each if value is not None] for each in values]
            if not all(known):
                continue
            n = min(by_path[path].n for each in scores for by_path in each if path in by_path)
            spreads = [spread(each) for each in known]
            about = (first.result.set, first.result.corpus, path, label, one.letter, two.letter)
            means = (spreads[0].mean, spreads[1].mean)
            deviations = (spreads[0].standard_deviation, spreads[1].standard_deviation)
            made = partial(Difference, *about, means, deviations, higher_is_better=direction)
            if not alone:
                seeds = sum(map(len, known))
                if same:
                    tested = seed_test(*known)
                    yield made(tested.difference.of(None, n), seeds, "seeds", tested.p)
                else:
                    yield made(Estimate(means[1] - means[0], None, None, n), seeds, "unpaired", None)
                continue
            pair = tuple((run.samples or {}).get(path) for run in (first, second))
            if not same or pair[0] is None or pair[1] is None:
                if same and first.samples and second.samples:  # both kept examples, which do not give this number
                    notes.append(f"{_title(first.result)}: {label} not tested, interval unpaired")
                yield made(unpaired_difference(scores[0][0][path], scores[1][0][path]), n, "unpaired", None)
                continue
            drawn = [self._draws(run)[run.file, run.number, path] for run in (first, second)]
            bootstrap = difference_of_draws(pair[0], pair[1], drawn[0], drawn[1], level=0.95)
            binary = binary_outcomes(pair[0], pair[1])
            test, p = ("bootstrap", bootstrap.p) if binary is None else ("mcnemar", mcnemar(*binary).p)
            sources = bootstrap.difference.n
            if binary is None and sources < FEW:
                few = f"{sources} source examples are few to resample; p values are too small"
                notes.append(f"{_title(first.result)}: {few}")
            yield made(bootstrap.difference.of(None, n), sources, test, p)

    def _chosen(self, result: Result) -> dict[str, tuple[str, bool | None]]:
        """Return the quantities of a result to compare, by path: what to call each, and whether higher is better."""
        paths = [path for path, _ in iter_estimates(result.scores)]
        described = challenge_sets.find(result.set)
        known = {} if described is None else described.quantities_by_path()
        if self._quantities:
            names = {path: each.name for path, each in known.items()}
            chosen = [
                path
                for path in paths
                if any(pattern == names.get(path) or fnmatch(path, pattern) for pattern in self._quantities)
            ]
            named = {path: (each.label, each.higher_is_better) for path, each in known.items()}
            return {path: named.get(path, (path, None)) for path in chosen}
        if described is None:  # not installed here: the numbers on top
            return {path: (path, None) for path in paths if "." not in path}
        # Few: every further one makes the correction of all p values harsher.
        return {
            each.path: (each.label, each.higher_is_better)
            for each in described.quantities_with_role("compared")
            if each.path in paths
        }

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
            values = resample_statistics(list(wanted.values()), resamples=self._resamples)
            self._drawn[task] = dict(zip(wanted, values, strict=True))
        return self._drawn[task]


def _baselines(run: Run) -> str:
    """Return what a run's skill score was held against, as text: the lexical model, by what made it."""
    beyond = run.result.scores.get(SKILL) or {}
    return json.dumps([beyond.get("lexical_model"), beyond.get("shuffled") is not None], sort_keys=True)


def _listed(letters: set[str]) -> str:
    return ", ".join(sorted(letters))


def _title(result: Result) -> _Title:
    return _Title(result.set, result.corpus)
