"""Uncertainty partitions: accuracy from the examples that words alone give away to those that they do not."""

from typing import Any

import datasets
import evaluate

from unbag.scoring.paths import returned
from unbag.scoring.uncertainty_partitions import PartitionRow, UncertaintyPartitionsScores, uncertainty_partitions

_CITATION = """@unpublished{resnli-2019,
  title = {Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language
    Inference},
  note = {Anonymous EMNLP-IJCNLP submission}, year = {2019}}"""
_DOCUMENTATION = f"""{uncertainty_partitions.__doc__}
{UncertaintyPartitionsScores.__doc__}
{PartitionRow.__doc__}
{returned.__doc__}"""


class UncertaintyPartitions(evaluate.Metric):
    """The shell of `unbag.scoring.uncertainty_partitions.uncertainty_partitions` for `evaluate`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=__doc__,
            citation=_CITATION,
            inputs_description=_DOCUMENTATION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("int64"),
                    "references": datasets.Value("int64"),
                    "partition": datasets.Value("int64"),
                }
            ),
        )

    def _compute(
        self,
        predictions: list[int],
        references: list[int],
        partition: list[int],
        *,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        return returned(uncertainty_partitions(predictions, references, partition, **options), structured=structured)
