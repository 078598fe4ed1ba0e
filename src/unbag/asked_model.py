"""A model as an evaluation asks it: its predictor, what is recorded of it, and whether its labels are what it says."""

import logging
from collections.abc import Mapping
from typing import Any

from unbag.baselines.lexical.predictors import BASELINES
from unbag.inference.function import DICTS, NAMES, CallablePredictor
from unbag.inference.label_probe import PAIRS, MislabelledError, ProbeReport, probe
from unbag.inference.llm.prompts import SHOTS, WORDS
from unbag.inference.predictor import Predictor

logger = logging.getLogger(__name__)


class AskedModel:
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
    to_go_on = "--trust-labels (trust_labels=True in Python)" if is_named else "trust_labels=True"
    fix = f'pass --label-map {best} (label_map="{best}" in Python)' if is_named else f'pass label_map="{best}"'
    if isinstance(predictor, CallablePredictor):
        if predictor.answered_with in (NAMES, DICTS):
            pairs = zip(report.declared, report.best, strict=True)
            renamed = ", ".join(f"{meant} for its {name}" for name, meant in pairs if name != meant)
            other_space = set(report.best) != set(report.declared)
            fix = f"let the function return {renamed}{f' and {fix}' if other_space else ''}"
    elif not is_named and known.get("kind") != "transformer":
        fix = f"let its label_space name the columns of its predict in their order, {best}"
    return MislabelledError(report, fix=fix, to_go_on=to_go_on)


def _takes_words_for_others(report: ProbeReport, known: Mapping[str, Any]) -> str:
    """Return what to say of a language model whose words fit other labels better: there is no order to correct."""
    orders = zip(report.declared, report.best, strict=True)
    other = " and ".join(f"{WORDS[label]} as {best}" for label, best in orders if label != best)
    form = ", or the other form of question (--chat or --no-chat)" if known["kind"] == "causal" else ""
    return (
        f"{known['name']} gets {report.right_declared} of {report.pairs} obvious pairs right, and {report.right_best} "
        f"of {report.pairs} read with {other}: it seems to take the question's words for others. Its answers count as "
        f"the question defines them; try another number of worked examples (--shots {', '.join(map(str, SHOTS))}){form}"
    )
