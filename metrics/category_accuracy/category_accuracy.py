"""Category accuracy: accuracy on pairs that differ in one word, by word category."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import datasets
import evaluate

from unbag.data.labels import LABELS
from unbag.scoring.accuracy import FleissKappaScores
from unbag.scoring.category_accuracy import CategoryAccuracyScores, FrequencyBin, SimilarityBin, category_accuracy
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_ids

_CITATION = """@inproceedings{glockner-etal-2018-breaking,
  title = {Breaking {NLI} Systems with Sentences that Require Simple Lexical Inferences},
  author = {Glockner, Max and Shwartz, Vered and Goldberg, Yoav},
  booktitle = {Proceedings of ACL}, year = {2018}, url = {https://aclanthology.org/P18-2103}}"""
_DOCUMENTATION = f"""{category_accuracy.__doc__}
{CategoryAccuracyScores.__doc__}
{SimilarityBin.__doc__}
{FrequencyBin.__doc__}
{FleissKappaScores.__doc__}
{format_metric_output.__doc__}

Predictions and references are label ids or label names. `names` lists the names in the order of the ids."""


class CategoryAccuracy(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.category_accuracy.category_accuracy`."""

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
                        "category": datasets.Value("string"),
                    }
                )
                for prediction, reference in product(("int64", "string"), repeat=2)  # label ids or label names
            ],
            reference_urls=["https://aclanthology.org/P18-2103"],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int] | list[str],
        category: list[str],
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
            category_accuracy(predictions, references, category, **options), structured=structured
        )
