"""From a model's predictions on a set to its result, and results to the files of a run."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets, locks, paired_samples, report_examples, results
from unbag.answers import Answers
from unbag.columns import column
from unbag.failures import Failure
from unbag.inference.predictions import Predictions
from unbag.one_output import Threshold, ranked
from unbag.request import BuiltSet
from unbag.results import Result
from unbag.views.examples import ExampleSelection
from unbag.word_counter import Words

_MAY_NOT_ANSWER: Final = ("endpoint", "wordnet", "natlog")
"""Kinds of models that have no answer to some pairs, and give all labels alike then."""

logger = logging.getLogger(__name__)

Scored = tuple[Result, ExampleSelection]
"""A result, and the examples of it that a report shows."""


def score_predictions(
    built: BuiltSet,
    predicted: Predictions,
    known: Mapping[str, Any],
    *,
    threshold: Threshold | None = None,
    words: Words | None = None,
) -> Scored:
    """Score predictions of all rows of a set.

    Args:
        built: the set.
        predicted: the predictions.
        known: the record of the model that made them.
        threshold: of a model of one output, from where on a pair is entailed.
        words: the answers of a lexical model; none where the scores are held against guessing alone.

    Raises:
        ValueError: if predictions are missing or damaged, or there is nothing to score.
    """
    probabilities = predicted.array()
    unanswered = _unanswered(probabilities, built.request.name) if known.get("kind") in _MAY_NOT_ANSWER else None
    answers = Answers(probabilities, predicted.label_space, predicted.has_probabilities, unanswered)
    counts: dict[str, Any] = {"truncated_pairs": predicted.truncated}
    if threshold is not None:
        answers, counts["ranking"] = ranked(answers, column(built.rows, "label").to_numpy(), threshold)
    if unanswered is not None:
        counts["unanswered_pairs"] = int(unanswered.sum())
    answers = answers.for_gold(built.rows.features["label"].names)
    result = score_answers(built, answers, {**known, **counts}, words)
    return result, report_examples.select(result, built.rows, answers)


def score_answers(built: BuiltSet, answers: Answers, model: Mapping[str, Any], words: Words | None = None) -> Result:
    """Score a `model`'s answers, and record what was scored.

    Args:
        built: the set.
        answers: the model's.
        model: its record.
        words: the answers of a lexical model; none where the scores are held against guessing alone.
    """
    words = words or Words()
    # A built-in bag of words is a counter of words itself, whatever it was fitted to.
    counting = [each for each in (words.answers, answers if model.get("kind") == "lexical" else None) if each]
    return Result(
        set=built.request.name,
        config=built.config,
        model=model,
        data=built.data,
        scores=challenge_sets.get(built.request.name).score_rows(built.rows, answers, counting, words.about),
        environment=results.environment(),
    )


def write(each: Sequence[Scored], out: Path, failures: Sequence[Failure] = ()) -> list[Result]:
    """Leave results in a folder, what they rest on first: where results.json is, all is. Nothing where there is none.

    Args:
        each: the results, in their order.
        out: the folder.
        failures: the sets that have none.
    """
    done = [result for result, _ in each]
    if not done:
        return done
    with locks.alone(out, "writing results", wait=True):  # the files are of one run, all of them
        report_examples.write([selection for _, selection in each], out / report_examples.FILE)
        paired_samples.write(done, out)
        left_out = [results.LeftOut(each.set, each.model, each.reason) for each in failures]
        results.write(done, out / results.FILE, left_out)
    return done


def _unanswered(probabilities: NDArray[np.float32], title: str) -> NDArray[np.bool_]:
    """Return for which pairs no label is likelier than another, shape (n,), and say so if there are any."""
    unanswered: NDArray[np.bool_] = (probabilities == probabilities[:, :1]).all(axis=1)
    if n := int(unanswered.sum()):
        logger.warning(
            "%s: %s of %s answers name no label; they count as wrong", title, f"{n:,}", f"{len(unanswered):,}"
        )
    return unanswered
