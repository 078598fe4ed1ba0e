"""Swap consistency: whether predictions are unchanged if premise and hypothesis are exchanged."""

from unbag.scoring.metric_module import LABELLED, build_metric
from unbag.scoring.swap_consistency import swap_consistency

SwapConsistency = build_metric(
    swap_consistency,
    LABELLED | {"source_id": "string", "swapped": "bool"},
    description=__doc__,
    citation="""@article{wang-etal-2019-swap,
  title = {What If We Simply Swap the Two Text Fragments? A Straightforward yet Effective Way to Test the Robustness of
    Methods to Confounding Signals in Nature Language Inference Tasks},
  author = {Wang, Haohan and Sun, Da and Xing, Eric P.},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33017136}}""",
    urls=["https://doi.org/10.1609/aaai.v33i01.33017136"],
)
