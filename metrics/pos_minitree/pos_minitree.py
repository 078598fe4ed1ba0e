"""POS mini-trees: whether the neighbors of permuted words have their usual parts of speech."""

from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Any

from unbag.scoring.metric_module import STRINGS, build_metric
from unbag.scoring.pos_minitree import (
    DEFAULT_K,
    DEFAULT_RADIUS,
    Definition,
    compute_sentence_signature,
    pos_minitree,
)


@wraps(pos_minitree)
def _score_sentences(
    words: list[list[str]],
    tags: list[list[str]],
    original_words: list[list[str]],
    original_tags: list[list[str]],
    *,
    usual: Mapping[str, Sequence[float]],
    radius: int = DEFAULT_RADIUS,
    k: int = DEFAULT_K,
    definition: Definition = "code",
    **options: Any,
) -> dict[str, Any]:
    permuted, original = (
        [
            compute_sentence_signature(*row, usual, radius=radius, k=k, definition=definition)
            for row in zip(*columns, strict=True)
        ]
        for columns in ((words, tags), (original_words, original_tags))
    )
    return pos_minitree(permuted, original, **options)


_score_sentences.__doc__ = f"{compute_sentence_signature.__doc__}\n{pos_minitree.__doc__}"


PosMiniTree = build_metric(
    _score_sentences,
    {"words": STRINGS, "tags": STRINGS, "original_words": STRINGS, "original_tags": STRINGS},
    description=__doc__,
    citation="""@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569}}""",
    urls=["https://aclanthology.org/2021.acl-long.569"],
    names=(),
)
