"""Uncertainty partitions: accuracy from the easiest to the hardest examples for a bag-of-words model."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import datasets
import evaluate

from unbag.data.labels import LABELS
from unbag.scoring.nested import format_metric_output
from unbag.scoring.uncertainty_partitions import PartitionRow, UncertaintyPartitionsScores, uncertainty_partitions
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@unpublished{resnli-2019,
  title = {Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language
    Inference},
  note = {Anonymous EMNLP-IJCNLP submission}, year = {2019}}"""
_DOCUMENTATION = f"""{uncertainty_partitions.__doc__}
{UncertaintyPartitionsScores.__doc__}
{PartitionRow.__doc__}
{format_metric_output.__doc__}

Predictions and references are label ids or label names. `names` lists the names in the order of the ids."""


class UncertaintyPartitions(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.uncertainty_partitions.uncertainty_partitions`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=__doc__,
            citation=_CITATION,
            inputs_description=_DOCUMENTATION,
            features=[
                datasets.Features(
                    {
                        "predictions": datasets.Value(prediction),
                        "references": datasets.Value(reference),
                        "partition": datasets.Value("int64"),
                    }
                )
                for prediction, reference in product(("int64", "string"), repeat=2)  # label ids or label names
            ],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int] | list[str],
        partition: list[int],
        *,
        names: Sequence[str] = LABELS,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predictions, references = convert_labels_to_ids(predictions, names), convert_labels_to_ids(references, names)
        return format_metric_output(
            uncertainty_partitions(predictions, references, partition, **options), structured=structured
        )
