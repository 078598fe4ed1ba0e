import re

import pytest

from unbag.data.labels import (
    CONTRADICTION_OR_NOT,
    LABEL_SPACES,
    LABELS,
    TWO_WAY,
    LabelError,
    find_label_space,
    map_label_to_space,
    parse_label_map,
    resolve_gold_label,
    resolve_output_labels,
)


@pytest.mark.parametrize(
    "order",
    [
        ("entailment", "neutral", "contradiction"),  # datasets
        ("contradiction", "entailment", "neutral"),  # cross-encoders
        ("contradiction", "neutral", "entailment"),  # the MNLI heads of BART and RoBERTa
    ],
)
@pytest.mark.parametrize("spell", [str, str.upper, str.title])
def test_common_label_orders_are_read_ignoring_case(order, spell):
    assert resolve_output_labels({i: spell(name) for i, name in enumerate(order)}) == order


@pytest.mark.parametrize(
    ("n_outputs", "advice"),
    [
        (2, "--label-map 0=…,1=… (labels: entailment, not_entailment or contradiction, not_contradiction)"),
        (3, "--label-map 0=…,1=…,2=… (labels: entailment, neutral, contradiction)"),
        (5, "use a model with 1, 2 or 3 outputs instead of 5"),
    ],
)
def test_generic_label_names_error_suggests_label_map(n_outputs, advice):
    with pytest.raises(LabelError, match=re.escape(advice) + "$"):
        resolve_output_labels({i: f"LABEL_{i}" for i in range(n_outputs)})


@pytest.mark.parametrize(
    "text", ["contradiction,entailment,neutral", "LABEL_2=neutral,LABEL_0=contradiction,LABEL_1=entailment"]
)
def test_label_map_defines_generic_names(text):
    order = resolve_output_labels({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, parse_label_map(text))
    assert order == ("contradiction", "entailment", "neutral")


@pytest.mark.parametrize(
    "names", [("no", "yes"), ("false", "true"), ("inconsistent", "consistent"), ("unsupported", "supported")]
)
def test_gold_label_spellings_are_rejected_for_models(names):
    with pytest.raises(LabelError, match="expected label names in the model's id2label"):
        resolve_output_labels(dict(enumerate(names)))


@pytest.mark.parametrize(
    ("label", "spellings"),
    [
        ("entailment", ("Entailed", "SUPPORTED", "SUPPORTS", "Consistent")),
        ("not_entailment", ("NOT_ENTAILMENT", "unsupported", "Not supported", "not-supported", "Inconsistent")),
        ("contradiction", ("REFUTES", "refuted")),
        ("neutral", ("NOT ENOUGH INFO", "not_enough_info")),
    ],
)
def test_fact_checking_gold_labels_are_read_ignoring_case(label, spellings):
    assert {resolve_gold_label(spelling) for spelling in spellings} == {label}


def test_incomplete_label_map_is_rejected():
    with pytest.raises(LabelError, match=re.escape("got no label for ['LABEL_2']")):
        resolve_output_labels(
            {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, parse_label_map("LABEL_0=neutral,LABEL_1=entailment")
        )


def test_label_map_with_unknown_output_is_rejected():
    with pytest.raises(LabelError, match=re.escape("got the unknown output ['3']")):
        resolve_output_labels({0: "a", 1: "b", 2: "c"}, parse_label_map("entailment,neutral,contradiction,neutral"))


def test_label_map_errors_name_the_option():
    with pytest.raises(LabelError, match=r"^--label-map: expected a label such as .*, got 'a'$"):
        parse_label_map("a,entailment,neutral")
    with pytest.raises(LabelError, match=r"^--label-map: expected the outputs to be a permutation of"):
        resolve_output_labels({0: "LABEL_0", 1: "LABEL_1"}, parse_label_map("entailment,entailment"))


def test_mixed_label_map_forms_are_rejected():
    with pytest.raises(LabelError, match="mixture"):
        parse_label_map("LABEL_0=neutral,entailment")


@pytest.mark.parametrize(
    "names", [("entailment", "entailment", "neutral"), ("entailment", "neutral"), ("neutral",) * 3]
)
def test_names_outside_label_spaces_are_rejected(names):
    with pytest.raises(LabelError, match="expected the outputs to be a permutation of"):
        resolve_output_labels(dict(enumerate(names)))


def test_two_label_model_folds_neutral_and_contradiction():
    assert resolve_output_labels({0: "not_entailment", 1: "entailment"}) == TWO_WAY[::-1]
    assert [map_label_to_space(label, TWO_WAY) for label in LABELS] == [
        "entailment",
        "not_entailment",
        "not_entailment",
    ]
    assert [map_label_to_space(label, LABELS) for label in LABELS] == list(LABELS)


def test_contradiction_model_folds_entailment_and_neutral():
    assert resolve_output_labels({0: "non-contradiction", 1: "CONTRADICTION"}) == CONTRADICTION_OR_NOT[::-1]
    folded = ["not_contradiction", "not_contradiction", "contradiction"]
    assert [map_label_to_space(label, CONTRADICTION_OR_NOT) for label in LABELS] == folded
    assert [find_label_space(space[::-1]) for space in LABEL_SPACES] == list(LABEL_SPACES)


@pytest.mark.parametrize(("label", "space"), [("not_entailment", CONTRADICTION_OR_NOT), ("not_contradiction", TWO_WAY)])
def test_two_label_spaces_do_not_fold_into_each_other(label, space):
    with pytest.raises(LabelError, match=r"use pairs with three labels \(entailment, neutral, contradiction\)"):
        map_label_to_space(label, space)


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        (
            ("entailment", "contradiction"),
            "pass --label-map entailment,not_entailment if contradiction means not_entailment, or "
            "not_contradiction,contradiction if entailment means not_contradiction",
        ),
        (
            ("neutral", "entailment"),
            "got neutral,entailment; pass --label-map not_entailment,entailment if neutral means not_entailment",
        ),
        (("not_entailment", "contradiction"), "got not_entailment,contradiction"),
    ],
)
def test_ambiguous_label_space_error_suggests_label_maps(names, advice):
    with pytest.raises(LabelError) as caught:
        resolve_output_labels(dict(enumerate(names)))
    assert str(caught.value).endswith(advice)
