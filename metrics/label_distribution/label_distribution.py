"""Label distribution: shares of predicted labels on pairs with a gold label known by construction."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import datasets
import evaluate

from unbag.data.labels import LABELS
from unbag.scoring.label_distribution import LabelDistributionScores, LabelFractions, label_distribution
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867}}"""
_DOCUMENTATION = f"""{label_distribution.__doc__}
{LabelDistributionScores.__doc__}
{LabelFractions.__doc__}
{format_metric_output.__doc__}

Predictions and references are label ids or label names. `names` lists the names in the order of the ids."""


class LabelDistribution(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.label_distribution.label_distribution`."""

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
                        "source_id": datasets.Value("string"),
                    }
                )
                for prediction, reference in product(("int64", "string"), repeat=2)  # label ids or label names
            ],
            reference_urls=["https://doi.org/10.1609/aaai.v33i01.33016867"],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int] | list[str],
        source_id: list[str],
        *,
        names: Sequence[str] = LABELS,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predictions, references = convert_labels_to_ids(predictions, names), convert_labels_to_ids(references, names)
        return format_metric_output(
            label_distribution(predictions, references, source_id, names=names, **options), structured=structured
        )
