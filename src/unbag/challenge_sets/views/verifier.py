"""Table, sentences and figures of the verifier metrics: entailment, or else contradiction, versus the rest."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from rich.table import Table

from unbag.challenge_sets.base import DETECTION, VERIFICATION, VERIFIER
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.figures import (
    Figure,
    FigurePoint,
    FigureSeries,
    ResultGroup,
    ScoredModel,
    TextTable,
    build_group_figure,
    build_metrics_table,
    build_point_estimate,
)
from unbag.challenge_sets.views.tables import (
    add_direction_arrow,
    create_table,
    format_interval,
    format_percentage,
    format_points,
)
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.log_odds import format_threshold

_IN_TERMINAL: Final = ("auroc", "balanced_accuracy", "recall", "false_entailment", "false_contradiction")
_ONE_HALF: Final = "on one half of the sources"


class _Kind(NamedTuple):
    """Words and keys for one label against the rest."""

    key: str  # key in the scores of a result
    title: str  # kind of model, at the beginning of a sentence
    label: str  # name of the label, e.g. "entailment"
    positive: str  # adjective of a pair with the label
    negative: str  # adjective of any other pair
    false_positive: str  # name of the rate of false positives in the sweep of thresholds
    n_positive: str  # name of the number of pairs with the label
    n_negative: str  # name of the number of other pairs
    article: str  # article of `positive`

    @property
    def false_positives(self) -> str:
        """Errors of the model on negative pairs, in plural."""
        return f"false {self.label}s"


_KINDS: Final = (
    _Kind(
        key=VERIFICATION,
        title="Verifier",
        label="entailment",
        positive="entailed",
        negative="not-entailed",
        false_positive="false_entailment",
        n_positive="n_entailed",
        n_negative="n_not_entailed",
        article="an",
    ),
    _Kind(
        key=DETECTION,
        title="Contradiction detector",
        label="contradiction",
        positive="contradicted",
        negative="not-contradicted",
        false_positive="false_positive",
        n_positive="n_positive",
        n_negative="n_negative",
        article="a",
    ),
)


def _find_scores(result: Result) -> tuple[_Kind, Mapping[str, Any]] | None:
    """Find the verifier scores of a result and their kind. Return None if they are undefined."""
    return next(((kind, result.scores[kind.key]) for kind in _KINDS if result.scores.get(kind.key)), None)


def get_verification_scores(result: Result) -> Mapping[str, Any] | None:
    """Look up the verifier or detector scores of a result. Return None if they are not defined for the set or rows."""
    found = _find_scores(result)
    return None if found is None else found[1]


def build_verifier_table(result: Result) -> Table | None:
    """Build the table of AUROC, and of the metrics at the model's own threshold. Return None if undefined."""
    found = _find_scores(result)
    if found is None:
        return None
    kind, scores = found
    n_positive, n_negative, n_sources = scores[kind.n_positive], scores[kind.n_negative], scores.get("n_sources")
    n_pairs = n_positive + n_negative
    counts = f"{n_positive:,} {kind.positive} pairs, {n_negative:,} others"
    # The intervals resample sources, so that their number matters if pairs share one.
    if n_sources is not None and n_sources < n_pairs:
        counts += f", {n_sources:,} {'documents' if 'documents' in result.data else 'sources'}"
    grid = create_table(f"{kind.title}: {counts}", "", "n", "value [95 %]")
    for metric in VERIFIER:
        estimate = metric.get_estimate(result.scores)
        if metric.name in _IN_TERMINAL and estimate is not None:
            label = add_direction_arrow(metric.label, metric.higher_is_better)
            grid.add_row(label, f"{estimate.n:,}", format_interval(estimate))
    return grid


def summarize_verifier(result: Result) -> str | None:
    """Summarize false positives and recall, at a safe threshold if possible. Return None if they are undefined."""
    found = _find_scores(result)
    if found is None:
        return None
    kind, scores = found
    area = "" if scores["auroc"] is None else f" with AUROC {scores['auroc'].value:.3f}"
    # The targets ascend, so that the first reachable one is the strictest.
    safe = next((row for row in scores["safe_thresholds"] if row["threshold"] is not None), None)
    if safe is not None:
        recall = "" if safe["recall"] is None else f" and a recall of {format_points(safe['recall'].value)} %"
        return (
            f"{kind.title}{area}: at threshold {format_threshold(safe['threshold'])}, at most "
            f"{100 * safe['target']:g} % {kind.false_positives} (95 % confidence){recall}."
        )
    recall = "" if "recall" not in scores else f" and a recall of {format_points(scores['recall'].value)} %"
    reason = "; too few or too similar scores for a safe threshold" if scores["safe_thresholds"] else ""
    return (
        f"{kind.title}{area}: {format_percentage(scores[kind.false_positive])} {kind.false_positives}{recall}{reason}."
    )


def build_verifier_comparison(results: Sequence[Result]) -> Table | None:
    """Build the table of AUROC and recall at the lowest target rate that any model reaches, one row per model.

    Return None for fewer than two models with verifier scores, or if none of them has probabilities.
    """
    found = [(result, scores) for result in results if (scores := get_verification_scores(result)) is not None]
    # Two results of one model, e.g. on two corpora, are no comparison of models.
    if len({result.model["name"] for result, _ in found}) < 2 or all(scores["auroc"] is None for _, scores in found):
        return None
    safe = [{row["target"]: row for row in scores["safe_thresholds"]} for _, scores in found]
    targets = [target for rows in safe for target, row in rows.items() if row["threshold"] is not None]
    heads, title = [], "Unchanged pairs, as for a verifier"
    if targets:
        rate = f"{100 * min(targets):g} %"
        heads = [f"recall at {rate}", "threshold"]
        title = f"Unchanged pairs: recall with at most {rate} false positives (95 % confidence)"
    grid = create_table(title, "", "AUROC [95 %]", *heads)
    for (result, scores), rows in zip(found, safe, strict=True):
        cells = ["–" if scores["auroc"] is None else format_interval(scores["auroc"])]
        if targets:
            row = rows.get(min(targets))
            if row is None or row["threshold"] is None:
                cells += ["–", "–"]
            else:
                cells += [format_interval(row["recall"]), format_threshold(row["threshold"])]
        grid.add_row(str(result.model["name"]), *cells)
    return grid


def describe_thresholds(result: Result) -> list[str]:
    """Describe the threshold for each target rate of false positives, in one sentence per target.

    For a model without probabilities, a single sentence says that there is no threshold.
    """
    found = _find_scores(result)
    if found is None:
        return []
    kind, scores = found
    if not scores["safe_thresholds"]:
        return ["The model returns no probabilities, so AUROC and thresholds are not available."]
    return [_threshold_sentence(kind, row) for row in scores["safe_thresholds"]]


def _threshold_sentence(kind: _Kind, row: Mapping[str, Any]) -> str:
    target = f"At most {100 * row['target']:g} % {kind.false_positives}"
    if row["threshold"] is None:
        if row["available"] < row["needed"]:
            needed = f"needs at least {row['needed']:,} {kind.negative} pairs in each half"
            return f"{target}: {needed}, got {row['available']:,}."
        return f"{target}: no threshold has an upper limit this low on the {row['available']:,} pairs of one half."
    threshold = format_threshold(row["threshold"])
    chosen = f"{target} (upper limit {format_points(row['bound'])} % {_ONE_HALF}): threshold {threshold}"
    confirmed = (
        f"the other half has no {kind.negative} pair to confirm it"
        if row["confirmed"] is None
        else f"on the other half {format_percentage(row['confirmed'])}"
    )
    recall = "" if row["recall"] is None else f"; recall on all pairs {format_points(row['recall'].value)} %"
    return f"{chosen}; {confirmed}{recall}."


_MEANINGS: Final = {
    "auroc": "{article} {positive} pair scores above a pair that is not {positive}; random predictions have 0.5",
    "average_precision": "mean precision over the {positive} pairs",
    "balanced_accuracy": "mean of recall and specificity; a constant prediction has 0.5",
    "recall": "share of {positive} pairs that are called {positive}",
    "false_entailment": "share of not-entailed pairs that are called entailed",
    "false_contradiction": "share of other pairs that are called a contradiction",
    "brier": "mean squared difference of probability and label",
}
"""What each number of `VERIFIER` is, with the fields of `_Kind`."""


def build_verifier_metrics_table(group: ResultGroup) -> TextTable | None:
    """Build the table of all verifier metrics, one column per model. Return None if no model has verifier scores."""
    columns = {
        scored.model.name: {(name, meaning): cell for name, meaning, cell in _measures(kind, scores)}
        for scored, kind, scores in _scored(group)
    }
    if not columns:
        return None
    titles = " or ".join(dict.fromkeys(kind.title.lower() for _, kind, _ in _scored(group)))
    return build_metrics_table(f"As a {titles}: values with 95 % intervals", columns)


def _measures(kind: _Kind, scores: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for metric in VERIFIER:
        if (estimate := metric.get_estimate({kind.key: scores})) is not None:
            label = add_direction_arrow(metric.label, metric.higher_is_better)
            yield (
                label,
                _MEANINGS[metric.name].format(positive=kind.positive, article=kind.article),
                format_interval(estimate),
            )
    if scores["calibration"] is not None:
        found = scores["calibration"]
        parts = (
            ("reliability ↓", "part of the Brier score from bad calibration", "reliability"),
            ("resolution ↑", "component that separates the labels; subtracted", "resolution"),
            ("uncertainty", "variance of the labels; the Brier score of their share", "uncertainty"),
            ("calibration error ↓", "mean distance of probability and share in the bins (ECE)", "ece"),
            ("corrected error ↓", "the same less its bias from small bins", "ece_corrected"),
        )
        for name, meaning, key in parts:
            yield name, meaning, f"{found[key]:.3f}"
    if scores["risk_coverage"] is not None:
        found = scores["risk_coverage"]
        yield "AURC ↓", "area under the risk-coverage curve", f"{found['aurc']:.3f}"
        yield "AURC, perfect order", "the same errors, with the lowest confidence", f"{found['oracle']:.3f}"
        yield "AURC, random order", "the error rate", f"{found['random']:.3f}"


def build_threshold_table(group: ResultGroup) -> TextTable | None:
    """Build the table of thresholds by target rate of false positives. Return None if no model has probabilities."""
    several = len(group.scored_models) > 1
    rows = [
        (
            f"{scored.model.name}: at most {100 * row['target']:g} %"
            if several
            else f"at most {100 * row['target']:g} %",
            *_threshold_cells(row),
        )
        for scored, _, scores in _scored(group)
        for row in scores["safe_thresholds"]
    ]
    kinds = list(dict.fromkeys(kind for _, kind, _ in _scored(group)))
    false_positives = " or ".join(kind.false_positives for kind in kinds)
    heads = (false_positives, "threshold", "upper limit, one half", "other half [95 %]", "recall [95 %]")
    caption = (
        f"Thresholds that limit the rate of {false_positives}. Each threshold is chosen on one half of the sources by "
        "the one-sided 95 % upper limit of the rate, and confirmed on the other half. Each target needs a minimum "
        f"number of {' or '.join(kind.negative for kind in kinds)} pairs in a half."
    )
    return TextTable(caption, heads, tuple(rows)) if rows else None


def _threshold_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    if row["threshold"] is not None:
        found = (row["confirmed"], row["recall"])
        confirmed, recall = ("–" if each is None else format_interval(each) for each in found)
        return format_threshold(row["threshold"]), f"{row['bound']:.3f}", confirmed, recall
    if row["available"] < row["needed"]:
        return f"none: {row['available']:,} of {row['needed']:,} pairs", "–", "–", "–"
    return "none reaches it", "–", "–", "–"


def build_verifier_figures(group: ResultGroup) -> list[Figure]:
    """Build the reliability diagram, the risk-coverage curve, and the two figures of the threshold sweep."""
    return [each for kind in _KINDS for each in _figures(group, kind) if each is not None]


def _figures(group: ResultGroup, kind: _Kind) -> Iterator[Figure | None]:
    diagonal = tuple(FigurePoint(x, build_point_estimate(x)) for x in (0.0, 1.0))
    yield build_group_figure(
        group,
        partial(_reliability, kind=kind),
        references=(FigureSeries("calibrated", diagonal, is_reference=True),),
        title="Reliability diagram",
        about=f"Share of {kind.positive} pairs by probability of {kind.label}, in bins of equally many pairs. A "
        "calibrated model is on the diagonal.",
        x=f"mean probability of {kind.label}",
        y=f"{kind.positive} pairs",
        kind="curve",
    )
    yield build_group_figure(
        group,
        partial(_risk, kind=kind),
        title="Risk-coverage curve",
        about=f"Error rate on the pairs with the most confident decisions. {_areas(group, kind)}",
        x="coverage: share of the pairs",
        y="error rate",
        kind="curve",
    )
    for name, title, pairs, better in (
        (kind.false_positive, kind.false_positives.capitalize(), kind.negative, "Lower"),
        ("recall", "Recall", kind.positive, "Higher"),
    ):
        yield build_group_figure(
            group,
            partial(_sweep, kind=kind, name=name),
            title=f"{title} by threshold",
            about=f"Share of {pairs} pairs with at least this probability of {kind.label}. {better} is better.",
            x="threshold",
            y=title.lower(),
            kind="curve",
        )


def _scored(group: ResultGroup) -> Iterator[tuple[ScoredModel, _Kind, Mapping[str, Any]]]:
    for scored in group.scored_models:
        if (found := _find_scores(scored.result)) is not None:
            yield scored, *found


def _reliability(scores: Any, kind: _Kind) -> list[tuple[float, Estimate]]:
    found = (scores.get(kind.key) or {}).get("calibration")
    return [] if found is None else [(row["score"], row["share"]) for row in found["bins"]]


def _risk(scores: Any, kind: _Kind) -> list[tuple[float, Estimate]]:
    found = (scores.get(kind.key) or {}).get("risk_coverage")
    return [] if found is None else _curve(found["coverage"], found["risk"])


def _sweep(scores: Any, kind: _Kind, name: str) -> list[tuple[float, Estimate]]:
    rows = (scores.get(kind.key) or {}).get("thresholds", [])
    return _curve([float(row["threshold"]) for row in rows], [row[name] for row in rows])


def _curve(x: Sequence[float], y: Sequence[float]) -> list[tuple[float, Estimate]]:
    return [(at, build_point_estimate(value)) for at, value in zip(x, y, strict=True)]


def _areas(group: ResultGroup, kind: _Kind) -> str:
    """Describe the area under the curve of each model, beside that of a perfect and of a random order."""
    parts = []
    for scored, its_kind, scores in _scored(group):
        # A detector and a verifier have different labels, and thus different curves.
        if its_kind == kind and scores["risk_coverage"] is not None:
            areas = (scores["risk_coverage"][name] for name in ("aurc", "oracle", "random"))
            own, oracle, random = (f"{area:.3f}" for area in areas)
            name = f"{scored.model.name}: " if len(group.scored_models) > 1 else ""
            parts.append(f"{name}{own} (perfect order {oracle}, random order {random})")
    return f"Area under it: {'; '.join(parts)}."
