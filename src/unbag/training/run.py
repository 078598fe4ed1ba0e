"""Training of one model with a recipe and its config."""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

try:
    import torch
    from accelerate import Accelerator, DataLoaderConfiguration
    from accelerate.utils import GradientAccumulationPlugin, send_to_device
except ImportError as error:
    raise ImportError("training requires PyTorch, transformers and accelerate: pip install 'unbag[models]'") from error

from unbag.challenge_sets import results
from unbag.data.labels import parse_label_map
from unbag.inference.distributed import connect_process_group
from unbag.inference.loading import Classifier, load_classifier_for_training
from unbag.training import config as train_config
from unbag.training import data as regimes
from unbag.training import sharding
from unbag.training.augmented import PairAugmenter
from unbag.training.bias import PairFeatures
from unbag.training.checkpoints import CheckpointManager, HubCheckpointUploader, fetch_checkpoint
from unbag.training.config import TrainConfig
from unbag.training.data import TrainingData, load_training_data
from unbag.training.dataloading import EpochBatches, PairCollator, PairEncoder
from unbag.training.errors import explain_training_errors
from unbag.training.interpolation import WeightInterpolation, get_chosen_metrics
from unbag.training.loop import HeldOutEvaluator, OnStep, train
from unbag.training.objective import Objective
from unbag.training.output import (
    LOGS,
    Record,
    TrainingCost,
    get_work_folder,
    load_finished_run,
    lock_output_folder,
    write_model_folder,
)
from unbag.training.preflight import validate_trackers
from unbag.training.recipes import PLAIN, Recipe
from unbag.utils import rng

_SCHEMA: Final = 2
_RUN_NAME: Final = {"mlflow": "run_name", "trackio": "name", "wandb": "name"}
"""Keyword argument of each tracker for the name of a run; TensorBoard has none."""


def run(
    recipe: Recipe, config: TrainConfig, *, data: TrainingData | None = None, on_step: OnStep | None = None
) -> Record:
    """Train a model with a recipe, and write it to `config.output_dir`.

    An interrupted run resumes from its last checkpoint when called again, and a finished run is not repeated. The
    processes of `torchrun` or `accelerate launch` share the work.

    Args:
        recipe: Recipe.
        config: Its options.
        data: Training and held-out data; by default those of the config.
        on_step: Called in the first process after every step.

    Returns:
        The record, which is also written beside the weights: config, data, model, evaluations and versions.

    Raises:
        ValueError: If an input is invalid, or `config.output_dir` holds something else.
        ImportError: If a package is missing; the message names the extra.
    """
    connect_process_group()  # joins the processes of a launcher; they wait for each other without a time limit
    if not config.output_dir.exists():
        with lock_output_folder(config.output_dir, "training"):
            if not config.output_dir.exists():  # another run may have finished while this one waited for the lock
                with explain_training_errors(config):
                    return _train(recipe, config, data, on_step)
    wanted = {"recipe": recipe.name, "config": config.select_cache_key_fields()}
    return load_finished_run(config.output_dir, wanted, model=config.model, files=config.list_files())


class _Inputs(NamedTuple):
    """What training reads: pairs after the transformations of the config, generated pairs, features, checkpoint."""

    pairs: TrainingData
    augmenter: PairAugmenter | None
    features: PairFeatures | None
    checkpoint: Path | None


class _Network(NamedTuple):
    """The classifier, its objective with the collator, and how its weights are sharded and interpolated."""

    classifier: Classifier
    objective: Objective
    collator: PairCollator
    sharding: str | None
    interpolation: WeightInterpolation | None


def _train(recipe: Recipe, config: TrainConfig, data: TrainingData | None, on_step: OnStep | None) -> Record:
    work, cost = get_work_folder(config.output_dir), TrainingCost()
    before = config.build_prerequisite_configs(work)
    assert data is None or not before, "prerequisite runs read the data of the config"
    for each in before.values():
        run(PLAIN, each, on_step=on_step)
    accelerator = _accelerator(config, work)
    sharding.configure_sharding(
        accelerator,
        batch_size=config.batch_size,
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        max_grad_norm=config.max_grad_norm,
    )
    with accelerator.main_process_first():  # the first process fills the caches of the others
        inputs = _load_inputs(recipe, config, data, {name: each.output_dir for name, each in before.items()})
    network = _load_network(recipe, config, accelerator, inputs.pairs)
    classifier, objective = network.classifier, network.objective
    epochs = EpochBatches(
        inputs.pairs.training,
        config,
        network.collator,
        rank=accelerator.process_index,
        world_size=accelerator.num_processes,
        augmenter=inputs.augmenter,
        features=inputs.features,
    )
    held_out = HeldOutEvaluator(inputs.pairs.held_out, network.collator.encoder, classifier.order)
    identity = _build_identity(recipe, config, accelerator, inputs, network)
    pushed = (
        HubCheckpointUploader(config.push_checkpoints)
        if config.push_checkpoints and accelerator.is_main_process
        else None
    )
    checkpoints = CheckpointManager(
        work / "checkpoints",
        accelerator,
        identity,
        resume_from=inputs.checkpoint,
        on_saved=pushed.push if pushed else None,
    )
    _begin_tracking(accelerator, config)
    on_step = on_step if accelerator.is_main_process else None
    module, state = train(objective, epochs, held_out, config, accelerator, checkpoints, on_step=on_step)
    if pushed:
        pushed.wait()
    evaluation = state.best if config.early_stopping_patience else state.evaluations[-1]
    chosen: Record = {"best_evaluation": evaluation}
    if network.interpolation is not None:
        evaluate = partial(held_out.evaluate, module, accelerator)
        interpolation = network.interpolation.select_weights(objective.network, evaluate)
        chosen = {
            "best_evaluation": {**(evaluation or {}), **get_chosen_metrics(interpolation)},
            "interpolation": interpolation,
        }
    objective.finish(module, _first_epoch(epochs, accelerator), accelerator)
    record = {
        "schema": _SCHEMA,
        **identity,
        # Paths and interruptions do not influence the weights.
        "config": config.to_json()
        | {"output_dir": config.output_dir.name, "resume_from_checkpoint": None, "push_checkpoints": None},
        "label_order": list(classifier.order),
        "pairs_per_epoch": epochs.pairs,
        "steps_per_epoch": epochs.steps,
        "steps": state.step,
        "truncated_pairs": epochs.truncated,
        **({} if epochs.bias_accuracy is None else {"bias_accuracy": epochs.bias_accuracy}),
        **({} if inputs.augmenter is None else {"augmentation": inputs.augmenter.build_record()}),
        "evaluations": state.evaluations,
        **chosen,
        "processes": accelerator.num_processes,
        "sharding": network.sharding,
        "device": accelerator.device.type,
        "environment": {**results.collect_environment(), "accelerate": version("accelerate")},
    }
    for tracker in accelerator.trackers:
        tracker.finish()  # flushes its files, which are published with the model
    took = cost.build_record(accelerator.device, accelerator.num_processes)
    write_model_folder(config.output_dir, record, took, module, objective, classifier, accelerator)
    accelerator.free_memory()
    return record


def _load_inputs(recipe: Recipe, config: TrainConfig, data: TrainingData | None, models: Mapping[str, Path]) -> _Inputs:
    """Load the pairs and everything that is computed from them. `models` are the folders of the prerequisite runs."""
    raw = data or load_training_data(config)
    return _Inputs(
        _transform(raw, config),
        _augmenter(raw, config),
        recipe.pair_features(config, raw, models) if recipe.pair_features else None,
        fetch_checkpoint(config.resume_from_checkpoint) if config.resume_from_checkpoint else None,
    )


def _load_network(recipe: Recipe, config: TrainConfig, accelerator: Accelerator, pairs: TrainingData) -> _Network:
    with sharding.disable_sharded_loading(accelerator):
        classifier = load_classifier_for_training(
            config.model,
            revision=config.revision,
            label_map=parse_label_map(config.label_map) if config.label_map else None,
            seed=int(rng.compute_key(config.seed, "head")),
        )
    kind = sharding.describe_sharding(accelerator)
    # The interpolation copies the weights before the objective changes the network.
    is_interpolated = getattr(config, "interpolate", False)
    interpolation = WeightInterpolation(classifier.network, sharding=kind) if is_interpolated else None
    # Objectives may add layers with random weights, such as HEX's branch or the gate of the learned mixin.
    torch.manual_seed(int(rng.compute_key(config.seed, "objective")))
    objective = recipe.objective(classifier, config, pairs)
    collator = PairCollator(
        PairEncoder.from_classifier(classifier, config.max_length),
        classifier.order,
        objective.build_extra_pairs,
        regimes.WordShuffler(pairs.language, config.seed) if config.word_order == "shuffled" else None,
    )
    return _Network(classifier, objective, collator, kind, interpolation)


def _build_identity(
    recipe: Recipe, config: TrainConfig, accelerator: Accelerator, inputs: _Inputs, network: _Network
) -> Record:
    """Build the part of the record that identifies a run: a checkpoint belongs to a run with the same values."""
    keys = config.select_cache_key_fields().items()
    return {
        "recipe": recipe.name,
        "config": {name: value for name, value in keys if name not in ("model", "revision")},
        "precision": accelerator.mixed_precision,
        "model": {"name": network.classifier.name, "revision": network.classifier.revision},
        "data": inputs.pairs.build_record(),
        **({"parser": None} if inputs.augmenter is None else inputs.augmenter.identity),
        **({"known": inputs.features.identity} if inputs.features else {}),
        **network.objective.build_provenance(),
    }


def _accelerator(config: TrainConfig, work: Path) -> Accelerator:
    validate_trackers(config.report_to)
    with sharding.allow_missing_gpu():
        return Accelerator(
            cpu=not torch.accelerator.is_available(),  # otherwise torchrun's processes form no group on a CPU
            mixed_precision=config.precision,
            # The loop counts the passes; accelerate must not end a step at the end of a data loader.
            gradient_accumulation_plugin=GradientAccumulationPlugin(
                num_steps=config.gradient_accumulation_steps, sync_with_dataloader=False
            ),
            # A step is one batch, split over the processes.
            dataloader_config=DataLoaderConfiguration(split_batches=True),
            log_with=list(config.report_to) or None,
            project_dir=str(work / LOGS),
        )


def _transform(data: TrainingData, config: TrainConfig) -> TrainingData:
    if config.word_order == "permuted":
        data = data.map_parts(partial(regimes.permute_words, seed=config.seed), held_out=False)
    if config.hypothesis_only:
        data = data.map_parts(regimes.clear_premises, held_out=True)
    return data


def _augmenter(data: TrainingData, config: TrainConfig) -> PairAugmenter | None:
    if not config.augment:
        return None
    train_config.validate_english({data.language})
    pairs = train_config.compute_augmentation_counts(
        config.augment, config.augment_pairs, regimes.count_pairs_per_epoch(data.training)
    )
    return PairAugmenter(data.training, pairs=pairs, words=config.augment_words, seed=config.seed)


def _begin_tracking(accelerator: Accelerator, config: TrainConfig) -> None:
    if not config.report_to:
        return
    values = {name: value if isinstance(value, int | float) else str(value) for name, value in config.to_json().items()}
    init = {
        tracker: {named: config.output_dir.name} for tracker, named in _RUN_NAME.items() if tracker in config.report_to
    }
    accelerator.init_trackers("unbag", config=values, init_kwargs=init)


def _first_epoch(epochs: EpochBatches, accelerator: Accelerator) -> Iterator[dict[str, torch.Tensor]]:
    """Iterate over this process's part of the first epoch, as inputs of `Objective.predict`."""
    for batch in epochs.build_epoch(0).iter_items(0, num_workers=0, pin_memory=False):
        yield send_to_device(batch.encoded, accelerator.device)
