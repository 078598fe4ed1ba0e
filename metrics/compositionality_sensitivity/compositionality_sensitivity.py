"""Compositionality sensitivity: accuracy on examples whose words indicate an incorrect label."""

from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.metric_module import LABELLED, build_metric

CompositionalitySensitivity = build_metric(
    compositionality_sensitivity,
    LABELLED | {"lms": "float64"},
    description=__doc__,
    citation="""@article{nie-etal-2019-compositionality,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867}}""",
    urls=["https://doi.org/10.1609/aaai.v33i01.33016867"],
)
