"""What each set's metric says of answers that a harness collected: one function a set.

This module is copied into the files that are written for the harnesses, with what it imports, so it needs numpy alone.
A record is a row of the set, as far as its metric reads it (`COLUMNS`), with `label`, the gold id, and `predicted`, the
id of the answer, or -1 for none. A harness may have asked a part of the rows only, in any order (`--limit`, or what is
shown while it runs): what a metric compares counts where all of it was asked, and a score without any such example is
NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, Final, TypeAlias

from unbag.labels import CONTRADICTION, LABELS, NEUTRAL, label_id
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.natural_logic import natural_logic
from unbag.scoring.permutation_acceptance import ORIGINAL, permutation_acceptance
from unbag.scoring.swap_consistency import swap_consistency
from unbag.scoring.uncertainty_partitions import PARTITIONS

Record: TypeAlias = Mapping[str, Any]
Scores: TypeAlias = dict[str, float]

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "breaking_nli": ("category",),
    "cs_lambda": ("lms",),
    "permuted": ("source_id", "permutation"),
    "plain": (),
    "resnli": ("partition",),
    "sicck": ("pair", "reverse", "four_way"),
    "soswap_addamod": ("kind",),
    "swapped": ("source_id", "swapped"),
}
"""What a set's metric reads of a row beside the label."""

HIGHER_IS_BETTER: Final[Mapping[str, Mapping[str, bool]]] = {
    "breaking_nli": {"accuracy": True},
    "cs_lambda": {"accuracy": True, "accuracy_0.5": True, "accuracy_0.6": True, "accuracy_0.7": True},
    "permuted": {
        "accuracy": True,
        **dict.fromkeys(("omega_max", "omega_rand", "omega_all", "p_c", "p_f"), False),
    },
    "plain": {"accuracy": True},
    "resnli": {"accuracy": True, "easiest": True, "hardest": True, "drop": False},
    "sicck": {"f1": True, "precision": True, "recall": True, "accuracy": True},
    "soswap_addamod": {"accuracy": True, "accuracy_soswap": True, "accuracy_addamod": True},
    "swapped": {"accuracy_before": True, "accuracy_after": True, "drop": False, "agreement": True},
}
"""The scores of each set, in the order in which they are shown, and which way is better."""

_NO_INTERVALS: Final[Mapping[str, Any]] = {"resamples": 0}  # harnesses make their own, or none


def breaking_nli_scores(records: Sequence[Record]) -> Scores:
    """Return `scoring.category_accuracy`'s accuracy."""
    predicted, gold = _answers(records)
    found = category_accuracy(predicted, gold, _column(records, "category"), **_NO_INTERVALS)
    return _values("breaking_nli", found)


def cs_lambda_scores(records: Sequence[Record]) -> Scores:
    """Return `scoring.compositionality_sensitivity`'s accuracy on CS_0, and on CS_λ for λ = 0.5, 0.6 and 0.7."""
    predicted, gold = _answers(records)
    found = compositionality_sensitivity(predicted, gold, _column(records, "lms"), **_NO_INTERVALS)
    named = {f"accuracy_{subset['lambda']:g}": subset["accuracy"] for subset in found["subsets"]}
    return _values("cs_lambda", {**named, "accuracy": named["accuracy_0"]})


def permuted_scores(records: Sequence[Record]) -> Scores:
    """Return `scoring.permutation_acceptance` over the examples all of whose permutations were asked."""
    asked: dict[str, set[int]] = {}
    for record in records:
        asked.setdefault(record["source_id"], set()).add(int(record["permutation"]))
    every = set(range(ORIGINAL, max(map(max, asked.values()), default=ORIGINAL) + 1))
    whole = [record for record in records if asked[record["source_id"]] == every]
    if not whole or every == {ORIGINAL}:
        return _values("permuted", {})
    predicted, gold = _answers(whole)
    sources, numbers = _column(whole, "source_id"), _column(whole, "permutation")
    return _values("permuted", permutation_acceptance(predicted, gold, sources, numbers, **_NO_INTERVALS))


def plain_scores(records: Sequence[Record]) -> Scores:
    """Return the accuracy."""
    return {"accuracy": _accuracy(records)}


def resnli_scores(records: Sequence[Record]) -> Scores:
    """Return `scoring.uncertainty_partitions`'s accuracy, on all pairs and on the two ends, and the drop between these.

    A set of fewer than `PARTITIONS` pairs has fewer partitions. No row says so, and what looks like its last one may be
    any of a larger set: it has no `hardest`.
    """
    easiest, hardest = (
        _accuracy([record for record in records if record["partition"] == end]) for end in (0, PARTITIONS - 1)
    )
    return {"accuracy": _accuracy(records), "easiest": easiest, "hardest": hardest, "drop": easiest - hardest}


def sicck_scores(records: Sequence[Record]) -> Scores:
    """Return `scoring.natural_logic`, four-way by the reverse rule, over the pairs asked both ways round."""
    back = {record["pair"]: record for record in records if record["reverse"]}
    asked = [
        record
        for record in records
        if not record["reverse"] and record["four_way"] is not None and record["pair"] in back
    ]
    if not asked:
        return _values("sicck", {})
    predicted = [_name(record) for record in asked]
    reverse = [_name(back[record["pair"]]) for record in asked]
    gold = _column(asked, "four_way")
    return _values("sicck", natural_logic(predicted, gold, reverse_predictions=reverse, **_NO_INTERVALS))


def soswap_addamod_scores(records: Sequence[Record]) -> Scores:
    """Return the accuracy, on all pairs and on each kind (`scoring.label_distribution`'s)."""
    kinds = {
        f"accuracy_{kind}": _accuracy([record for record in records if record["kind"] == kind])
        for kind in ("soswap", "addamod")
    }
    return {"accuracy": _accuracy(records), **kinds}


def swapped_scores(records: Sequence[Record]) -> Scores:
    """Return `scoring.swap_consistency` over the pairs asked both ways round."""
    after = {record["source_id"]: record for record in records if record["swapped"]}
    before = [record for record in records if not record["swapped"] and record["source_id"] in after]
    if not before:
        return _values("swapped", {})
    predicted, gold = _answers(before)
    later = [int(after[record["source_id"]]["predicted"]) for record in before]
    ids = {"neutral": label_id(NEUTRAL), "contradiction": label_id(CONTRADICTION)}
    return _values("swapped", swap_consistency(predicted, gold, later, **ids, **_NO_INTERVALS))


SCORES_OF: Final[Mapping[str, Callable[[Sequence[Record]], Scores]]] = {
    "breaking_nli": breaking_nli_scores,
    "cs_lambda": cs_lambda_scores,
    "permuted": permuted_scores,
    "plain": plain_scores,
    "resnli": resnli_scores,
    "sicck": sicck_scores,
    "soswap_addamod": soswap_addamod_scores,
    "swapped": swapped_scores,
}


def _values(name: str, found: Mapping[str, Any]) -> Scores:
    """Return the scores of a set by name, as plain numbers."""
    values = {score: found.get(score) for score in HIGHER_IS_BETTER[name]}
    plain_values = {score: v.value if isinstance(v, Estimate) else v for score, v in values.items()}
    return {score: nan if value is None else float(value) for score, value in plain_values.items()}


def _accuracy(records: Sequence[Record]) -> float:
    right = [record["predicted"] == record["label"] for record in records]
    return sum(right) / len(right) if right else nan


def _answers(records: Sequence[Record]) -> tuple[list[int], list[int]]:
    return [int(record["predicted"]) for record in records], [int(record["label"]) for record in records]


def _column(records: Sequence[Record], name: str) -> list[Any]:
    return [record[name] for record in records]


def _name(record: Record) -> str:
    number = int(record["predicted"])
    return LABELS[number] if number >= 0 else "none"
