"""A recipe from config to published folder; several seeds of it; and its challenge sets at the end."""

import json
import logging
import shutil
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

try:
    import torch
    from accelerate import Accelerator, DataLoaderConfiguration
    from accelerate.tracking import get_available_trackers
    from accelerate.utils import GradientAccumulationPlugin, send_to_device
except ImportError as error:
    raise ImportError("training needs PyTorch, transformers and accelerate: pip install 'unbag[models]'") from error

from unbag import results
from unbag.files import appear, whole
from unbag.inference.loading import Classifier, load_to_train
from unbag.inference.processes import processes
from unbag.labels import parse_label_map
from unbag.perturb import draws
from unbag.scoring.bootstrap import Estimate
from unbag.training import regimes
from unbag.training.checkpoints import Checkpoints, differences
from unbag.training.config import TrainConfig
from unbag.training.data import TrainingData, gather
from unbag.training.encoded import PairEncoder
from unbag.training.held_out import ALL, HeldOut
from unbag.training.loop import OnStep, train, work_folder
from unbag.training.objective import Objective
from unbag.training.recipe import Recipe
from unbag.training.stream import Epochs, Place

if TYPE_CHECKING:
    from unbag.evaluation import OnProgress

FILE: Final = "training.json"
SEEDS_FILE: Final = "seeds.json"
_SCHEMA: Final = 1
_LOGS: Final = "runs"  # where the Hub looks for tensorboard's files in a model repository
logger = logging.getLogger(__name__)

Record = dict[str, Any]


def run(
    recipe: Recipe, config: TrainConfig, *, data: TrainingData | None = None, on_step: OnStep | None = None
) -> Record:
    """Train as a recipe says, and leave the model in `config.out`.

    A run that was stopped, at any moment, goes on from its last checkpoint when called again. Started by `torchrun` or
    `accelerate launch`, the processes share the work. A run that is finished is not run again.

    Args:
        recipe: the recipe.
        config: its config.
        data: what to train on and what to hold out; by default what the config names.
        on_step: called in the first process.

    Returns:
        The record, as it is written beside the weights: what was run, on what, and how it went.

    Raises:
        ValueError: if an input is not what is expected, or `config.out` holds something else.
        ImportError: if a package is missing; the message names the extra.
    """
    if config.out.exists():
        return _finished(recipe, config)
    work = work_folder(config.out)
    processes()  # connects those of a launcher, which wait for each other as long as it takes
    accelerator = _accelerator(config, work)
    with accelerator.main_process_first():  # who fills the caches for the others
        raw = data or gather(config)
        pairs = _in_regime(raw, config)
        added = _augmented(raw, config)
    classifier = load_to_train(
        config.model,
        revision=config.revision,
        label_map=parse_label_map(config.label_map) if config.label_map else None,
        seed=int(draws.key(config.seed, "head")),
    )
    torch.manual_seed(int(draws.key(config.seed, "objective")))
    objective = recipe.objective(classifier, config, pairs)
    encoder = PairEncoder.of(classifier, config.max_length)
    place = Place(accelerator.process_index, accelerator.num_processes, config.accumulation)
    epochs = Epochs(
        pairs.training,
        config,
        place=place,
        encoder=encoder,
        order=classifier.order,
        further_pairs=objective.further_pairs,
        transform=regimes.Shuffled(pairs.language, config.seed) if config.order == "shuffled" else None,
        added=added,
    )
    held_out = HeldOut(pairs.held_out, encoder, classifier.order)
    identity = {
        "recipe": recipe.name,
        "config": {name: value for name, value in config.deciding().items() if name not in ("model", "revision")},
        "precision": accelerator.mixed_precision,
        "model": {"name": classifier.name, "revision": classifier.revision},
        "data": pairs.record() | ({"augmented": added.identity} if added else {}),
    }
    checkpoints = Checkpoints(work / "checkpoints", accelerator, identity)
    _begin_tracking(accelerator, config)
    telling = on_step if accelerator.is_main_process else None
    module, history = train(objective, epochs, held_out, config, accelerator, checkpoints, on_step=telling)
    objective.finish(_once(epochs, accelerator), accelerator)
    record = {
        "schema": _SCHEMA,
        **identity,
        "config": config.plain() | {"out": config.out.name, "resume": None},  # where it lies does not matter
        "outputs": list(classifier.order),
        "pairs_per_epoch": epochs.pairs,
        "steps_per_epoch": epochs.steps,
        "steps": history.step,
        "truncated_pairs": epochs.epoch(0).encoded.truncated,
        "evaluations": history.evaluations,
        "published": (history.best if config.patience else history.evaluations[-1]),
        "processes": accelerator.num_processes,
        "device": accelerator.device.type,
        "environment": {**results.environment(), "accelerate": version("accelerate")},
    }
    _publish(config.out, record, module, objective, classifier, accelerator)
    for tracker in accelerator.trackers:
        tracker.finish()
    accelerator.free_memory()
    if accelerator.is_main_process:
        _clear(work, config.out)
    accelerator.wait_for_everyone()
    return record


def run_seeds(
    recipe: Recipe,
    config: TrainConfig,
    seeds: Sequence[int],
    *,
    sets: Sequence[str] = (),
    on_step: Callable[[int], OnStep | None] | None = None,
    on_progress: "OnProgress | None" = None,
) -> Record:
    """Run a recipe once with each seed, evaluate each model, and summarise.

    Args:
        recipe: the recipe.
        config: its config. With several seeds, or one that differs from the config's, `out` gets a folder for each.
        seeds: the seeds; none means the config's own.
        sets: challenge sets to evaluate each model on, of their default corpora.
        on_step: makes the `OnStep` of a seed's run.
        on_progress: see `unbag.evaluation`.

    Returns:
        `runs`, the record of each seed with its `scores`, and `summary`: by name of each number its `mean`, its
        `standard_deviation` (of a sample; None of one run) and the `values`.

    Raises:
        ValueError: if a seed comes twice; see also `run`.
    """
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"expected seeds that differ, found {list(seeds)}")
    configs = [replace(config, seed=seed, out=config.out / f"seed-{seed}") for seed in seeds] or [config]
    runs = []
    for each in configs:
        record = run(recipe, each, on_step=on_step(each.seed) if on_step else None)
        scores = _evaluated(each.out, sets, on_progress) if sets else {}
        runs.append({**record, "scores": scores})
    summary = summarise(runs)
    if seeds and processes().rank == 0:
        with whole(config.out / SEEDS_FILE) as beside:
            beside.write_text(
                json.dumps({"recipe": recipe.name, "seeds": list(seeds), "summary": summary}, indent=2) + "\n"
            )
    return {"runs": runs, "summary": summary}


def summarise(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return mean and standard deviation over runs of the published accuracies and of all scores."""
    columns: dict[str, list[float]] = {}
    for record in runs:
        values = {
            f"accuracy on {'all held out' if part == ALL else part}": found["accuracy"]
            for part, found in record["published"].items()
            if part != "step"
        }
        if len(values) == 2:  # one part, and all of it
            values.pop("accuracy on all held out")
        for name, value in {**values, **record["scores"]}.items():
            if value is not None:
                columns.setdefault(name, []).append(value)
    return {
        name: {
            "mean": statistics.fmean(values),
            "standard_deviation": statistics.stdev(values) if len(values) > 1 else None,
            "values": values,
        }
        for name, values in columns.items()
    }


def _accelerator(config: TrainConfig, work: Path) -> Accelerator:
    if missing := sorted(set(config.trackers) - {str(found.value) for found in get_available_trackers()}):
        raise ImportError(f"expected {', '.join(missing)} to be installed: pip install {' '.join(missing)}")
    return Accelerator(
        cpu=not torch.accelerator.is_available(),  # or torchrun's processes would not find each other
        mixed_precision=config.precision,
        gradient_accumulation_plugin=GradientAccumulationPlugin(
            num_steps=config.accumulation, sync_with_dataloader=False
        ),
        dataloader_config=DataLoaderConfiguration(split_batches=True),  # a step is one batch, cut over the processes
        log_with=list(config.trackers) or None,
        project_dir=str(work / _LOGS),
    )


def _in_regime(data: TrainingData, config: TrainConfig) -> TrainingData:
    if config.order == "permuted":
        data = data.changed(partial(regimes.permuted, seed=config.seed), held_out=False)
    if config.hypothesis_only:
        data = data.changed(regimes.hypothesis_only, held_out=True)
    return data


def _augmented(data: TrainingData, config: TrainConfig) -> regimes.Augmented | None:
    if not config.augment:
        return None
    if data.language != "en":
        raise ValueError(f"SOSwap and AddAmod pairs are made of English sentences; found {data.language}")
    return regimes.Augmented(data.training, kinds=config.augment, pairs=config.augment_pairs, seed=config.seed)


def _begin_tracking(accelerator: Accelerator, config: TrainConfig) -> None:
    if not config.trackers:
        return
    shown = {name: value if isinstance(value, int | float) else str(value) for name, value in config.plain().items()}
    init = {"trackio": {"name": config.out.name}} if "trackio" in config.trackers else {}
    accelerator.init_trackers("unbag", config=shown, init_kwargs=init)


def _once(epochs: Epochs, accelerator: Accelerator) -> Any:
    """Yield this process's share of the first epoch, as `Objective.forward` takes it."""
    for batch in epochs.epoch(0).loader(0, workers=0, pin=False):
        moved = send_to_device(batch, accelerator.device)
        yield {"labels": moved.labels, **moved.encoded}


def _publish(
    out: Path, record: Record, module: Any, objective: Objective, classifier: Classifier, accelerator: Accelerator
) -> None:
    """Write the model, its tokenizer and the record: an ordinary folder of transformers, whole or not at all."""
    prefix = "objective.network."
    gathered = accelerator.get_state_dict(module)  # from all shards, where there are
    if accelerator.is_main_process:
        weights = {name.removeprefix(prefix): value for name, value in gathered.items() if name.startswith(prefix)}
        beside = out.with_name(f".{out.name}.part")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        objective.network.save_pretrained(beside, state_dict=weights)
        _save_tokenizer(classifier.tokenizer, beside)
        objective.save(beside)
        (beside / FILE).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        logs = work_folder(out) / _LOGS
        if logs.is_dir():
            shutil.copytree(logs, beside / _LOGS)
        appear(beside, out)
    accelerator.wait_for_everyone()


def _save_tokenizer(tokenizer: Any, folder: Path) -> None:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:  # what the last batch was cut to would be saved as if it were the model's limit
        backend.no_truncation()
        backend.no_padding()
    tokenizer.save_pretrained(folder)


def _clear(work: Path, out: Path) -> None:
    """Remove what only an unfinished run needs."""
    if (out / FILE).is_file():
        shutil.rmtree(work, ignore_errors=True)


def _finished(recipe: Recipe, config: TrainConfig) -> Record:
    """Return the record of a run that is finished already.

    Raises:
        ValueError: if the folder holds anything else.
    """
    try:
        record: Record = json.loads((config.out / FILE).read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        raise ValueError(f"{config.out} exists and holds no {FILE}; name another folder with --out") from None
    wanted = {"recipe": recipe.name, "config": config.deciding()}
    found = {"recipe": record["recipe"], "config": {name: record["config"].get(name) for name in wanted["config"]}}
    if others := differences(found, wanted):
        raise ValueError(f"{config.out} holds another run: {'; '.join(others)}; name another folder with --out")
    logger.warning("%s is finished already", config.out)
    return record


def _evaluated(model: Path, sets: Sequence[str], on_progress: "OnProgress | None") -> dict[str, float | None]:
    """Evaluate a model on challenge sets, and return every estimate by its place."""
    from unbag.evaluation import evaluate

    found = evaluate(model, sets, out=model / "evaluation", on_progress=on_progress)
    return {name: value for result in found for name, value in _estimates(result.scores, result.set)}


def _estimates(value: Any, where: str) -> list[tuple[str, float | None]]:
    if isinstance(value, Mapping):
        return [found for key, inner in value.items() for found in _estimates(inner, f"{where}.{key}")]
    return [(where, value.value)] if isinstance(value, Estimate) else []
