from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest

from unbag.data.labels import (
    CONTRADICTION,
    CONTRADICTION_OR_NOT,
    ENTAILMENT,
    LABEL_SPACES,
    LABELS,
    NEUTRAL,
    TWO_WAY,
    LabelError,
    find_label_space,
    list_two_label_orders,
    map_label_to_space,
    parse_label_map,
)
from unbag.inference import label_probe
from unbag.inference.function import CallablePredictor
from unbag.inference.label_probe import PAIRS, MislabelledError, run_label_probe

GOLD = {(premise, hypothesis): label for pairs in PAIRS.values() for premise, hypothesis, label in pairs}


def get_gold_labels(pairs, space=LABELS):
    return [map_label_to_space(GOLD[pair], space) for pair in zip(*pairs, strict=True)]


def build_probe_model(renamed=None, wrong=0, label_space=LABELS):
    """Return a predictor that is right except for its first pairs and, optionally, renamed labels."""

    def answer(*pairs):
        names = get_gold_labels(pairs, label_space)
        for row in range(wrong):
            names[row] = label_space[(label_space.index(names[row]) + 1) % len(label_space)]
        return [(renamed or {}).get(name, name) for name in names]

    return CallablePredictor(answer, label_space=label_space)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_label_has_four_distinct_pairs(language):
    assert Counter(label for *_, label in PAIRS[language]) == dict.fromkeys(LABELS, 4)
    assert len({pair[:2] for pair in PAIRS[language]}) == 12


def build_row_model(declared, meant, wrong=0):
    """Return a predictor that declares an order, but has another one, and is right except for the first pairs."""

    def answer(*pairs):
        gold = np.array([meant.index(label) for label in get_gold_labels(pairs, find_label_space(meant))])
        return np.eye(len(meant))[(gold + (np.arange(len(gold)) < wrong)) % len(meant)]

    return declare(declared, answer)


def declare(order, fn):
    return CallablePredictor(fn, label_map=parse_label_map(",".join(order)))


@pytest.mark.parametrize(
    ("declared", "meant"),
    [*((LABELS, order) for order in permutations(LABELS)), *product(list_two_label_orders(), repeat=2)],
)
def test_each_order_is_distinguished(declared, meant):
    report = run_label_probe(build_row_model(declared, meant))
    assert (report.declared, report.best, report.right_best) == (declared, meant, 12)
    assert report.mislabelled == (declared != meant)


@pytest.mark.parametrize(
    ("declared", "meant", "tolerated"),
    [(LABELS, (ENTAILMENT, CONTRADICTION, NEUTRAL), 2), (TWO_WAY, TWO_WAY[::-1], 1)],
)
def test_other_order_is_found_with_few_wrong_pairs(declared, meant, tolerated):
    """Ten of twelve pairs are required for three labels, and eleven for two."""
    assert run_label_probe(build_row_model(declared, meant, wrong=tolerated)).mislabelled
    assert not run_label_probe(build_row_model(declared, meant, wrong=tolerated + 1)).mislabelled


def test_two_label_false_alarm_rate_equals_docstring():
    """Enumerate all predictions of a coin on the twelve pairs."""
    golds = [label for *_, label in PAIRS["en"]]
    answers = np.array(list(product([0, 1], repeat=12)))
    right = {
        order: (answers == [order.index(map_label_to_space(gold, find_label_space(order))) for gold in golds]).sum(
            axis=1
        )
        for order in list_two_label_orders()
    }
    best = np.max(list(right.values()), axis=0)
    for declared in list_two_label_orders():
        alarm = (best >= label_probe.ENOUGH_OF_TWO) & (best - right[declared] >= label_probe.MARGIN)
        assert alarm.sum() == 35
        ones = answers[alarm].sum(axis=1)
        biased = max((p**ones * (1 - p) ** (12 - ones)).sum() for p in np.linspace(0, 1, 101))
        assert round(biased, 4) == 0.0124


class _ScoreModel:
    """A model with one output, with the score of each pair and the labels of high and low scores."""

    threshold = "break-even"
    n_outputs = 1
    identity = None

    def __init__(self, order, score):
        self.order, self.label_space = order, find_label_space(order)
        self._score = score

    def predict(self, *pairs):
        high = np.array([self._score(label) for label in get_gold_labels(pairs)])
        columns = np.stack([high, 1 - high], axis=1)
        return columns[:, [self.order.index(label) for label in self.label_space]].astype(np.float32)


@pytest.mark.parametrize("declared", list_two_label_orders())
@pytest.mark.parametrize("meant", list_two_label_orders())
def test_one_output_order_is_found_by_ranks(declared, meant):
    """All scores are below one half, so a threshold of one half gives the same prediction for all pairs."""
    space = find_label_space(meant)
    model = _ScoreModel(declared, lambda label: 0.2 if map_label_to_space(label, space) == meant[0] else 0.1)
    report = run_label_probe(model)
    assert (report.best, report.ranked_best, report.mislabelled) == (meant, 32, declared != meant)
    if declared == meant[::-1]:
        assert report.ranked_declared == 0
        assert "ranks 0 of 32 couples of obvious pairs correctly (area under the curve 0.000)" in report.finding
    elif declared != meant:
        assert report.ranked_declared in (8, 24), "of 32 couples the 16 of two labels that score alike count half"


@pytest.mark.parametrize("declared", list_two_label_orders())
def test_reversed_model_of_two_outputs_is_found_by_ranks_at_any_level(declared):
    """All probabilities are on one side of one half, so each label order is wrong on many pairs."""

    def answer(*pairs, order):
        is_first = [label == order[0] for label in get_gold_labels(pairs, find_label_space(order))]
        odds = np.where(is_first, 0.2, 0.1)
        return np.stack([odds, 1 - odds], axis=1)

    report = run_label_probe(declare(declared, partial(answer, order=declared[::-1])))
    assert (report.best, report.ranked_declared, report.ranked_best) == (declared[::-1], 0, 32)
    assert report.mislabelled
    report = run_label_probe(declare(declared, partial(answer, order=declared)))
    assert (report.mislabelled, report.warning) == (False, None), "the log odds separate all pairs"


def test_constant_and_ranker_scores_are_not_reported():
    for declared in list_two_label_orders():
        assert not run_label_probe(_ScoreModel(declared, lambda label: 0.3)).mislabelled
    ranks = {ENTAILMENT: 0.9, NEUTRAL: 0.5, CONTRADICTION: 0.1}
    report = run_label_probe(_ScoreModel(TWO_WAY, ranks.__getitem__))
    assert (report.best, report.ranked_declared, report.mislabelled) == (TWO_WAY, 32, False)


@pytest.mark.parametrize(("threshold", "is_reported"), [(0.5, True), (0.6225, False), ("break-even", False)])
def test_outputs_that_are_probabilities_get_a_warning_with_advice_that_works(threshold, is_reported):
    """A regression head predicts 0.9 for entailed pairs and 0.2 for others; their sigmoids are 0.711 and 0.550."""
    model = _ScoreModel(TWO_WAY, lambda label: 1 / (1 + np.exp(-(0.9 if label == ENTAILMENT else 0.2))))
    model.threshold = threshold
    report = run_label_probe(model)
    assert report.right_declared == (4 if is_reported else 12)
    assert ("pass the sigmoid of the threshold" in str(report.warning)) == is_reported


def test_one_output_false_alarm_rate_equals_docstring():
    """Enumerate all orders of twelve scores without ties."""
    alarms = total = 0
    for entailed in combinations(range(12), 4):
        rest = [place for place in range(12) if place not in entailed]
        # number of (entailed, other) pairs in the right order, from the positions of the entailed pairs
        above = 32 - sum(entailed) + 6
        for contradicting in combinations(rest, 4):
            over = 32 - sum(contradicting) + 6
            couples = (above, 32 - above, over, 32 - over)
            total += 1
            best = max(couples)
            alarms += best >= label_probe.ENOUGH_COUPLES and best - above >= label_probe.MARGIN_OF_COUPLES
    assert total == 34_650
    assert round(alarms / total, 4) == 0.0212


def test_two_label_ids_read_as_three_are_detected():
    meant = CONTRADICTION_OR_NOT

    def ids(*pairs):
        return [meant.index(label) for label in get_gold_labels(pairs, meant)]

    report = run_label_probe(declare(LABELS, ids))
    assert (report.mislabelled, report.best) == (True, meant)
    assert not run_label_probe(declare(LABELS, lambda premises, _: [0] * len(premises))).mislabelled
    rows = run_label_probe(declare(LABELS, lambda *pairs: np.eye(3)[ids(*pairs)]))
    assert not rows.mislabelled, "a third column may be of use elsewhere"


def test_false_alarm_rate_equals_docstring():
    tail = sum(comb(12, k) * Fraction(1, 3) ** k * Fraction(2, 3) ** (12 - k) for k in range(label_probe.ENOUGH, 13))
    assert Fraction(1445, 531_441) == 5 * tail
    assert float(5 * tail) == label_probe.FALSE_ALARM
    assert round(label_probe.FALSE_ALARM, 4) == 0.0027
    for number in ("289 / 531441", "0.0027", "35 / 4096", "0.0085", "0.0124", "0.0212"):
        assert number in run_label_probe.__doc__


def test_report_becomes_error_with_advice():
    report = run_label_probe(build_probe_model({NEUTRAL: ENTAILMENT, ENTAILMENT: NEUTRAL}))
    error = MislabelledError(report)
    assert isinstance(error, LabelError)
    assert str(error) == (
        "the model declares its outputs as entailment,neutral,contradiction, which is correct on 4 of 12 "
        "obvious pairs, but neutral,entailment,contradiction is correct on 12 of 12; pass --label-map "
        "neutral,entailment,contradiction, or --trust-labels if the declared order is correct"
    )
    with pytest.raises(ValueError, match=r"\(en, zh\), got 'fr'"):
        run_label_probe(build_probe_model(), "fr")


@pytest.mark.parametrize("label_space", LABEL_SPACES)
def test_model_at_chance_gets_warning(label_space):
    golds = [map_label_to_space(label, label_space) for *_, label in PAIRS["en"]]
    for label in label_space:
        constant = CallablePredictor(lambda p, h, label=label: [label] * len(p), label_space=label_space)
        assert run_label_probe(constant).at_chance
    most = max(map(golds.count, golds))
    # A binomial variable with p = 1/3 is at least 7 with a probability of 0.0664, and at least 8 with 0.0188. With
    # p = 1/2, it is at least 9 with 0.0730, and at least 10 with 0.0193.
    reached, chance = (7, 7) if len(label_space) == 3 else (9, 7)
    assert not run_label_probe(build_probe_model(label_space=label_space, wrong=12 - reached - 1)).at_chance
    for right, reason in (
        (most, "no more than a constant prediction"),
        (reached, f"which random predictions reach with a probability of {chance} %"),
    ):
        assert run_label_probe(build_probe_model(label_space=label_space, wrong=12 - right)).warning == (
            f"predicts {right} of 12 obvious pairs correctly, {reason}: its scores may be at chance level"
        )
    assert run_label_probe(build_probe_model(label_space=label_space)).warning is None
