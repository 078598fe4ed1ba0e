"""Swap consistency: whether predictions are unchanged if premise and hypothesis are exchanged."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import datasets
import evaluate

from unbag.data.labels import LABELS
from unbag.scoring.nested import format_metric_output
from unbag.scoring.swap_consistency import SwapAccuracies, SwapConsistencyScores, SwapScores, swap_consistency
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@article{wang-etal-2019-swap,
  title = {What If We Simply Swap the Two Text Fragments? A Straightforward yet Effective Way to Test the Robustness of
    Methods to Confounding Signals in Nature Language Inference Tasks},
  author = {Wang, Haohan and Sun, Da and Xing, Eric P.},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33017136}}"""
_DOCUMENTATION = f"""{swap_consistency.__doc__}
{SwapConsistencyScores.__doc__}
{SwapScores.__doc__}
{SwapAccuracies.__doc__}
{format_metric_output.__doc__}

Predictions and references are label ids or label names. `names` lists the names in the order of the ids."""


class SwapConsistency(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.swap_consistency.swap_consistency`."""

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
                        "swapped": datasets.Value("bool"),
                    }
                )
                for prediction, reference in product(("int64", "string"), repeat=2)  # label ids or label names
            ],
            reference_urls=["https://doi.org/10.1609/aaai.v33i01.33017136"],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int] | list[str],
        source_id: list[str],
        swapped: list[bool],
        *,
        names: Sequence[str] = LABELS,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predictions, references = convert_labels_to_ids(predictions, names), convert_labels_to_ids(references, names)
        return format_metric_output(
            swap_consistency(predictions, references, source_id, swapped, **options), structured=structured
        )
