"""Label probe: a check of a model's label order on twelve pairs with obvious labels.

The pairs are everyday sentences, written for the probe, that are easy for every trained model.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from unbag.data.labels import (
    CONTRADICTION,
    ENTAILMENT,
    LABELS,
    NEUTRAL,
    LabelError,
    find_label_space,
    get_label_id,
    list_candidate_label_orders,
    map_label_to_space,
)
from unbag.data.predictions import NO_ANSWER, SetPredictions
from unbag.inference.function import CallablePredictor
from unbag.inference.llm.prompts import SHOTS, WORDS
from unbag.inference.predictor import LabelSource, Predictor
from unbag.inference.single_output import BREAK_EVEN, apply_threshold
from unbag.scoring.log_odds import compute_log_odds
from unbag.scoring.ranking import compute_auroc

logger = logging.getLogger(__name__)

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
"""Premise, hypothesis and label by language: twelve pairs, four per label."""


# Minimum numbers of correct predictions, of twelve, under another order to report it: of three labels, and of two, with
# three other orders and random predictions that are correct with probability 1/2.
ENOUGH: Final = 10
ENOUGH_OF_TWO: Final = 11
MARGIN: Final = 4  # minimum number of additional correct predictions compared with the declared order

# For one output: couples of a pair with the positive label and a pair without it, 4 by 8, and the minimum numbers of
# correctly ranked couples under another order, and of additional ones compared with the declared order, to report it.
COUPLES: Final = 32
ENOUGH_COUPLES: Final = 30
MARGIN_OF_COUPLES: Final = 6
LEAST_SPREAD: Final = 0.2  # minimum range of the outputs, since those of an untrained model are all close to 0

# Minimum probability that random predictions are as good, for a warning: 7 of 12 right with three labels (0.066).
LEAST_CHANCE: Final = 0.05
FALSE_ALARM: Final = 1445 / 531_441  # probability, 0.0027, of an error for random predictions of three labels


@dataclass(frozen=True)
class ProbeReport:
    """Result of the label probe (`run_label_probe`)."""

    declared: tuple[str, ...]  # label of each output, as the predictor declares it
    right_declared: int  # number of pairs that are right by the declared order
    # Order with the most right pairs; for two labels, it may be of the other two-label space. The declared order in
    # case of a tie.
    best: tuple[str, ...]
    right_best: int  # number of pairs that are right by `best`
    pairs: int
    mislabelled: bool  # whether `best` fits so much better that the declared order must be wrong
    # Whether the declared order gets no more pairs right than the best constant prediction, or no more than random
    # predictions get with a probability of at least `LEAST_CHANCE`.
    at_chance: bool = False
    # For a model of one output, or a reversed model of two: number of the `COUPLES` that its score ranks right by the
    # declared order, a tie counting half. None for other models. `best` is then the order that ranks the most right.
    ranked_declared: float | None = None
    ranked_best: float | None = None
    # Whether the only output is from 0 to 1 for every pair, like a probability, so that its sigmoid is at least 0.5.
    is_share: bool = False

    @property
    def finding(self) -> str:
        """Sentence that compares the declared label order with the order that is correct on the most pairs."""
        declared, best = ",".join(self.declared), ",".join(self.best)
        if self.ranked_declared is not None and self.ranked_best is not None:
            return (
                f"the score of the model is interpreted as {declared} (high score, low score), which ranks "
                f"{self.ranked_declared:g} of {COUPLES} couples of obvious pairs correctly (area under the curve "
                f"{self.ranked_declared / COUPLES:.3f}), but {best} ranks {self.ranked_best:g} of {COUPLES} correctly"
            )
        return (
            f"the model declares its outputs as {declared}, which is correct on {self.right_declared} of "
            f"{self.pairs} obvious pairs, but {best} is correct on {self.right_best} of {self.pairs}"
        )

    @property
    def warning(self) -> str | None:
        """Warning if the outputs are no logits, or no better than a constant or random prediction, or None."""
        if self.is_share:
            return (
                f"has outputs from 0 to 1 on all of {self.pairs} obvious pairs, like probabilities, so that their "
                f"sigmoid is at least 0.5: pass the sigmoid of the threshold of the model's card, such as --threshold "
                f"0.6225 for 0.5, or --threshold {BREAK_EVEN}"
            )
        if not self.at_chance:
            return None
        n_labels = len(self.declared)
        reached = "no more than a constant prediction"
        if self.right_declared > _count_of_constant_prediction(self.pairs, n_labels):
            chance = _compute_chance(self.right_declared, self.pairs, n_labels)
            reached = f"which random predictions reach with a probability of {100 * chance:.0f} %"
        return (
            f"predicts {self.right_declared} of {self.pairs} obvious pairs correctly, {reached}: its scores may be at "
            "chance level"
        )


class MislabelledError(LabelError):
    """Error for a model whose outputs do not match the label order that its config declares."""

    def __init__(self, report: ProbeReport, *, fix: str | None = None, override: str = "--trust-labels") -> None:
        """Build the message with a fix (default: `--label-map`) and the option that accepts the declared order."""
        self.report = report
        fix = fix or f"pass --label-map {','.join(report.best)}"
        super().__init__(f"{report.finding}; {fix}, or {override} if the declared order is correct")


def build_label_map_error(report: ProbeReport) -> MislabelledError:
    """Build an error for commands without `--trust-labels`: `--label-map` confirms the declared label order."""
    return MislabelledError(report, override=f"--label-map {','.join(report.declared)}")


def validate_label_order(predictor: Predictor, language: str, *, has_label_map: bool) -> None:
    """Validate the declared label order of a model with the label probe, unless the user passed a label map."""
    report = run_label_probe(predictor, language)
    if report.mislabelled and not has_label_map:
        raise build_label_map_error(report)


def run_label_probe(predictor: Predictor, language: str = "en") -> ProbeReport:
    """Compare a model's declared label order with all other orders, on twelve obvious pairs.

    The declared order is the attribute `order` of the predictor, or `label_space` if it has none. For two-label models,
    gold labels are folded. `language` is a key of `PAIRS`.

    Three labels: the model is reported as mislabelled if, and only if, another order gets at least 10 of the 12 right
    and at least 4 more than the declared one. A model that is too weak for the pairs, or of another language, is not
    reported. (With four pairs per label, two orders share at most four right predictions. So 10 right under one leave
    at most 6 to any other, and the margin always holds.) If a function returns only the ids 0 and 1, orders of two
    labels are compared too, as below.

    Two labels: there are three other orders, the reverse and both of the other two-label space. So the probe finds a
    model of contradiction against the rest that declares entailment against the rest. One must get at least 11 right.
    A model whose probabilities are not at the right level is wrong on many pairs by every order, so the reverse is also
    reported if its log odds rank the couples as below.

    One output: its score ranks the 32 couples of a pair with the label and a pair without it. Another order must rank
    at least 30 of them right, and at least 6 more than the declared one. The threshold does not matter.

    False alarms: a model with uniformly random predictions gets 10 or more of 12 right under one given order of three
    labels with probability (66 · 4 + 12 · 2 + 1) / 3¹² = 289 / 531441. With five other orders that is 1445 / 531441 =
    0.0027, exactly, as no two orders can both reach 10. With two labels the probability is 35 / 4096 = 0.0085, and at
    most 0.0124 for a biased coin, plus 4 / 495 = 0.0081 for the reverse by random log odds; with one output and random
    scores, it is 0.0212. A model that always predicts one label, by accident or design, gets 4 or 8 right (a constant
    score ranks 16 couples) and is never reported.
    """
    if language not in PAIRS:
        raise ValueError(f"language: expected one with a label probe ({', '.join(sorted(PAIRS))}), got {language!r}")
    premises, hypotheses, golds = zip(*PAIRS[language], strict=True)
    space = predictor.label_space
    declared: tuple[str, ...] = tuple(getattr(predictor, "order", space))
    answers = SetPredictions(predictor.predict(premises, hypotheses), space, has_probabilities=True)
    # The order of several outputs does not depend on a threshold.
    threshold = getattr(predictor, "threshold", None) if getattr(predictor, "n_outputs", None) == 1 else None
    ids = getattr(predictor, "output_kind", None) == "ids"
    couples = _couples(answers, golds, declared) if len(declared) == 2 else None
    is_share = False
    if threshold not in (None, BREAK_EVEN) and declared == tuple(space) and float(threshold) <= 0.5:
        odds = compute_log_odds(*answers.probabilities.T)
        is_share = bool(((odds >= 0) & (odds <= 1)).all() and np.ptp(odds) >= LEAST_SPREAD)
    if threshold is not None:  # predict by the threshold or by rank, as on a set
        answers, _, _ = apply_threshold(answers, [get_label_id(label) for label in golds], threshold)
    # `predict` returns columns in the order of `label_space`; the orders refer to the model's own outputs.
    outputs = [declared.index(space[column]) for column in answers.predicted]
    if getattr(predictor, "may_abstain", False):  # without an answer, no label is correct
        is_open = (answers.probabilities == answers.probabilities[:, :1]).all(axis=1)
        outputs = [NO_ANSWER if each else output for each, output in zip(is_open, outputs, strict=True)]
    orders = list_candidate_label_orders(declared, allow_two_labels=ids and max(outputs) < 2)
    right = {order: _right(outputs, order, golds) for order in orders}
    is_ranked = threshold is not None
    best = max(orders, key=(right if couples is None or not is_ranked else couples).__getitem__)  # declared wins ties
    enough = ENOUGH_OF_TWO if len(best) == 2 else ENOUGH
    fits = right[best] >= enough and right[best] - right[declared] >= MARGIN
    if couples is not None and not fits and not is_ranked and couples[declared[::-1]] >= ENOUGH_COUPLES:
        best, is_ranked = declared[::-1], True
    if couples is not None and is_ranked:
        fits = couples[best] >= ENOUGH_COUPLES and couples[best] - couples[declared] >= MARGIN_OF_COUPLES
    return ProbeReport(
        declared=declared,
        right_declared=right[declared],
        best=best,
        right_best=right[best],
        pairs=len(golds),
        mislabelled=fits,
        at_chance=(
            right[declared] <= _count_of_constant_prediction(len(golds), len(declared))
            or _compute_chance(right[declared], len(golds), len(declared)) >= LEAST_CHANCE
        )
        and not (couples is not None and couples[declared] >= ENOUGH_COUPLES),
        ranked_declared=couples[declared] if couples is not None and is_ranked else None,
        ranked_best=couples[best] if couples is not None and is_ranked else None,
        is_share=is_share,
    )


def _count_of_constant_prediction(pairs: int, n_labels: int) -> int:
    """Count the pairs that the best constant prediction gets right. The pairs have three labels equally often."""
    return pairs // len(LABELS) if n_labels == len(LABELS) else pairs - pairs // len(LABELS)


def _compute_chance(right: int, pairs: int, n_labels: int) -> float:
    """Compute the probability that uniformly random predictions get at least `right` pairs right.

    >>> round(_compute_chance(7, pairs=12, n_labels=3), 3)
    0.066
    """
    tail = sum(math.comb(pairs, k) * (n_labels - 1) ** (pairs - k) for k in range(right, pairs + 1))
    return float(tail / n_labels**pairs)


def _right(outputs: Sequence[int], order: tuple[str, ...], golds: Sequence[str]) -> int:
    """Count the correct predictions for a given label order."""
    space = find_label_space(order)
    return sum(
        output != NO_ANSWER and order[output] == map_label_to_space(gold, space)
        for output, gold in zip(outputs, golds, strict=True)
    )


def _couples(answers: SetPredictions, golds: Sequence[str], declared: tuple[str, ...]) -> dict[tuple[str, ...], float]:
    """Count the couples that the log odds of two labels rank correctly, for each label order (high, low scores)."""
    odds = compute_log_odds(*answers.probabilities.T)
    scores = odds if declared == find_label_space(declared) else -odds
    counts = {}
    for order in list_candidate_label_orders(declared):
        space = find_label_space(order)
        high = np.array([map_label_to_space(gold, space) == order[0] for gold in golds])
        # The area under the curve is the share of couples that are ranked right (Mann-Whitney).
        counts[order] = COUPLES * float(compute_auroc(scores, high) or 0.0)
    return counts


class LabelCheckedModel:
    """Model whose label order is checked before its predictions are scored.

    Args:
        record: `name` and load `options` of the model. The attribute `record` also has the identity of the predictor.
        trust_labels: Whether to continue if another label order fits the model much better.
    """

    def __init__(self, predictor: Predictor, record: Mapping[str, Any], *, trust_labels: bool = False) -> None:
        self.predictor = predictor
        self.label_source: LabelSource = getattr(predictor, "label_source", "function")
        self.name: str = record["name"]
        threshold = getattr(predictor, "threshold", None)
        self.record: dict[str, Any] = {
            **record,
            **(predictor.identity or {}),
            **({} if threshold is None else {"threshold": str(threshold)}),
        }
        self._trust_labels = trust_labels
        self._probed: dict[str, ProbeReport | None] = {}

    def build_record(self, language: str) -> dict[str, Any]:
        """Build the JSON record of the model for one language. The first call runs the label probe.

        Raises:
            MislabelledError: If another label order fits clearly better, unless the declared order is trusted.
        """
        record = dict(self.record)
        if self.label_source == "fitted":  # to named labels, so there is no order to check
            return record
        # The label order is the same in all languages. But a model's errors differ between languages, so that probing
        # in English does not measure its accuracy in another language.
        probe_language = language if language in PAIRS else "en"
        is_same_language = probe_language == language
        if probe_language not in self._probed:
            self._probed[probe_language] = self._run_probe(probe_language, is_same_language=is_same_language)
        report = self._probed[probe_language]
        if report is None:
            return record
        record["label_probe"] = {probe_language: f"{report.right_declared} of {report.pairs}"}
        if report.warning and is_same_language:
            record["label_probe_warning"] = report.warning
        if report.mislabelled and self.label_source != "generated" and "options" in record:
            record["options"] = {**record["options"], "trust_labels": True}
        return record

    def _run_probe(self, language: str, *, is_same_language: bool) -> ProbeReport | None:
        """Run the label probe and warn about doubtful results. Returns None if a function cannot predict the pairs."""
        try:
            report = run_label_probe(self.predictor, language)
        except Exception as error:
            if self.label_source != "function":
                raise
            # A user-defined function may only support the rows of its sets. Other errors occur again on these rows.
            logger.debug("%s did not predict the label probe pairs", self.name, exc_info=error)
            return None
        if report.mislabelled and self.label_source == "generated":
            # Language models generate words, which have no order, so their probe is only recorded.
            logger.warning("%s", _describe_verbal_mismatch(report, self.record))
        elif report.mislabelled:
            # The label order of a classifier comes from a config that may be wrong, that of a function from its user.
            error_with_fix = _mislabelled(report, self.predictor, is_named="options" in self.record)
            if not self._trust_labels:
                raise error_with_fix
            logger.warning("%s", error_with_fix)
        elif report.warning and is_same_language:  # accuracy in another language does not matter
            # A quantized file may load without an error and predict at random, on some processors only.
            advice = "; no label order fits clearly better than chance: check the export, or this processor"
            is_doubtful = report.at_chance and self.label_source == "config"
            logger.warning("%s %s%s", self.name, report.warning, advice if is_doubtful else "")
        return report


def _mislabelled(report: ProbeReport, predictor: Predictor, *, is_named: bool) -> MislabelledError:
    """Build the error, including the fix for a model given by name or as an object."""
    best = ",".join(report.best)
    override = "--trust-labels (trust_labels=True in Python)" if is_named else "trust_labels=True"
    fix = f'pass --label-map {best} (label_map="{best}" in Python)' if is_named else f'pass label_map="{best}"'
    if isinstance(predictor, CallablePredictor):
        if predictor.output_kind in ("names", "dicts"):
            pairs = zip(report.declared, report.best, strict=True)
            renamed = ", ".join(f"{meant} for its {name}" for name, meant in pairs if name != meant)
            other_space = set(report.best) != set(report.declared)
            fix = f"make the function return {renamed}{f' and {fix}' if other_space else ''}"
    elif not is_named and not hasattr(predictor, "label_source"):  # the user's own predictor
        fix = f"set label_space to the order of the prediction columns, {best}"
    return MislabelledError(report, fix=fix, override=override)


def _describe_verbal_mismatch(report: ProbeReport, record: Mapping[str, Any]) -> str:
    """Build the warning for a language model whose words fit other labels better. It has no label order to change."""
    orders = zip(report.declared, report.best, strict=True)
    other = " and ".join(f"{WORDS.get(label, label)!r} means {best}" for label, best in orders if label != best)
    form = (
        ", or the other prompt format (--apply-chat-template or --no-apply-chat-template)"
        if record["kind"] == "causal"
        else ""
    )
    return (
        f"{record['name']} predicts {report.right_declared} of {report.pairs} obvious pairs correctly, but "
        f"{report.right_best} of {report.pairs} if {other}: the model seems to confuse the label words. Its "
        "predictions are scored as defined in the prompt; try another number of few-shot examples (--num-fewshot "
        f"{', '.join(map(str, SHOTS))}){form}"
    )
