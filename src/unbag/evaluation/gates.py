"""Gates: bounds on a model's metrics. A CI build fails if a bound is violated.

A gate tests the interval of a metric, not its point estimate. The estimate depends on the sample: a model exactly at
the bound falls below it on half of all samples. There are four outcomes:

    fails          the whole 95 % interval is on the wrong side of the bound: the model misses it
    passes         the whole interval is on the right side: the model reaches it
    inconclusive   the interval contains the bound, or there are too few sources
    not computed   there is no value, no interval or no test, such as for rows that only one run has

By default an inconclusive gate does not fail a build, since the outcome would depend on chance. A strict gate does:
with few examples every gate is inconclusive, which does not show that the model reaches the bound. A gate that was not
computed always fails a build, since it would otherwise accept every model.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import DETECTION, SCORE, SKILL, VERIFICATION
from unbag.challenge_sets.results import Result, read_results
from unbag.evaluation import comparison, metrics, parity
from unbag.evaluation.metrics import CHANGED_LABELS
from unbag.evaluation.parity import LabelChangeRate
from unbag.evaluation.systems import LocatedResult, select_single_model
from unbag.evaluation.verdict import LEAST_SOURCES, MARGIN, TOO_FEW_ROWS
from unbag.scoring.bootstrap import Estimate
from unbag.utils.options import OptionError

Side = Literal["min", "max"]
Outcome = Literal["passes", "fails", "inconclusive", "not computed"]

_BOUND: Final = re.compile(
    r"\s*(?P<set>[^:=]+?)\s*:\s*(?P<number>[^:=]+?)\s*=\s*(?P<bound>[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)\s*"
)

_NOTHING: Final = Estimate(None, None, None, 0)
_DECIMALS: Final = 9  # of an interval end that is compared with a bound


class GateBound(NamedTuple):
    """Lower or upper bound on one metric of a challenge set."""

    set: str
    number: str
    side: Side
    value: float

    def __str__(self) -> str:
        return f"{'≥' if self.side == 'min' else '≤'} {self.value:g}"


@dataclass(frozen=True)
class Gates:
    """Gates for one model."""

    bounds: tuple[GateBound, ...] = ()
    earlier_run: Path | None = None  # results file of a run that the model must not be worse than
    metric_paths: tuple[str, ...] = ()  # metrics compared with the earlier run, as in `check_no_worse_than`
    strict: bool = False  # whether inconclusive gates also fail

    def __post_init__(self) -> None:
        if self.earlier_run is not None:
            return
        if not self.bounds:
            raise OptionError("expected a gate, got none; add --min, --max or --no-worse-than")
        if self.metric_paths:
            raise OptionError(
                "--metric: requires --no-worse-than; with --min and --max, name the metric in the bound, such as "
                "--min permuted:score=.2"
            )
        if bounds := self.changed_label_bounds:
            raise OptionError(
                f"--max {bounds[0].set}:{CHANGED_LABELS.name}: expected --no-worse-than, got none; add the earlier "
                "run with --no-worse-than"
            )

    @property
    def changed_label_bounds(self) -> list[GateBound]:
        """Bounds on the labels that changed since the earlier run."""
        return [each for each in self.bounds if each.number == CHANGED_LABELS.name]


@dataclass(frozen=True)
class GateResult:
    """Outcome of a gate. A gate checks that a metric satisfies a bound, or is no worse than in an earlier run."""

    set: str
    data: str  # corpus from which the set was built
    number: str  # name of the metric
    label: str  # label of the metric in tables
    asked: str  # bound as text, or `no worse`
    estimate: Estimate  # value of the metric, or its difference from the earlier run, with the interval
    outcome: Outcome
    why: str = ""  # reason of an inconclusive or not computed gate, if the interval does not show it
    against: str = ""  # name of the model that the metric is compared with; empty for a bound
    p: float | None = None  # p-value of the difference, corrected for all such gates (Holm); None without a test

    def is_failure(self, *, strict: bool) -> bool:
        """Check whether the gate must fail a CI build. With `strict`, inconclusive gates also fail."""
        return self.outcome in ("fails", "not computed") or (strict and self.outcome != "passes")


@dataclass(frozen=True)
class GateReport:
    """Outcome of all gates for one model."""

    results: list[Result]
    gates: list[GateResult]
    notes: list[str]  # metrics and labels that could not be compared with the earlier run, with the reason
    changed_labels: list[LabelChangeRate]  # since the earlier run; empty without one
    strict: bool  # whether inconclusive gates also fail

    @property
    def is_failure(self) -> bool:
        """Whether a CI build must fail."""
        return any(each.is_failure(strict=self.strict) for each in self.gates)


def parse_bound(text: str, bound_type: Side) -> GateBound:
    """Parse the text `SET:METRIC=BOUND` of a smallest value ("min") or largest value ("max").

    >>> parse_bound("swapped:accuracy_after=.6", "min")
    GateBound(set='swapped', number='accuracy_after', side='min', value=0.6)
    """
    parts = _BOUND.fullmatch(text)
    if parts is None or math.isinf(value := float(parts["bound"])):
        raise OptionError(
            f"--{bound_type}: expected SET:METRIC=BOUND, such as permuted:score=.2, got {text!r}; correct the bound"
        )
    set_name, name = parts["set"], parts["number"]
    try:
        numbers = metrics.describe_metrics(set_name) | {CHANGED_LABELS.name: CHANGED_LABELS}
    except ValueError as error:
        raise OptionError(f"--{bound_type}: {error}") from None
    if name not in numbers:
        alike = get_close_matches(name, numbers, n=1)
        raise OptionError(
            f"--{bound_type}: expected a metric of {set_name}, got {name!r}; "
            f"{f'did you mean {alike[0]}? ' if alike else ''}the metrics are {', '.join(numbers)}"
        )
    least, most = numbers[name].limits
    if not least <= value <= most:
        between = f"from {least:g} to {most:g}" if math.isfinite(least) else f"of at most {most:g}"
        as_share = f"; write a percentage as {value / 100:g}" if 1 < value <= 100 and most == 1 else ""
        raise OptionError(f"--{bound_type} {text}: expected a bound {between}, got {value:g}{as_share}")
    if numbers[name].higher_is_better != (bound_type == "min"):
        right = "--min" if bound_type == "max" else "--max"
        better = "higher" if bound_type == "max" else "lower"
        raise OptionError(
            f"--{bound_type} {text}: expected {right}, since {better} values of {set_name}:{name} are better"
        )
    return GateBound(set_name, name, bound_type, value)


def select_results_of_single_model(results: Sequence[Result], path: str) -> list[Result]:
    """Select the results of the only model in a run. Baselines are ignored, unless there is no other model."""
    by_model = metrics.group_by_model(results)
    return by_model[select_single_model({name: of_one[0] for name, of_one in by_model.items()}, path)]


def check_gates(run: Path, gates: Gates) -> GateReport:
    """Check the results of one model (a results file) against all gates."""
    results = select_results_of_single_model(read_results(run), str(run))
    checked = check_bounds(results, [each for each in gates.bounds if each not in gates.changed_label_bounds])
    notes: list[str] = []
    changed_labels: list[LabelChangeRate] = []
    if gates.earlier_run is not None:
        compared, notes = check_no_worse_than(run, gates.earlier_run, gates.metric_paths)
        changed_labels, parity_notes = parity.compare_predicted_labels(run, gates.earlier_run)
        checked += [*compared, *check_changed_labels(changed_labels, gates.changed_label_bounds, parity_notes)]
        notes = [*notes, *parity_notes]
    if all(each.estimate.value is None for each in checked):  # too few rows for every gate: nothing was checked
        checked = [replace(each, outcome="not computed") for each in checked]
    return GateReport(results, checked, notes, changed_labels, gates.strict)


def check_bounds(results: Sequence[Result], bounds: Iterable[GateBound]) -> list[GateResult]:
    """Check the results of one model against bounds. Each bound applies to all results on its challenge set."""
    checked = []
    for each in bounds:
        matching = [result for result in results if result.set == each.set]
        if not matching:
            there = ", ".join(dict.fromkeys(result.set for result in results)) or "none"
            raise ValueError(
                f"--{each.side} {each.set}:{each.number}: expected results on {each.set}, got results on {there}; "
                f"evaluate {each.set}"
            )
        checked += [_check_bound(result, each) for result in matching]
    return checked


def check_no_worse_than(
    run: Path, earlier_run: Path, metric_paths: Sequence[str] = ()
) -> tuple[list[GateResult], list[str]]:
    """Check that a run is no worse than an earlier run, with paired tests on the same examples.

    A gate fails if its metric is significantly worse (with Holm's correction over these gates). It passes if the
    interval of the difference shows that the metric is at most `evaluation.verdict.MARGIN` worse. It is inconclusive
    with fewer than `evaluation.verdict.LEAST_SOURCES` source examples, or if both runs have too few rows for a skill
    score. A gate on a set that was not evaluated again, or that cannot be compared, is not computed.

    `metric_paths` are those of `evaluation.comparison.compare`. Default: the skill score of each set, since guessing
    improves some of the papers' metrics.

    Returns:
        One gate per metric and set of the earlier run, and notes on sets that only one run evaluated.
    """
    compared = comparison.compare_single_models(
        earlier_run, run, metrics=metric_paths or (SCORE.path,), is_partial=True
    )
    checked = []
    old, new = ({(run.result.set, run.result.corpus): run for run in system.runs} for system in compared.systems)
    for each in compared.differences:
        if each.higher_is_better is None:
            raise ValueError(
                f"--metric: expected a metric for which higher or lower is better, got {each.quantity} of "
                f"{each.set}; use another metric"
            )
        name = metrics.SCORE_NAME if each.quantity == SCORE.path else each.quantity
        fields = (each.set, each.data, name, each.label, "no worse")
        outcome, why = _judge_difference(compared, each, old[each.set, each.data].result)
        against = compared.get_system_name(each.first)
        checked.append(GateResult(*fields, each.difference, outcome, why, against, each.p_holm))
    found = {(each.set, each.data) for each in checked}
    number = ",".join(metric_paths) or metrics.SCORE_NAME
    missing = [key for key in old if key not in found]
    for key in missing:
        outcome, why = _explain_missing_difference(key, old[key], new.get(key), metric_paths, compared.notes)
        checked.append(GateResult(*key, number, number, "no worse", _NOTHING, outcome, why, compared.systems[0].name))
    explained = {f"{challenge_sets.get_display_name(name)} · {data}" for name, data in missing}
    return checked, [note for note in compared.notes if note.partition(": ")[0] not in explained]


def _judge_difference(
    compared: comparison.Comparison, each: comparison.MetricDifference, earlier: Result
) -> tuple[Outcome, str]:
    """Decide a gate on the difference from an earlier run. Returns the outcome and its reason, which may be empty."""
    if each.p_holm is None:
        return "not computed", "not tested, because the metric has no test or a run contains no examples"
    if each.test != "seeds" and each.sources < LEAST_SOURCES:
        return "inconclusive", _too_few(each.sources)
    if compared.find_better(each) == each.first:
        return "fails", ""
    gap = each.difference
    # The largest loss within the interval; None without an interval.
    most = None if gap.low is None or gap.high is None else -gap.low if each.higher_is_better else gap.high
    if most is None or round(most, _DECIMALS) > MARGIN:
        return "inconclusive", ""
    # Unanswered rows count as wrong, so the earlier model may be better by their share.
    if earlier.unanswered and most + (earlier.model["abstained_share"].value or 0.0) > MARGIN:
        return "inconclusive", f"unanswered in the earlier run: {earlier.unanswered}"
    return "passes", ""


def _explain_missing_difference(
    key: tuple[str, str],
    old: LocatedResult,
    new: LocatedResult | None,
    metric_paths: Sequence[str],
    notes: Sequence[str],
) -> tuple[Outcome, str]:
    """Explain why a set (name and corpus in `key`) of the earlier run was not compared. Returns outcome and reason."""
    title = f"{challenge_sets.get_display_name(key[0])} · {key[1]}: "
    if reason := next((note.removeprefix(title) for note in notes if note.startswith(title) and new is not None), ""):
        return "not computed", reason
    if new is None:
        return "not computed", f"no result on {key[1]}; evaluate {key[0]} on it, as in the earlier run"
    if metric_paths:
        return "not computed", "no such metric in both runs"
    if not old.result.scores.get(SKILL) and not new.result.scores.get(SKILL):
        return "inconclusive", f"{TOO_FEW_ROWS}; evaluate more rows, or choose other metrics (--metric)"
    return "not computed", f"only one run has a skill score ({TOO_FEW_ROWS} in the other)"


def check_changed_labels(
    changed_labels: Sequence[LabelChangeRate], bounds: Iterable[GateBound], notes: Sequence[str] = ()
) -> list[GateResult]:
    """Check the proportion of labels that changed between two runs against bounds on `changed_labels`.

    A bound applies to all corpora of the challenge set that it names. It is not computed if the labels of the set were
    not compared. Then `notes` has the reason.
    """
    checked = []
    for each in bounds:
        matching = [one for one in changed_labels if one.set == each.set]
        if not matching:
            title = challenge_sets.get_display_name(each.set)
            why = next(
                (note for note in notes if note.startswith(f"{title} · ")),
                "needs predicted labels for the same rows in both runs, and the runs have no such rows; evaluate both "
                f"with the same options on {each.set}",
            )
            fields = (each.set, "", each.number, CHANGED_LABELS.label, str(each))
            checked.append(GateResult(*fields, _NOTHING, "not computed", why))
        for one in matching:
            result = _compare(each, one.data, CHANGED_LABELS.label, one.estimate, one.sources)
            known = one.known or one.estimate
            if result.outcome == "fails" and _compare(each, one.data, "", known, one.sources).outcome != "fails":
                why = f"{one.unanswered:,} rows are unanswered in both runs"
                result = replace(result, outcome="inconclusive", why=why)
            checked.append(result)
    return checked


def _too_few(sources: int) -> str:
    return f"{sources} source examples are too few"


_OF_PROBABILITIES: Final = ("auroc", "average_precision", "brier")


def _check_bound(result: Result, bound: GateBound) -> GateResult:
    data = result.corpus
    number = metrics.collect_metrics(result).get(bound.number)
    label = metrics.describe_metrics(bound.set)[bound.number].label
    if number is None or number.estimate.value is None:
        nothing = _NOTHING if number is None else number.estimate
        why = TOO_FEW_ROWS if bound.number == metrics.SCORE_NAME else "no examples for this metric"
        verified = next((found for key in (VERIFICATION, DETECTION) if (found := result.scores.get(key))), None)
        if bound.number in _OF_PROBABILITIES and verified and not verified.get("safe_thresholds"):
            why = "the model returns no probabilities"
        return GateResult(bound.set, data, bound.number, label, str(bound), nothing, "not computed", why)
    return _compare(bound, data, label, number.estimate, number.sources)


def _compare(bound: GateBound, data: str, label: str, estimate: Estimate, sources: int) -> GateResult:
    """Compare the interval of a number with a bound."""
    outcome: Outcome = "inconclusive"
    why = ""
    if sources < LEAST_SOURCES:
        why = _too_few(sources)
    elif estimate.low is None or estimate.high is None:
        outcome, why = "not computed", "no interval"
    else:
        at_least = bound.side == "min"
        # Rounded, because the last digits of a sum differ between processors and must not affect the outcome.
        low, high = (round(end, _DECIMALS) for end in (estimate.low, estimate.high))
        is_missed = high < bound.value if at_least else low > bound.value
        is_reached = low >= bound.value if at_least else high <= bound.value
        outcome = "fails" if is_missed else "passes" if is_reached else "inconclusive"
    return GateResult(bound.set, data, bound.number, label, str(bound), estimate, outcome, why)
