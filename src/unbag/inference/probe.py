"""Does the model mean what its labels say? Ask it a dozen questions whose answers everyone knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from unbag.answers import Answers
from unbag.inference.predictor import Predictor
from unbag.inference.probe_pairs import PAIRS
from unbag.labels import LabelError, fold, label_id
from unbag.one_output import ranked

ENOUGH: Final = 10
"""Of the twelve pairs, how many another order must get right before it is believed."""

MARGIN: Final = 4
"""How many more than the declared order it must get right."""

FALSE_ALARM: Final = 1445 / 531_441
"""How often, 0.0027, a model of three labels that answers by chance is reported; see `probe`."""


@dataclass(frozen=True)
class ProbeReport:
    """What the probe found.

    Attributes:
        declared: the label of each output, as the predictor says.
        right_declared: pairs right when read so.
        best: the order that gets most pairs right; the declared one where none gets more.
        right_best: pairs right when read so.
        pairs: pairs asked.
        mislabelled: whether `best` fits so much better that the declared order cannot be meant.
        at_chance: whether the declared order gets no more right than the best constant answer does.
    """

    declared: tuple[str, ...]
    right_declared: int
    best: tuple[str, ...]
    right_best: int
    pairs: int
    mislabelled: bool
    at_chance: bool = False

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

    def __init__(self, report: ProbeReport, *, to_go_on: str = "--trust-labels") -> None:
        """Say what was found, and how to go on all the same: the option for that."""
        self.report = report
        declared, best = ",".join(report.declared), ",".join(report.best)
        super().__init__(
            f"the model declares its outputs as {declared}, but read so it gets {report.right_declared} of "
            f"{report.pairs} obvious pairs right, and {report.right_best} of {report.pairs} when they are read as "
            f"{best}; pass --label-map {best}, or {to_go_on} if the declared order is right after all"
        )


def without_trust(report: ProbeReport) -> MislabelledError:
    """Return the error of a command without --trust-labels: there, who names the declared order says it is meant."""
    return MislabelledError(report, to_go_on=f"--label-map {','.join(report.declared)}")


def require_meant(predictor: Predictor, language: str, *, mapped: bool) -> None:
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

    The model is reported mislabelled if, and only if, another order gets at least 10 of the 12 right and at least 4
    more than the declared one. A model too weak for the pairs, or of another language, is not reported. (With four
    pairs a label two orders share four right answers at most, so 10 under one leave 6 to any other, and the margin is
    kept by itself.)

    False alarms: a model that answers uniformly at random gets 10 or more of 12 right under one given order with
    probability (66 · 4 + 12 · 2 + 1) / 3¹² = 289 / 531441. With five other orders that is 1445 / 531441 = 0.0027, and
    exactly so, as no two of them can both be. With two labels it is one order and a coin: 79 / 4096 = 0.019.
    A model that gives one label always, by accident or design, gets 4 or 8 right and is never reported.

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
    gold = [fold(label, predictor.label_space) for label in golds]
    answers = _answers(predictor, premises, hypotheses, golds)
    declared: tuple[str, ...] = tuple(getattr(predictor, "order", predictor.label_space))

    def right(order: tuple[str, ...]) -> int:
        means = dict(zip(declared, order, strict=True))  # what an answer would mean, were the outputs in that order
        return sum(means[answer] == label for answer, label in zip(answers, gold, strict=True))

    best = max(permutations(declared), key=right)  # the declared order comes first, so it wins a tie
    right_declared, right_best = right(declared), right(best)
    return ProbeReport(
        declared=declared,
        right_declared=right_declared,
        best=best,
        right_best=right_best,
        pairs=len(gold),
        mislabelled=right_best >= ENOUGH and right_best - right_declared >= MARGIN,
        at_chance=right_declared <= max(map(gold.count, gold)),
    )


def _answers(
    predictor: Predictor, premises: Sequence[str], hypotheses: Sequence[str], golds: Sequence[str]
) -> list[str]:
    """Return the label of each pair; of a model of one output as on a set, by its threshold or by rank."""
    space = predictor.label_space
    answers = Answers(predictor.predict(premises, hypotheses), space, has_probabilities=False)
    if (threshold := getattr(predictor, "threshold", None)) is not None:
        answers, _ = ranked(answers, [label_id(label) for label in golds], threshold)
    return [space[column] for column in answers.predicted]
