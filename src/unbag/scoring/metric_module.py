"""`evaluate` modules of the metrics in `scoring`. Only `build_metric` imports `evaluate` and `datasets`."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Final

from unbag.data.labels import LABELS
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import convert_labels_to_ids

LABEL: Final = "label"
"""Type of a column of labels, which are all ids or all names."""

STRINGS: Final = "strings"
"""Type of a column of lists of strings."""

LABELLED: Final = {"predictions": LABEL, "references": LABEL}
"""Columns of a metric that compares predicted labels with gold labels."""

_NAMES_NOTE: Final = (
    "\n\nPredictions and references are label ids or label names. `names` lists the names in the order of the ids."
)


class _NonEmptyBatches:
    """Mixin of metrics that validates the columns of a batch before `evaluate` reads its first row."""

    def add_batch(self, **columns: Any) -> None:
        """Validate and add rows. `evaluate` itself raises an IndexError if there are none or the lengths differ."""
        lengths = {name: len(values) for name, values in columns.items() if hasattr(values, "__len__")}
        if len(set(lengths.values())) > 1 or 0 in lengths.values():
            raise ValueError(
                f"metric: expected columns of equal length with at least one row, got {lengths}; pass one value per "
                "example"
            )
        super().add_batch(**columns)  # type: ignore[misc]


def build_metric(
    metric: Callable[..., Mapping[str, Any]],
    columns: Mapping[str, str],
    *,
    description: str | None,
    citation: str,
    urls: Sequence[str] = (),
    names: Sequence[str] = LABELS,
) -> type:
    """Build the `evaluate` module of a metric: an `evaluate.Metric`, or a `Measurement` without predictions.

    Args:
        metric: Function of the columns, passed by name, and of options. It returns nested scores.
        columns: Type of each column: `LABEL`, `STRINGS`, or a type of `datasets`.
        description: Docstring of the module that defines the metric.
        names: Names of the label ids 0, 1, … (default: entailment, neutral, contradiction). Empty for a metric that
            reads label names itself.
    """
    import datasets
    import evaluate

    is_metric = "predictions" in columns
    parameters = inspect.signature(metric).parameters
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
    documentation = f"{metric.__doc__}\n{format_metric_output.__doc__}{_NAMES_NOTE if names else ''}"

    def info(self: Any) -> Any:
        record = evaluate.MetricInfo if is_metric else evaluate.MeasurementInfo
        return record(
            description=description,
            citation=citation,
            inputs_description=documentation,
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
        return format_metric_output(metric(**arguments), structured=structured)

    title = "".join(part.capitalize() for part in metric.__name__.split("_"))
    base = evaluate.Metric if is_metric else evaluate.Measurement
    return type(title, (_NonEmptyBatches, base), {"__doc__": description, "_info": info, "_compute": compute_output})
