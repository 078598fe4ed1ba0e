import re

import pytest

from unbag.data.labels import (
    CONTRADICTION_OR_NOT,
    LABEL_SPACES,
    LABELS,
    TWO_WAY,
    LabelError,
    find_label_space,
    get_gold_id,
    get_label_id,
    map_label_to_space,
    parse_label_map,
    resolve_gold_label,
    resolve_output_labels,
)

GENERIC = tuple(f"LABEL_{number}" for number in range(5))
PERMUTATION = "expected the outputs to be a permutation of"


@pytest.mark.parametrize(
    ("names", "label_map", "order"),
    [
        *[
            (tuple(map(spell, order)), None, order)
            for spell in (str, str.upper, str.title)
            for order in (
                ("entailment", "neutral", "contradiction"),  # datasets
                ("contradiction", "entailment", "neutral"),  # cross-encoders
                ("contradiction", "neutral", "entailment"),  # the MNLI heads of BART and RoBERTa
            )
        ],
        (("not_entailment", "entailment"), None, TWO_WAY[::-1]),
        (("non-contradiction", "CONTRADICTION"), None, CONTRADICTION_OR_NOT[::-1]),
        (GENERIC[:3], "contradiction,entailment,neutral", ("contradiction", "entailment", "neutral")),
        (GENERIC[:3], "LABEL_2=neutral,LABEL_0=contradiction,LABEL_1=entailment",
         ("contradiction", "entailment", "neutral")),
    ],
)  # fmt: skip
def test_output_labels_are_read_by_name_or_label_map(names, label_map, order):
    found = resolve_output_labels(dict(enumerate(names)), parse_label_map(label_map) if label_map else None)
    assert found == order


@pytest.mark.parametrize(
    ("names", "label_map", "message"),
    [
        (GENERIC[:2], "", "0=…,1=… (labels: entailment, not_entailment or contradiction, not_contradiction)"),
        (GENERIC[:3], "", "--label-map 0=…,1=…,2=… (labels: entailment, neutral, contradiction)"),
        (GENERIC[:5], "", "use a model with 1, 2 or 3 outputs instead of 5"),
        *[
            (names.split(), "", "expected label names in the model's id2label")  # spellings of gold labels
            for names in ("no yes", "false true", "inconsistent consistent", "unsupported supported")
        ],
        (GENERIC[:3], "LABEL_0=neutral,LABEL_1=entailment", "got no label for ['LABEL_2']"),
        (("a", "b", "c"), "entailment,neutral,contradiction,neutral", "got the unknown output ['3']"),
        (GENERIC[:2], "a,entailment,neutral", "--label-map: expected a label such as "),
        (GENERIC[:2], "entailment,entailment", f"--label-map: {PERMUTATION}"),
        (GENERIC[:2], "LABEL_0=neutral,entailment", "mixture"),
        (("entailment", "entailment", "neutral"), "", PERMUTATION),
        (("entailment", "neutral"), "", PERMUTATION),
        (
            ("entailment", "contradiction"), "",
            "pass --label-map entailment,not_entailment if contradiction means not_entailment, or "
            "not_contradiction,contradiction if entailment means not_contradiction",
        ),
        (
            ("neutral", "entailment"), "",
            "got neutral,entailment; pass --label-map not_entailment,entailment if neutral means not_entailment",
        ),
        (("not_entailment", "contradiction"), "", "got not_entailment,contradiction"),
    ],
)  # fmt: skip
def test_invalid_output_labels_error_suggests_label_map(names, label_map, message):
    with pytest.raises(LabelError, match=re.escape(message)):
        resolve_output_labels(dict(enumerate(names)), parse_label_map(label_map) if label_map else None)


@pytest.mark.parametrize(
    ("label", "spellings"),
    [
        ("entailment", ("Entailed", "SUPPORTED", "SUPPORTS", "Consistent")),
        ("not_entailment", ("NOT_ENTAILMENT", "unsupported", "Not supported", "not-supported", "Inconsistent")),
        ("contradiction", ("REFUTES", "refuted", "Contradictory")),
        ("neutral", ("NOT ENOUGH INFO", "not_enough_info")),
    ],
)
def test_fact_checking_gold_labels_are_read_ignoring_case(label, spellings):
    assert {resolve_gold_label(spelling) for spelling in spellings} == {label}


@pytest.mark.parametrize(
    ("space", "folded"),
    [
        (LABELS, LABELS),
        (TWO_WAY, ("entailment", "not_entailment", "not_entailment")),
        (CONTRADICTION_OR_NOT, ("not_contradiction", "not_contradiction", "contradiction")),
    ],
)
def test_labels_fold_into_each_label_space(space, folded):
    assert tuple(map_label_to_space(label, space) for label in LABELS) == folded
    assert find_label_space(space[::-1]) == space in LABEL_SPACES


@pytest.mark.parametrize(
    ("label", "space", "other", "message"),
    [
        ("not_entailment", TWO_WAY, CONTRADICTION_OR_NOT,
         "use two-label pairs only for sets such as plain and permuted, or train"),
        ("not_contradiction", CONTRADICTION_OR_NOT, TWO_WAY, "use such pairs only for the set plain"),
    ],
)  # fmt: skip
def test_label_of_two_has_id_among_two_labels_only(label, space, other, message):
    assert get_gold_id(label, space) == 1
    with pytest.raises(LabelError, match=message):
        get_label_id(label)
    with pytest.raises(LabelError, match=r"use pairs with three labels \(entailment, neutral, contradiction\)"):
        map_label_to_space(label, other)
