"""Macro F1, precision, recall and accuracy on SICCK."""

from typing import Any, Final

import numpy as np

from unbag.answers import Answers, Columns, flags
from unbag.labels import CONTRADICTION, NEUTRAL, NOT_ENTAILMENT
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.natural_logic import natural_logic

GROUPS: Final = ("modifier_type", "part", "modifier", "position", "relation")
_CROSSED: Final = ("modifier_type", "part")  # Table 10, section 5


def sicck_scores(
    columns: Columns, answers: Answers, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.natural_logic`: four-way by the reverse rule, intervals over seeds.

    A two-label model cannot tell contradiction from neutral; its gold labels are three: entailment either way, or not.
    Where there is no answer, `answers.NONE` was predicted, a label like another in the macro averages. Of a part of the
    rows, pairs count that are there both ways round.
    """
    predicted, reverse = answers.names, flags(columns["reverse"])
    pairs, four = columns["pair"], columns["four_way"]
    back = {pairs[row]: row for row in np.flatnonzero(reverse).tolist()}
    scored = [row for row in np.flatnonzero(~reverse).tolist() if four[row] is not None]
    if partial:
        scored = [row for row in scored if pairs[row] in back]
        if not scored:
            return {}
    folded = {CONTRADICTION: NOT_ENTAILMENT, NEUTRAL: NOT_ENTAILMENT} if NOT_ENTAILMENT in answers.label_space else {}
    groups = {name: [columns[name][row] for row in scored] for name in GROUPS if name in columns}
    return dict(
        natural_logic(
            predicted[scored],
            [folded.get(four[row], four[row]) for row in scored],
            reverse_predictions=predicted[[back[pairs[row]] for row in scored]],
            groups=groups or None,
            crossed=[_CROSSED] if groups.keys() >= set(_CROSSED) else (),
            source_ids=[columns["source_id"][row] for row in scored] if "source_id" in columns else None,
            resamples=resamples,
        )
    )
