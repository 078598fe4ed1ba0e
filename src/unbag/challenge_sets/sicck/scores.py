"""Macro F1, precision, recall and accuracy on SICCK."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import CONTRADICTION, NEUTRAL, NOT_CONTRADICTION, NOT_ENTAILMENT
from unbag.data.predictions import Columns, SetPredictions, flags
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.natural_logic import four_way, match_reversed_rows, natural_logic
from unbag.scoring.skill import Credits

GROUPS: Final = ("modifier_type", "part", "modifier", "position", "relation")
_CROSSED: Final = ("modifier_type", "part")  # Table 10, section 5


def sicck_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.natural_logic`: four-way by the reverse rule, intervals over seeds.

    A two-label model cannot tell contradiction from neutral; its gold labels are three: entailment either way, or not.
    Those of a model that finds contradictions are two, and the reverse rule changes nothing of its answers.
    Where there is no answer, `data.predictions.NONE` was predicted, a label like another in the macro averages. Of a
    part of the rows, pairs count that are there both ways round.
    """
    predicted = answers.names
    scored, back = _scored(columns, partial=partial)
    if not len(scored):
        return {}
    groups = {name: [columns[name][row] for row in scored] for name in GROUPS if name in columns}
    return dict(
        natural_logic(
            four_way(predicted[scored], predicted[back]),
            [gold_of(columns["four_way"][row], answers) for row in scored],
            groups=groups or None,
            crossed=[_CROSSED] if groups.keys() >= set(_CROSSED) else (),
            source_id=[columns["source_id"][row] for row in scored] if "source_id" in columns else None,
            resamples=resamples,
        )
    )


def sicck_credits(columns: Columns, answers: SetPredictions) -> Credits:
    """Return for `scoring.skill` which pairs get the right label; those of one seed are drawn together."""
    scored, back = _scored(columns)
    answered = answers.names
    predicted = four_way(answered[scored], answered[back])
    gold = np.array([gold_of(columns["four_way"][row], answers) for row in scored], dtype=np.str_)
    names, numbers = np.unique(gold, return_inverse=True)
    source = [columns["source_id"][row] for row in scored]
    return Credits(predicted == gold, numbers, source, names=names.tolist())


def _scored(columns: Columns, *, partial: bool = False) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that are scored, and of each the row of its pair the other way round."""
    pairs, four = columns["pair"], columns["four_way"]
    if partial:
        back = {pairs[row] for row in np.flatnonzero(flags(columns["reverse"])).tolist()}
        four = [label if pair in back else None for pair, label in zip(pairs, four, strict=True)]
    return match_reversed_rows(pairs, columns["reverse"], four)


def gold_of(label: str, answers: SetPredictions) -> str:
    """Return a four-way label as a model's label space can say it."""
    if NOT_CONTRADICTION in answers.label_space:
        return label if label == CONTRADICTION else NOT_CONTRADICTION
    two_way = NOT_ENTAILMENT in answers.label_space
    return NOT_ENTAILMENT if two_way and label in (CONTRADICTION, NEUTRAL) else label
