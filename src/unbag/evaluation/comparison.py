"""Comparison of results: differences between systems, with intervals and significance tests."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE, SKILL
from unbag.challenge_sets.results import Result
from unbag.evaluation.systems import ComparedSystem, LocatedResult, assign_letters, load_single_system, load_systems
from unbag.evaluation.verdict import TOO_FEW_ROWS
from unbag.inference.options import IDENTITY_OPTIONS, get_default
from unbag.scoring.bootstrap import Estimate, Sample, to_json
from unbag.scoring.nested import iter_estimates
from unbag.scoring.significance import (
    DEFAULT_RESAMPLES,
    Floats,
    compare_binary_outcomes,
    compute_difference_from_draws,
    compute_paired_difference,
    compute_sample_value,
    compute_seed_spread,
    compute_unpaired_difference,
    correct_p_values,
    resample_statistics,
    run_seed_test,
)
from unbag.utils.options import Fraction, PositiveInt, validate

LEVEL: Final = 0.05
FEW: Final = 30
"""Number of source examples below which a note warns that bootstrap p-values are too small."""


_OtherTasks = Literal["reject", "unpaired", "skip"]
"""Treatment of a set that two systems evaluated on different data or with different options."""


class MetricDifference(NamedTuple):
    """Difference between two systems in one metric."""

    set: str
    data: str  # corpus from which the set was built
    quantity: str  # path of the metric in the scores
    label: str  # label of the metric in tables
    first: str  # letter of the first system
    second: str  # letter of the second system
    values: tuple[float | None, float | None]  # values of both systems, as means over seeds
    deviations: tuple[float | None, float | None]  # standard deviations over seeds; None for one seed
    difference: Estimate  # second minus first, with its 95 % interval; n is the smaller n of the two results
    sources: int  # number of source examples, or of training seeds, behind the interval
    test: str  # `mcnemar`, `bootstrap`, `seeds`, or `unpaired` without a test
    p: float | None  # two-sided; None without a test
    p_holm: float | None = None  # corrected for all tests of the comparison (Holm)
    higher_is_better: bool | None = None  # None if unknown


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison of two or more systems."""

    systems: list[ComparedSystem]
    differences: list[MetricDifference]  # of all metrics between all pairs of systems
    notes: list[str]  # reasons why metrics could not be compared, or could not be compared pair by pair
    level: float = LEVEL  # significance level for corrected p-values

    def is_significant(self, difference: MetricDifference) -> bool | None:
        """Check whether a difference is significant after Holm's correction. Return None if there was no test."""
        return None if difference.p_holm is None else difference.p_holm <= self.level

    def find_better(self, difference: MetricDifference) -> str | None:
        """Find the system that is significantly better on a metric. Return its letter, or None if there is none.

        A better value of one metric does not show that a model is better: a model that guesses also has a low P^c. Only
        the skill score distinguishes guessing from reading.
        """
        gap = difference.difference.value
        if not self.is_significant(difference) or not gap or difference.higher_is_better is None:
            return None
        return difference.second if (gap > 0) == difference.higher_is_better else difference.first

    def get_system_name(self, letter: str) -> str:
        """Get the name of a system by its letter."""
        return next(system.name for system in self.systems if system.letter == letter)

    def to_json(self) -> dict[str, Any]:
        """Convert the comparison to a JSON object."""
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
                | {"significant": self.is_significant(difference), "better": self.find_better(difference)}
                for difference in self.differences
            ],
            "notes": self.notes,
        }


def compare(
    *paths: Path | str,
    across_data: bool = False,
    metrics: Sequence[str] = (),
    level: float = LEVEL,
    resamples: int = DEFAULT_RESAMPLES,
) -> Comparison:
    """Compare the results of two or more systems.

    Results on the same set, data and options are compared example by example: with McNemar's test if every example is
    either right or wrong, otherwise with a paired bootstrap over source examples. Models whose names differ only in the
    training seed (`…seed-1`, `…seed-2`) are one system. Its metrics are means, and the test is over seeds. All p-values
    are corrected together (`scoring.significance`). The intervals of differences are those of `scoring.intervals`. Runs
    without stored examples are treated as independent: they are compared by their intervals, without a test.

    Args:
        paths: Results files, folders written by `unbag.evaluate`, trained models with an evaluation, or the folder of
            a recipe with several seeds.
        across_data: Whether to also compare results on different data or with different options, unpaired.
        metrics: Patterns for the paths of metrics, such as `p_c` or `by_category.*`. Default: the metrics with the
            role "compared" (`challenge_sets`).
        level: Significance level for corrected p-values.
        resamples: Number of bootstrap resamples.

    Raises:
        ValueError: If there are no results, fewer than two systems, no common set, or different data or options.
    """
    if not (isinstance(metrics, list | tuple) and all(isinstance(each, str) for each in metrics)):
        raise ValueError(f"metrics: expected a list of patterns, such as ['p_c'], got {metrics!r}; pass a list")
    validate("level", Fraction, level)
    validate("resamples", PositiveInt, resamples)
    systems = assign_letters(load_systems(paths))
    if len(systems) < 2:
        only = f"one, {systems[0].name}" + (f", with seeds {', '.join(systems[0].seeds)}" if systems[0].seeds else "")
        raise ValueError(f"expected at least two models to compare, got {only}; pass another run")
    other_tasks: _OtherTasks = "unpaired" if across_data else "reject"
    return _PairwiseComparison(systems, other_tasks, metrics, resamples).run(level)


def compare_single_models(
    before: Path | str,
    after: Path | str,
    *,
    metrics: Sequence[str] = (),
    is_partial: bool = False,
) -> Comparison:
    """Compare two results folders or files that contain one model each. Baselines are ignored.

    Names are not compared: a recipe that was trained again under the same name is a different system.

    `is_partial` is whether to add a note for each set that cannot be compared, instead of raising an error.
    """
    systems = assign_letters([load_single_system(path) for path in (before, after)])
    return _PairwiseComparison(systems, "skip" if is_partial else "reject", metrics).run(LEVEL)


_MOST_BOOTSTRAPS: Final = 45
"""Number of pairs of models (of ten models) above which metrics that need a bootstrap are not compared."""


def compare_common_examples(results: Sequence[Result], examples: Sequence[Sequence[str]]) -> Comparison:
    """Compare results of several models that cover different examples. Each pair is compared on its common examples.

    Tests and correction are those of `compare`. Skill scores are compared only for models with the same examples,
    because their baseline depends on the examples.

    Args:
        results: Results that were just computed, so that their estimates have samples.
        examples: Ids of the source examples of each result, in the order of the samples.
    """
    names = list(dict.fromkeys(str(result.model["name"]) for result in results))
    systems = assign_letters([(name, ComparedSystem("", name)) for name in names])
    letters = dict(zip(names, systems, strict=True))
    # A set may occur with several options or samples, which are compared separately.
    tasks = [json.dumps(to_json([each.set, each.corpus, each.config]), sort_keys=True, default=str) for each in results]
    pairs = [(one, two) for one, two in combinations(range(len(results)), 2) if tasks[one] == tasks[two]]
    differences: list[MetricDifference] = []
    notes: list[str] = []
    for one, two in pairs:
        first, second = results[one], results[two]
        places = np.intersect1d(examples[one], examples[two], assume_unique=True, return_indices=True)[1:]
        are_same = len(places[0]) == len(examples[one]) == len(examples[two])
        samples = [{path: e.sample for path, e in iter_estimates(each.scores) if e.sample} for each in (first, second)]
        for path, (label, direction) in _choose_metrics(first, ()).items():
            if not len(places[0]) or (path == SCORE.path and not are_same):
                continue
            # Terms of documents, whose pairs are not all covered, cannot be restricted to common pairs.
            lengths = [len(each[path].columns) if path in each else 0 for each in samples]
            if lengths != [len(examples[one]), len(examples[two])]:
                continue
            parts = [
                Sample(each[path].statistic, each[path].columns[rows])
                for each, rows in zip(samples, places, strict=True)
            ]
            test, compared = "mcnemar", compare_binary_outcomes(parts[0], parts[1])
            if compared is None and len(pairs) > _MOST_BOOTSTRAPS:
                notes.append(
                    f"{_title(first)}: {label} is not compared for more than {_MOST_BOOTSTRAPS} pairs of models"
                )
                continue
            if compared is None:
                test, compared = "bootstrap", compute_paired_difference(parts[0], parts[1])
            n = int(parts[0].columns[:, 1].sum()) if test == "mcnemar" else len(places[0])
            differences.append(
                MetricDifference(
                    set=first.set,
                    data=first.corpus,
                    quantity=path,
                    label=label,
                    first=letters[str(first.model["name"])].letter,
                    second=letters[str(second.model["name"])].letter,
                    values=(compute_sample_value(parts[0]), compute_sample_value(parts[1])),
                    deviations=(None, None),
                    difference=compared.difference.copy_with_sample(None, n),
                    sources=len(places[0]),
                    test=test,
                    p=compared.p,
                    higher_is_better=direction,
                )
            )
    return Comparison(systems, _correct(differences), list(dict.fromkeys(notes)))


def _correct(differences: Sequence[MetricDifference]) -> list[MetricDifference]:
    """Add the p-values that are corrected for all tests."""
    corrected = list(differences)
    tested = [index for index, difference in enumerate(differences) if difference.p is not None]
    for index, p in zip(tested, correct_p_values([differences[index].p or 0.0 for index in tested]), strict=True):
        corrected[index] = differences[index]._replace(p_holm=float(p))
    return corrected


class _PairwiseComparison:
    """Comparison of each pair of systems. Resamples are drawn once for all systems on a task."""

    def __init__(
        self,
        systems: list[ComparedSystem],
        other_tasks: _OtherTasks,
        metrics: Sequence[str],
        resamples: int = DEFAULT_RESAMPLES,
    ) -> None:
        self._systems, self._other_tasks = systems, other_tasks
        self._metrics, self._resamples = metrics, resamples
        self._notes: list[str] = []
        # Letters of the systems by the set and corpus that only they evaluated, or without stored examples.
        self._alone: dict[str, set[str]] = {}
        self._without_examples: dict[str, set[str]] = {}
        self._drawn: dict[str, dict[tuple[Path, int, str], Floats]] = {}

    def run(self, level: float) -> Comparison:
        """Compare all pairs of systems."""
        notes = self._notes
        differences: list[MetricDifference] = []
        for one, two in combinations(self._systems, 2):
            for ours, theirs, same in self._iter_matched(one, two):
                differences += self._iter_differences(one, ours, two, theirs, same=same)
                if differing := _describe_differing_options(ours[0].result, theirs[0].result):
                    notes.append(f"{one.letter} and {two.letter} differ in the model options {differing}")
        notes += [f"{title}: evaluated only for {_listed(letters)}" for title, letters in self._alone.items()]
        notes += [
            f"{title}: {_listed(letters)} stored no examples; intervals unpaired, without a test"
            for title, letters in self._without_examples.items()
        ]
        if not differences and self._other_tasks != "skip":
            reason = f"no metric matches {', '.join(self._metrics)} in both"
            if tuple(self._metrics) == (SCORE.path,):
                reason = (
                    f"no set has a skill score in both ({TOO_FEW_ROWS}); evaluate more rows, or choose other metrics "
                    "(--metric)"
                )
            raise ValueError("expected metrics that both runs contain, got none: " + ("; ".join(notes) or reason))
        differences = _correct(differences)
        n_tests = sum(difference.p is not None for difference in differences)
        # Bootstrap p-values have a lower limit, so Holm's correction may make significance impossible.
        least = 2 / (self._resamples + 1)
        if n_tests * least > level and any(difference.test == "bootstrap" for difference in differences):
            notes.append(
                f"with {self._resamples:,} bootstrap resamples, p is at least {least:.1g}, which is not significant "
                f"among {n_tests} tests; compare fewer systems or metrics (--metric)"
            )
        return Comparison(self._systems, differences, list(dict.fromkeys(notes)), level)

    def _iter_matched(
        self, one: ComparedSystem, two: ComparedSystem
    ) -> Iterator[tuple[list[LocatedResult], list[LocatedResult], bool]]:
        """Iterate over the runs of both systems on each set, and whether both have the same task."""
        ours, theirs = one.group_by_task(), two.group_by_task()
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
            if first.set in shared:  # both have the set with a different task: match only runs on the same corpus
                others = [each for each in others if _title(each[0].result) == _title(first)]
            if not others:
                self._alone.setdefault(_title(first), set()).add(one.letter)
                continue
            other = others[0]
            theirs_only.remove(other)
            how = runs[0].describe_difference(other[0])
            if self._other_tasks == "skip":
                self._notes.append(f"{_title(first)}: not compared, because the sets differ ({how})")
                continue
            if self._other_tasks == "reject":
                raise ValueError(
                    f"{one.name} and {two.name}: expected results on the same {first.set} set, got different sets "
                    f"({how}); evaluate both models with the same options, or compare them unpaired (`unbag compare "
                    "--across-data`)"
                )
            self._notes.append(
                f"{first.set}: {one.letter} and {two.letter} differ in {how}; intervals unpaired, without a test"
            )
            yield runs, other, False
        for runs in theirs_only:
            self._alone.setdefault(_title(runs[0].result), set()).add(two.letter)

    def _iter_differences(
        self,
        one: ComparedSystem,
        ours: list[LocatedResult],
        two: ComparedSystem,
        theirs: list[LocatedResult],
        *,
        same: bool,
    ) -> Iterator[MetricDifference]:
        """Compute the difference between two systems for each metric that both systems have."""
        first, second = ours[0], theirs[0]
        title = _title(first.result)
        alone = len(ours) == len(theirs) == 1
        scores = [[dict(iter_estimates(run.result.scores)) for run in runs] for runs in (ours, theirs)]
        if alone and same and (first.samples is None or second.samples is None):
            less = {system.letter for system, run in ((one, first), (two, second)) if run.samples is None}
            self._without_examples.setdefault(title, set()).update(less)
        for path, (label, direction) in _choose_metrics(first.result, self._metrics).items():
            if path == SCORE.path and len({_baselines(run) for run in (*ours, *theirs)}) > 1:
                self._notes.append(f"{title}: skill scores are not compared, because their baselines differ")
                continue
            values = [[by_path[path].value for by_path in each if path in by_path] for each in scores]
            present = [[value for value in each if value is not None] for each in values]
            if not all(present):
                continue
            n = min(by_path[path].n for each in scores for by_path in each if path in by_path)
            means, deviations = zip(*map(compute_seed_spread, present), strict=True)
            fields = (first.result.set, first.result.corpus, path, label, one.letter, two.letter)
            difference = partial(MetricDifference, *fields, means, deviations, higher_is_better=direction)
            if not alone:
                seeds = sum(map(len, present))
                if same:
                    tested = run_seed_test(*present)
                    yield difference(tested.difference.copy_with_sample(None, n), seeds, "seeds", tested.p)
                else:
                    yield difference(Estimate(means[1] - means[0], None, None, n), seeds, "unpaired", None)
                continue
            pair = tuple((run.samples or {}).get(path) for run in (first, second))
            if not same or pair[0] is None or pair[1] is None:
                if same and first.samples and second.samples:  # both stored examples, but not for this metric
                    self._notes.append(f"{title}: {label} is not tested; its interval is unpaired")
                yield difference(
                    compute_unpaired_difference(scores[0][0][path], scores[1][0][path]), n, "unpaired", None
                )
                continue
            test, compared = "mcnemar", compare_binary_outcomes(pair[0], pair[1])
            if compared is None:
                drawn = [self._draws(run)[run.file, run.number, path] for run in (first, second)]
                test, compared = "bootstrap", compute_difference_from_draws(pair[0], pair[1], drawn[0], drawn[1])
            sources = compared.difference.n
            if test == "bootstrap" and sources < FEW:
                self._notes.append(f"{title}: only {sources} source examples for the bootstrap; p-values are too small")
            yield difference(compared.difference.copy_with_sample(None, n), sources, test, compared.p)

    def _draws(self, run: LocatedResult) -> dict[tuple[Path, int, str], Floats]:
        """Resample the values of all systems with stored examples on a run's task. The resamples are cached."""
        task = run.task_key
        if task not in self._drawn:
            on_task = [other for system in self._systems for other in system.runs if other.task_key == task]
            wanted = {
                (other.file, other.number, path): other.samples[path]
                for other in on_task
                if other.samples
                for path in _choose_metrics(other.result, self._metrics)
                if path in other.samples
            }
            values = resample_statistics(list(wanted.values()), resamples=self._resamples)
            self._drawn[task] = dict(zip(wanted, values, strict=True))
        return self._drawn[task]


def _describe_differing_options(one: Result, other: Result) -> str:
    """Describe the options that change how two models are used, such as their thresholds; empty if there are none."""
    ours, theirs = (
        {name: value for name, value in result.model.get("options", {}).items() if name not in IDENTITY_OPTIONS}
        for result in (one, other)
    )
    values = {name: [options.get(name, get_default(name)) for options in (ours, theirs)] for name in {**ours, **theirs}}
    return "; ".join(
        f"{name} ({' and '.join('none' if value is None else str(value) for value in both)})"
        for name, both in values.items()
        if both[0] != both[1]
    )


def _choose_metrics(result: Result, patterns: Sequence[str]) -> dict[str, tuple[str, bool | None]]:
    """Select the metrics of a result to compare. Returns label and direction by path."""
    paths = [path for path, _ in iter_estimates(result.scores)]
    described = challenge_sets.find_challenge_set(result.set)
    if patterns:
        # As in `evaluation.metrics.describe_metrics`, the metric of the set takes precedence over that of a verifier.
        by_name = () if described is None else (SCORE, *described.named_metrics)
        names = {path: each.name for each in by_name for path in (each.path, each.other_path) if path}
        chosen = [
            path for path in paths if any(pattern == names.get(path) or fnmatch(path, pattern) for pattern in patterns)
        ]
        metrics = {} if described is None else described.map_metrics_by_path()
        return {p: (m.label, m.higher_is_better) if (m := metrics.get(p)) else (p, None) for p in chosen}
    if described is None:  # the set is not installed: compare its top-level metrics
        return {path: (path, None) for path in paths if "." not in path}
    # Only a few by default: each additional metric makes the correction of all p-values stricter.
    return {
        each.path: (each.label, each.higher_is_better)
        for each in described.list_metrics_with_role("compared")
        if each.path in paths
    }


def _baselines(run: LocatedResult) -> str:
    """Build a key for the baselines of a run's skill score: lexical model, and use of the shuffled control."""
    skill = run.result.scores.get(SKILL) or {}
    return json.dumps([skill.get("lexical_model"), skill.get("shuffled") is not None], sort_keys=True)


def _listed(letters: set[str]) -> str:
    return ", ".join(sorted(letters))


def _title(result: Result) -> str:
    return f"{challenge_sets.get_display_name(result.set)} · {result.corpus}"
