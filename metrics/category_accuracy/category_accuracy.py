"""Category accuracy: accuracy on pairs that differ in one word, by word category."""

from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.metric_module import LABELLED, build_metric

CategoryAccuracy = build_metric(
    category_accuracy,
    LABELLED | {"category": "string"},
    description=__doc__,
    citation="""@inproceedings{glockner-etal-2018-breaking,
  title = {Breaking {NLI} Systems with Sentences that Require Simple Lexical Inferences},
  author = {Glockner, Max and Shwartz, Vered and Goldberg, Yoav},
  booktitle = {Proceedings of ACL}, year = {2018}, url = {https://aclanthology.org/P18-2103}}""",
    urls=["https://aclanthology.org/P18-2103"],
)
