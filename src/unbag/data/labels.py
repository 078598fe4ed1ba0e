"""NLI labels: names, ids, label spaces, and the order of a model's outputs.

This is the only module that contains label ids. All other modules use names, because models disagree on the ids: most
cross-encoders use contradiction, entailment, neutral; the MNLI heads of BART and RoBERTa contradiction, neutral,
entailment. An unnoticed mismatch causes scores near zero or, worse, plausible scores.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, Final

ENTAILMENT: Final = "entailment"
NEUTRAL: Final = "neutral"
CONTRADICTION: Final = "contradiction"
NOT_ENTAILMENT: Final = "not_entailment"
NOT_CONTRADICTION: Final = "not_contradiction"

LABELS: Final = (ENTAILMENT, NEUTRAL, CONTRADICTION)
"""The three labels in the order of their ids 0, 1, 2 (as names of a `datasets.ClassLabel`)."""

TWO_WAY: Final = (ENTAILMENT, NOT_ENTAILMENT)
"""Labels of a two-label model. The gold labels neutral and contradiction are mapped to `not_entailment`."""

CONTRADICTION_OR_NOT: Final = (CONTRADICTION, NOT_CONTRADICTION)
"""Labels of a two-label contradiction detector. Entailment and neutral are mapped to `not_contradiction`. Also gold
labels of pairs for which only contradictions are known."""

LABEL_SPACES: Final = (LABELS, TWO_WAY, CONTRADICTION_OR_NOT)
"""Label spaces of models and of gold labels."""

FORWARD_ENTAILMENT: Final = "forward_entailment"
REVERSE_ENTAILMENT: Final = "reverse_entailment"
FOUR_WAY: Final = (FORWARD_ENTAILMENT, REVERSE_ENTAILMENT, CONTRADICTION, NEUTRAL)
"""Labels of SICCK (Akoju et al. 2023, section 4.1): entailment in either direction, contradiction, neutral. No model
has these outputs."""

_SPELLINGS: Final = {
    spelling: label
    for label, spellings in (
        (ENTAILMENT, "entailment entail entails entailed"),
        (NEUTRAL, "neutral"),
        (CONTRADICTION, "contradiction contradictory contradict contradicts"),
        (NOT_ENTAILMENT, "not_entailment non_entailment not_entailed"),
        (NOT_CONTRADICTION, "not_contradiction non_contradiction no_contradiction not_contradictory"),
    )
    for spelling in spellings.split()
}
_GOLD_SPELLINGS: Final = {
    spelling: label
    for label, spellings in (
        (ENTAILMENT, "support supports supported consistent"),
        (NOT_ENTAILMENT, "unsupported not_supported inconsistent not_consistent"),
        # FEVER's labels (Thorne et al. 2018, section 3.1), with `supports`.
        (CONTRADICTION, "refute refutes refuted"),
        (NEUTRAL, "not_enough_info not_enough_information"),
    )
    for spelling in spellings.split()
}
"""Additional spellings of gold labels. They are not used for model outputs, because authors of detectors define
"consistent" and "supported" differently. Such a model requires an explicit label map."""

_TRUTH_VALUES: Final = {"true": True, "yes": True, "false": False, "no": False}

_UNLABELLED: Final = frozenset({"-", "-1", ""})  # SNLI's jsonl, its ids on the Hub, and an empty cell


class LabelError(ValueError):
    """Raised for an unknown or ambiguous label, or if the label order of a model is ambiguous."""


def resolve_label(name: str) -> str:
    """Resolve the spelling of a label to the canonical name. Ignores case and separators (`-`, `_`, space).

    >>> resolve_label("CONTRADICTORY"), resolve_label("Not-Entailment")
    ('contradiction', 'not_entailment')
    """
    key = normalize_spelling(name)
    if key not in _SPELLINGS:
        raise LabelError(
            f"expected a label such as {', '.join(LABELS)}, {NOT_ENTAILMENT} or {NOT_CONTRADICTION}, got {name!r}"
        )
    return _SPELLINGS[key]


def resolve_gold_label(name: str) -> str:
    """Resolve the spelling of a gold label, including the spellings of fact-checking datasets.

    Truth values (`yes`, `false`) are rejected, because their meaning depends on the column (`parse_truth_value`).

    >>> resolve_gold_label("SUPPORTS"), resolve_gold_label("NOT ENOUGH INFO"), resolve_gold_label("Unsupported")
    ('entailment', 'neutral', 'not_entailment')
    """
    return _GOLD_SPELLINGS.get(normalize_spelling(name)) or resolve_label(name)


def parse_truth_value(name: str) -> bool | None:
    """Parse `true`, `yes`, `false` or `no`, ignoring case; None for any other text.

    >>> parse_truth_value("Yes"), parse_truth_value("FALSE"), parse_truth_value("entailment")
    (True, False, None)
    """
    return _TRUTH_VALUES.get(name.strip().lower())


def normalize_spelling(name: str) -> str:
    """Normalize a label or column name: `Sentence A` and `sentence_a` are equal, without case and separators."""
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())


def is_missing_label(value: Any) -> bool:
    """Check whether a gold label means "no agreement": -1, `-`, an empty cell or a missing value (also as a float).

    >>> [is_missing_label(value) for value in (None, " ", "-1.0", float("nan"), [], 0)]
    [True, True, True, True, False, False]
    """
    is_nan = isinstance(value, float) and math.isnan(value)
    # pandas writes integers as floats in a column with missing values.
    return value is None or is_nan or str(value).strip().removesuffix(".0") in _UNLABELLED


_POSITIVE_FLAGS: Final = frozenset(
    "entail entails entailed entailment support supports supported supporting consistent faithful grounded "
    "attributable factual factually_consistent".split()
)
_NEGATIVE_FLAGS: Final = frozenset(
    "hallucinated hallucination hallucinations unsupported unfaithful inconsistent ungrounded nonfactual "
    "unattributable factually_inconsistent".split()
)
_FLAG_WORDS: Final = re.compile(r"^(?:is|has|was|are|contains|label)_|_(?:label|flag|judgment|judgement|gold)$")


def find_flag_direction(column: str) -> bool | None:
    """Find out from its name if `true` means entailment in a column (True), not_entailment (False), or neither (None).

    >>> [find_flag_direction(name) for name in ("is_supported", "Hallucinated", "notEntailment", "label")]
    [True, False, False, None]
    """
    key = normalize_spelling(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column))
    # Twice, for names with two such words at the start, such as `label_is_supported`.
    key = _FLAG_WORDS.sub("", _FLAG_WORDS.sub("", key))
    bare = re.sub("^(?:not|non|no)_", "", key)
    if bare not in _POSITIVE_FLAGS | _NEGATIVE_FLAGS:
        return None
    return (bare in _POSITIVE_FLAGS) == (bare == key)


def get_label_id(name: str) -> int:
    """Look up the id of a label in `LABELS`. Labels that stand for two of them, such as `not_entailment`, have no id.

    >>> get_label_id("contradiction")
    2
    """
    if name not in LABELS:
        advice = "use such pairs only for the set plain"
        if name == NOT_ENTAILMENT:
            advice = "use two-label pairs only for sets such as plain and permuted, or train on them with "
            advice += "`unbag train … --not-entailment-as neutral`"
        raise LabelError(f"expected pairs labelled {', '.join(LABELS)}, got {name}; {advice}")
    return LABELS.index(name)


def get_gold_id(name: str, label_space: Sequence[str] = LABELS) -> int:
    """Look up the id of a gold label: the id from `get_label_id`, or 1 for the two-way label `not_entailment`.

    In the label space `CONTRADICTION_OR_NOT`, a contradiction has the id 0.

    >>> get_gold_id("contradiction"), get_gold_id("not_entailment")
    (2, 1)
    >>> [get_gold_id(name, CONTRADICTION_OR_NOT) for name in CONTRADICTION_OR_NOT]
    [0, 1]
    """
    if NOT_CONTRADICTION in label_space:
        return CONTRADICTION_OR_NOT.index(name)
    return TWO_WAY.index(name) if name == NOT_ENTAILMENT else get_label_id(name)


def parse_label_map(text: str) -> dict[str, str]:
    """Parse the value of `--label-map`: label names in output order, or `MODEL_NAME=LABEL` pairs, but not both.

    >>> parse_label_map("contradiction,entailment,neutral")
    {'0': 'contradiction', '1': 'entailment', '2': 'neutral'}
    >>> parse_label_map("LABEL_0=entailment, LABEL_1=not_entailment")
    {'LABEL_0': 'entailment', 'LABEL_1': 'not_entailment'}
    """
    parts = [part.strip() for part in text.split(",")]
    named = ["=" in part for part in parts]
    if any(named) and not all(named):
        raise LabelError(
            f"--label-map: expected either names in output order (contradiction,entailment,neutral) or pairs "
            f"(LABEL_0=contradiction,…), got a mixture: {text!r}; use one form"
        )
    pairs = [part.split("=", 1) for part in parts] if all(named) else [[str(i), part] for i, part in enumerate(parts)]
    try:
        return {theirs.strip(): resolve_label(ours) for theirs, ours in pairs}
    except LabelError as error:
        raise LabelError(f"--label-map: {error}") from None


def resolve_output_labels(id2label: Mapping[int, str], label_map: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Resolve the labels of a model's outputs, a permutation of one of `LABEL_SPACES`, in output order.

    Args:
        id2label: Name of each output in the model's config.
        label_map: Label of each output, by the model's name or by the index of the output as text. Takes precedence
            over `id2label`.

    Raises:
        LabelError: If a name is generic (`LABEL_0`) or unknown, or if the names do not form a label space.

    >>> resolve_output_labels({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"})
    ('contradiction', 'neutral', 'entailment')
    """
    outputs = sorted(id2label)
    theirs = {i: str(id2label[i]) for i in outputs}
    if label_map is None:
        try:
            order = tuple(resolve_label(theirs[i]) for i in outputs)
        except LabelError as error:
            raise LabelError(
                f"expected label names in the model's id2label, got {theirs} ({error}); "
                f"{_label_map_advice(len(outputs))}"
            ) from None
    else:
        unknown = sorted(set(label_map) - {name for i in outputs for name in (str(i), theirs[i])})
        missing = [theirs[i] for i in outputs if str(i) not in label_map and theirs[i] not in label_map]
        if unknown or missing:
            got = f"the unknown output {unknown}" if unknown else f"no label for {missing}"
            raise LabelError(f"--label-map: expected each of the outputs {theirs} once, got {got}; correct it")
        order = tuple(label_map.get(str(i)) or label_map[theirs[i]] for i in outputs)
    if sorted(order) not in map(sorted, LABEL_SPACES):
        where = "" if label_map is None else "--label-map: "
        raise LabelError(
            f"{where}expected the outputs to be a permutation of {_listed(LABEL_SPACES)}, got {','.join(order)}"
            f"{_two_label_advice(order)}"
        )
    return order


def _listed(spaces: Sequence[Sequence[str]]) -> str:
    *before, last = (",".join(space) for space in spaces)
    return f"{', of '.join(before)} or of {last}"


def _label_map_advice(n_outputs: int) -> str:
    """Suggest a label map for a model whose outputs have no names; another model if no label map has that length."""
    if n_outputs not in map(len, LABEL_SPACES):
        return f"use a model with 1, 2 or 3 outputs instead of {n_outputs}"
    # The message names no order: a user who copies a wrong one gets plausible scores.
    outputs = ",".join(f"{number}=…" for number in range(n_outputs))
    labels = " or ".join(", ".join(space) for space in LABEL_SPACES if len(space) == n_outputs)
    return f"look up the order on the model card and pass it as --label-map {outputs} (labels: {labels})"


def _two_label_advice(order: Sequence[str]) -> str:
    """Suggest label maps for a two-output model with invalid labels; empty for other models."""
    if len(order) != 2:
        return ""
    choices = []
    for number, label in enumerate(order):
        other = order[1 - number]
        for space in (TWO_WAY, CONTRADICTION_OR_NOT):
            if label == space[0] and other in LABELS and other != label:
                both = space if number == 0 else space[::-1]
                choices.append(f"{','.join(both)} if {other} means {space[1]}")
    return f"; pass --label-map {', or '.join(choices)}" if choices else ""


def resolve_single_output_labels(name: str, label_map: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Resolve the two labels of a single-output model: first the label above the threshold, then the label below it.

    By default, a high score means entailment. It means contradiction if the output is named `contradiction`,
    not_entailment for names such as `hallucination`, or the label that the map `{"0": HIGH, "1": LOW}` assigns.

    >>> resolve_single_output_labels("LABEL_0"), resolve_single_output_labels("CONTRADICTION")
    (('entailment', 'not_entailment'), ('contradiction', 'not_contradiction'))
    """
    orders = list_two_label_orders()
    if label_map is not None:
        if sorted(label_map.items()) not in [[("0", high), ("1", low)] for high, low in orders]:
            raise LabelError(
                f"--label-map: expected {' or '.join(','.join(order) for order in orders)} for a model with one "
                f"output, got {','.join(f'{name}={label}' for name, label in label_map.items())}"
            )
        return label_map["0"], label_map["1"]
    try:
        high = resolve_label(name)
    except LabelError:  # names such as LABEL_0, relevant, consistent
        high = NOT_ENTAILMENT if find_flag_direction(name) is False else ENTAILMENT
    return next((order for order in orders if order[0] == high), TWO_WAY[::-1])


def list_two_label_orders() -> list[tuple[str, ...]]:
    """List all possible orders of the outputs of a two-label model."""
    return [order for space in (TWO_WAY, CONTRADICTION_OR_NOT) for order in permutations(space)]


def list_candidate_label_orders(
    declared_order: Sequence[str], *, allow_two_labels: bool = False
) -> list[tuple[str, ...]]:
    """List the possible label orders of the outputs, starting with the declared order.

    `allow_two_labels` adds the orders of two labels for a model with three labels.

    >>> list_candidate_label_orders(("entailment", "not_entailment"))[:2]
    [('entailment', 'not_entailment'), ('not_entailment', 'entailment')]
    """
    others: list[tuple[str, ...]] = list(permutations(declared_order)) if len(declared_order) > 2 else []
    others += list_two_label_orders() if len(declared_order) == 2 or allow_two_labels else []
    return [tuple(declared_order), *(order for order in others if order != tuple(declared_order))]


def find_label_space(order: Sequence[str]) -> tuple[str, ...]:
    """Find the label space that consists of the labels in `order`. Its labels are in canonical order.

    >>> find_label_space(("contradiction", "entailment", "neutral"))
    ('entailment', 'neutral', 'contradiction')
    """
    return next(space for space in LABEL_SPACES if sorted(space) == sorted(order))


def get_positive_label(label_space: Sequence[str]) -> str:
    """Look up the positive label of a two-label space.

    >>> get_positive_label(TWO_WAY), get_positive_label(CONTRADICTION_OR_NOT)
    ('entailment', 'contradiction')
    """
    return CONTRADICTION if NOT_CONTRADICTION in label_space else ENTAILMENT


def map_label_to_space(label: str, label_space: Sequence[str]) -> str:
    """Map a three-way gold label to a model's label space, as in McCoy et al. (2019, section 4) for HANS.

    Raises:
        LabelError: If label and space belong to different two-label spaces.

    >>> [map_label_to_space("neutral", space) for space in (TWO_WAY, CONTRADICTION_OR_NOT, LABELS)]
    ['not_entailment', 'not_contradiction', 'neutral']
    """
    if label in label_space:
        return label
    rest = NOT_CONTRADICTION if NOT_CONTRADICTION in label_space else NOT_ENTAILMENT
    if {label, rest} == {NOT_ENTAILMENT, NOT_CONTRADICTION}:
        raise LabelError(
            f"expected labels that map to {', '.join(label_space)}, got {label}, which may be either; use pairs with "
            f"three labels ({', '.join(LABELS)})"
        )
    return rest
