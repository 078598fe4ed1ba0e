"""Document consistency of the recombined set."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import ENTAILMENT, TWO_WAY
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions, validate_label_space
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.document_consistency import document_consistency
from unbag.scoring.skill import Credits

_AS_GIVEN: Final = ("supported", "removed")
"""Operations that leave the claim as the corpus has it."""


def recombined_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score predictions with `scoring.document_consistency`; every label but entailment means not entailed.

    Of a part of the rows, those groups count for the paired accuracy that have an entailed row and another one.
    """
    if partial and not len(columns["label"]):
        return {}
    return dict(
        document_consistency(
            _two_way(answers),
            columns["label"],
            columns["source_id"],
            columns["group"],
            columns["k"],
            columns["position"],
            columns["operation"],
            resamples=resamples,
        )
    )


def recombined_decisive(columns: Columns) -> NDArray[np.bool_]:
    """Select the rows of documents that have an exchanged claim, shape (n,), but for those without the evidence.

    In these rows the document has all content words of the claim. A document without the evidence has none of them, and
    in one of a single sentence nothing is exchanged: words alone decide both.
    """
    operation, groups = np.asarray(columns["operation"], dtype=object), columns["group"]
    is_exchanged = ~np.isin(operation, _AS_GIVEN)
    exchanged = {group for group, each in zip(groups, is_exchanged, strict=True) if each}
    has_exchange = np.array([group in exchanged for group in groups], dtype=np.bool_)
    decisive: NDArray[np.bool_] = has_exchange & (operation != "removed")
    return decisive


def recombined_credits(columns: Columns, answers: SetPredictions) -> Credits:
    """Build what `scoring.skill` reads: a credit of 1 for a right prediction, on the decisive rows alone.

    Rows of one claim are drawn together.
    """
    gold = np.asarray(columns["label"])
    right = _two_way(answers) == gold
    return Credits(right, gold, columns["source_id"], counts=recombined_decisive(columns), names=TWO_WAY)


def _two_way(answers: SetPredictions) -> NDArray[np.intp]:
    """Fold predictions into the positions of `TWO_WAY`, shape (n,); `NO_ANSWER` stays.

    Harnesses predict one of three labels, whatever the labels of the set.
    """
    validate_label_space(TWO_WAY, answers.label_space)
    is_entailment = answers.predicted == list(answers.label_space).index(ENTAILMENT)
    folded: NDArray[np.intp] = np.where(answers.predicted == NO_ANSWER, NO_ANSWER, np.where(is_entailment, 0, 1))
    return folded
