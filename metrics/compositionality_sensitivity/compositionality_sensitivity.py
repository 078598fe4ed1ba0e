"""Compositionality sensitivity: accuracy on examples whose words indicate an incorrect label."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import datasets
import evaluate

from unbag.data.labels import LABELS
from unbag.scoring.compositionality_sensitivity import (
    CompositionalitySensitivityScores,
    MisleadingSubset,
    compositionality_sensitivity,
)
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@article{nie-etal-2019-compositionality,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867}}"""
_DOCUMENTATION = f"""{compositionality_sensitivity.__doc__}
{CompositionalitySensitivityScores.__doc__}
{MisleadingSubset.__doc__}
{format_metric_output.__doc__}

Predictions and references are label ids or label names. `names` lists the names in the order of the ids."""


class CompositionalitySensitivity(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.compositionality_sensitivity.compositionality_sensitivity`."""

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
                        "lms": datasets.Value("float64"),
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
        lms: list[float],
        *,
        names: Sequence[str] = LABELS,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predictions, references = convert_labels_to_ids(predictions, names), convert_labels_to_ids(references, names)
        if (annotators := options.get("annotator_labels")) is not None:
            options["annotator_labels"] = [
                convert_labels_to_ids(labels, names, columns="annotator_labels") for labels in annotators
            ]
        return format_metric_output(
            compositionality_sensitivity(predictions, references, lms, **options), structured=structured
        )
