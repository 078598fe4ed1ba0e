"""Document consistency: separation of documents that support a claim from documents with the same words."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import datasets
import evaluate

from unbag.data.labels import ENTAILMENT, LABELS, NOT_ENTAILMENT
from unbag.scoring.document_consistency import (
    DocumentConsistencyScores,
    DocumentOperationScores,
    DocumentScores,
    DocumentSizeScores,
    EvidencePositionScores,
    document_consistency,
)
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@inproceedings{gardner-etal-2020-evaluating,
  title = {Evaluating Models' Local Decision Boundaries via Contrast Sets},
  author = {Gardner, Matt and others},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://aclanthology.org/2020.findings-emnlp.117},
  eprint = {2004.02709}, archivePrefix = {arXiv}}"""
_NAMES: Final = (*LABELS, NOT_ENTAILMENT)
_DOCUMENTATION = f"""{document_consistency.__doc__}
{DocumentConsistencyScores.__doc__}
{DocumentScores.__doc__}
{DocumentSizeScores.__doc__}
{EvidencePositionScores.__doc__}
{DocumentOperationScores.__doc__}
{format_metric_output.__doc__}

Predictions and references are label ids or label names. `names` lists the names in the order of the ids."""


class DocumentConsistency(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.document_consistency.document_consistency`."""

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
                        "group": datasets.Value("string"),
                        "k": datasets.Value("int64"),
                        "position": datasets.Value("int64"),
                        "operation": datasets.Value("string"),
                    }
                )
                for prediction, reference in product(("int64", "string"), repeat=2)  # label ids or label names
            ],
            reference_urls=["https://aclanthology.org/2020.findings-emnlp.117"],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int] | list[str],
        source_id: list[str],
        group: list[str],
        k: list[int],
        position: list[int],
        operation: list[str],
        *,
        names: Sequence[str] = _NAMES,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predictions, references = convert_labels_to_ids(predictions, names), convert_labels_to_ids(references, names)
        options = {"entailment": list(names).index(ENTAILMENT), **options}
        scores = document_consistency(predictions, references, source_id, group, k, position, operation, **options)
        return format_metric_output(scores, structured=structured)
