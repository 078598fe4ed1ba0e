"""Macro F1, precision, recall and accuracy on SICCK."""

from typing import Any, Final

import numpy as np

from unbag.columns import column, numbers
from unbag.labels import CONTRADICTION, NEUTRAL, NOT_ENTAILMENT
from unbag.measures import Answers
from unbag.scoring.natural_logic import NaturalLogicScores, natural_logic

GROUPS: Final = ("modifier_type", "part", "modifier", "position", "relation")


def score(rows: Any, answers: Answers) -> NaturalLogicScores:
    """Score answers with `scoring.natural_logic`: four-way by the reverse rule, intervals over seeds.

    A two-label model cannot tell contradiction from neutral; its gold labels are three: entailment either way, or not.
    Where there is no answer, `measures.NONE` was predicted, a label like another in the macro averages.
    """
    predicted = answers.said
    reverse = numbers(rows, "reverse").astype(bool)
    place = {name: row for row, name in enumerate(column(rows, "pair").to_pylist()) if reverse[row]}
    names = column(rows, "pair").to_pylist()
    four = column(rows, "four_way").to_pylist()
    scored = [row for row in np.flatnonzero(~reverse).tolist() if four[row] is not None]
    folded = {CONTRADICTION: NOT_ENTAILMENT, NEUTRAL: NOT_ENTAILMENT} if NOT_ENTAILMENT in answers.space else {}
    cells = {name: column(rows, name).to_pylist() for name in (*GROUPS, "source_id")}
    return natural_logic(
        predicted[scored],
        [folded.get(four[row], four[row]) for row in scored],
        reverse_predictions=predicted[[place[names[row]] for row in scored]],
        groups={name: [cells[name][row] for row in scored] for name in GROUPS},
        source_ids=[cells["source_id"][row] for row in scored],
    )
