"""A recipe from its config to the folder it leaves."""

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

try:
    import torch
    from accelerate import Accelerator, DataLoaderConfiguration
    from accelerate.utils import GradientAccumulationPlugin, send_to_device
except ImportError as error:
    raise ImportError("training needs PyTorch, transformers and accelerate: pip install 'unbag[models]'") from error

from unbag.challenge_sets import results
from unbag.data.labels import parse_label_map
from unbag.inference.distributed import process_group
from unbag.inference.loading import load_to_train
from unbag.training import config as augment_option
from unbag.training import data as regimes
from unbag.training import sharding
from unbag.training.augmented import Augmented
from unbag.training.checkpoints import Checkpoints, HubCheckpoints, fetched
from unbag.training.config import TrainConfig
from unbag.training.data import TrainingData, gather
from unbag.training.dataloading import EpochBatches, PairEncoder, ProcessPlacement
from unbag.training.errors import explain_errors
from unbag.training.loop import HeldOutEvaluator, OnStep, Optimization, Schedule, train
from unbag.training.output import LOGS, Record, TrainingCost, alone_in_group, finished, publish, work_folder
from unbag.training.preflight import validate_trackers
from unbag.training.recipes import PLAIN, Recipe
from unbag.utils import rng

_SCHEMA: Final = 1
_RUN_NAME: Final = {"mlflow": "run_name", "trackio": "name", "wandb": "name"}
"""What each tracker calls the name of a run."""


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
    process_group()  # connects those of a launcher, which wait for each other as long as it takes
    if not config.out.exists():
        with alone_in_group(config.out, "training"):
            if not config.out.exists():  # another run may have finished it meanwhile
                with explain_errors(config):
                    return _trained(recipe, config, data, on_step)
    wanted = {"recipe": recipe.name, "config": config.cache_key_config()}
    return finished(config.out, wanted, model=config.model, files=config.files())


def _trained(recipe: Recipe, config: TrainConfig, data: TrainingData | None, on_step: OnStep | None) -> Record:
    work, effort = work_folder(config.out), TrainingCost()
    before = config.prerequisite_runs(work)
    assert data is None or not before, "what comes first reads the pairs that the config names"
    for each in before.values():
        run(PLAIN, each, on_step=on_step)
    accelerator = _accelerator(config, work)
    sharding.configure(accelerator, batch_size=config.batch_size, accumulation=config.accumulation, clip=config.clip)
    with accelerator.main_process_first():  # who fills the caches for the others
        raw = data or _gathered(config)
        pairs = _in_regime(raw, config)
        added = _augmented(raw, config)
        models = {name: each.out for name, each in before.items()}
        known = recipe.known(config, raw, models) if recipe.known else None
        resume = fetched(config.resume) if config.resume else None
    with sharding.whole_weights(accelerator):
        classifier = load_to_train(
            config.model,
            revision=config.revision,
            label_map=parse_label_map(config.label_map) if config.label_map else None,
            seed=int(rng.key(config.seed, "head")),
        )
    torch.manual_seed(int(rng.key(config.seed, "objective")))
    objective = recipe.objective(classifier, config, pairs)
    encoder = PairEncoder.of(classifier, config.max_length)
    epochs = EpochBatches(
        pairs.training,
        batch_size=config.batch_size,
        seed=config.seed,
        place=ProcessPlacement(accelerator.process_index, accelerator.num_processes, config.accumulation),
        encoder=encoder,
        order=classifier.order,
        extra_pairs=objective.extra_pairs,
        transform=regimes.Shuffled(pairs.language, config.seed) if config.order == "shuffled" else None,
        added=added,
        known=known,
        workers=config.workers,
    )
    held_out = HeldOutEvaluator(pairs.held_out, encoder, classifier.order)
    identity = {
        "recipe": recipe.name,
        "config": {
            name: value for name, value in config.cache_key_config().items() if name not in ("model", "revision")
        },
        "precision": accelerator.mixed_precision,
        "model": {"name": classifier.name, "revision": classifier.revision},
        "data": pairs.record(),
        **({"parser": None} if added is None else added.identity),
        **({"known": known.identity} if known else {}),
        **objective.provenance(),
    }
    pushed = (
        HubCheckpoints(config.push_checkpoints) if config.push_checkpoints and accelerator.is_main_process else None
    )
    checkpoints = Checkpoints(work / "checkpoints", accelerator, identity, pushed.push if pushed else None)
    _begin_tracking(accelerator, config)
    module, history = train(
        objective,
        epochs,
        held_out,
        _optimization(config),
        _schedule(config, epochs.steps),
        accelerator,
        checkpoints,
        seed=config.seed,
        resume=resume,
        on_step=on_step if accelerator.is_main_process else None,
    )
    if pushed:
        pushed.wait()
    objective.finish(module, _once(epochs, accelerator), accelerator)
    record = {
        "schema": _SCHEMA,
        **identity,
        # Where it lies, and whether it was stopped, does not matter.
        "config": config.to_json() | {"out": config.out.name, "resume": None, "push_checkpoints": None},
        "outputs": list(classifier.order),
        "pairs_per_epoch": epochs.pairs,
        "steps_per_epoch": epochs.steps,
        "steps": history.step,
        "truncated_pairs": epochs.truncated,
        **({} if epochs.bias_accuracy is None else {"bias_accuracy": epochs.bias_accuracy}),
        **({} if added is None else {"augmentation": added.record()}),
        "evaluations": history.evaluations,
        "published": (history.best if config.patience else history.evaluations[-1]),
        "processes": accelerator.num_processes,
        "sharding": sharding.kind(accelerator),
        "device": accelerator.device.type,
        "environment": {**results.environment(), "accelerate": version("accelerate")},
    }
    for tracker in accelerator.trackers:
        tracker.finish()  # what it still holds goes to its files, which are published too
    took = effort.record(accelerator.device, accelerator.num_processes)
    publish(config.out, record, took, module, objective, classifier, accelerator)
    accelerator.free_memory()
    return record


def _accelerator(config: TrainConfig, work: Path) -> Accelerator:
    validate_trackers(config.trackers)
    with sharding.without_gpu():
        return Accelerator(
            cpu=not torch.accelerator.is_available(),  # or torchrun's processes would not find each other
            mixed_precision=config.precision,
            gradient_accumulation_plugin=GradientAccumulationPlugin(
                num_steps=config.accumulation, sync_with_dataloader=False
            ),
            # A step is one batch, cut over the processes.
            dataloader_config=DataLoaderConfiguration(split_batches=True),
            log_with=list(config.trackers) or None,
            project_dir=str(work / LOGS),
        )


def _gathered(config: TrainConfig) -> TrainingData:
    return gather(
        config.corpus,
        validation=config.validation,
        examples=config.examples,
        validation_examples=config.validation_examples,
        language=config.language,
        columns=config.named_columns(),
        labels=config.labels,
        not_entailment_as=config.not_entailment_as,
        seed=config.seed,
    )


def _optimization(config: TrainConfig) -> Optimization:
    return Optimization(
        learning_rate=config.learning_rate,
        warmup=config.warmup,
        weight_decay=config.weight_decay,
        clip=config.clip,
    )


def _schedule(config: TrainConfig, epoch: int) -> Schedule:
    """Count in steps what the config may count in epochs, of so many steps."""
    return Schedule(
        steps=config.max_steps or config.epochs * epoch,
        evaluate_every=config.evaluate_every or epoch,
        checkpoint_every=config.checkpoint_every,
        log_every=config.log_every,
        patience=config.patience,
    )


def _in_regime(data: TrainingData, config: TrainConfig) -> TrainingData:
    if config.order == "permuted":
        data = data.changed(partial(regimes.permuted, seed=config.seed), held_out=False)
    if config.hypothesis_only:
        data = data.changed(regimes.hypothesis_only, held_out=True)
    return data


def _augmented(data: TrainingData, config: TrainConfig) -> Augmented | None:
    if not config.augment:
        return None
    augment_option.validate_english({data.language})
    pairs = augment_option.pairs_of(config.augment, config.augment_pairs, regimes.per_epoch(data.training))
    return Augmented(data.training, pairs=pairs, words=config.augment_words, seed=config.seed)


def _begin_tracking(accelerator: Accelerator, config: TrainConfig) -> None:
    if not config.trackers:
        return
    values = {name: value if isinstance(value, int | float) else str(value) for name, value in config.to_json().items()}
    init = {tracker: {named: config.out.name} for tracker, named in _RUN_NAME.items() if tracker in config.trackers}
    accelerator.init_trackers("unbag", config=values, init_kwargs=init)


def _once(epochs: EpochBatches, accelerator: Accelerator) -> Iterator[dict[str, torch.Tensor]]:
    """Yield this process's share of the first epoch, as `Objective.predict` takes it."""
    for batch in epochs.epoch(0).loader(0, workers=0, pin=False):
        yield send_to_device(batch.encoded, accelerator.device)
