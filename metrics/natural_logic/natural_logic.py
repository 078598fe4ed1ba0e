"""Natural logic: macro F1, precision, recall and accuracy over natural logic labels."""

from itertools import product
from typing import Any

import datasets
import evaluate

from unbag.data.labels import FOUR_WAY, LABELS
from unbag.scoring.natural_logic import LabelScores, MacroScores, NaturalLogicScores, PairGroupScores, natural_logic
from unbag.scoring.nested import format_metric_output
from unbag.scoring.validation import NonEmptyBatches, convert_labels_to_names

_CITATION = """@inproceedings{akoju-etal-2023-synthetic,
  title = {Synthetic Dataset for Evaluating Complex Compositional Knowledge for Natural Language Inference},
  author = {Akoju, Sushma Anand and Vacareanu, Robert and Blanco, Eduardo and Riaz, Haris and Surdeanu, Mihai},
  booktitle = {Proceedings of the 1st Workshop on Natural Language Reasoning and Structured Explanations (NLRSE)},
  year = {2023}, url = {https://aclanthology.org/2023.nlrse-1.12}}"""
_DOCUMENTATION = f"""{natural_logic.__doc__}
{NaturalLogicScores.__doc__}
{PairGroupScores.__doc__}
{MacroScores.__doc__}
{LabelScores.__doc__}
{format_metric_output.__doc__}"""


class NaturalLogic(NonEmptyBatches, evaluate.Metric):
    """`evaluate` module of `unbag.scoring.natural_logic.natural_logic`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=__doc__,
            citation=_CITATION,
            inputs_description=_DOCUMENTATION,
            features=[
                datasets.Features({"predictions": datasets.Value(prediction), "references": datasets.Value(reference)})
                for prediction, reference in product(("int64", "string"), repeat=2)  # label ids or label names
            ],
            reference_urls=["https://aclanthology.org/2023.nlrse-1.12"],
        )

    def _compute(
        self,
        predictions: list[int] | list[str],
        references: list[int | None] | list[str | None],
        *,
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        predicted = LABELS if options.get("pair") is not None else FOUR_WAY
        predictions, gold = (
            convert_labels_to_names(predictions, predicted),
            convert_labels_to_names(references, FOUR_WAY),
        )
        return format_metric_output(natural_logic(predictions, gold, **options), structured=structured)
