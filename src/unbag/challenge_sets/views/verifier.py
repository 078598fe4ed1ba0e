"""Table, sentences and figures of the verifier metrics: entailment, or else contradiction, versus the rest."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rich.table import Table

from unbag.challenge_sets.base import DETECTION, VERIFICATION, VERIFIER
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import figures, tables
from unbag.data.labels import CONTRADICTION, ENTAILMENT
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.log_odds import format_threshold
from unbag.scoring.verification import SCORE_NAMES

_IN_TERMINAL: Final = ("auroc", "balanced_accuracy", "recall", "false_entailment", "false_contradiction")
_ONE_HALF: Final = "on one half of the sources"


class _Kind(NamedTuple):
    """Words and keys for one label against the rest."""

    key: str  # key in the scores of a result
    title: str  # kind of model, at the beginning of a sentence
    label: str  # name of the label, e.g. "entailment"
    positive: str  # adjective of a pair with the label
    n_positive: str  # name of the number of pairs with the label
    n_negative: str  # name of the number of other pairs
    false_positive: str  # name of the rate of false positives

    @property
    def negative(self) -> str:
        """Adjective of any other pair."""
        return f"not-{self.positive}"

    @property
    def false_positives(self) -> str:
        """Errors of the model on negative pairs, in plural."""
        return f"false {self.label}s"


_KINDS: Final = (
    _Kind(VERIFICATION, "Verifier", ENTAILMENT, "entailed", *SCORE_NAMES[ENTAILMENT]),
    _Kind(DETECTION, "Contradiction detector", CONTRADICTION, "contradicted", *SCORE_NAMES[CONTRADICTION]),
)
_DIAGONAL: Final = tuple(figures.FigurePoint(x, figures.build_point_estimate(x)) for x in (0.0, 1.0))


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
    counts = f"{n_positive:,} {kind.positive} pairs, {n_negative:,} others"
    # The intervals resample sources, so that their number matters if pairs share one.
    if n_sources is not None and n_sources < n_positive + n_negative:
        counts += f", {n_sources:,} {'documents' if 'documents' in result.data else 'sources'}"
    grid = tables.create_table(f"{kind.title}: {counts}", "", "n", "value [95 %]")
    for metric in VERIFIER:
        estimate = metric.get_estimate(result.scores)
        if metric.name in _IN_TERMINAL and estimate is not None:
            label = tables.add_direction_arrow(metric.label, metric.higher_is_better)
            grid.add_row(label, f"{estimate.n:,}", tables.format_interval(estimate))
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
    recall = (safe or scores).get("recall")
    recalled = "" if recall is None else f" and a recall of {tables.format_points(recall.value)} %"
    if safe is not None:
        return (
            f"{kind.title}{area}: at threshold {format_threshold(safe['threshold'])}, at most "
            f"{100 * safe['target']:g} % {kind.false_positives} (95 % confidence){recalled}."
        )
    reason = "; too few or too similar scores for a safe threshold" if scores["safe_thresholds"] else ""
    rate = tables.format_percentage(scores[kind.false_positive])
    return f"{kind.title}{area}: {rate} {kind.false_positives}{recalled}{reason}."


def build_verifier_comparison(results: Sequence[Result]) -> Table | None:
    """Build the table of AUROC and recall at the lowest target rate that any model reaches, one row per model.

    Return None for fewer than two models with verifier scores, or if none of them has probabilities.
    """
    found = [(result, scores) for result in results if (scores := get_verification_scores(result)) is not None]
    # Two results of one model, e.g. on two corpora, are no comparison of models.
    if len({result.model["name"] for result, _ in found}) < 2 or all(scores["auroc"] is None for _, scores in found):
        return None
    passed = [
        {row["target"]: row for row in scores["safe_thresholds"] if row["threshold"] is not None} for _, scores in found
    ]
    target = min((target for rows in passed for target in rows), default=None)
    heads, title = [], "Unchanged pairs, as for a verifier"
    if target is not None:
        rate = f"{100 * target:g} %"
        heads = [f"recall at {rate}", "threshold"]
        title = f"Unchanged pairs: recall with at most {rate} false positives (95 % confidence)"
    grid = tables.create_table(title, "", "AUROC [95 %]", *heads)
    for (result, scores), rows in zip(found, passed, strict=True):
        cells = ["–" if scores["auroc"] is None else tables.format_interval(scores["auroc"])]
        if target in rows:
            cells += [tables.format_interval(rows[target]["recall"]), format_threshold(rows[target]["threshold"])]
        grid.add_row(str(result.model["name"]), *cells, *["–"] * (1 + len(heads) - len(cells)))
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
    return [_describe_threshold(kind, row) for row in scores["safe_thresholds"]]


def _describe_threshold(kind: _Kind, row: Mapping[str, Any]) -> str:
    target = f"At most {100 * row['target']:g} % {kind.false_positives}"
    if row["threshold"] is None:
        if row["available"] < row["needed"]:
            needed = f"needs at least {row['needed']:,} {kind.negative} pairs in each half of the data"
            return f"{target}: {needed}, got {row['available']:,}."
        return f"{target}: no threshold has an upper limit this low on the {row['available']:,} pairs of one half."
    threshold = format_threshold(row["threshold"])
    chosen = f"{target} (upper limit {tables.format_points(row['bound'])} % {_ONE_HALF}): threshold {threshold}"
    confirmed = (
        f"the other half has no {kind.negative} pair to confirm it"
        if row["confirmed"] is None
        else f"on the other half {tables.format_percentage(row['confirmed'])}"
    )
    recall = "" if row["recall"] is None else f"; recall on all pairs {tables.format_points(row['recall'].value)} %"
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

_PARTS: Final = (
    ("reliability ↓", "part of the Brier score from bad calibration", "calibration", "reliability"),
    ("resolution ↑", "component that separates the labels; subtracted", "calibration", "resolution"),
    ("uncertainty", "variance of the labels; the Brier score of their share", "calibration", "uncertainty"),
    ("calibration error ↓", "mean distance of probability and share in the bins (ECE)", "calibration", "ece"),
    ("corrected error ↓", "the same less its bias from small bins", "calibration", "ece_corrected"),
    ("AURC ↓", "area under the risk-coverage curve", "risk_coverage", "aurc"),
    ("AURC, perfect order", "the same errors, with the lowest confidence", "risk_coverage", "oracle"),
    ("AURC, random order", "the error rate", "risk_coverage", "random"),
)
"""Names, meanings and keys of the numbers without an interval."""


def build_verifier_metrics_table(group: figures.ResultGroup) -> figures.TextTable | None:
    """Build the table of all verifier metrics, one column per model. Return None if no model has verifier scores."""
    columns, titles = {}, []
    for scored, kind, scores in _iter_scored(group):
        cells = {}
        for metric in VERIFIER:
            if (estimate := metric.get_estimate({kind.key: scores})) is not None:
                label = tables.add_direction_arrow(metric.label, metric.higher_is_better)
                article = "an" if kind.positive.startswith("e") else "a"
                meaning = _MEANINGS[metric.name].format(article=article, positive=kind.positive)
                cells[label, meaning] = tables.format_interval(estimate)
        cells |= {(name, meaning): f"{scores[of][key]:.3f}" for name, meaning, of, key in _PARTS if scores[of]}
        columns[scored.model.name] = cells
        titles.append(kind.title.lower())
    about = f"As a {' or '.join(dict.fromkeys(titles))}: values with 95 % intervals"
    return figures.build_metrics_table(about, columns) if columns else None


def build_threshold_table(group: figures.ResultGroup) -> figures.TextTable | None:
    """Build the table of thresholds by target rate of false positives. Return None if no model has probabilities."""
    rows, kinds = [], []
    for scored, kind, scores in _iter_scored(group):
        name = f"{scored.model.name}: " if len(group.scored_models) > 1 else ""
        rows += [
            (f"{name}at most {100 * row['target']:g} %", *_format_threshold_cells(row))
            for row in scores["safe_thresholds"]
        ]
        kinds.append(kind)
    kinds = list(dict.fromkeys(kinds))
    false_positives = " or ".join(kind.false_positives for kind in kinds)
    heads = (false_positives, "threshold", "upper limit, one half", "other half [95 %]", "recall [95 %]")
    caption = (
        f"Thresholds that limit the rate of {false_positives}. Each threshold is chosen on one half of the sources by "
        "the one-sided 95 % upper limit of the rate, and confirmed on the other half. Each target needs a minimum "
        f"number of {' or '.join(kind.negative for kind in kinds)} pairs in a half."
    )
    return figures.TextTable(caption, heads, tuple(rows)) if rows else None


def _format_threshold_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    if row["threshold"] is not None:
        found = (row["confirmed"], row["recall"])
        confirmed, recall = ("–" if each is None else tables.format_interval(each) for each in found)
        return format_threshold(row["threshold"]), f"{row['bound']:.3f}", confirmed, recall
    if row["available"] < row["needed"]:
        return f"none: {row['available']:,} of {row['needed']:,} pairs", "–", "–", "–"
    return "none reaches it", "–", "–", "–"


def build_verifier_figures(group: figures.ResultGroup) -> list[figures.Figure]:
    """Build the reliability diagram, the risk-coverage curve, and the two figures of the threshold sweep."""
    return [each for kind in _KINDS for each in _iter_figures(group, kind) if each is not None]


def _iter_figures(group: figures.ResultGroup, kind: _Kind) -> Iterator[figures.Figure | None]:
    def build(points: Callable[[Any], Any], **attributes: Any) -> figures.Figure | None:
        # Without scores of this kind, a model has no points.
        return figures.build_group_figure(
            group, lambda scores: points(scores[kind.key]) if scores.get(kind.key) else (), kind="curve", **attributes
        )

    def build_sweep(rate: str, title: str, pairs: str, better: str) -> figures.Figure | None:
        return build(
            lambda scores: _build_curve((float(row["threshold"]), row[rate]) for row in scores["thresholds"]),
            title=f"{title} by threshold",
            about=f"Share of {pairs} pairs with at least this probability of {kind.label}. {better} is better.",
            x="threshold",
            y=title.lower(),
        )

    yield build(
        lambda scores: [(row["score"], row["share"]) for row in (scores["calibration"] or {"bins": ()})["bins"]],
        references=(figures.FigureSeries("calibrated", _DIAGONAL, is_reference=True),),
        title="Reliability diagram",
        about=f"Share of {kind.positive} pairs by probability of {kind.label}, in bins of equally many pairs. A "
        "calibrated model is on the diagonal.",
        x=f"mean probability of {kind.label}",
        y=f"{kind.positive} pairs",
    )
    curves = [(scored, scores["risk_coverage"]) for scored, its, scores in _iter_scored(group) if its == kind]
    areas = [
        f"{f'{scored.model.name}: ' if len(group.scored_models) > 1 else ''}{curve['aurc']:.3f} "
        f"(perfect order {curve['oracle']:.3f}, random order {curve['random']:.3f})"
        for scored, curve in curves
        if curve is not None
    ]
    yield build(
        lambda scores: _build_curve(
            zip(scores["risk_coverage"]["coverage"], scores["risk_coverage"]["risk"], strict=True)
            if scores["risk_coverage"]
            else ()
        ),
        title="Risk-coverage curve",
        about="Error rate on the pairs with the most confident decisions. Area under it: " + "; ".join(areas) + ".",
        x="coverage: share of the pairs",
        y="error rate",
    )
    yield build_sweep(kind.false_positive, kind.false_positives.capitalize(), kind.negative, "Lower")
    yield build_sweep("recall", "Recall", kind.positive, "Higher")


def _iter_scored(group: figures.ResultGroup) -> Iterator[tuple[figures.ScoredModel, _Kind, Mapping[str, Any]]]:
    for scored in group.scored_models:
        if (found := _find_scores(scored.result)) is not None:
            yield scored, *found


def _build_curve(points: Iterable[tuple[float, float]]) -> list[tuple[float, Estimate]]:
    return [(x, figures.build_point_estimate(y)) for x, y in points]
