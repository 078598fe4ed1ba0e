"""Negation consistency: whether a model recognises the scope of a negation, on premises with the same words."""

from unbag.data.labels import LABELS, NOT_ENTAILMENT
from unbag.scoring.metric_module import LABELLED, build_metric
from unbag.scoring.negation_consistency import negation_consistency

NegationConsistency = build_metric(
    negation_consistency,
    LABELLED | {"source_id": "string", "mirror": "string", "operation": "string"},
    description=__doc__,
    citation="""@inproceedings{gardner-etal-2020-evaluating,
  title = {Evaluating Models' Local Decision Boundaries via Contrast Sets},
  author = {Gardner, Matt and others},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://aclanthology.org/2020.findings-emnlp.117},
  eprint = {2004.02709}, archivePrefix = {arXiv}}""",
    urls=["https://aclanthology.org/2020.findings-emnlp.117"],
    names=(*LABELS, NOT_ENTAILMENT),
)
