"""Verification: how well entailment probabilities separate supported from unsupported claims, at all thresholds."""

from unbag.scoring.metric_module import LABEL, build_metric
from unbag.scoring.verification import verification

Verification = build_metric(
    verification,
    {"predictions": "float64", "references": LABEL},
    description=__doc__,
    citation="""@article{geifman-el-yaniv-2017-selective,
  title = {Selective Classification for Deep Neural Networks},
  author = {Geifman, Yonatan and El-Yaniv, Ran},
  journal = {Advances in Neural Information Processing Systems}, year = {2017},
  url = {https://arxiv.org/abs/1705.08500}}""",
    urls=["https://arxiv.org/abs/1705.08500", "https://arxiv.org/abs/2110.01052"],
    names=(),  # references are also 1 and 0
)
