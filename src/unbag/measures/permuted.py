"""Permutation Acceptance of the permuted set."""

from typing import Any

import numpy as np
import pyarrow.compute as pc

from unbag.columns import column, numbers
from unbag.measures import Answers
from unbag.scoring.permutation_acceptance import PermutationAcceptanceScores, permutation_acceptance


def score(rows: Any, answers: Answers) -> PermutationAcceptanceScores:
    """Score answers with `scoring.permutation_acceptance`, with acceptance by BLEU-2, length, and mini-tree ratio."""
    minitree = (numbers(rows, "premise_minitree") + numbers(rows, "hypothesis_minitree")) / 2
    bleu = (numbers(rows, "premise_bleu_2") + numbers(rows, "hypothesis_bleu_2")) / 2
    return permutation_acceptance(
        answers.predicted,
        answers.gold(rows),
        pc.dictionary_encode(column(rows, "source_id")).indices.to_numpy(),
        numbers(rows, "permutation"),
        probabilities=answers.probabilities if answers.has_probabilities else None,
        bleu=bleu,
        minitree=None if np.isnan(minitree).all() else minitree,
        lengths=numbers(rows, "premise_words") + numbers(rows, "hypothesis_words"),
        n_labels=len(answers.space),
        curve=True,
    )
