"""POS mini-trees: whether the neighbors of permuted words have their usual parts of speech."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

from unbag.scoring.nested import format_metric_output
from unbag.scoring.pos_minitree import (
    DEFAULT_K,
    DEFAULT_RADIUS,
    Definition,
    MiniTreeBin,
    MiniTreeScores,
    compute_sentence_signature,
    pos_minitree,
)
from unbag.scoring.validation import NonEmptyBatches

_CITATION = """@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569}}"""
_STRINGS = datasets.Sequence(datasets.Value("string"))
_DOCUMENTATION = f"""{compute_sentence_signature.__doc__}
{pos_minitree.__doc__}
{MiniTreeScores.__doc__}
{MiniTreeBin.__doc__}
{format_metric_output.__doc__}"""


class PosMiniTree(NonEmptyBatches, evaluate.Measurement):
    """`evaluate` module of `unbag.scoring.pos_minitree`."""

    def _info(self) -> evaluate.MeasurementInfo:
        return evaluate.MeasurementInfo(
            description=__doc__,
            citation=_CITATION,
            inputs_description=_DOCUMENTATION,
            features=datasets.Features(
                {"words": _STRINGS, "tags": _STRINGS, "original_words": _STRINGS, "original_tags": _STRINGS}
            ),
            reference_urls=["https://aclanthology.org/2021.acl-long.569"],
        )

    def _compute(
        self,
        words: list[list[str]],
        tags: list[list[str]],
        original_words: list[list[str]],
        original_tags: list[list[str]],
        *,
        usual: Mapping[str, Sequence[float]],
        radius: int = DEFAULT_RADIUS,
        k: int = DEFAULT_K,
        definition: Definition = "code",
        structured: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        permuted, original = (
            [
                compute_sentence_signature(*row, usual, radius=radius, k=k, definition=definition)
                for row in zip(*columns, strict=True)
            ]
            for columns in ((words, tags), (original_words, original_tags))
        )
        scores: dict[str, Any] = {**pos_minitree(permuted, original, **options)}
        if "by_ratio" in scores:
            scores["by_ratio"] = [row._asdict() for row in scores["by_ratio"]]
        return format_metric_output(scores, structured=structured)
