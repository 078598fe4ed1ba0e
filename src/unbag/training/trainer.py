"""Base class of the recipes' trainers, with the callbacks and the arguments of a run.

A recipe is a subclass with its own `compute_loss`. It works like any `transformers.Trainer`: with the data of a run
(`training.run`), or with your own datasets and collator.
"""

import errno
import math
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from accelerate.utils import DistributedType
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from unbag.inference.distributed import COLLECTIVE_TIMEOUT, connect_process_group
from unbag.inference.memory import OutOfMemoryError, is_out_of_memory
from unbag.inference.tokenization import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS
from unbag.training.bias import BiasFeatures
from unbag.training.config import TrainConfig
from unbag.training.data import TrainingData
from unbag.training.dataset import ALL, BatchSampler, TrainingPairs, group_metrics
from unbag.utils import parallel, rng
from unbag.utils.errors import is_disk_full
from unbag.utils.redaction import extract_first_line

_TYPICAL_TOKENS: Final = 32  # of a pair, for the number of pairs per evaluation batch
OnStep = Callable[[int, int, str], None]
"""Called after every step with `(step, total_steps, message)`."""


@contextmanager
def explain_training_errors(config: TrainConfig) -> Iterator[None]:
    """Convert library errors in the `with` block to one-line messages that name the options to change.

    Batch size and precision are never changed automatically, since they determine the weights.

    Raises:
        OutOfMemoryError: If a step does not fit into memory.
        ValueError: If a data loading process died.
        OSError: If the disk is full, with its error number.
    """
    try:
        yield
    except OutOfMemoryError:  # has a one-line message already
        raise
    except Exception as error:
        if is_out_of_memory(error):
            steps = min(2 * config.gradient_accumulation_steps, config.batch_size)
            more = f"use --gradient-accumulation-steps {steps} for the same pairs in more passes, "
            raise OutOfMemoryError(
                f"out of memory in a training step ({extract_first_line(error, max_length=200)}); "
                f"{more if steps > config.gradient_accumulation_steps else ''}a lower --max-length, or --precision "
                f"bf16. A --batch-size below {config.batch_size} also needs less memory, but changes the training"
            ) from error
        # A process that dies while it sends a batch breaks the connection before torch reports its death.
        # Other connections, such as those of trackers, break outside the loader.
        is_broken = (
            isinstance(error, ConnectionError | EOFError)
            and config.dataloader_num_workers > 0
            and any(
                frame.f_globals.get("__name__") == "torch.utils.data.dataloader"
                for frame, _ in traceback.walk_tb(error.__traceback__)
            )
        )
        if is_broken or (isinstance(error, RuntimeError) and "DataLoader worker" in str(error)):
            raise ValueError(
                f"a data loading process died ({extract_first_line(error)}), perhaps due to a lack of memory; use "
                f"fewer processes (--dataloader-num-workers, got {config.dataloader_num_workers}; 0 for none), and "
                "rerun the same command to resume from the last checkpoint"
            ) from error
        # Libraries report a full disk by errors of their own types. Callers expect the error number.
        if is_disk_full(error) and not isinstance(error, OSError):
            raise OSError(errno.ENOSPC, extract_first_line(error)) from error
        raise


class PairTrainer(Trainer):
    """Trainer of a classifier of pairs with the mean cross-entropy of a batch; base class of all recipes.

    Subclasses override `compute_loss`. The loss is a mean over the pairs of this process's part of the batch.

    FSDP and DeepSpeed gather the weights of a module during its forward pass only. Therefore subclasses add modules to
    the network and call them in a forward hook of the network.
    """

    extra_modules: tuple[str, ...] = ()
    """Names of the modules that a subclass adds to the network, which are not published."""

    def __init__(
        self,
        model: Any,
        config: TrainConfig | None = None,
        *,
        tokenizer: Any = None,
        args: TrainingArguments | None = None,
        **options: Any,
    ) -> None:
        """Initialize the trainer.

        Args:
            config: Options of the recipe; those of the loss have an effect here, the others are in `args`.
            tokenizer: For recipes that look for the last layer of the model or its words.
        """
        self.config: Any = config
        self._sums: dict[str, Tensor] = {}
        self._passes = 0
        super().__init__(model, args, **options)
        # Otherwise Trainer would expect a loss that is already divided by the number of pairs of all passes.
        self.model_accepts_loss_kwargs = False

    @staticmethod
    def load_features(config: Any, pairs: TrainingData, models: Mapping[str, Path]) -> BiasFeatures | None:
        """Load what the loss needs to know of each pair besides its label. By default, nothing.

        `pairs` are the training data as read, and `models` the folders of the prerequisite runs.
        """
        return None

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Compute the mean cross-entropy of a batch."""
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        # Half precision loses digits in the sum of exponentials.
        loss = cross_entropy(outputs.logits.float(), labels)
        return (loss, outputs) if return_outputs else loss

    def record(self, **values: Tensor) -> None:
        """Record terms of the loss. Their means since the last log entry are logged with the loss."""
        for name, value in values.items():
            # On the device: reading a value would make the host wait.
            self._sums[name] = self._sums.get(name, torch.zeros_like(value)) + value.detach()
        self._passes += 1

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log values, and with a loss also the recorded terms."""
        if "loss" in logs and self._sums:
            means = self.accelerator.reduce(torch.stack([*self._sums.values()]) / self._passes, reduction="mean")
            logs |= zip(self._sums, means.tolist(), strict=True)
            self._sums, self._passes = {}, 0
        super().log(logs, start_time)

    def evaluate(self, *arguments: Any, **options: Any) -> dict[str, float]:
        """Evaluate held-out pairs, without influence on the random numbers of the training."""
        # A data loader draws from torch's generator, which draws the dropout masks.
        with torch.random.fork_rng(devices=[]):
            metrics: dict[str, float] = super().evaluate(*arguments, **options)
        return metrics

    def prediction_step(
        self, model: Any, inputs: dict[str, Any], prediction_loss_only: bool, ignore_keys: list[str] | None = None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Compute the logits of the published network."""
        inputs = self._prepare_inputs(inputs)
        labels = inputs.pop("labels")
        with torch.no_grad(), self.compute_loss_context_manager():
            logits = model(**inputs).logits.float()
        return None, logits, labels

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        pairs = self.train_dataset if train_dataset is None else train_dataset
        if not isinstance(pairs, TrainingPairs):
            return super()._get_train_sampler(train_dataset)
        size = self.args.per_device_train_batch_size
        n_parts = self.args.world_size * self.args.gradient_accumulation_steps
        stratified = getattr(self.config, "augment_batches", "random") == "stratified"
        return BatchSampler(pairs, size * n_parts, seed=self.args.seed, n_parts=n_parts, stratified=stratified)

    def finish(self) -> None:
        """Complete the training with the best weights, in all processes. By default, this method does nothing."""

    def build_provenance(self) -> dict[str, Any]:
        """Build a JSON record of additional inputs that determine the weights. By default, the record is empty."""
        return {}

    def save_extra(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Write additional learned parameters to the output folder, from the gathered `state_dict` of the network."""


def validate_batch_size(config: TrainConfig) -> int:
    """Validate that a batch can be divided among processes and accumulation steps. Returns the number of parts."""
    world_size, steps = connect_process_group().world_size, config.gradient_accumulation_steps
    if config.batch_size % (world_size * steps):
        raise ValueError(
            f"--batch-size: expected a multiple of {world_size * steps} ({world_size} processes × "
            f"--gradient-accumulation-steps {steps}), got {config.batch_size}; change --batch-size"
        )
    return world_size * steps


def build_training_arguments(config: TrainConfig, output_dir: Path, *, n_pairs: int) -> TrainingArguments:
    """Build the arguments of `Trainer` for a run with `n_pairs` training pairs per epoch."""
    parts = validate_batch_size(config)
    if n_pairs < connect_process_group().world_size:
        raise ValueError(f"expected at least one training pair per process, got {n_pairs}; use more pairs")
    is_cpu = not torch.accelerator.is_available()
    precision = config.precision or os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    args = TrainingArguments(
        output_dir=str(output_dir),
        per_device_train_batch_size=config.batch_size // parts,
        per_device_eval_batch_size=(CPU_BATCH_TOKENS if is_cpu else GPU_BATCH_TOKENS) // _TYPICAL_TOKENS,
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        num_train_epochs=config.num_train_epochs,
        max_steps=config.max_steps or -1,
        learning_rate=config.learning_rate,
        warmup_steps=math.ceil(config.warmup_ratio * count_steps(config, n_pairs)),
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        seed=config.seed % 2**32,  # the range of NumPy's seeds
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        use_cpu=is_cpu,  # otherwise torchrun's processes form no group on a CPU
        eval_strategy="steps",
        eval_steps=config.eval_steps or count_steps_per_epoch(config, n_pairs),
        save_steps=config.save_steps,
        save_total_limit=2,  # the one before the last is complete if a run is killed while it writes the last one
        logging_steps=config.logging_steps,
        logging_nan_inf_filter=False,  # `on_log` must see a loss that is infinite or NaN
        report_to=list(config.report_to) or "none",
        run_name=config.output_dir.name,
        project="unbag",
        trackio_static_space_id=False,
        disable_tqdm=True,  # `on_step` reports the progress
        remove_unused_columns=False,  # `PairCollator` reads keys that are no arguments of the network
        label_names=["labels"],
        dataloader_num_workers=config.dataloader_num_workers,
        dataloader_multiprocessing_context=parallel.START_METHOD if config.dataloader_num_workers else None,
        dataloader_pin_memory=not is_cpu,
        ddp_find_unused_parameters=False,  # every parameter has a gradient in every step
        ddp_timeout=int(COLLECTIVE_TIMEOUT.total_seconds()),
    )
    args._n_gpu = min(args.n_gpu, 1)  # one process uses one GPU; `Trainer` would divide each batch among all
    return args


def describe_sharding(trainer: PairTrainer) -> str | None:
    """Describe how weights and optimizer state are sharded. Return None if they are not sharded."""
    kind = trainer.accelerator.distributed_type
    return str(kind.value) if kind in (DistributedType.FSDP, DistributedType.DEEPSPEED) else None


def count_steps(config: TrainConfig, n_pairs: int) -> int:
    """Compute the number of steps of a run without early stopping."""
    return config.max_steps or config.num_train_epochs * count_steps_per_epoch(config, n_pairs)


def count_steps_per_epoch(config: TrainConfig, n_pairs: int) -> int:
    """Compute the number of steps of an epoch. The last step may have fewer pairs."""
    return math.ceil(n_pairs / config.batch_size)


def list_evaluations(state: TrainerState) -> list[dict[str, Any]]:
    """List the evaluations so far, each with its `step` and the metrics by dataset."""
    grouped = [(entry["step"], group_metrics(entry)) for entry in state.log_history]
    return [{"step": step, **metrics} for step, metrics in grouped if metrics]


def find_best_evaluation(state: TrainerState) -> dict[str, Any]:
    """Find the evaluation with the best accuracy on all held-out pairs, the first one if tied."""
    return max(list_evaluations(state), key=lambda evaluation: float(evaluation[ALL]["accuracy"]))


class RunCallback(TrainerCallback):
    """Callback that controls a run: dropout, reports of steps, divergence, and early stopping."""

    def __init__(self, config: TrainConfig, on_step: OnStep | None = None) -> None:
        self._config, self._on_step = config, on_step
        self._loss: float | None = None
        self._accuracy: float | None = None
        self._reported: int | None = None

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Seed the dropout of each process. A resumed run then loads the state of its checkpoint."""
        self._reported = state.global_step
        if state.best_global_step is not None:  # a checkpoint of another run has the path of that run
            name = f"{PREFIX_CHECKPOINT_DIR}-{state.best_global_step}"
            state.best_model_checkpoint = str(Path(args.output_dir) / name)
        torch.manual_seed(int(rng.compute_key(self._config.seed, "dropout", args.process_index)))

    def on_step_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Report the step before, once its evaluation and its checkpoint are complete."""
        self._report(state)

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Log the last step, and save no checkpoint of it, since `Trainer` would train on from such a checkpoint."""
        if state.global_step >= state.max_steps:
            control.should_log, control.should_save = True, False

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **_: Any) -> None:
        """Validate the loss. Only log entries contain it: reading it in every step would make the host wait."""
        if logs and "loss" in logs:
            self._loss = logs["loss"]
            if not math.isfinite(logs["loss"]):
                raise ValueError(
                    f"the loss at step {state.global_step} is {logs['loss']}; use a --learning-rate below "
                    f"{self._config.learning_rate}, or a --precision other than {args.mixed_precision}"
                )

    def on_evaluate(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Save the best weights, and stop if the last `early_stopping_patience` evaluations brought no gain."""
        self._accuracy = list_evaluations(state)[-1][ALL]["accuracy"]
        if (patience := self._config.early_stopping_patience) is None:
            return
        evaluations, best = list_evaluations(state), find_best_evaluation(state)
        state.best_global_step = best["step"]
        if len(evaluations) - 1 - evaluations.index(best) >= patience:
            # No checkpoint here, for the reason given in `on_step_end`.
            control.should_training_stop, control.should_save = True, False
        elif best["step"] == state.global_step < state.max_steps:
            control.should_save = True

    def on_train_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Report the last step."""
        self._report(state)

    def _report(self, state: TrainerState) -> None:
        if self._on_step is None or self._reported == state.global_step:
            return
        self._reported = state.global_step
        values = {"loss": self._loss, "accuracy": self._accuracy}
        message = ", ".join(f"{name} {value:.3f}" for name, value in values.items() if value is not None)
        self._on_step(state.global_step, state.max_steps, message)
