"""Uncertainty partitions: accuracy from the easiest to the hardest examples for a bag-of-words model."""

from unbag.scoring.metric_module import LABELLED, build_metric
from unbag.scoring.uncertainty_partitions import uncertainty_partitions

UncertaintyPartitions = build_metric(
    uncertainty_partitions,
    LABELLED | {"partition": "int64"},
    description=__doc__,
    citation="""@unpublished{resnli-2019,
  title = {Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language
    Inference},
  note = {Anonymous EMNLP-IJCNLP submission}, year = {2019}}""",
)
