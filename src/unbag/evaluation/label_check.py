"""Check of the label order of a model during an evaluation, by pairs with obvious labels (`inference.label_probe`)."""

import logging
from collections.abc import Mapping
from typing import Any

from unbag.inference.function import CallablePredictor
from unbag.inference.label_probe import PAIRS, MislabelledError, ProbeReport, run_label_probe
from unbag.inference.llm.prompts import SHOTS, WORDS
from unbag.inference.predictor import LabelSource, Predictor

logger = logging.getLogger(__name__)


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
