"""The label probe: does the model mean what its labels say? Twelve pairs with obvious answers per language.

The pairs are everyday sentences, written for the probe, that no trained model should find hard.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import (
    CONTRADICTION,
    ENTAILMENT,
    LABELS,
    NEUTRAL,
    LabelError,
    candidate_orders,
    fold,
    label_id,
    label_space_of,
    two_label_orders,
)
from unbag.data.predictions import SetPredictions
from unbag.inference.function import IDS, CallablePredictor, OutputCountError
from unbag.inference.predictor import Predictor
from unbag.inference.single_output import ranked, scores_of
from unbag.scoring.ranking import area_under_curve

PAIRS: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    "en": (
        ("Two dogs are running across a field.", "Some animals are outdoors.", ENTAILMENT),
        ("A woman is slicing tomatoes in her kitchen.", "A woman is preparing food.", ENTAILMENT),
        ("A man is playing the guitar on a stage.", "A man is playing an instrument.", ENTAILMENT),
        ("Four boys are kicking a ball on the beach.", "Boys are playing with a ball.", ENTAILMENT),
        ("A girl is riding her bicycle down the street.", "The girl is on her way to visit her aunt.", NEUTRAL),
        ("A woman is talking on the phone.", "The woman is telling her sister about a new job.", NEUTRAL),
        ("Three people are standing in front of a church.", "The people are waiting for a wedding.", NEUTRAL),
        ("A man in a blue shirt is reading a newspaper.", "The man is reading about a football match.", NEUTRAL),
        ("A boy is swimming in a lake.", "The boy is asleep in his bed.", CONTRADICTION),
        ("An old man is sitting alone on a bench.", "A group of young women are dancing.", CONTRADICTION),
        ("A cat is sleeping on the sofa.", "The cat is running through the garden.", CONTRADICTION),
        ("The street is full of people.", "There is nobody on the street.", CONTRADICTION),
    ),
    "zh": (
        ("两只狗在田野里奔跑。", "有动物在户外。", ENTAILMENT),
        ("一位女士正在厨房里切西红柿。", "一位女士在准备食物。", ENTAILMENT),
        ("一名男子在舞台上弹吉他。", "有人在演奏乐器。", ENTAILMENT),
        ("四个男孩在沙滩上踢球。", "有几个男孩在玩球。", ENTAILMENT),
        ("一个女孩骑着自行车经过街道。", "女孩正要去看望她的姑姑。", NEUTRAL),
        ("一位女士正在打电话。", "她在跟妹妹说新工作的事。", NEUTRAL),
        ("三个人站在教堂前面。", "他们在等一场婚礼。", NEUTRAL),
        ("一个穿蓝衬衫的男人在看报纸。", "他在看足球比赛的报道。", NEUTRAL),
        ("一个男孩正在湖里游泳。", "男孩正躺在床上睡觉。", CONTRADICTION),
        ("一位老人独自坐在长椅上。", "长椅上没有人。", CONTRADICTION),
        ("一只猫在沙发上睡觉。", "猫正在花园里奔跑。", CONTRADICTION),
        ("街上到处都是人。", "街上一个人也没有。", CONTRADICTION),
    ),
}
"""Premise, hypothesis and label by language: twelve pairs, four a label."""


ENOUGH: Final = 10
"""Of the twelve pairs, how many another order of three labels must get right before it is believed."""

ENOUGH_OF_TWO: Final = 11
"""The same of two labels, where three other orders are compared and a coin is right of half."""

MARGIN: Final = 4
"""How many more than the declared order it must get right."""

COUPLES: Final = 32
"""Of one output: the couples of a pair that has the label and one that has not, 4 by 8."""

ENOUGH_COUPLES: Final = 30
"""Of one output: how many of the couples another reading must rank right before it is believed."""

MARGIN_OF_COUPLES: Final = 6
"""How many more than the declared reading it must rank right."""

FALSE_ALARM: Final = 1445 / 531_441
"""How often, 0.0027, a model of three labels that answers by chance is reported; see `probe`."""


@dataclass(frozen=True)
class ProbeReport:
    """What the probe found.

    Attributes:
        declared: the label of each output, as the predictor says.
        right_declared: pairs right when read so.
        best: the order that gets most pairs right, of two labels also one of the other two-label space; the declared
            one where none gets more.
        right_best: pairs right when read so.
        pairs: pairs asked.
        mislabelled: whether `best` fits so much better that the declared order cannot be meant.
        at_chance: whether the declared order gets no more right than the best constant answer does.
        ranked_declared: of a model of one output, how many of the `COUPLES` its score ranks right when read so, a tie
            counting half; None of others. `best` is the reading that ranks most of them right then.
        ranked_best: the same by `best`.
    """

    declared: tuple[str, ...]
    right_declared: int
    best: tuple[str, ...]
    right_best: int
    pairs: int
    mislabelled: bool
    at_chance: bool = False
    ranked_declared: float | None = None
    ranked_best: float | None = None

    @property
    def finding(self) -> str:
        """What fits better than what the model declares, and by how much."""
        declared, best = ",".join(self.declared), ",".join(self.best)
        if self.ranked_declared is not None and self.ranked_best is not None:
            return (
                f"the model's one output is read as {declared} (a high score, a low one), but so it ranks "
                f"{self.ranked_declared:g} of {COUPLES} couples of obvious pairs right (area under the curve "
                f"{self.ranked_declared / COUPLES:.3f}), and {self.ranked_best:g} of {COUPLES} when it is read as "
                f"{best}"
            )
        return (
            f"the model declares its outputs as {declared}, but read so it gets {self.right_declared} of {self.pairs} "
            f"obvious pairs right, and {self.right_best} of {self.pairs} when they are read as {best}"
        )

    @property
    def warning(self) -> str | None:
        """What is to be said of a model that the pairs tell nothing good of."""
        if not self.at_chance:
            return None
        return (
            f"gets {self.right_declared} of {self.pairs} obvious pairs right, no more than one answer to all of them "
            "would: its scores may be chance"
        )


class MislabelledError(LabelError):
    """A model whose outputs mean other labels than its config says.

    Attributes:
        report: what the probe found.
    """

    def __init__(self, report: ProbeReport, *, fix: str | None = None, to_go_on: str = "--trust-labels") -> None:
        """Say what was found, what corrects it (by default the option), and how to go on all the same."""
        self.report = report
        fix = fix or f"pass --label-map {','.join(report.best)}"
        super().__init__(f"{report.finding}; {fix}, or {to_go_on} if the declared order is right after all")


def without_trust(report: ProbeReport) -> MislabelledError:
    """Return the error of a command without --trust-labels: there, who names the declared order says it is meant."""
    return MislabelledError(report, to_go_on=f"--label-map {','.join(report.declared)}")


def validate_label_order(predictor: Predictor, language: str, *, mapped: bool) -> None:
    """Refuse a model whose outputs mean other labels than it declares, unless a label map says what they mean.

    Args:
        predictor: the model, as `probe` takes it.
        language: that of the pairs it is asked.
        mapped: whether a label map is given.

    Raises:
        MislabelledError: see `probe`.
    """
    report = probe(predictor, language)
    if report.mislabelled and not mapped:
        raise without_trust(report)


def probe(predictor: Predictor, language: str = "en") -> ProbeReport:
    """Compare the declared order of the outputs with every other order, on twelve obvious pairs.

    Three labels: the model is reported mislabelled if, and only if, another order gets at least 10 of the 12 right and
    at least 4 more than the declared one. A model too weak for the pairs, or of another language, is not reported.
    (With four pairs a label two orders share four right answers at most, so 10 under one leave 6 to any other, and the
    margin is kept by itself.) Where a function answers with the ids 0 and 1 alone, orders of two labels are compared
    too, as below.

    Two labels: the other orders are three, the reverse and both of the other two-label space, so that contradiction
    against the rest is found where entailment against the rest is declared. One must get at least 11 right.

    One output: its score ranks the 32 couples of a pair that has the label and one that has not. Another reading must
    rank at least 30 of them right, and at least 6 more than the declared one, whatever the threshold.

    False alarms: a model that answers uniformly at random gets 10 or more of 12 right under one given order of three
    labels with probability (66 · 4 + 12 · 2 + 1) / 3¹² = 289 / 531441. With five other orders that is 1445 / 531441 =
    0.0027, and exactly so, as no two of them can both be. With two labels it is 35 / 4096 = 0.0085, of a coin that
    falls on one side more often 0.0124 at most; with one output, of scores by chance, 0.0212. A model that gives one
    label always, by accident or design, gets 4 or 8 right (a constant score ranks 16 couples) and is never reported.

    Args:
        predictor: the model; with an attribute `order`, that is the order of its outputs that the report speaks of,
            else `label_space` is. Gold labels are folded for two-label models.
        language: `en` or `zh`.

    Raises:
        ValueError: if there are no pairs in the language.
    """
    if language not in PAIRS:
        raise ValueError(f"expected a language the probe has pairs in, {sorted(PAIRS)}, found {language!r}")
    premises, hypotheses, golds = zip(*PAIRS[language], strict=True)
    space = predictor.label_space
    declared: tuple[str, ...] = tuple(getattr(predictor, "order", space))
    answers = SetPredictions(predictor.predict(premises, hypotheses), space, has_probabilities=False)
    threshold = getattr(predictor, "threshold", None)
    ids = getattr(predictor, "answered_with", None) == IDS
    couples = None if threshold is None else _couples(answers, golds, declared)
    if threshold is not None:  # as on a set, by its threshold or by rank
        answers, _ = ranked(answers, [label_id(label) for label in golds], threshold)
    outputs = [declared.index(space[column]) for column in answers.predicted]
    orders = candidate_orders(declared, allow_two_labels=ids and max(outputs) < 2)
    right = {order: _right(outputs, order, golds) for order in orders}
    by = right if couples is None else couples
    best = max(orders, key=by.__getitem__)  # the declared order comes first, so it wins a tie
    if couples is not None:
        fits = couples[best] >= ENOUGH_COUPLES and couples[best] - couples[declared] >= MARGIN_OF_COUPLES
    else:
        enough = ENOUGH_OF_TWO if len(best) == 2 else ENOUGH
        fits = right[best] >= enough and right[best] - right[declared] >= MARGIN
    gold = [fold(label, space) for label in golds]
    return ProbeReport(
        declared=declared,
        right_declared=right[declared],
        best=best,
        right_best=right[best],
        pairs=len(golds),
        mislabelled=fits,
        at_chance=right[declared] <= max(map(gold.count, gold)),
        ranked_declared=None if couples is None else couples[declared],
        ranked_best=None if couples is None else couples[best],
    )


def fitting_order(predictor: CallablePredictor, found: int, language: str = "en") -> tuple[str, ...] | None:
    """Return the order of labels that fits a function of another number of outputs; None where none fits.

    Args:
        predictor: of the function.
        found: how many outputs it has: 1 (a score for each pair), 2 or 3.
        language: of the obvious pairs.
    """
    premises, hypotheses, golds = zip(*PAIRS[language], strict=True)
    declared = LABELS if found == len(LABELS) else two_label_orders()[0]
    try:
        outputs = np.asarray(predictor.answers(list(premises), list(hypotheses)), dtype=np.float64)
        outputs = outputs.reshape(len(golds), found)
    except ValueError:
        return None
    if found == 1:
        right = _couples_of(outputs[:, 0], golds, two_label_orders())
        enough: float = ENOUGH_COUPLES
    else:
        predicted = outputs.argmax(axis=1).tolist()
        right = {order: float(_right(predicted, order, golds)) for order in candidate_orders(declared)}
        enough = ENOUGH_OF_TWO if found == 2 else ENOUGH
    best = max(right, key=right.__getitem__)
    return best if right[best] >= enough else None


def validate_outputs(predictor: CallablePredictor, error: OutputCountError) -> None:
    """Say of a function of another number of outputs which order of labels fits the outputs that it has.

    Raises:
        OutputCountError: always.
    """
    raise error.with_order(fitting_order(predictor, error.found) if error.found <= len(LABELS) else None) from None


def _right(outputs: Sequence[int], order: tuple[str, ...], golds: Sequence[str]) -> int:
    """Return how many pairs are right, were the outputs in that order."""
    space = label_space_of(order)
    return sum(order[output] == fold(gold, space) for output, gold in zip(outputs, golds, strict=True))


def _couples(answers: SetPredictions, golds: Sequence[str], declared: tuple[str, ...]) -> dict[tuple[str, ...], float]:
    """Return how many couples the score of one output ranks right in each reading."""
    odds = scores_of(answers.probabilities, answers.label_space)
    return _couples_of(odds if declared == label_space_of(declared) else -odds, golds, candidate_orders(declared))


def _couples_of(
    scores: NDArray[Any], golds: Sequence[str], orders: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], float]:
    """Return how many couples a score ranks right in each reading: the label of high scores, and that of low ones."""
    found = {}
    for order in orders:
        space = label_space_of(order)
        high = np.array([fold(gold, space) == order[0] for gold in golds])
        found[order] = COUPLES * float(area_under_curve(scores, high) or 0.0)
    return found
