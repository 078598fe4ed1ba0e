"""Negation consistency: whether a model recognises the scope of a negation, on premises with the same words."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import datasets
import evaluate

from unbag.data.labels import ENTAILMENT, LABELS, NOT_ENTAILMENT
from unbag.scoring.negation_consistency import (
    NegationConsistencyScores,
    NegationOperationScores,
    NegationScores,
    negation_consistency,
)
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@inproceedings{gardner-etal-2020-evaluating,
  title = {Evaluating Models' Local Decision Boundaries via Contrast Sets},
  author = {Gardner, Matt and others},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://aclanthology.org/2020.findings-emnlp.117},
  eprint = {2004.02709}, archivePrefix = {arXiv}}"""
_NAMES: Final = (*LABELS, NOT_ENTAILMENT)
_DOCUMENTATION = f"""{negation_consistency.__doc__}
{NegationConsistencyScores.__doc__}
{NegationScores.__doc__}
{NegationOperationScores.__doc__}
{format_metric_output.__doc__}

Predictions and references are label ids or label names. `names` lists the names in the order of the ids."""


class NegationConsistency(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.negation_consistency.negation_consistency`."""

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
                        "mirror": datasets.Value("string"),
                        "operation": datasets.Value("string"),
                    }
                )
                for prediction, reference in product(("int64", "string"), repeat=2)  # ids, or names
            ],
            reference_urls=["https://aclanthology.org/2020.findings-emnlp.117"],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int] | list[str],
        source_id: list[str],
        mirror: list[str],
        operation: list[str],
        *,
        names: Sequence[str] = _NAMES,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predictions, references = convert_labels_to_ids(predictions, names), convert_labels_to_ids(references, names)
        options = {"entailment": list(names).index(ENTAILMENT), **options}
        scores = negation_consistency(predictions, references, source_id, mirror, operation, **options)
        return format_metric_output(scores, structured=structured)
