"""Checks of stored scores beyond their types. Each describes the first fault, and returns "" if there is none."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from unbag.data.labels import LABEL_SPACES
from unbag.scoring.nested import iter_estimates
from unbag.scoring.verification import BinaryScores, VerificationScores

_LABEL_NAMES: Final = frozenset(name for space in LABEL_SPACES for name in space)


def find_invalid_label(names: Sequence[str], ids: Iterable[int | None]) -> str:
    """Describe the first unknown name of a label, or the first label id without a name.

    Args:
        names: Names of the label ids.
        ids: Label ids of the scores, non-negative; None for no label.
    """
    for name in names:
        if name not in _LABEL_NAMES:
            return f"labels, with the unknown label {name!r:.40}"
    unnamed = next((each for each in ids if each is not None and each >= len(names)), None)
    return "" if unnamed is None else f"labels, without a name for the label {unnamed}"


def find_missing_value(path: str, scores: Any) -> str:
    """Describe the first estimate that has examples but no value.

    Args:
        path: Path of the scores, for the description.
        scores: Part of the scores without statistics that may be undefined, such as Fleiss' κ.
    """
    missing = (name for name, (value, _, _, n) in iter_estimates(scores, path) if value is None and n)
    return next((f"{name}, without a value for its examples" for name in missing), "")


def find_unknown_operation(rows: Iterable[Mapping[str, Any]], operations: Collection[str]) -> str:
    """Describe the first row of `by_operation` whose operation does not belong to the set."""
    unknown = next((row["operation"] for row in rows if row["operation"] not in operations), None)
    return "" if unknown is None else f"by_operation, with the unknown operation {unknown!r:.40}"


def find_invalid_verifier_score(scores: VerificationScores | BinaryScores) -> str:
    """Describe the first verifier metric that contradicts the others."""
    curve = scores["risk_coverage"]
    if curve is not None and len(curve["coverage"]) != len(curve["risk"]):
        return "risk_coverage, whose coverage and risk have different lengths"
    thresholds = [*scores["thresholds"], *scores["safe_thresholds"]]
    if not all(row["threshold"] is None or 0 <= float(row["threshold"]) <= 1 for row in thresholds):
        return "thresholds, with a threshold that is not between 0 and 1"
    if any((row["threshold"] is None) != (row["bound"] is None) for row in scores["safe_thresholds"]):
        return "safe_thresholds, with a threshold without a bound"
    if any(row["recall"] is not None and row["recall"].value is None for row in scores["safe_thresholds"]):
        return "safe_thresholds, with a recall without a value"
    return ""
