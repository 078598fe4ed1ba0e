"""One training loop for all objectives, on accelerate, and the evaluation of held-out pairs."""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, send_to_device
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim import AdamW
from transformers import get_linear_schedule_with_warmup

from unbag.inference.memory import BatchSplitter
from unbag.inference.tokenization import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS, build_token_batches, iter_process_batches
from unbag.training.checkpoints import CheckpointManager
from unbag.training.config import TrainConfig
from unbag.training.data import PairDataset
from unbag.training.dataloading import EpochBatches, PairEncoder
from unbag.training.objective import Objective
from unbag.utils import rng

ALL: Final = "all"
"""Name of the metrics over all held-out pairs."""

Rows = NDArray[np.intp]

Metrics = dict[str, dict[str, float]]
"""Metrics by name of the subset, including all pairs: `accuracy`, `loss` (mean cross-entropy) and `pairs`."""


class HeldOutEvaluator:
    """Evaluator for the held-out pairs, which are tokenized once."""

    def __init__(self, parts: Sequence[PairDataset], encoder: PairEncoder, order: Sequence[str]) -> None:
        self._splitter = BatchSplitter()
        self._names = [part.name for part in parts]
        self._encoder = encoder
        self._encoded = encoder.encode_all([example for part in parts for example in part.examples])
        self._outputs = np.array([order.index(example.label) for part in parts for example in part.examples])
        self._part = np.repeat(np.arange(len(parts)), [len(part.examples) for part in parts])

    def evaluate(self, module: Any, accelerator: Accelerator) -> Metrics:
        """Compute the metrics of a model. The pairs are divided among the processes.

        Args:
            module: Module that maps a batch to logits in evaluation mode, prepared by `accelerator`.
            accelerator: Accelerator of the run.
        """
        budget = CPU_BATCH_TOKENS if accelerator.device.type == "cpu" else GPU_BATCH_TOKENS
        batches = list(build_token_batches(self._encoded.lengths.tolist(), budget))
        world_size, rank = accelerator.num_processes, accelerator.process_index
        # float64: in float32, sums over many pairs would depend on how the processes share them.
        sums = torch.zeros(len(self._names), 3, dtype=torch.float64)  # correct predictions, loss, pairs
        module.eval()
        with torch.no_grad():
            for batch, wanted in iter_process_batches(batches, world_size, rank):
                for rows, logits in self._run_batch(batch, partial(self._logits, module, accelerator), world_size):
                    if wanted:
                        gold = torch.from_numpy(self._outputs[rows])
                        correct = logits.argmax(dim=1) == gold
                        losses = cross_entropy(logits, gold, reduction="none")
                        values = torch.stack([correct, losses, torch.ones_like(losses)], dim=1).double()
                        sums.index_add_(0, torch.from_numpy(self._part[rows]), values)
        module.train()
        return self._metrics(_summed(sums, accelerator))

    def _run_batch(
        self, batch: Rows, run: Callable[[Rows], torch.Tensor], world_size: int
    ) -> Iterator[tuple[Rows, torch.Tensor]]:
        """Iterate over the logits of a batch. A single process halves a batch that does not fit into memory."""
        if world_size == 1:
            return self._splitter.run_in_parts(batch, self._encoded.lengths, run)
        # Several processes must call a sharded module equally often, so none may halve its batch.
        return iter([(batch, run(batch))])

    def _logits(self, module: Any, accelerator: Accelerator, rows: Rows) -> torch.Tensor:
        encoded = self._encoder.pad([self._encoded.get_tokens(row) for row in rows.tolist()])
        logits: torch.Tensor = module(None, **send_to_device(encoded, accelerator.device)).float().cpu()
        return logits

    def _metrics(self, sums: torch.Tensor) -> Metrics:
        metrics = {name: _means(row) for name, row in zip(self._names, sums.tolist(), strict=True)}
        return {**metrics, ALL: _means(sums.sum(dim=0).tolist())}


def _means(row: Sequence[float]) -> dict[str, float]:
    correct, loss, pairs = row
    return {"accuracy": correct / max(pairs, 1), "loss": loss / max(pairs, 1), "pairs": int(pairs)}


def _summed(values: torch.Tensor, accelerator: Accelerator) -> torch.Tensor:
    if accelerator.num_processes == 1:
        return values
    summed: torch.Tensor = accelerator.reduce(values.to(accelerator.device), reduction="sum").cpu()
    return summed


logger = logging.getLogger(__name__)

OnStep = Callable[[int, int, str], None]
"""Called after every step with `(step, total_steps, message)`."""


class DivergedError(ValueError):
    """Error for a loss that is infinite or NaN."""


@dataclass
class TrainingState:
    """Progress of a training run, which checkpoints store beside the weights.

    Attributes:
        step: Number of completed steps.
        evaluations: Evaluations so far, each with its `step` and the metrics by part.
    """

    step: int = 0
    evaluations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def best(self) -> dict[str, Any] | None:
        """Evaluation with the best accuracy on all held-out pairs (the first if tied).

        None before the first evaluation.
        """
        return max(self.evaluations, key=lambda evaluation: float(evaluation[ALL]["accuracy"]), default=None)

    def is_stopped(self, patience: int | None) -> bool:
        """Check whether the last `patience` evaluations brought no accuracy gain."""
        if patience is None or self.best is None:
            return False
        return len(self.evaluations) - 1 - self.evaluations.index(self.best) >= patience

    def add(self, metrics: Metrics) -> None:
        """Append the metrics of an evaluation at the current training step."""
        self.evaluations.append({"step": self.step, **metrics})


def train(
    objective: Objective,
    epochs: EpochBatches,
    held_out: HeldOutEvaluator,
    config: TrainConfig,
    accelerator: Accelerator,
    checkpoints: CheckpointManager,
    *,
    on_step: OnStep | None = None,
) -> tuple[Any, TrainingState]:
    """Train an objective in place. Resumes from the last checkpoint of the run, if there is one.

    The weights after a step depend on the arguments alone, not on interruptions: batches are looked up by step, and
    dropout is seeded for each step. Another number of processes draws other dropout masks and rounds sums differently;
    otherwise a step is the same.

    Args:
        objective: Training objective.
        epochs: Batches of training pairs.
        held_out: Evaluation on held-out pairs.
        config: Training options, of which those for the optimizer, the steps, logging and the seed have an effect.
        accelerator: Accelerator with the `gradient_accumulation_steps` of `config` and with `split_batches`.
        checkpoints: Checkpoints of the run.
        on_step: See `OnStep`.

    Returns:
        The module as accelerate wrapped it, and the state. With `early_stopping_patience` its weights are those of the
        best evaluation.

    Raises:
        DivergedError: If the loss is infinite or NaN.
        CheckpointError: If the checkpoint belongs to another run.
    """
    total, eval_steps = config.max_steps or config.num_train_epochs * epochs.steps, config.eval_steps or epochs.steps
    optimizer: Any = AdamW(_groups(objective, config.weight_decay), lr=config.learning_rate, fused=_fused(accelerator))
    scheduler: Any = get_linear_schedule_with_warmup(  # type: ignore[no-untyped-call]
        optimizer, math.ceil(config.warmup_ratio * total), total
    )
    module, optimizer, scheduler = accelerator.prepare(objective, optimizer, scheduler)
    state = TrainingState()
    if start := checkpoints.find_last():
        state = TrainingState(**checkpoints.load(start))
        logger.warning("resuming after step %d of %d", state.step, total)
    objective.begin(state.step, total)
    window = _Window(accelerator)
    module.train()
    batches = epochs.iter_batches(state.step, pin_memory=accelerator.device.type == "cuda")
    while state.step < total and not state.is_stopped(config.early_stopping_patience):
        # Each step and process seeds its own dropout, so that a resumed run has the masks of an uninterrupted one.
        torch.manual_seed(int(rng.compute_key(config.seed, "dropout", state.step, accelerator.process_index)))
        for _ in range(config.gradient_accumulation_steps):
            batch = send_to_device(next(batches), accelerator.device, non_blocking=True)
            with accelerator.accumulate(module):
                output = module(batch.labels, **batch.features, **batch.encoded)
                # The weight corrects for parts of unequal size (`Batch.weight`).
                accelerator.backward(output.loss * batch.weight)
                if accelerator.sync_gradients and config.max_grad_norm:
                    accelerator.clip_grad_norm_(module.parameters(), config.max_grad_norm)
                # Within `accumulate`, accelerate skips these three calls until the last pass of the step.
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            window.add({"loss": output.loss, **output.parts}, batch.weight)
        state.step += 1
        step, is_last = state.step, state.step == total
        if step % config.logging_steps == 0 or is_last:
            values = window.mean()
            # Checked at logging only: reading the loss in every step would make the host wait for the device.
            _validate_loss(values["loss"], step, config, accelerator)
            accelerator.log({f"train/{name}": value for name, value in values.items()}, step=step)
            accelerator.log({"train/learning_rate": scheduler.get_last_lr()[0]}, step=step)
        if step % eval_steps == 0 or is_last:
            metrics = held_out.evaluate(module, accelerator)
            state.add(metrics)
            named = {f"{part}/{name}": value for part, each in metrics.items() for name, value in each.items()}
            accelerator.log({f"validation/{name}": value for name, value in named.items()}, step=step)
        best = state.best["step"] if config.early_stopping_patience and state.best else None
        # The best weights need a checkpoint, from which they are restored at the end.
        if step % config.save_steps == 0 or best == step:
            checkpoints.save(step, vars(state), best=best)
        if on_step is not None:
            on_step(step, total, _message(window.last, state))
    if config.early_stopping_patience and state.best and state.best["step"] != state.step:
        checkpoints.load(checkpoints.get_path(state.best["step"]))
    return module, state


def _validate_loss(loss: float, step: int, config: TrainConfig, accelerator: Accelerator) -> None:
    if not math.isfinite(loss):
        raise DivergedError(
            f"the loss at step {step} is {loss}; use a --learning-rate below {config.learning_rate}, or a --precision "
            f"other than {accelerator.mixed_precision}"
        )


def _groups(module: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Split the parameters into two groups: matrices have weight decay, biases and the gains of norms have none."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return [
        {"params": [each for each in trained if each.ndim > 1], "weight_decay": weight_decay},
        {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
    ]


def _fused(accelerator: Accelerator) -> bool:
    # FSDP and DeepSpeed hold sharded parameters, for which the fused kernel is not available.
    plain = accelerator.distributed_type in (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU)
    return plain and accelerator.device.type in ("cpu", "cuda")


class _Window:
    """Means of losses since the last reading. Only reading waits for the device."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator
        self._sums: dict[str, torch.Tensor] = {}
        self._weight = 0.0
        self.last: float | None = None

    def add(self, values: dict[str, torch.Tensor], weight: float) -> None:
        for name, value in values.items():
            weighted = value.detach().float() * weight
            self._sums[name] = self._sums[name] + weighted if name in self._sums else weighted
        self._weight += weight

    def mean(self) -> dict[str, float]:
        # One reduction for all means, since each reduction waits for the device.
        stacked = torch.stack([*self._sums.values(), torch.full_like(self._sums["loss"], self._weight)])
        *sums, weight = self._accelerator.reduce(stacked, reduction="sum").tolist()
        means = {name: value / weight for name, value in zip(self._sums, sums, strict=True)}
        self._sums, self._weight, self.last = {}, 0.0, means["loss"]
        return means


def _message(loss: float | None, state: TrainingState) -> str:
    parts = [] if loss is None else [f"loss {loss:.3f}"]
    if state.evaluations:
        parts.append(f"accuracy {state.evaluations[-1][ALL]['accuracy']:.3f}")
    return ", ".join(parts)
