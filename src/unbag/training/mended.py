"""A model mended: trained by the recommended recipe, and held against what it was, set by set."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from unbag.challenge_sets import suite
from unbag.challenge_sets.failures import Failure
from unbag.challenge_sets.request import Request, check
from unbag.challenge_sets.selection import Pairs
from unbag.data.corpora import CORPORA
from unbag.data.labels import LabelError, parse_label_map
from unbag.evaluation.comparison import Comparison, compare_two
from unbag.inference.distributed import process_group
from unbag.inference.prediction_store import PREDICTIONS
from unbag.training.config import parse_weighted
from unbag.training.config_recipes import MendConfig
from unbag.training.loop import OnStep
from unbag.training.output import Record
from unbag.training.recipes import Recipe
from unbag.training.run import run
from unbag.training.seeds import different
from unbag.utils.files import write_json

if TYPE_CHECKING:
    from unbag.evaluation.evaluator import OnProgress

FILE: Final = "mend.json"
BEFORE: Final = "before"
AFTER: Final = "evaluation"  # as every recipe has it
logger = logging.getLogger(__name__)


def mend(
    recipe: Recipe,
    config: MendConfig,
    seeds: Sequence[int],
    *,
    on_step: Callable[[str], OnStep | None] | None = None,
    on_progress: "OnProgress | None" = None,
) -> Record:
    """Train a model, evaluate it and what it was made from on the same examples, and compare the two.

    A run that was stopped, in training or in evaluation, goes on when called again.

    Args:
        recipe: the recipe.
        config: its config. `out` gets the model, the results before and after, and `mend.json`, what is returned.
        seeds: one at most, in place of the config's.
        on_step: makes the `OnStep` of the run from what to call it.
        on_progress: see `unbag.evaluation.evaluator`.

    Returns:
        `runs`, the record of the training; `folder`, where the model is; `comparison`, as `Comparison.as_json` has it,
        None where there was nothing to compare; `why_not`, then; `left_out`, the sets that could not be had.

    Raises:
        ValueError: if there are several seeds, no such set, or a file that none of them reads; see also `run`.
    """
    if len(different(seeds)) > 1:
        raise ValueError(f"expected one seed: mend makes one model; found {len(seeds)}")
    config = replace(config, seed=seeds[0]) if seeds else config
    sets = [] if config.no_evaluate else _sets(config)
    for each in sets:  # whether there are such, and the files that are named for them, before hours of training
        if "file" in each.options:
            check(each)
    trained = run(recipe, config, on_step=on_step(recipe.name) if on_step else None)
    record: Record = {"runs": [trained], "comparison": None, "why_not": None, "left_out": {}, "folder": str(config.out)}
    if config.no_evaluate:
        return record
    failures: dict[str, str] = {}
    record["left_out"] = failures
    record["why_not"] = _evaluated(config, sets, failures, on_progress)
    if process_group().rank == 0:
        if record["why_not"] is None:
            try:
                record["comparison"] = _as_json(before_and_after(config.out))
            except ValueError as error:
                record["why_not"] = str(error)
        kept = ("comparison", "why_not", "left_out")
        write_json({name: record[name] for name in kept}, config.out / FILE)
    return record


@cache  # what is shown of it needs it again
def before_and_after(out: Path) -> Comparison:
    """Return the comparison of a mended model with what it was.

    Raises:
        ValueError: if there is nothing to compare.
    """
    found = compare_two(out / BEFORE, out / AFTER)
    names = ("before", "after")
    systems = [replace(system, name=name) for system, name in zip(found.systems, names, strict=True)]
    return replace(found, systems=systems)


def _as_json(comparison: Comparison) -> Record:
    """Return a comparison as JSON takes it, without where its files lie."""
    named = [{"letter": system.letter, "name": system.name} for system in comparison.systems]
    return {**comparison.as_json(), "systems": named}


def _evaluated(
    config: MendConfig, sets: Sequence[Request], failures: dict[str, str], on_progress: "OnProgress | None"
) -> str | None:
    """Evaluate both models; return why the one before could not be, if so."""
    from unbag.evaluation.evaluator import evaluate_all
    from unbag.inference.label_probe import MislabelledError, label_map_error
    from unbag.inference.predictor import ModelError

    def failed(failure: Failure) -> None:
        if failure.set not in failures:
            logger.warning("left out: %s (%s)", failure.set, failure.error)
        failures[failure.set] = str(failure.error)

    told: dict[str, Any] = {
        "predictions": config.out / AFTER / PREDICTIONS,
        "on_progress": on_progress,
        "on_failure": failed,
        "trust_labels": config.label_map is not None,  # which says what the outputs of both mean
    }
    evaluate_all([config.out], sets, out=config.out / AFTER, **told)
    label_map = parse_label_map(config.label_map) if config.label_map else None
    told |= {"revision": config.revision, "label_map": label_map}
    try:
        evaluate_all([config.model], sets, out=config.out / BEFORE, **told)
    except (ModelError, LabelError) as error:  # no head yet, or who knows which labels: nothing to hold it against
        reason = label_map_error(error.report) if isinstance(error, MislabelledError) else error
        return f"{config.model} answered no pairs before: {reason}"
    return None


def _sets(config: MendConfig) -> list[Request]:
    """Return what both are asked: the sets, and the own pairs of every corpus that was trained on."""
    options = {"file": str(config.file)} if config.file else {}
    asked = Pairs(options=options).requests(config.sets or suite.names())
    requests = asked if config.sets else [suite.sampled(each) for each in asked]
    for corpus in dict.fromkeys(parse_weighted(entry)[0] for entry in config.corpus):
        if corpus in CORPORA and not any(_is_of(each, corpus) for each in requests):
            requests.append(suite.sampled(Request("plain", corpus)))
    for name in config.validation:
        if Path(name).is_file():
            how: dict[str, Any] = {"data": name, "language": config.language}
            how |= {"columns": config.named_columns()} if config.columns else {}
            how |= {"labels": list(config.labels)} if config.labels else {}
            requests.append(suite.sampled(Request("plain", None, how)))
    return requests


def _is_of(request: Request, corpus: str) -> bool:
    return request.name == "plain" and (request.config or "").split("-")[0] == corpus
