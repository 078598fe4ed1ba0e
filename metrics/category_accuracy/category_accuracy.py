"""Category accuracy: accuracy on pairs that differ in one word, by the kind of word."""

from typing import Any

import datasets
import evaluate

from unbag.scoring.annotators import Kappa
from unbag.scoring.category_accuracy import CategoryAccuracyScores, FrequencyBin, SimilarityBin, category_accuracy
from unbag.scoring.paths import returned

_CITATION = """@inproceedings{glockner-etal-2018-breaking,
  title = {Breaking {NLI} Systems with Sentences that Require Simple Lexical Inferences},
  author = {Glockner, Max and Shwartz, Vered and Goldberg, Yoav},
  booktitle = {Proceedings of ACL}, year = {2018}, url = {https://aclanthology.org/P18-2103}}"""
_DOCUMENTATION = f"""{category_accuracy.__doc__}
{CategoryAccuracyScores.__doc__}
{SimilarityBin.__doc__}
{FrequencyBin.__doc__}
{Kappa.__doc__}
{returned.__doc__}"""


class CategoryAccuracy(evaluate.Metric):
    """The shell of `unbag.scoring.category_accuracy.category_accuracy` for `evaluate`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=__doc__,
            citation=_CITATION,
            inputs_description=_DOCUMENTATION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("int64"),
                    "references": datasets.Value("int64"),
                    "category": datasets.Value("string"),
                }
            ),
            reference_urls=["https://aclanthology.org/P18-2103"],
        )

    def _compute(
        self,
        predictions: list[int],
        references: list[int],
        category: list[str],
        *,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        return returned(category_accuracy(predictions, references, category, **options), structured=structured)
