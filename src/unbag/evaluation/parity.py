"""Changed labels between two runs: the proportion of rows on which the predicted label changed.

Two models can have equal scores and different predictions. A quantized, pruned or exported model should predict what
the original predicts, right or wrong, so its labels are compared row by row.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from unbag import challenge_sets
from unbag.data.predictions import NONE
from unbag.evaluation.samples import read_row_labels
from unbag.evaluation.systems import ComparedSystem, LocatedResult, load_single_system
from unbag.scoring.bootstrap import Estimate, estimate_proportion


class LabelChangeRate(NamedTuple):
    """Proportion of predictions that differ between two models on one set."""

    set: str
    data: str  # corpus that the set is made from
    against: str  # name of the earlier model
    # Number of rows whose label changed. A row that a judge left unanswered in both runs counts as changed, since its
    # label is unknown.
    changed: int
    estimate: Estimate  # share of these rows, with its interval; `n` is the number of rows
    sources: int  # number of source examples that the rows are made from
    unanswered: int = 0  # number of the rows that both runs left unanswered
    known: Estimate | None = None  # share of changed labels if no label of these rows changed


def compare_predicted_labels(run: Path, earlier_run: Path) -> tuple[list[LabelChangeRate], list[str]]:
    """Compare the predicted labels of two runs (folders or results files) on the same rows.

    The interval is that of Clopper & Pearson (1934) at the effective number of independent rows
    (`scoring.intervals.compute_effective_sizes`), since permutations of one example are not independent.

    Returns:
        One entry per set and corpus that both runs evaluated on the same rows, and notes on results without labels.
    """
    after, earlier = (load_single_system(path)[1] for path in (run, earlier_run))
    ours, theirs = _group_by_rows(after), _group_by_rows(earlier)
    compared, notes = [], []
    for rows in ours:
        if rows not in theirs:
            continue
        one, other = ours[rows][0], theirs[rows][0]
        title = f"{challenge_sets.get_display_name(one.result.set)} · {one.result.corpus}"
        if len(ours[rows]) > 1 or len(theirs[rows]) > 1:
            notes.append(f"{title}: labels not compared, because one run has several training seeds")
            continue
        labels, others = (read_row_labels(each.file.parent, each.number, each.result) for each in (one, other))
        if labels is None or others is None:
            notes.append(f"{title}: labels not compared, because one run contains no labels; evaluate again")
            continue
        if set(labels.names) != set(others.names):
            names = " and ".join(",".join(each.names[:-1]) for each in (labels, others))
            notes.append(
                f"{title}: labels not compared, because the models have different labels ({names}); evaluate both with "
                "the same threshold and label map"
            )
            continue
        changed = labels.find_differences(others)
        # Rows without an answer are answers that a judge did not give. Other models abstain by rule, and abstain on the
        # same rows again.
        is_open = bool(one.result.unanswered or other.result.unanswered)
        unanswered = is_open & (labels.label == labels.names.index(NONE)) & ~changed
        everything, source = np.ones(len(changed), dtype=np.bool_), labels.source.astype(np.int64)
        compared.append(
            LabelChangeRate(
                set=one.result.set,
                data=one.result.corpus,
                against=earlier.name,
                changed=int((changed | unanswered).sum()),
                estimate=estimate_proportion(changed | unanswered, everything, source),
                sources=len(np.unique(source)),
                unanswered=int(unanswered.sum()),
                known=estimate_proportion(changed, everything, source),
            )
        )
    return compared, notes


def _group_by_rows(system: ComparedSystem) -> dict[tuple[str, str], list[LocatedResult]]:
    """Group the results of a system by challenge set and checksum of the rows. The file of the rows may be moved."""
    by_rows: dict[tuple[str, str], list[LocatedResult]] = {}
    for run in system.runs:
        by_rows.setdefault((run.result.set, run.result.data["sha256"]), []).append(run)
    return by_rows
