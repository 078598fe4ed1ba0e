"""Challenge sets for training loops: built once, then scored repeatedly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import selection
from unbag.challenge_sets.base import SCORE, MetricDefinition
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.data.columns import count_distinct, read_column
from unbag.data.labels import LABEL_SPACES, LabelError, resolve_output_labels
from unbag.data.predictions import SetPredictions, scatter_predictions
from unbag.utils.options import PositiveInt, validate

DEFAULT_EXAMPLES: Final = 100
"""Minimum number of source examples for a set requested by name. The evaluation of a small model takes seconds."""

SKILL_NO_LEXICAL: Final = "skill_no_lexical"
"""Name of the skill score without a lexical baseline. 0 is the best of chance, a constant prediction and, in a training
loop, the model's own predictions for shuffled words (`scoring.skill`)."""

BOUNDS: Final = ("low", "high")
"""Suffixes (after `_`) for the lower and upper end of a 95 % interval."""


def list_pairs(built: BuiltSet) -> tuple[list[str], list[str]]:
    """List premises and hypotheses of all rows of a set. The rows with shuffled words come last."""
    parts = [rows for rows in (built.rows, built.control) if rows is not None]
    premises, hypotheses = (
        [text for rows in parts for text in read_column(rows, side).to_pylist()] for side in ("premise", "hypothesis")
    )
    return premises, hypotheses


def count_rows(built: BuiltSet) -> int:
    """Count the rows of a set, including those with shuffled words."""
    return len(built.rows) + (0 if built.control is None else len(built.control))


def has_skill_score(built: BuiltSet) -> bool:
    """Check whether a set has enough rows for a skill score, whatever the predictions."""
    space = tuple(built.rows.features["label"].names)
    # Any predictions will do: only the gold labels and the number of rows matter here.
    equal = np.full((len(built.rows), len(space)), 1 / len(space), dtype=np.float32)
    challenge_set = challenge_sets.get_challenge_set(built.name)
    scores = challenge_set.score_rows(built.rows, SetPredictions(equal, space, has_probabilities=True))
    return challenge_set.get_skill_score(scores) is not None


def compute_set_metrics(
    name: str, rows: Any, predictions: SetPredictions, mask: NDArray[np.bool_] | None = None
) -> dict[str, float]:
    """Compute the metrics quoted in model cards, with the limits of their confidence intervals, by metric name.

    For example `p_c`, `p_c_low` and `p_c_high`. Metrics without any example are omitted. Predictions for shuffled words
    may follow those for the rows, one draw of the rows in `mask` after the other.
    """
    n, draws = len(rows), []
    if mask is not None and (size := int(mask.sum())):
        for start in range(n, len(predictions.probabilities), size):
            draw = predictions._replace(probabilities=predictions.probabilities[start : start + size])
            draws.append(scatter_predictions(draw, mask))
    challenge_set = challenge_sets.get_challenge_set(name)
    own = predictions._replace(probabilities=predictions.probabilities[:n])
    scores = challenge_set.score_rows(rows, own, shuffled=draws)
    return {
        each: float(value)
        for quantity, estimate in challenge_set.list_metric_values(scores, "quoted")
        for each, value in zip(build_metric_names(quantity), (estimate.value, estimate.low, estimate.high), strict=True)
        if value is not None
    }


def build_metric_names(metric: MetricDefinition) -> tuple[str, str, str]:
    """Build the names under which a metric and the two bounds of its confidence interval are logged."""
    name = SKILL_NO_LEXICAL if metric is SCORE else metric.name
    return (name, *(f"{name}_{bound}" for bound in BOUNDS))  # type: ignore[return-value]


def iter_logged_metrics(requests: Sequence[SetRequest]) -> Iterator[tuple[str, MetricDefinition]]:
    """Yield a tuple (`<set>_<metric>`, definition) for each metric and interval limit that may be logged."""
    for request in requests:
        for quantity in challenge_sets.get_challenge_set(request.name).list_metrics_with_role("quoted"):
            for name in build_metric_names(quantity):
                yield f"{request.name}_{name}", quantity


def parse_requests(sets: Sequence[SetRequest | str] | SetRequest | str, max_examples: int | None) -> list[SetRequest]:
    """Convert names of challenge sets to `SetRequest` objects. Existing requests are returned unchanged.

    A name requests a sample of `max_examples` source examples. None means `DEFAULT_EXAMPLES`, or as many more as the
    skill score requires. To find this number, the sets are built.
    """
    validate("max_examples", PositiveInt | None, max_examples)
    listed = [sets] if isinstance(sets, SetRequest | str) else list(sets)
    requests = [
        each
        if isinstance(each, SetRequest)
        else _apply_size(selection.apply_suite_sample(selection.build_suite_request(each)), max_examples)
        for each in listed
    ]
    requested = [request.name for request in requests]
    if not requested or len(set(requested)) < len(requested):
        raise ValueError(
            f"sets: expected one or more distinct sets from {', '.join(challenge_sets.list_set_names())}, got "
            f"{', '.join(requested) or 'none'}"
        )
    return requests


def _apply_size(sample: SetRequest, max_examples: int | None) -> SetRequest:
    """Apply the number of source examples to the request for the default sample of a set."""
    request = replace(sample, max_examples=DEFAULT_EXAMPLES if max_examples is None else max_examples)
    if max_examples is None:
        size = DEFAULT_EXAMPLES
        most = sample.max_examples
        while (most is None or size < most) and not has_skill_score(built := build_requested_set(request)):
            if len(built.rows) < size:
                break  # all examples of the corpus
            size = 2 * size if most is None else min(2 * size, most)
            request = replace(request, max_examples=size)
    return request


def build_sets(requests: Sequence[SetRequest], max_rows: int | None) -> list[BuiltSet]:
    """Build challenge sets with at most `max_rows` rows in total. Rows with shuffled words are counted as well.

    Sets with few rows are complete. The others share the remaining rows equally, with as many source examples as fit.
    """
    sets = [build_requested_set(request) for request in requests]
    if max_rows is None:
        return sets
    left = max_rows
    # From the smallest to the largest set, so that the others share what a small set leaves.
    by_size = sorted(range(len(sets)), key=lambda place: count_rows(sets[place]))
    for done, place in enumerate(by_size):
        share = left // (len(sets) - done)
        sets[place] = _limit_rows(requests[place], sets[place], share)
        left -= count_rows(sets[place])
    return sets


def _limit_rows(request: SetRequest, built: BuiltSet, share: int) -> BuiltSet:
    """Rebuild a set with as many source examples as give at most `share` rows."""
    examples = count_distinct(built.rows, challenge_sets.get_challenge_set(request.name).example_id)
    while (n := count_rows(built)) > share:
        if examples == 1:
            raise ValueError(
                f"max_rows: expected a limit of at least {n} rows for {request.name}, the number of rows of "
                f"one example, got a limit of {share}; increase max_rows or pass fewer sets"
            )
        # With fewer rows the control has more draws of each row, so the size decreases more slowly than the examples.
        examples = max(1, min(examples - 1, examples * share // n))
        built = build_requested_set(replace(request, max_examples=examples))
    return built


def get_output_labels(network: Any) -> tuple[str, ...]:
    """Get the NLI label of each output of a classifier from its config."""
    id2label = getattr(getattr(network, "config", None), "id2label", None)
    if not id2label:
        raise ValueError(
            "model: expected a transformers sequence classifier with id2label in its config, got "
            f"{type(network).__module__}.{type(network).__qualname__}"
        )
    return resolve_label_names(id2label)


def resolve_label_names(id2label: Mapping[int, str]) -> tuple[str, ...]:
    """Convert a model's label names to NLI labels, in output order.

    Raises:
        labels.LabelError: If the names are not NLI labels, as for a new head.
    """
    label_names = {int(output): str(label) for output, label in id2label.items()}
    try:
        return resolve_output_labels(label_names)
    except LabelError:
        raise LabelError(
            f"config.id2label: expected NLI labels ({'; or '.join(', '.join(each) for each in LABEL_SPACES)}), got "
            f"{label_names}; set the model's config.id2label before training, with the label ids of the training data"
        ) from None
