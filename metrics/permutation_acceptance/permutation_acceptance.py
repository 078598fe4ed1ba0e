"""Permutation Acceptance: how often a model gives the gold label to sentences whose words are in no order."""

from typing import Any

import datasets
import evaluate

from unbag.scoring.paths import returned
from unbag.scoring.permutation_acceptance import (
    Acceptance,
    AcceptanceBin,
    PermutationAcceptanceScores,
    permutation_acceptance,
)

_CITATION = """@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569}}"""
_DOCUMENTATION = f"""{permutation_acceptance.__doc__}
{PermutationAcceptanceScores.__doc__}
{Acceptance.__doc__}
{AcceptanceBin.__doc__}
{returned.__doc__}"""


class PermutationAcceptance(evaluate.Metric):
    """The shell of `unbag.scoring.permutation_acceptance.permutation_acceptance` for `evaluate`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=__doc__,
            citation=_CITATION,
            inputs_description=_DOCUMENTATION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("int64"),
                    "references": datasets.Value("int64"),
                    "source_id": datasets.Value("string"),
                    "permutation": datasets.Value("int64"),
                }
            ),
            reference_urls=["https://aclanthology.org/2021.acl-long.569"],
        )

    def _compute(
        self,
        predictions: list[int],
        references: list[int],
        source_id: list[str],
        permutation: list[int],
        *,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        return returned(
            permutation_acceptance(predictions, references, source_id, permutation, **options), structured=structured
        )
