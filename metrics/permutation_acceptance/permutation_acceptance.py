"""Permutation acceptance: how often a model predicts the gold label for sentences with permuted words."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import datasets
import evaluate

from unbag.data.labels import LABELS
from unbag.scoring.nested import format_metric_output
from unbag.scoring.permutation_acceptance import (
    AcceptanceBin,
    AcceptanceBins,
    AcceptanceScores,
    PermutationAcceptanceScores,
    PermutedRows,
    permutation_acceptance,
)
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569}}"""
_DOCUMENTATION = f"""{permutation_acceptance.__doc__}
{PermutedRows.__doc__}
{PermutationAcceptanceScores.__doc__}
{AcceptanceScores.__doc__}
{AcceptanceBins.__doc__}
{AcceptanceBin.__doc__}
{format_metric_output.__doc__}

The columns of `PermutedRows` are arguments of `compute`. Predictions and references are label ids or label names.
`names` lists the names in the order of the ids."""


class PermutationAcceptance(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.permutation_acceptance.permutation_acceptance`."""

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
                        "permutation": datasets.Value("int64"),
                    }
                )
                for prediction, reference in product(("int64", "string"), repeat=2)  # label ids or label names
            ],
            reference_urls=["https://aclanthology.org/2021.acl-long.569"],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int] | list[str],
        source_id: list[str],
        permutation: list[int],
        *,
        names: Sequence[str] = LABELS,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predictions, references = convert_labels_to_ids(predictions, names), convert_labels_to_ids(references, names)
        optional = {each.name: options.pop(each.name) for each in fields(PermutedRows) if each.name in options}
        rows = PermutedRows(predictions, references, source_id, permutation, **optional)
        return format_metric_output(permutation_acceptance(rows, **options), structured=structured)
