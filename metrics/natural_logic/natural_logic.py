"""Natural logic: macro F1, precision, recall and accuracy over natural logic labels."""

from functools import wraps
from typing import Any

from unbag.data.labels import FOUR_WAY, LABELS
from unbag.scoring.metric_module import LABELLED, build_metric
from unbag.scoring.natural_logic import natural_logic
from unbag.scoring.validation import convert_labels_to_names


@wraps(natural_logic)
def _score_names_or_ids(predictions: list[Any], references: list[Any], **options: Any) -> dict[str, Any]:
    # With pairs, the model has the three labels of NLI, and two predictions give one of the four relations.
    predicted = convert_labels_to_names(predictions, LABELS if options.get("pair") is not None else FOUR_WAY)
    return natural_logic(predicted, convert_labels_to_names(references, FOUR_WAY), **options)


NaturalLogic = build_metric(
    _score_names_or_ids,
    LABELLED,
    description=__doc__,
    citation="""@inproceedings{akoju-etal-2023-synthetic,
  title = {Synthetic Dataset for Evaluating Complex Compositional Knowledge for Natural Language Inference},
  author = {Akoju, Sushma Anand and Vacareanu, Robert and Blanco, Eduardo and Riaz, Haris and Surdeanu, Mihai},
  booktitle = {Proceedings of the 1st Workshop on Natural Language Reasoning and Structured Explanations (NLRSE)},
  year = {2023}, url = {https://aclanthology.org/2023.nlrse-1.12}}""",
    urls=["https://aclanthology.org/2023.nlrse-1.12"],
    names=(),
)
