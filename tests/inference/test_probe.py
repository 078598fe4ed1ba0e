from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest

from unbag.inference import CallablePredictor, MislabelledError, probe
from unbag.inference.probe import ENOUGH, FALSE_ALARM
from unbag.inference.probe_pairs import PAIRS
from unbag.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL, TWO_WAY, LabelError, fold

GOLD = {(premise, hypothesis): label for pairs in PAIRS.values() for premise, hypothesis, label in pairs}


def knows(renamed=None, wrong=0, label_space=LABELS):
    """Return a predictor that answers right, but for its first pairs and for what it calls the labels."""

    def answer(premises, hypotheses):
        names = [fold(GOLD[pair], label_space) for pair in zip(premises, hypotheses, strict=True)]
        for row in range(wrong):
            names[row] = label_space[(label_space.index(names[row]) + 1) % len(label_space)]
        return [(renamed or {}).get(name, name) for name in names]

    return CallablePredictor(answer, label_space=label_space)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_four_pairs_a_label_and_no_pair_twice(language):
    assert Counter(label for *_, label in PAIRS[language]) == dict.fromkeys(LABELS, 4)
    assert len({pair[:2] for pair in PAIRS[language]}) == 12


def test_a_right_model_passes():
    report = probe(knows(), "zh")
    assert (report.right_declared, report.right_best, report.best, report.mislabelled) == (12, 12, LABELS, False)


@pytest.mark.parametrize("order", list(permutations(LABELS))[1:])
def test_every_wrong_order_is_found(order):
    report = probe(knows(dict(zip(LABELS, order, strict=True))))
    assert report.mislabelled
    assert report.right_best == 12
    restored = dict(zip(report.declared, report.best, strict=True))
    assert [restored[theirs] for theirs in order] == list(LABELS)


def test_ten_right_are_enough_and_nine_are_not():
    swapped = {NEUTRAL: CONTRADICTION, CONTRADICTION: NEUTRAL}
    assert probe(knows(swapped, wrong=2)).mislabelled
    assert not probe(knows(swapped, wrong=3)).mislabelled


def test_ten_right_leave_six_to_any_other_order():
    golds = [label for *_, label in PAIRS["en"]]
    for order in list(permutations(LABELS))[1:]:
        swap = dict(zip(LABELS, order, strict=True))
        assert sum(swap[label] == label for label in golds) <= 4
    swap = {ENTAILMENT: ENTAILMENT, NEUTRAL: CONTRADICTION, CONTRADICTION: NEUTRAL}
    answers = [swap[label] for label in golds]
    moved = [row for row, label in enumerate(golds) if label != ENTAILMENT][:2]
    for row in moved:
        answers[row] = golds[row]
    report = probe(CallablePredictor(lambda premises, hypotheses: answers))
    assert (report.right_declared, report.right_best, report.mislabelled) == (6, 10, True)


def test_two_labels():
    assert not probe(knows(label_space=TWO_WAY)).mislabelled
    report = probe(knows(dict(zip(TWO_WAY, TWO_WAY[::-1], strict=True)), label_space=TWO_WAY))
    assert report.mislabelled
    assert report.best == TWO_WAY[::-1]


@pytest.mark.parametrize("label", LABELS)
def test_a_model_that_always_answers_the_same_is_not_reported(label):
    assert not probe(CallablePredictor(lambda premises, hypotheses: [label] * len(premises))).mislabelled


def test_false_alarms_are_as_rare_as_the_docstring_says():
    tail = sum(comb(12, k) * Fraction(1, 3) ** k * Fraction(2, 3) ** (12 - k) for k in range(ENOUGH, 13))
    assert Fraction(1445, 531_441) == 5 * tail
    assert float(5 * tail) == FALSE_ALARM
    assert round(FALSE_ALARM, 4) == 0.0027
    assert round(sum(comb(12, k) for k in range(ENOUGH, 13)) / 2**12, 3) == 0.019
    for number in ("289 / 531441", "0.0027", "0.019"):
        assert number in probe.__doc__

    draw = np.random.default_rng(0)
    guess = CallablePredictor(lambda premises, hypotheses: draw.choice(LABELS, size=len(premises)).tolist())
    assert sum(probe(guess).mislabelled for _ in range(2000)) / 2000 < 3 * FALSE_ALARM


def test_the_report_becomes_an_error_that_says_what_to_do():
    report = probe(knows({NEUTRAL: ENTAILMENT, ENTAILMENT: NEUTRAL}))
    error = MislabelledError(report)
    assert isinstance(error, LabelError)
    assert str(error) == (
        "the model declares its outputs as entailment,neutral,contradiction, but read so it gets 4 of 12 obvious pairs "
        "right, and 12 of 12 when they are read as neutral,entailment,contradiction; pass --label-map "
        "neutral,entailment,contradiction, or --trust-labels if the declared order is right after all"
    )


def test_a_language_without_pairs_is_refused():
    with pytest.raises(ValueError, match=r"\['en', 'zh'\], found 'fr'"):
        probe(knows(), "fr")


def test_the_real_model_passes_and_every_wrong_order_of_it_is_found(shared_model):
    from unbag.inference import TransformerPredictor

    declared = TransformerPredictor.load(shared_model)
    report = probe(declared)
    assert report.declared == (CONTRADICTION, ENTAILMENT, NEUTRAL)
    assert not report.mislabelled
    assert report.right_declared >= ENOUGH
    wrong = [order for order in permutations(LABELS) if order != declared.order]
    assert len(wrong) == 5
    for order in wrong:
        label_map = {str(output): label for output, label in enumerate(order)}
        report = probe(TransformerPredictor.load(shared_model, label_map=label_map))
        assert report.mislabelled
        assert report.declared == order
        assert report.best == declared.order


@pytest.mark.parametrize("label_space", [LABELS, TWO_WAY])
def test_whoever_gets_no_more_right_than_one_answer_is_at_chance(label_space):
    golds = [fold(label, label_space) for *_, label in PAIRS["en"]]
    for label in label_space:
        constant = CallablePredictor(lambda p, h, label=label: [label] * len(p), label_space=label_space)
        assert probe(constant).at_chance
    most = max(map(golds.count, golds))
    assert not probe(knows(label_space=label_space, wrong=12 - most - 1)).at_chance
    assert probe(knows(label_space=label_space, wrong=12 - most)).warning.startswith(f"gets {most} of 12 obvious pairs")
    assert probe(knows(label_space=label_space)).warning is None
