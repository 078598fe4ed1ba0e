"""Label distribution: how often a model gives each label, on pairs whose label is known by construction."""

from typing import Any

import datasets
import evaluate

from unbag.scoring.label_distribution import LabelDistributionScores, LabelShares, label_distribution
from unbag.scoring.paths import returned

_CITATION = """@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867}}"""
_DOCUMENTATION = f"""{label_distribution.__doc__}
{LabelDistributionScores.__doc__}
{LabelShares.__doc__}
{returned.__doc__}"""


class LabelDistribution(evaluate.Metric):
    """The shell of `unbag.scoring.label_distribution.label_distribution` for `evaluate`."""

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
                }
            ),
            reference_urls=["https://doi.org/10.1609/aaai.v33i01.33016867"],
        )

    def _compute(
        self,
        predictions: list[int],
        references: list[int],
        source_id: list[str],
        *,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        return returned(label_distribution(predictions, references, source_id, **options), structured=structured)
