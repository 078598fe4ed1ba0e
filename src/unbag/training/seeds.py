"""Training with several seeds: one run per seed, evaluation on challenge sets, and a summary."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from unbag.challenge_sets import selection
from unbag.evaluation.verdict import compute_model_verdict, format_verdict
from unbag.inference.distributed import connect_process_group
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.nested import iter_estimates
from unbag.scoring.significance import compute_seed_spread
from unbag.training import preflight
from unbag.training.config import TrainConfig
from unbag.training.dataset import ALL
from unbag.training.output import Record
from unbag.training.run import run
from unbag.training.trainer import OnStep
from unbag.utils.files import atomic_write

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import EvaluationFailure
    from unbag.utils.progress import OnProgress

FILE: Final = "seeds.json"
EVALUATION: Final = "evaluation"
"""Subfolder of a model folder for the results on challenge sets."""


def run_seeds(
    config: TrainConfig,
    seeds: Sequence[int],
    *,
    sets: Sequence[str] = (),
    on_step: Callable[[str], OnStep | None] | None = None,
    progress_callback: "OnProgress | None" = None,
    on_failure: "Callable[[EvaluationFailure], None] | None" = None,
) -> Record:
    """Train a model for each seed, evaluate the models on challenge sets, and summarize the scores.

    A recipe with a `procedure` is trained by it, and its record is returned.

    Args:
        config: Its options. With seeds, the output folder gets a subfolder per seed.
        seeds: Distinct training seeds; an empty list stands for the config's own.
        sets: Challenge sets to evaluate each model on, with the default samples of their default corpora.
        on_step: Builds the `OnStep` of a run from its name.
        on_failure: Called with each set that fails. By default, the first such set ends the run.

    Returns:
        `runs`, the record of each seed with its `scores` and, if sets were evaluated, its `verdict` in a sentence and
        the folder `evaluation` with its results; `summary`: by name of each number its `mean`, its
        `standard_deviation` (of a sample; None for one run), the `values`, and the number `n` of examples behind each.
        For one run it also has the ends of the 95 % interval over the examples, `low` and `high`.
    """
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"--seeds: expected distinct seeds, got {list(seeds)}; remove the repeated seeds")
    preflight.validate_training_options(config, sets=sets)
    if config.procedure:
        trained: Record = resolve_name(config.procedure)(
            config, seeds, on_step=on_step, progress_callback=progress_callback
        )
        return trained
    configs = [replace(config, seed=seed, output_dir=config.output_dir / f"seed-{seed}") for seed in seeds] or [config]
    runs = []
    for each in configs:
        record = run(each, on_step=on_step(f"seed {each.seed}") if on_step else None)
        evaluated = _evaluate(each.output_dir, sets, progress_callback, on_failure) if sets else {"scores": {}}
        runs.append({**record, **evaluated})
    summary = compute_run_statistics(runs)
    if seeds and connect_process_group().rank == 0:
        with atomic_write(config.output_dir / FILE) as tmp:
            tmp.write_text(
                json.dumps({"recipe": config.recipe, "seeds": list(seeds), "summary": summary}, indent=2) + "\n"
            )
    return {"runs": runs, "summary": summary}


def compute_run_statistics(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Compute the mean and standard deviation of each accuracy and score over several runs."""
    columns: dict[str, list[Estimate]] = {}
    for record in runs:
        values = {
            f"accuracy on {'all held out' if part == ALL else part}": _share(metrics["accuracy"], metrics["pairs"])
            for part, metrics in record["best_evaluation"].items()
            if part != "step" and metrics["pairs"]
        }
        if len(values) == 2:  # with one part, "all held out" repeats it
            values.pop("accuracy on all held out")
        for name, estimate in {**values, **record["scores"]}.items():
            if estimate.value is not None:
                columns.setdefault(name, []).append(estimate)
    return {name: _summary(each) for name, each in columns.items()}


def _summary(runs: Sequence[Estimate]) -> dict[str, Any]:
    # An interval over examples does not cover the variation between seeds, so it is omitted for several runs.
    ends = {"low": runs[0].low, "high": runs[0].high} if len(runs) == 1 else {}
    return {**compute_mean_and_deviation([float(each.value or 0) for each in runs]), **ends, "n": runs[0].n}


def _share(value: float, n: int) -> Estimate:
    """Build the estimate of a proportion of n > 0 pairs with Wilson's interval (Wilson 1927)."""
    # The record has counts only, no pairs to resample.
    from scipy.stats import binomtest

    low, high = binomtest(round(value * n), n).proportion_ci(method="wilson")
    return Estimate(value, float(low), float(high), n)


def compute_mean_and_deviation(values: Sequence[float]) -> dict[str, Any]:
    """Compute the mean and sample standard deviation of values. The latter is None for a single value."""
    mean, deviation = compute_seed_spread(values)
    return {"mean": mean, "standard_deviation": deviation, "values": list(values)}


def _evaluate(
    model: Path,
    sets: Sequence[str],
    progress_callback: "OnProgress | None",
    on_failure: "Callable[[EvaluationFailure], None] | None",
) -> Record:
    """Evaluate a model on challenge sets. Returns all estimates by their path in the scores, and the verdict."""
    from unbag.evaluation.evaluator import evaluate_all
    from unbag.evaluation.outcome import EvaluationCallbacks

    folder = model / EVALUATION
    callbacks = EvaluationCallbacks(on_progress=progress_callback, on_failure=on_failure)
    keep_going = on_failure is not None
    requests = [selection.apply_suite_sample(selection.build_suite_request(name)) for name in sets]
    results = evaluate_all([model], requests, output_dir=folder, keep_going=keep_going, callbacks=callbacks).results
    scores = {name: estimate for result in results for name, estimate in iter_estimates(result.scores, result.set)}
    verdict = format_verdict(compute_model_verdict(results)) if results else None
    return {"scores": scores, "verdict": verdict, "evaluation": str(folder)}
