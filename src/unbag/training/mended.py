"""Procedure of the `mend` recipe: training, and comparison with the original model on each challenge set."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from unbag.challenge_sets import selection
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest, create_validated_builder
from unbag.challenge_sets.selection import PairSelection
from unbag.data.corpora import CORPORA
from unbag.data.labels import LabelError, parse_label_map
from unbag.evaluation.comparison import Comparison, compare_single_models
from unbag.inference.distributed import connect_process_group
from unbag.inference.prediction_store import PREDICTIONS
from unbag.training.output import Record
from unbag.training.run import run
from unbag.training.trainer import OnStep
from unbag.utils.files import write_json

if TYPE_CHECKING:
    from unbag.utils.progress import OnProgress

FILE: Final = "mend.json"
BEFORE: Final = "before"
AFTER: Final = "evaluation"  # the folder name of all recipes
logger = logging.getLogger(__name__)


def train_and_compare(
    config: Any,
    seeds: Sequence[int],
    *,
    on_step: Callable[[str], OnStep | None] | None = None,
    progress_callback: "OnProgress | None" = None,
) -> Record:
    """Train a model, and compare it with the original model on the same examples.

    An interrupted run, in training or in evaluation, resumes when called again.

    Args:
        config: Its options. The output folder gets the model, the results before and after, and the record `mend.json`.
        seeds: At most one seed, which replaces that of the config.

    Returns:
        `runs`, the record of the training; `folder` of the model; `comparison` (`Comparison.to_json`), or None with the
        reason in `why_not`; `skipped`, the skipped sets with reasons.
    """
    if len(seeds) > 1:
        raise ValueError(
            f"--seeds: expected one seed, since mend trains one model, got {len(seeds)}; run mend once per seed"
        )
    config = replace(config, seed=seeds[0]) if seeds else config
    sets = [] if config.no_evaluate else _sets(config)
    for each in sets:  # sets and their files are validated before hours of training
        if "file" in each.options:
            create_validated_builder(each)
    trained = run(config, on_step=on_step(config.recipe) if on_step else None)
    failures: dict[str, str] = {}
    evaluated: Record = {"comparison": None, "why_not": None, "skipped": failures}
    record = {"runs": [trained], "folder": str(config.output_dir)}
    if config.no_evaluate:
        return record | evaluated
    evaluated["why_not"] = _evaluate(config, sets, failures, progress_callback)
    if connect_process_group().rank == 0:
        if evaluated["why_not"] is None:
            try:
                comparison = compare_before_after(config.output_dir)
                # Without the paths of its files, since equal runs must have equal records on all machines.
                named = [{"letter": system.letter, "name": system.name} for system in comparison.systems]
                evaluated["comparison"] = {**comparison.to_json(), "systems": named}
            except ValueError as error:
                evaluated["why_not"] = str(error)
        write_json(evaluated, config.output_dir / FILE)
    return record | evaluated


@cache  # the report of the run needs it a second time
def compare_before_after(output_dir: Path) -> Comparison:
    """Compare the evaluations before and after training that `train_and_compare` stored."""
    comparison = compare_single_models(output_dir / BEFORE, output_dir / AFTER)
    names = ("before", "after")
    systems = [replace(system, name=name) for system, name in zip(comparison.systems, names, strict=True)]
    return replace(comparison, systems=systems)


def _evaluate(
    config: Any, sets: Sequence[SetRequest], failures: dict[str, str], progress_callback: "OnProgress | None"
) -> str | None:
    """Evaluate both models. Returns the reason if the original model cannot be evaluated, otherwise None."""
    from unbag.evaluation.evaluator import evaluate_all
    from unbag.evaluation.outcome import EvaluationCallbacks
    from unbag.inference.label_probe import MislabelledError, build_label_map_error
    from unbag.inference.predictor import ModelError

    def add_failure(failure: EvaluationFailure) -> None:
        if failure.set not in failures:
            logger.warning("skipped: %s (%s)", failure.set, failure.error)
        failures[failure.set] = str(failure.error)

    options: dict[str, Any] = {
        "predictions": config.output_dir / AFTER / PREDICTIONS,
        "keep_going": True,
        "callbacks": EvaluationCallbacks(on_progress=progress_callback, on_failure=add_failure),
        "trust_labels": config.label_map is not None,  # the mapping holds for both models, which share the head
    }
    evaluate_all([config.output_dir], sets, output_dir=config.output_dir / AFTER, **options)
    label_map = parse_label_map(config.label_map) if config.label_map else None
    options |= {"revision": config.revision, "label_map": label_map}
    try:
        evaluate_all([config.model], sets, output_dir=config.output_dir / BEFORE, **options)
    except (ModelError, LabelError) as error:  # a model without a head, or with unknown labels, has no "before"
        reason = build_label_map_error(error.report) if isinstance(error, MislabelledError) else error
        return f"{config.model}: expected an evaluation before training, got an error: {reason}"
    return None


def _sets(config: Any) -> list[SetRequest]:
    """Build the requests for both models: the sets, and pairs of every training corpus and validation file."""
    options = {"file": str(config.official_file)} if config.official_file else {}
    named = PairSelection(options=options).build_requests(config.sets or selection.list_suite_sets())
    requests = [selection.apply_suite_sample(each) for each in named]
    for corpus in dict.fromkeys(config.corpus_names):
        plain = [(each.config or "").split("-")[0] for each in requests if each.name == "plain"]
        if corpus in CORPORA and corpus not in plain:
            requests.append(selection.apply_suite_sample(SetRequest("plain", corpus)))
    for name in config.validation:
        if Path(name).is_file():
            how: dict[str, Any] = {"data": name, "language": config.language}
            how |= {"columns": config.parse_columns()} if config.columns else {}
            how |= {"labels": list(config.labels)} if config.labels else {}
            requests.append(selection.apply_suite_sample(SetRequest("plain", None, how)))
    return requests
