"""The label check of an evaluation: whether the labels of a model mean what it says.

A model predicts pairs with obvious answers (`inference.label_probe`). A file of predictions has no model to ask, so its
labels are checked on the set's own rows. Only rows that are unchanged pairs of a corpus count: on rows that were
altered, or chosen because models fail on them, another order may fit a model whose labels are right.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.baselines.lexical.predictors import BASELINES
from unbag.challenge_sets.request import BuiltSet
from unbag.data.columns import column, numbers
from unbag.data.labels import LABELS, NOT_ENTAILMENT, candidate_orders, fold, label_space_of
from unbag.data.predictions import SetPredictions
from unbag.inference.function import DICTS, NAMES, CallablePredictor
from unbag.inference.label_probe import PAIRS, MislabelledError, ProbeReport, probe
from unbag.inference.llm.prompts import SHOTS, WORDS
from unbag.inference.predictor import Predictor

logger = logging.getLogger(__name__)


class LabelCheckedModel:
    """A model of an evaluation.

    Args:
        predictor: what is asked.
        record: its `name`, and the `options` that it was named with.
        trust_labels: go on although another order of its labels fits it clearly better.

    Attributes:
        record: what is recorded of it on every set: `record`, and the identity of the predictor.
    """

    def __init__(self, predictor: Predictor, record: Mapping[str, Any], *, trust_labels: bool = False) -> None:
        self.predictor = predictor
        self.name: str = record["name"]
        self.record: dict[str, Any] = {**record, **(predictor.identity or {})}
        self._trust_labels = trust_labels
        self._probed: dict[str, ProbeReport | None] = {}

    def known(self, language: str) -> dict[str, Any]:
        """Return what is recorded of it on a set in a language, where it is asked a dozen obvious pairs first, once.

        Raises:
            MislabelledError: if another order of the labels fits clearly better, unless the declared one is trusted.
        """
        known = dict(self.record)
        if known.get("kind") in BASELINES:  # made here, of labels by name: nothing declares them
            return known
        in_words = _is_in_words(known)
        # A classifier declares its labels in a file that may be wrong, a function's are what its user names; words say
        # what they mean, so that the count of right answers is for the record only.
        trust = self._trust_labels or in_words
        # The order of the labels is the same in all languages, but who fails in a foreign one is not at chance.
        asked_in = language if language in PAIRS else "en"
        own = asked_in == language
        if asked_in not in self._probed:
            self._probed[asked_in] = _probed(self.predictor, asked_in, known, trust=trust, own=own)
        report = self._probed[asked_in]
        if report is None:
            return known
        known["label_probe"] = {asked_in: f"{report.right_declared} of {report.pairs}"}
        if report.warning and own:
            known["label_probe_warning"] = report.warning
        if report.mislabelled and not in_words and "options" in known:
            known["options"] = {**known["options"], "trust_labels": True}
        return known


def _probed(
    predictor: Predictor, language: str, known: Mapping[str, Any], *, trust: bool, own: bool = True
) -> ProbeReport | None:
    """Return what becomes of obvious pairs, and say so where it is doubtful; None where it has no answers to them.

    Raises:
        MislabelledError: if another order of the labels fits clearly better, unless the declared one is trusted.
    """
    try:
        report = probe(predictor, language)
    except Exception as error:
        if known.get("kind") == "transformer" or _is_in_words(known):
            raise
        # A user's own model may know the rows of its sets alone; what else is wrong with it shows on these.
        logger.debug("%s was not asked the obvious pairs", known["name"], exc_info=error)
        return None
    if report.mislabelled:
        found = _mislabelled(report, predictor, known)
        if not trust:
            raise found
        logger.warning("%s", _takes_words_for_others(report, known) if _is_in_words(known) else found)
    elif report.warning and own:  # of another language than the pairs' it says nothing
        logger.warning("%s %s", known["name"], report.warning)
    return report


def _is_in_words(known: Mapping[str, Any]) -> bool:
    return known.get("kind") in ("causal", "endpoint")


def _mislabelled(report: ProbeReport, predictor: Predictor, known: Mapping[str, Any]) -> MislabelledError:
    """Return the error that names what corrects the model, as it is named or handed in."""
    best = ",".join(report.best)
    is_named = "options" in known
    override = "--trust-labels (trust_labels=True in Python)" if is_named else "trust_labels=True"
    fix = f'pass --label-map {best} (label_map="{best}" in Python)' if is_named else f'pass label_map="{best}"'
    if isinstance(predictor, CallablePredictor):
        if predictor.output_kind in (NAMES, DICTS):
            pairs = zip(report.declared, report.best, strict=True)
            renamed = ", ".join(f"{meant} for its {name}" for name, meant in pairs if name != meant)
            other_space = set(report.best) != set(report.declared)
            fix = f"let the function return {renamed}{f' and {fix}' if other_space else ''}"
    elif not is_named and known.get("kind") != "transformer":
        fix = f"let its label_space name the columns of its predict in their order, {best}"
    return MislabelledError(report, fix=fix, override=override)


def _takes_words_for_others(report: ProbeReport, known: Mapping[str, Any]) -> str:
    """Return what to say of a language model whose words fit other labels better: there is no order to correct."""
    orders = zip(report.declared, report.best, strict=True)
    other = " and ".join(f"{WORDS[label]} as {best}" for label, best in orders if label != best)
    form = (
        ", or the other form of question (--apply-chat-template or --no-apply-chat-template)"
        if known["kind"] == "causal"
        else ""
    )
    return (
        f"{known['name']} gets {report.right_declared} of {report.pairs} obvious pairs right, and {report.right_best} "
        f"of {report.pairs} read with {other}: it seems to take the question's words for others. Its answers count as "
        f"the question defines them; try another number of worked examples (--num-fewshot "
        f"{', '.join(map(str, SHOTS))}){form}"
    )


LEAST_ROWS: Final = 8
"""Rows that each of the three labels must have: a coin then fits another order once in a thousand files or less."""

ENOUGH: Final = 10 / 12
"""The mean over gold labels of the share right that another order must have, as `inference.probe` has it of pairs."""

MARGIN: Final = 0.2
"""How much more than as the file names its labels. As contradiction or not, what tells entailment from the rest has a
quarter less."""


class LabelFit(NamedTuple):
    """How a file's predictions fit the rows that are pairs of a corpus.

    Attributes:
        right: how many are right as the file names its labels.
        rows: how many there are.
        warning: what is to be said where another order fits clearly better; None where none does.
    """

    right: int
    rows: int
    warning: str | None


def of_rows(built: BuiltSet, answers: SetPredictions) -> LabelFit | None:
    """Return how predictions fit the set's rows that are pairs of a corpus; None where that says nothing.

    It says nothing of a set without such rows, of pairs that tell entailment from the rest alone, and where a label has
    fewer than `LEAST_ROWS` rows.
    """
    wanted = challenge_sets.get(built.request.name).corpus_pairs
    if wanted is None or NOT_ENTAILMENT in built.rows.features["label"].names:
        return None
    chosen = np.ones(len(built.rows), dtype=np.bool_)
    for name, value in wanted.items():
        chosen &= numbers(built.rows, name) == value
    labels = column(built.rows, "label").to_numpy()[chosen]
    if min(np.bincount(labels, minlength=len(LABELS))) < LEAST_ROWS:
        return None
    return fit(answers.predicted[chosen], labels, answers.label_space, has_columns=answers.has_probabilities)


def fit(
    predicted: NDArray[np.intp], labels: NDArray[np.intp], declared: Sequence[str], *, has_columns: bool
) -> LabelFit:
    """Compare the names of a file's labels with every other order of them.

    Args:
        predicted: positions in `declared`, shape (n,).
        labels: gold ids, shape (n,), all three among them.
        declared: the labels as the file names them.
        has_columns: whether the file has a column of probabilities for each, or names labels.
    """
    orders = candidate_orders(declared)
    shares = [_balanced(predicted, labels, order) for order in orders]
    best = max(range(len(orders)), key=shares.__getitem__)  # the file's own order comes first, so it wins a tie
    warning = None
    if shares[best] >= ENOUGH and shares[best] - shares[0] >= MARGIN:
        renamed = ", ".join(
            f"{name} to {meant}" for name, meant in zip(orders[0], orders[best], strict=True) if name != meant
        )
        warning = (
            f"gets {shares[0]:.1%} of {len(labels):,} pairs of the corpus right, the mean over labels, and "
            f"{shares[best]:.1%} with its labels renamed: its {'columns' if has_columns else 'predictions'} may be "
            f"named in the wrong order; if so, change {renamed} in the file"
        )
    gold = [list(declared).index(fold(label, declared)) for label in LABELS]
    return LabelFit(int((predicted == np.array(gold)[labels]).sum()), len(labels), warning)


def _balanced(predicted: NDArray[np.intp], labels: NDArray[np.intp], order: tuple[str, ...]) -> float:
    """Return the mean over gold labels of the share right, were the predictions' labels in that order."""
    space = label_space_of(order)
    gold = np.array([order.index(fold(label, space)) for label in LABELS])[labels]
    return float(np.mean([(predicted[gold == label] == label).mean() for label in range(len(order))]))
