"""`evaluate` modules of the metrics in `scoring`. Only `build_metric` imports `evaluate` and `datasets`."""

import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import wraps
from itertools import product
from typing import Any, Final

from unbag.data.labels import LABELS
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

LABEL: Final = "label"
"""Type of a column of labels, which are all ids or all names."""

STRINGS: Final = "strings"
"""Type of a column of lists of strings."""

LABELLED: Final = {"predictions": LABEL, "references": LABEL}
"""Columns of a metric that compares predicted labels with gold labels."""

_NAMES_NOTE: Final = (
    "Predictions and references are label ids or label names. `names` lists the names in the order of the ids."
)


def build_metric(
    metric: Callable[..., Mapping[str, Any]],
    columns: Mapping[str, str],
    *,
    description: str | None,
    citation: str,
    urls: Sequence[str] = (),
    names: Sequence[str] = LABELS,
) -> type:
    """Build the `evaluate` module of a metric.

    Args:
        metric: Function of the columns, passed by name, and of options. It returns nested scores.
        columns: Type of each column: `LABEL`, `STRINGS`, or a type of `datasets`.
        description: Docstring of the module that defines the metric.
        names: Names of the label ids 0, 1, … (default: entailment, neutral, contradiction). Empty for a metric that
            reads label names itself.

    Returns:
        A subclass of `evaluate.Metric`, or of `evaluate.Measurement` for a function without predictions.
    """
    import datasets
    import evaluate

    is_metric = "predictions" in columns
    compute = flatten_input_table(metric)
    parameters = inspect.signature(compute).parameters
    types = [("int64", "string") if type_ == LABEL else (type_,) for type_ in columns.values()]
    alternatives = [
        datasets.Features(
            {
                column: datasets.Sequence(datasets.Value("string")) if type_ == STRINGS else datasets.Value(type_)
                for column, type_ in zip(columns, chosen, strict=True)
            }
        )
        for chosen in product(*types)
    ]
    documentation = "\n".join(
        each.__doc__ for each in (*_iter_documented(metric), format_metric_output) if each.__doc__
    )

    def info(self: Any) -> Any:
        record = evaluate.MetricInfo if is_metric else evaluate.MeasurementInfo
        return record(
            description=description,
            citation=citation,
            inputs_description=f"{documentation}\n\n{_NAMES_NOTE}" if names else documentation,
            features=alternatives if len(alternatives) > 1 else alternatives[0],
            reference_urls=list(urls),
        )

    def compute_output(
        self: Any, *, names: Sequence[str] = names, structured: bool = False, **arguments: Any
    ) -> dict[str, Any]:
        if names:
            for column in (column for column, type_ in columns.items() if type_ == LABEL):
                arguments[column] = convert_labels_to_ids(arguments[column], names)
            if arguments.get("annotator_labels") is not None:
                arguments["annotator_labels"] = [
                    convert_labels_to_ids(labels, names, columns="annotator_labels")
                    for labels in arguments["annotator_labels"]
                ]
            # Options named after a label, such as `neutral`, are its id.
            arguments = {name: id_ for id_, name in enumerate(names) if name in parameters} | arguments
        if "names" in parameters:
            arguments["names"] = names
        return format_metric_output(compute(**arguments), structured=structured)

    title = "".join(part.capitalize() for part in metric.__name__.split("_"))
    base = evaluate.Metric if is_metric else evaluate.Measurement
    return type(title, (NonEmptyBatches, base), {"__doc__": description, "_info": info, "_compute": compute_output})


def flatten_input_table(metric: Callable[..., Mapping[str, Any]]) -> Callable[..., Mapping[str, Any]]:
    """Convert a metric of an input table, a dataclass, to a function of the columns of the table.

    A metric whose first parameter is a column is returned unchanged.
    """
    first, *options = inspect.signature(metric).parameters.values()
    table = first.annotation
    if not (isinstance(table, type) and is_dataclass(table)):
        return metric
    columns = inspect.signature(table).parameters

    @wraps(metric)
    def score(**arguments: Any) -> Mapping[str, Any]:
        given = {name: arguments.pop(name) for name in columns if name in arguments}
        return metric(table(**given), **arguments)

    score.__signature__ = inspect.Signature([*columns.values(), *options])  # type: ignore[attr-defined]
    return score


def _iter_documented(metric: Callable[..., Any]) -> Iterator[Any]:
    """Iterate over a metric, its input table, and the types of its scores, whose docstrings describe the scores."""
    hints = inspect.get_annotations(metric)
    yield metric
    yield from (each for name, each in hints.items() if name != "return" and is_dataclass(each))
    pending, found = [hints.get("return")], set()
    while pending:
        type_ = pending.pop(0)
        pending += typing.get_args(type_)
        if typing.is_typeddict(type_) and type_ not in found:
            found.add(type_)
            yield type_
            pending += [*_find_bases(type_), *typing.get_type_hints(type_).values()]


def _find_bases(type_: Any) -> list[Any]:
    """Find the `TypedDict`s that a `TypedDict` of the same module extends. Python 3.11 does not store them."""
    fields = typing.get_type_hints(type_)
    return [
        base
        for base in vars(sys.modules[type_.__module__]).values()
        if typing.is_typeddict(base)
        and all(fields.get(name) == hint for name, hint in typing.get_type_hints(base).items())
    ]
