"""Verification: how well entailment probabilities separate supported from unsupported claims, at all thresholds."""

from collections.abc import Hashable, Sequence
from typing import Any

import datasets
import evaluate

from unbag.scoring.calibration import CalibrationScores, ReliabilityBin
from unbag.scoring.nested import format_metric_output
from unbag.scoring.thresholds import SafeThreshold
from unbag.scoring.validation import NonEmptyBatches
from unbag.scoring.verification import RiskCoverage, SweepRow, VerificationScores, verification

_CITATION = """@article{geifman-el-yaniv-2017-selective,
  title = {Selective Classification for Deep Neural Networks},
  author = {Geifman, Yonatan and El-Yaniv, Ran},
  journal = {Advances in Neural Information Processing Systems}, year = {2017},
  url = {https://arxiv.org/abs/1705.08500}}"""
_DOCUMENTATION = f"""{verification.__doc__}
{VerificationScores.__doc__}
{CalibrationScores.__doc__}
{ReliabilityBin.__doc__}
{RiskCoverage.__doc__}
{SweepRow.__doc__}
{SafeThreshold.__doc__}
{format_metric_output.__doc__}"""


class Verification(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.verification.verification`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=__doc__,
            citation=_CITATION,
            inputs_description=_DOCUMENTATION,
            features=[
                datasets.Features({"predictions": datasets.Value("float64"), "references": datasets.Value(reference)})
                for reference in ("int64", "string")  # 1 and 0, or label names
            ],
            reference_urls=["https://arxiv.org/abs/1705.08500", "https://arxiv.org/abs/2110.01052"],
        )

    def _compute(
        self,
        predictions: list[float],
        references: list[int] | list[str],
        *,
        source_id: Sequence[Hashable] | None = None,
        threshold: float | str = 0.5,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        scores = verification(predictions, references, source_id, threshold=threshold, **options)
        return format_metric_output(scores, structured=structured)
