"""Label distribution: shares of predicted labels on pairs with a gold label known by construction."""

from unbag.scoring.label_distribution import label_distribution
from unbag.scoring.metric_module import LABELLED, build_metric

LabelDistribution = build_metric(
    label_distribution,
    LABELLED | {"source_id": "string"},
    description=__doc__,
    citation="""@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867}}""",
    urls=["https://doi.org/10.1609/aaai.v33i01.33016867"],
)
