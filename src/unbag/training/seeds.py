"""Training with validated options: one run per seed, evaluation on challenge sets, and a summary."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

from unbag.baselines.lexical import embeddings
from unbag.baselines.wordnet.database import validate_wordnet
from unbag.challenge_sets import selection
from unbag.challenge_sets.request import create_validated_builder
from unbag.data.corpora import CORPORA
from unbag.data.labels import parse_label_map
from unbag.data.readers import is_hub_id
from unbag.data.text import tagging as pipelines
from unbag.data.text.tokens import SEGMENTER, is_segmenter_required, validate_language
from unbag.evaluation.model_loading import validate_model
from unbag.evaluation.verdict import compute_model_verdict, format_verdict
from unbag.inference.distributed import connect_process_group
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.nested import iter_estimates
from unbag.scoring.significance import compute_seed_spread
from unbag.training.config import TrainConfig, is_wordnet_required
from unbag.training.data import get_single_language, validate_corpora
from unbag.training.dataset import ALL
from unbag.training.output import Record
from unbag.training.run import run
from unbag.training.trainer import OnStep, validate_batch_size
from unbag.utils import optional_deps
from unbag.utils.files import atomic_write
from unbag.utils.hub import validate_repo
from unbag.utils.optional_deps import EXTRA_OF
from unbag.utils.safe_io import validate_file, validate_writable

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
    validate_training_options(config, sets=sets)
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


def validate_training_options(config: TrainConfig, *, sets: Sequence[str] = ()) -> None:
    """Validate all options before any download or training, also those for an evaluation on `sets` afterwards."""
    validate_writable(config.output_dir, folder=True)
    validate_model(config.model)
    if config.revision is not None and Path(config.model).expanduser().is_dir():
        raise ValueError(
            f"--revision: not supported for the folder {config.model}, got {config.revision!r}; omit --revision"
        )
    if config.label_map:
        parse_label_map(config.label_map)
    validate_batch_size(config)
    _check_pairs(config)
    for name in sets:
        create_validated_builder(selection.build_suite_request(name))
    validate_trackers(config.report_to)
    for option in ("embeddings", "rearranged_by"):  # only some recipes have these options
        if table := getattr(config, option, None):
            embeddings.validate_embedding_table_name(table)
    if (file := getattr(config, "official_file", None)) is not None and not file.is_dir():
        validate_file(file)
    if config.push_checkpoints is not None:
        validate_repo(config.push_checkpoints)
    start = config.resume_from_checkpoint
    if start is not None and not is_hub_id(start) and not Path(start).is_dir():
        raise ValueError(
            f"--resume-from-checkpoint: expected a folder or a Hub repository, got {start}; check the name"
        )


def validate_trackers(names: Iterable[str]) -> None:
    """Validate that experiment trackers are installed. The `ImportError` names the missing ones and their extra."""
    if missing := [name for name in names if not pipelines.is_package_installed(name)]:
        packages = {f"'unbag[{EXTRA_OF[name]}]'" if name in EXTRA_OF else name for name in missing}
        raise ImportError(
            f"expected the packages {', '.join(missing)}, got none; install them: pip install "
            f"{' '.join(sorted(packages))}"
        )


def _check_pairs(config: TrainConfig) -> None:
    if not config.reads_corpora:
        return
    languages = {CORPORA[name].language if name in CORPORA else config.language for name in config.corpus_names}
    if config.augment:
        if languages != {"en"}:
            raise ValueError(
                f"--augment: expected only English pairs, got {', '.join(sorted(languages))}; omit --augment"
            )
        pipelines.validate_pipeline(pipelines.PIPELINE)
        if is_wordnet_required(config.augment):
            validate_wordnet()
    if config.word_order != "natural":
        language = get_single_language(languages)
        validate_language(language)
        if is_segmenter_required(language):
            optional_deps.validate_dependency(SEGMENTER)
    # Last, since it reads the first rows of files.
    validate_corpora(config)


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
    summary = {}
    for name, (first, *others) in columns.items():
        values = compute_mean_and_deviation([float(each.value or 0) for each in (first, *others)])
        # An interval over examples does not cover the variation between seeds, so it is omitted for several runs.
        summary[name] = values | ({} if others else {"low": first.low, "high": first.high}) | {"n": first.n}
    return summary


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
