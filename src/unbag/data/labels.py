"""NLI labels: names, ids, label spaces, and the order of a model's outputs.

This is the only module that knows the numbers of labels. All other modules use names, because models disagree on the
numbers. Data sets have the order entailment, neutral, contradiction. Most cross-encoders have contradiction,
entailment, neutral. The MNLI heads of the BART and RoBERTa family have contradiction, neutral, entailment. A silent
mix-up gives scores near zero or, worse, plausible ones.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Final

ENTAILMENT: Final = "entailment"
NEUTRAL: Final = "neutral"
CONTRADICTION: Final = "contradiction"
NOT_ENTAILMENT: Final = "not_entailment"
NOT_CONTRADICTION: Final = "not_contradiction"

LABELS: Final = (ENTAILMENT, NEUTRAL, CONTRADICTION)
"""The three labels in the order of their ids 0, 1, 2 (a `datasets.ClassLabel` of these names)."""

TWO_WAY: Final = (ENTAILMENT, NOT_ENTAILMENT)
"""The labels of a two-label model. Gold labels fold into them: neutral and contradiction are both `not_entailment`."""

CONTRADICTION_OR_NOT: Final = (CONTRADICTION, NOT_CONTRADICTION)
"""The labels of a two-label model that detects contradictions: entailment and neutral are both `not_contradiction`."""

LABEL_SPACES: Final = (LABELS, TWO_WAY, CONTRADICTION_OR_NOT)
"""The label spaces of models."""

FORWARD_ENTAILMENT: Final = "forward_entailment"
REVERSE_ENTAILMENT: Final = "reverse_entailment"
FOUR_WAY: Final = (FORWARD_ENTAILMENT, REVERSE_ENTAILMENT, CONTRADICTION, NEUTRAL)
"""The labels of SICCK (Akoju et al. 2023, section 4.1): entailment in either direction, contradiction, neutral. Names
only: no model has them as outputs."""

_SPELLINGS: Final = {
    "entailment": ENTAILMENT,
    "entail": ENTAILMENT,
    "entails": ENTAILMENT,
    "entailed": ENTAILMENT,
    "neutral": NEUTRAL,
    "contradiction": CONTRADICTION,
    "contradictory": CONTRADICTION,
    "contradict": CONTRADICTION,
    "contradicts": CONTRADICTION,
    "not_entailment": NOT_ENTAILMENT,
    "non_entailment": NOT_ENTAILMENT,
    "not_entailed": NOT_ENTAILMENT,
    "not_contradiction": NOT_CONTRADICTION,
    "non_contradiction": NOT_CONTRADICTION,
    "no_contradiction": NOT_CONTRADICTION,
    "not_contradictory": NOT_CONTRADICTION,
}
_GOLD_SPELLINGS: Final = {
    "support": ENTAILMENT,
    "supports": ENTAILMENT,
    "supported": ENTAILMENT,
    "consistent": ENTAILMENT,
    "unsupported": NOT_ENTAILMENT,
    "not_supported": NOT_ENTAILMENT,
    "inconsistent": NOT_ENTAILMENT,
    "not_consistent": NOT_ENTAILMENT,
    # FEVER's three labels (Thorne et al. 2018, section 3.1).
    "refute": CONTRADICTION,
    "refutes": CONTRADICTION,
    "refuted": CONTRADICTION,
    "not_enough_info": NEUTRAL,
    "not_enough_information": NEUTRAL,
}
"""Further spellings, of gold labels only. They do not resolve the outputs of models: authors of detectors define
"consistent" or "supported" in different ways, so the label map of such a model must be explicit."""

_TRUTH_VALUES: Final = {"true": True, "yes": True, "false": False, "no": False}

_UNLABELLED: Final = frozenset({"-", "-1", ""})  # SNLI's jsonl, its ids on the Hub, and an empty cell


class LabelError(ValueError):
    """A label, or an order of a model's labels, that only a guess could resolve."""


def canonical(name: str) -> str:
    """Resolve a spelling of a label to our name: in any case, with `-`, `_` or a space between words.

    Raises:
        LabelError: If the spelling is unknown.

    >>> canonical("CONTRADICTORY"), canonical("Not-Entailment")
    ('contradiction', 'not_entailment')
    """
    key = _key(name)
    if key not in _SPELLINGS:
        raise LabelError(
            f"expected a label such as {', '.join(LABELS)}, {NOT_ENTAILMENT} or {NOT_CONTRADICTION}, got {name!r}"
        )
    return _SPELLINGS[key]


def canonical_gold(name: str) -> str:
    """Resolve the spelling of a gold label in data: those of `canonical`, and those of fact-checking data sets.

    Raises:
        LabelError: If the name is none of the known spellings. Truth values (`yes`, `false`) are none of them: their
            meaning depends on the column (`truth_value`).

    >>> canonical_gold("SUPPORTS"), canonical_gold("NOT ENOUGH INFO"), canonical_gold("Unsupported")
    ('entailment', 'neutral', 'not_entailment')
    """
    label = _GOLD_SPELLINGS.get(_key(name)) or _SPELLINGS.get(_key(name))
    if label is None:
        raise LabelError(f"expected a label such as {', '.join(LABELS)} or {NOT_ENTAILMENT}, got {name!r}")
    return label


def truth_value(name: str) -> bool | None:
    """Parse `true`, `yes`, `false` or `no`, in any case; None for any other text.

    >>> truth_value("Yes"), truth_value("FALSE"), truth_value("entailment")
    (True, False, None)
    """
    return _TRUTH_VALUES.get(name.strip().lower())


def _key(name: str) -> str:
    return "_".join(name.strip().lower().replace("-", " ").replace("_", " ").split())


def gold_label(name: str) -> str:
    """Resolve a spelling of a label to one of `LABELS`.

    Raises:
        LabelError: If it is a spelling of none of them.

    >>> gold_label("Contradiction")
    'contradiction'
    """
    label = canonical(name)
    if label not in LABELS:
        raise LabelError(f"expected a label of {', '.join(LABELS)}, got {name!r}")
    return label


def is_unlabelled(value: str | int | None) -> bool:
    """Check whether a gold label stands for "no agreement": -1, `-`, an empty cell or a missing value."""
    return value is None or str(value).strip() in _UNLABELLED


def label_id(name: str) -> int:
    """Look up the id of one of `LABELS`.

    Raises:
        LabelError: If the name is `not_entailment`, which is neutral or contradiction.

    >>> label_id("contradiction")
    2
    """
    if name == NOT_ENTAILMENT:
        raise LabelError(
            f"expected pairs labelled {', '.join(LABELS)}, got {NOT_ENTAILMENT}: pairs of two labels make sets such as "
            "plain and permuted, and nothing is fitted on them; to train on them, run `unbag train` with "
            "`--not-entailment-as neutral`"
        )
    return LABELS.index(name)


def gold_id(name: str) -> int:
    """Look up the id of a gold label in its own label space: that of `label_id`, or 1 for `not_entailment`.

    >>> gold_id("contradiction"), gold_id("not_entailment")
    (2, 1)
    """
    return TWO_WAY.index(name) if name == NOT_ENTAILMENT else label_id(name)


def parse_label_map(text: str) -> dict[str, str]:
    """Parse the value of `--label-map`: names in output order, or pairs of the model's name and ours.

    Raises:
        LabelError: If a name is unknown, or the two forms are mixed.

    >>> parse_label_map("contradiction,entailment,neutral")
    {'0': 'contradiction', '1': 'entailment', '2': 'neutral'}
    >>> parse_label_map("LABEL_0=entailment, LABEL_1=not_entailment")
    {'LABEL_0': 'entailment', 'LABEL_1': 'not_entailment'}
    """
    parts = [part.strip() for part in text.split(",")]
    named = ["=" in part for part in parts]
    if any(named) and not all(named):
        raise LabelError(
            f"expected either names in output order (contradiction,entailment,neutral) or pairs "
            f"(LABEL_0=contradiction,…), got a mixture: {text!r}"
        )
    pairs = [part.split("=", 1) for part in parts] if all(named) else [[str(i), part] for i, part in enumerate(parts)]
    return {theirs.strip(): canonical(ours) for theirs, ours in pairs}


def resolve_order(id2label: Mapping[int, str], label_map: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Resolve the labels of a model's outputs, in output order.

    Args:
        id2label: The model's own name of each output, as in `config.id2label`.
        label_map: Our name of each output, by the model's name or by the number of the output as text. It takes
            precedence over `id2label`.

    Returns:
        A permutation of one of `LABEL_SPACES`.

    Raises:
        LabelError: If a name has no meaning (`LABEL_0`), is unknown, or the names are not one of the label spaces.

    >>> resolve_order({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"})
    ('contradiction', 'neutral', 'entailment')
    """
    outputs = sorted(id2label)
    theirs = {i: str(id2label[i]) for i in outputs}
    if label_map is None:
        try:
            order = tuple(canonical(theirs[i]) for i in outputs)
        except LabelError as error:
            raise LabelError(
                f"the model's id2label is {theirs}, which does not say which output is which label ({error}); "
                "look up the order on its model card and pass it, e.g. --label-map contradiction,entailment,neutral"
            ) from None
    else:
        names = {name for i in outputs for name in (str(i), theirs[i])}
        if unknown := sorted(set(label_map) - names):
            raise LabelError(f"the label map names {unknown}, the model has {theirs}; name each output once")
        missing = [theirs[i] for i in outputs if str(i) not in label_map and theirs[i] not in label_map]
        if missing:
            raise LabelError(f"the label map omits {missing}, the model has {theirs}; name each output once")
        order = tuple(label_map.get(str(i)) or label_map[theirs[i]] for i in outputs)
    if sorted(order) not in map(sorted, LABEL_SPACES):
        raise LabelError(
            f"expected outputs that are an order of {_listed(LABEL_SPACES)}, got {','.join(order)}"
            f"{_two_label_advice(order)}"
        )
    return order


def _listed(spaces: Sequence[Sequence[str]]) -> str:
    *before, last = (",".join(space) for space in spaces)
    return f"{', of '.join(before)} or of {last}"


def _two_label_advice(order: Sequence[str]) -> str:
    """Name the label maps that fit a model of two outputs whose names are of no label space; empty for other models."""
    if len(order) != 2:
        return ""
    choices = []
    for number, label in enumerate(order):
        other = order[1 - number]
        for space in (TWO_WAY, CONTRADICTION_OR_NOT):
            if label == space[0] and other in LABELS and other != label:
                both = space if number == 0 else space[::-1]
                choices.append(f"{','.join(both)} if {other} stands for {space[1]} too")
    return f"; pass --label-map {', or '.join(choices)}" if choices else ""


def single_output_labels(name: str, label_map: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Resolve the two labels of a model of one output: that of scores above the threshold, then that of the others.

    A high score means entailment by default. It means another label if the output is named after it (`contradiction`),
    or if the label map names it.

    Args:
        name: The model's own name of its output.
        label_map: The label of a high score and that of a low one, `{"0": …, "1": …}`.

    Raises:
        LabelError: If the map does not name both labels of a two-label space.

    >>> single_output_labels("LABEL_0"), single_output_labels("CONTRADICTION")
    (('entailment', 'not_entailment'), ('contradiction', 'not_contradiction'))
    """
    orders = two_label_orders()
    if label_map is not None:
        if sorted(label_map.items()) not in [[("0", high), ("1", low)] for high, low in orders]:
            raise LabelError(
                "a model of one output has a label for high scores and one for low ones; expected --label-map "
                f"{' or '.join(','.join(order) for order in orders)}, got {dict(label_map)}"
            )
        return label_map["0"], label_map["1"]
    try:
        high = canonical(name)
    except LabelError:  # names such as LABEL_0, relevant, consistent
        high = ENTAILMENT
    return next((order for order in orders if order[0] == high), TWO_WAY[::-1])


def two_label_orders() -> list[tuple[str, ...]]:
    """List every order of the outputs of a two-label model."""
    return [order for space in (TWO_WAY, CONTRADICTION_OR_NOT) for order in permutations(space)]


def candidate_orders(declared: Sequence[str], *, allow_two_labels: bool = False) -> list[tuple[str, ...]]:
    """List the possible orders of outputs, the declared one first.

    Args:
        declared: The order that a model or a file declares.
        allow_two_labels: Whether to add the orders of two labels to those of three.

    >>> candidate_orders(("entailment", "not_entailment"))[:2]
    [('entailment', 'not_entailment'), ('not_entailment', 'entailment')]
    """
    others: list[tuple[str, ...]] = list(permutations(declared)) if len(declared) > 2 else []
    others += two_label_orders() if len(declared) == 2 or allow_two_labels else []
    return [tuple(declared), *(order for order in others if order != tuple(declared))]


def label_space_of(order: Sequence[str]) -> tuple[str, ...]:
    """Find the label space of which `order` is a permutation, in our order.

    >>> label_space_of(("contradiction", "entailment", "neutral"))
    ('entailment', 'neutral', 'contradiction')
    """
    return next(space for space in LABEL_SPACES if sorted(space) == sorted(order))


def positive_label(label_space: Sequence[str]) -> str:
    """Name the positive label of a two-label space.

    >>> positive_label(TWO_WAY), positive_label(CONTRADICTION_OR_NOT)
    ('entailment', 'contradiction')
    """
    return CONTRADICTION if NOT_CONTRADICTION in label_space else ENTAILMENT


def fold(label: str, label_space: Sequence[str]) -> str:
    """Map a three-way gold label to a model's label space.

    For two-label models, neutral and contradiction are both `not_entailment`; McCoy et al. (2019, section 4) fold HANS
    in the same way. For models that detect contradictions, entailment and neutral are both `not_contradiction`.

    Raises:
        LabelError: If label and space belong to different two-label spaces.

    >>> fold("neutral", TWO_WAY), fold("neutral", CONTRADICTION_OR_NOT), fold("neutral", LABELS)
    ('not_entailment', 'not_contradiction', 'neutral')
    """
    if label in label_space:
        return label
    rest = NOT_CONTRADICTION if NOT_CONTRADICTION in label_space else NOT_ENTAILMENT
    if {label, rest} == {NOT_ENTAILMENT, NOT_CONTRADICTION}:
        raise LabelError(
            f"expected labels that fold into {', '.join(label_space)}, got {label}, which may be either; use pairs of "
            f"three labels ({', '.join(LABELS)})"
        )
    return rest
