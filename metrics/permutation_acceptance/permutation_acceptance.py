"""Permutation acceptance: how often a model predicts the gold label for sentences with permuted words."""

from unbag.scoring.metric_module import LABELLED, build_metric
from unbag.scoring.permutation_acceptance import permutation_acceptance

PermutationAcceptance = build_metric(
    permutation_acceptance,
    LABELLED | {"source_id": "string", "permutation": "int64"},
    description=__doc__,
    citation="""@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569}}""",
    urls=["https://aclanthology.org/2021.acl-long.569"],
)
