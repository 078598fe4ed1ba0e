"""Training of one model with a recipe and its config."""

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

try:
    import torch
    from accelerate.utils import DistributedType, parse_flag_from_env, patch_environment
    from transformers import PrinterCallback
except ImportError as error:
    raise ImportError("training requires PyTorch, transformers and accelerate: pip install 'unbag[models]'") from error

from unbag.challenge_sets import results
from unbag.data.labels import parse_label_map
from unbag.inference.distributed import connect_process_group
from unbag.inference.loading import Classifier, load_classifier_for_training
from unbag.training.augmented import PairAugmenter
from unbag.training.bias import BiasFeatures
from unbag.training.config import TrainConfig
from unbag.training.data import (
    PermutedPairs,
    TrainingData,
    load_training_data,
    mix_datasets,
    permute_words,
    shuffle_words,
)
from unbag.training.dataset import HeldOutPairs, PairCollator, PairEncoder, TrainingPairs, group_metrics
from unbag.training.output import (
    LOGS,
    CheckpointCallback,
    Record,
    build_cost_record,
    copy_best_checkpoint,
    fetch_checkpoint,
    find_intact_checkpoint,
    get_work_folder,
    load_finished_run,
    lock_output_folder,
    read_checkpoint,
    remove_incomplete_checkpoints,
    write_model_folder,
)
from unbag.training.trainer import (
    OnStep,
    PairTrainer,
    RunCallback,
    build_training_arguments,
    count_steps,
    count_steps_per_epoch,
    describe_sharding,
    explain_training_errors,
    find_best_evaluation,
    list_evaluations,
)
from unbag.training.weight_averaging import copy_original_weights, interpolate_network
from unbag.utils import rng

_SCHEMA: Final = 2
_CHECKPOINTS: Final = "checkpoints"
logger = logging.getLogger(__name__)


def run(config: TrainConfig, *, data: TrainingData | None = None, on_step: OnStep | None = None) -> Record:
    """Train a model with the recipe of a config, and write it to `config.output_dir`.

    An interrupted run resumes from its last checkpoint when called again, and a finished run is not repeated. The
    processes of `torchrun` or `accelerate launch` share the work.

    Args:
        data: Training and held-out data; by default those of the config.
        on_step: Called in the first process after every step.

    Returns:
        The record, which is also written beside the weights: config, data, model, evaluations and versions.
    """
    connect_process_group()  # joins the processes of a launcher; they wait for each other without a time limit
    if not config.output_dir.exists():
        # The lock is inside, because torch reports a dead data loading process even while the lock is released.
        with explain_training_errors(config), lock_output_folder(config.output_dir, "training"):
            if not config.output_dir.exists():  # another run may have finished while this one waited for the lock
                return _train(config, data, on_step)
    return load_finished_run(config)


class _Inputs(NamedTuple):
    data: TrainingData  # after the transformations of the config
    augmenter: PairAugmenter | None
    features: BiasFeatures | None


def _train(config: TrainConfig, data: TrainingData | None, on_step: OnStep | None) -> Record:
    work, began = get_work_folder(config.output_dir), time.monotonic()
    before = config.build_prerequisite_configs(work)
    assert data is None or not before, "prerequisite runs read the data of the config"
    for each in before.values():
        run(each, on_step=on_step)
    group = connect_process_group()
    models = {name: each.output_dir for name, each in before.items()}
    # The first process fills the caches of the others.
    inputs = group.main_process_first(lambda: _load_inputs(config, data or load_training_data(config), models))
    # Each process loads complete weights, since recipes inspect the network before it is sharded.
    with patch_environment(FSDP_CPU_RAM_EFFICIENT_LOADING="false"):
        classifier = load_classifier_for_training(
            config.model,
            revision=config.revision,
            label_map=parse_label_map(config.label_map) if config.label_map else None,
            seed=int(rng.compute_key(config.seed, "head")),
        )
    checkpoints = CheckpointCallback(config.push_checkpoints if group.rank == 0 else None)
    control = RunCallback(config, on_step if group.rank == 0 else None)
    trainer = _build_trainer(config, classifier, inputs, [control, checkpoints])
    pairs = trainer.train_dataset
    assert isinstance(pairs, TrainingPairs)
    for kind in (DistributedType.FSDP, DistributedType.DEEPSPEED):
        if parse_flag_from_env(f"ACCELERATE_USE_{kind.value}") and describe_sharding(trainer) != kind.value:
            logger.warning(
                "the accelerate config selects %s, which requires GPUs, but no GPU is available; each process keeps "
                "all weights",
                kind.value,
            )
    original = None
    if getattr(config, "interpolate", False):
        original = copy_original_weights(classifier.network, sharding=describe_sharding(trainer))
    checkpoints.identity = identity = _build_identity(config, classifier, inputs, trainer)
    folder = work / _CHECKPOINTS
    try:
        trainer.train(resume_from_checkpoint=_find_start(config, folder, identity, len(pairs)))
    finally:
        if group.rank == 0:
            remove_incomplete_checkpoints(folder)  # also after a signal; partial files would keep a full disk full
    evaluations, steps = list_evaluations(trainer.state), trainer.state.global_step
    if config.early_stopping_patience and (trainer.state.best_global_step or 0) < steps:
        trainer._load_best_model()
    trainer.finish()
    evaluation = find_best_evaluation(trainer.state) if config.early_stopping_patience else evaluations[-1]
    chosen: Record = {"best_evaluation": evaluation}
    if original is not None:
        weights = interpolate_network(classifier.network, original, lambda: group_metrics(trainer.evaluate()))
        [row] = [row for row in weights["curve"] if row["alpha"] == weights["alpha"]]
        row = {part: metrics for part, metrics in row.items() if part != "alpha"}
        chosen = {"best_evaluation": evaluation | row, "interpolation": weights}
    accelerator = trainer.accelerator
    record = {
        "schema": _SCHEMA,
        **identity,
        # Paths and interruptions do not influence the weights.
        "config": config.to_json()
        | {"output_dir": config.output_dir.name, "resume_from_checkpoint": None, "push_checkpoints": None},
        "label_order": list(classifier.order),
        "pairs_per_epoch": len(pairs),
        "steps_per_epoch": count_steps_per_epoch(config, len(pairs)),
        "steps": steps,
        "truncated_pairs": pairs.truncated,
        **({} if pairs.bias_accuracy is None else {"bias_accuracy": pairs.bias_accuracy}),
        **({} if inputs.augmenter is None else {"augmentation": inputs.augmenter.build_record()}),
        "evaluations": evaluations,
        **chosen,
        "processes": accelerator.num_processes,
        "sharding": describe_sharding(trainer),
        "device": accelerator.device.type,
        "environment": {**results.collect_environment(), "accelerate": version("accelerate")},
    }
    cost = build_cost_record(accelerator.device, accelerator.num_processes, time.monotonic() - began)
    write_model_folder(config.output_dir, record, cost, trainer, classifier)
    accelerator.free_memory()
    return record


def _load_inputs(config: TrainConfig, raw: TrainingData, models: Mapping[str, Path]) -> _Inputs:
    """Load everything that is computed from the pairs. `models` are the folders of the prerequisite runs."""
    pairs, augmenter = raw, None
    if config.word_order == "permuted":
        permuted = tuple(permute_words(part, seed=config.seed) for part in raw.training)
        pairs = TrainingData(permuted, raw.held_out)
    if config.hypothesis_only:  # Poliak et al. 2018, Gururangan et al. 2018
        training, held_out = (
            tuple(replace(part, examples=[each._replace(premise="") for each in part.examples]) for part in parts)
            for parts in (pairs.training, pairs.held_out)
        )
        pairs = TrainingData(training, held_out)
    if config.augment:
        n_pairs = len(mix_datasets(raw.training, seed=config.seed, epoch=0))
        augmenter = PairAugmenter(
            raw.training,
            pairs=config.compute_augmentation_counts(n_pairs),
            words=config.augment_words,
            seed=config.seed,
        )
    return _Inputs(pairs, augmenter, resolve_name(config.trainer).load_features(config, raw, models))


def _build_trainer(config: TrainConfig, classifier: Classifier, inputs: _Inputs, callbacks: list[Any]) -> PairTrainer:
    """Build the trainer of the recipe, with its training data."""
    data, augmenter, features = inputs
    encoder, seed = PairEncoder.from_classifier(classifier, config.max_length), config.seed
    permuted = shuffler = None
    if config.permuted_copies:
        permuted = PermutedPairs(config.permuted_copies, seed=seed, language=data.training[0].language)
    if config.word_order == "shuffled":
        shuffler = partial(shuffle_words, language=data.language, seed=seed)
    pairs = TrainingPairs(
        data.training,
        encoder,
        classifier.order,
        seed=seed,
        augmenter=augmenter,
        features=features,
        transform=shuffler,
        build_extra_pairs=permuted,
    )
    held_out = HeldOutPairs(data.held_out, encoder, classifier.order)
    work = get_work_folder(config.output_dir)
    for name in ("WANDB_PROJECT", "MLFLOW_EXPERIMENT_NAME"):  # trackers read their names from the environment
        os.environ.setdefault(name, "unbag")
    # Trainers may add layers with random weights, such as HEX's branch or the gate of the learned mixin.
    torch.manual_seed(int(rng.compute_key(config.seed, "objective")))
    # With FSDP 2, accelerate shards the word embeddings itself, which fails if it has sharded their parent (in BERT).
    layers = getattr(classifier.network, "_no_split_modules", None) or []
    classifier.network._no_split_modules = [name for name in layers if not name.endswith("Embeddings")]
    use_cache = vars(classifier.network.config).get("use_cache")
    environment = {"TENSORBOARD_LOGGING_DIR": str(work / LOGS / "unbag")}
    if config.precision:
        # `Trainer` has no argument for float32, and would use the precision of accelerate's config instead.
        environment["ACCELERATE_MIXED_PRECISION"] = config.precision
    if not torch.accelerator.is_available() and os.environ.get("FSDP_VERSION", "1") == "1":
        # Without a GPU, accelerate shards nothing, but FSDP 1 would look for a GPU to broadcast weights.
        environment |= {"FSDP_SYNC_MODULE_STATES": "false", "FSDP_CPU_RAM_EFFICIENT_LOADING": "false"}
    with patch_environment(**environment):
        args = build_training_arguments(config, work / _CHECKPOINTS, n_pairs=len(pairs))
        trainer: PairTrainer = resolve_name(config.trainer)(
            classifier.network,
            config,
            tokenizer=classifier.tokenizer,
            args=args,
            data_collator=PairCollator(encoder),
            train_dataset=pairs,
            eval_dataset=held_out,
            compute_metrics=held_out.compute_metrics,
            callbacks=callbacks,
        )
    trainer.remove_callback(PrinterCallback)
    # `Trainer` changes this field of the config, which is published with the model.
    if use_cache is None:
        vars(classifier.network.config).pop("use_cache", None)
    else:
        classifier.network.config.use_cache = use_cache
    return trainer


def _build_identity(config: TrainConfig, classifier: Classifier, inputs: _Inputs, trainer: PairTrainer) -> Record:
    """Build the part of the record that identifies a run: a checkpoint belongs to a run with the same values."""
    keys = config.select_cache_key_fields().items()
    data, augmenter, features = inputs
    return {
        "recipe": config.recipe,
        "config": {name: value for name, value in keys if name not in ("model", "revision")},
        "precision": trainer.accelerator.mixed_precision,
        "model": {"name": classifier.identity.name, "revision": classifier.identity.revision},
        "data": data.build_record(),
        **({"parser": None} if augmenter is None else augmenter.identity),
        **({"known": features.identity} if features else {}),
        **trainer.build_provenance(),
    }


def _find_start(config: TrainConfig, folder: Path, identity: Record, n_pairs: int) -> str | None:
    """Find the checkpoint to resume from: the last one of this run, else that of `resume_from_checkpoint`."""
    group = connect_process_group()
    start = group.broadcast(find_intact_checkpoint(folder) if group.rank == 0 else None)
    if start is None and config.resume_from_checkpoint:
        start = fetch_checkpoint(config.resume_from_checkpoint)
    if start is None:
        return None
    start, step = read_checkpoint(start, identity)
    if start.parent != folder:
        found = start
        group.main_process_first(lambda: copy_best_checkpoint(found, folder))
    logger.warning("resuming after step %d of %d", step, count_steps(config, n_pairs))
    return str(start)
