"""One training loop for all objectives, on accelerate, and the evaluation of held-out pairs."""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
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
from unbag.inference.tokenization import CPU_BATCH_TOKENS, GPU_BATCH_TOKENS, process_batches, token_batches
from unbag.training.checkpoints import Checkpoints
from unbag.training.data import Part
from unbag.training.dataloading import EpochBatches, PairEncoder
from unbag.training.objective import Objective
from unbag.utils import rng

ALL: Final = "all"
"""The name of the metrics over all held-out pairs together."""

Rows = NDArray[np.intp]

Metrics = dict[str, dict[str, float]]
"""By part, and over all pairs: `accuracy`, `loss` (the mean cross-entropy) and `pairs`."""


class HeldOutEvaluator:
    """The held-out pairs, tokenized once."""

    def __init__(self, parts: Sequence[Part], encoder: PairEncoder, order: Sequence[str]) -> None:
        self._splitter = BatchSplitter()
        self._names = [part.name for part in parts]
        self._encoder = encoder
        self._encoded = encoder.encode_all([example for part in parts for example in part.examples])
        self._outputs = np.array([order.index(example.label) for part in parts for example in part.examples])
        self._part = np.repeat(np.arange(len(parts)), [len(part.examples) for part in parts])

    def evaluate(self, module: Any, accelerator: Accelerator) -> Metrics:
        """Return the metrics of a model, whose processes share the work; the same in each of them.

        Args:
            module: maps a batch to logits in evaluation mode.
            accelerator: which has prepared it.
        """
        budget = CPU_BATCH_TOKENS if accelerator.device.type == "cpu" else GPU_BATCH_TOKENS
        batches = list(token_batches(self._encoded.lengths.tolist(), budget))
        world, rank = accelerator.num_processes, accelerator.process_index
        sums = torch.zeros(len(self._names), 3, dtype=torch.float64)  # right, loss, pairs
        module.eval()
        with torch.no_grad():
            for batch, wanted in process_batches(batches, world, rank):
                for rows, logits in self._asked(batch, partial(self._logits, module, accelerator), world):
                    if wanted:
                        gold = torch.from_numpy(self._outputs[rows])
                        right = logits.argmax(dim=1) == gold
                        losses = cross_entropy(logits, gold, reduction="none")
                        values = torch.stack([right, losses, torch.ones_like(losses)], dim=1).double()
                        sums.index_add_(0, torch.from_numpy(self._part[rows]), values)
        module.train()
        return self._metrics(_summed(sums, accelerator))

    def _asked(
        self, batch: Rows, ask: Callable[[Rows], torch.Tensor], world: int
    ) -> Iterator[tuple[Rows, torch.Tensor]]:
        """Yield the logits of a batch; in parts where it does not fit, unless others wait for as many calls."""
        if world == 1:
            return self._splitter.predict(batch, self._encoded.lengths, ask)
        return iter([(batch, ask(batch))])

    def _logits(self, module: Any, accelerator: Accelerator, rows: Rows) -> torch.Tensor:
        encoded = self._encoder.padded([self._encoded.tokens(row) for row in rows.tolist()])
        logits: torch.Tensor = module(None, **send_to_device(encoded, accelerator.device)).float().cpu()
        return logits

    def _metrics(self, sums: torch.Tensor) -> Metrics:
        metrics = {name: _means(row) for name, row in zip(self._names, sums.tolist(), strict=True)}
        return {**metrics, ALL: _means(sums.sum(dim=0).tolist())}


def _means(row: Sequence[float]) -> dict[str, float]:
    right, loss, pairs = row
    return {"accuracy": right / max(pairs, 1), "loss": loss / max(pairs, 1), "pairs": int(pairs)}


def _summed(values: torch.Tensor, accelerator: Accelerator) -> torch.Tensor:
    if accelerator.num_processes == 1:
        return values
    summed: torch.Tensor = accelerator.reduce(values.to(accelerator.device), reduction="sum").cpu()
    return summed


logger = logging.getLogger(__name__)

OnStep = Callable[[int, int, str], None]
"""Called with how many of how many steps are taken, and what there is to say of them."""


@dataclass(frozen=True, kw_only=True)
class Optimization:
    """What AdamW does to the weights.

    Attributes:
        learning_rate: its peak; it falls to 0 linearly.
        warmup: the share of the steps in which it rises.
        weight_decay: of all weights but biases and the gains of norms.
        clip: the largest norm of the gradient; 0 for no limit.
    """

    learning_rate: float
    warmup: float
    weight_decay: float
    clip: float


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What happens after which step.

    Attributes:
        steps: how many there are, unless `patience` ends the training before.
        evaluate_every: steps between evaluations.
        checkpoint_every: steps between checkpoints.
        log_every: steps between two values of the loss.
        patience: stop after so many evaluations without better accuracy, and go back to the best; None for never.
    """

    steps: int
    evaluate_every: int
    checkpoint_every: int
    log_every: int
    patience: int | None


class DivergedError(ValueError):
    """A loss that is no number any more."""


@dataclass
class History:
    """What happened so far.

    Attributes:
        step: how many steps are taken.
        evaluations: each with its `step` and the metrics by part.
    """

    step: int = 0
    evaluations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def best(self) -> dict[str, Any] | None:
        """The first evaluation of the best accuracy over all held-out pairs."""
        return max(self.evaluations, key=lambda evaluation: float(evaluation[ALL]["accuracy"]), default=None)

    def stopped(self, patience: int | None) -> bool:
        """Tell whether so many evaluations in a row brought no better accuracy."""
        if patience is None or self.best is None:
            return False
        return len(self.evaluations) - 1 - self.evaluations.index(self.best) >= patience

    def add(self, metrics: Metrics) -> None:
        """Note an evaluation after the steps taken so far."""
        self.evaluations.append({"step": self.step, **metrics})


def train(
    objective: Objective,
    epochs: EpochBatches,
    held_out: HeldOutEvaluator,
    optimization: Optimization,
    schedule: Schedule,
    accelerator: Accelerator,
    checkpoints: Checkpoints,
    *,
    seed: int,
    resume: Path | None = None,
    on_step: OnStep | None = None,
) -> tuple[Any, History]:
    """Train an objective in place, from its last checkpoint if there is one.

    The weights after a step depend on the arguments alone, not on interruptions: batches are looked up by step, and
    dropout is seeded for each step. Another number of processes draws other dropout masks and rounds sums differently;
    otherwise a step is the same.

    Args:
        objective: what is minimised.
        epochs: the training pairs.
        held_out: the pairs for evaluation.
        optimization: how.
        schedule: how long, and what else is done when.
        accelerator: made with the epochs' `accumulation`, and batches split over processes (`split_batches`).
        checkpoints: where the run's checkpoints are.
        seed: decides the dropout.
        resume: a checkpoint elsewhere, to go on from where the run has none of its own.
        on_step: see `OnStep`.

    Returns:
        The module as accelerate wrapped it, and the history. With `patience` its weights are those of the best
        evaluation.

    Raises:
        DivergedError: if the loss is infinite or no number.
        CheckpointError: if the checkpoint is another run's.
    """
    total, warmup = schedule.steps, math.ceil(optimization.warmup * schedule.steps)
    module: Any = objective
    groups = _groups(module, optimization.weight_decay)
    optimizer = AdamW(groups, lr=optimization.learning_rate, fused=_fused(accelerator))
    scheduler: Any = get_linear_schedule_with_warmup(optimizer, warmup, total)  # type: ignore[no-untyped-call]
    module, optimizer, scheduler = accelerator.prepare(module, optimizer, scheduler)
    history = History()
    if start := checkpoints.last() or resume:
        history = History(**checkpoints.load(start))
        logger.warning("going on after step %d of %d", history.step, total)
    objective.begin(history.step, total)
    window = _Window(accelerator)
    module.train()
    batches = epochs.batches(history.step, pin=accelerator.device.type == "cuda")
    while history.step < total and not history.stopped(schedule.patience):
        torch.manual_seed(int(rng.key(seed, "dropout", history.step, accelerator.process_index)))
        for _ in range(epochs.accumulation):
            batch = send_to_device(next(batches), accelerator.device, non_blocking=True)
            with accelerator.accumulate(module):
                output = module(batch.labels, **batch.known, **batch.encoded)
                accelerator.backward(output.loss * batch.weight)
                if accelerator.sync_gradients and optimization.clip:
                    accelerator.clip_grad_norm_(module.parameters(), optimization.clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            window.add({"loss": output.loss, **output.parts}, batch.weight)
        history.step += 1
        step, last = history.step, history.step == total
        if step % schedule.log_every == 0 or last:
            values = window.mean()
            if not math.isfinite(values["loss"]):
                raise DivergedError(
                    f"the loss at step {step} is {values['loss']}; try a lower learning rate than "
                    f"{optimization.learning_rate}, or another precision than {accelerator.mixed_precision}"
                )
            accelerator.log({f"train/{name}": value for name, value in values.items()}, step=step)
            accelerator.log({"train/learning_rate": scheduler.get_last_lr()[0]}, step=step)
        if step % schedule.evaluate_every == 0 or last:
            history.add(held_out.evaluate(module, accelerator))
            newest = history.evaluations[-1]
            accelerator.log(
                {
                    f"validation/{part}/{name}": value
                    for part, metrics in newest.items()
                    if part != "step"
                    for name, value in metrics.items()
                },
                step=step,
            )
        best = history.best["step"] if schedule.patience and history.best else None
        if step % schedule.checkpoint_every == 0 or best == step:
            checkpoints.save(step, {"step": step, "evaluations": history.evaluations}, best=best)
        if on_step is not None:
            on_step(step, total, _message(window.last, history))
    if schedule.patience and history.best and history.best["step"] != history.step:
        checkpoints.load(checkpoints.path(history.best["step"]))
    return module, history


def _groups(module: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return the parameters in two groups: matrices decay, biases and the gains of norms do not."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return [
        {"params": [each for each in trained if each.ndim > 1], "weight_decay": weight_decay},
        {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
    ]


def _fused(accelerator: Accelerator) -> bool:
    plain = accelerator.distributed_type in (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU)
    return plain and accelerator.device.type in ("cpu", "cuda")


class _Window:
    """Means over the steps since the last time they were read, which alone waits for the device."""

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
        stacked = torch.stack([*self._sums.values(), torch.full_like(self._sums["loss"], self._weight)])
        *sums, weight = self._accelerator.reduce(stacked, reduction="sum").tolist()
        means = {name: value / weight for name, value in zip(self._sums, sums, strict=True)}
        self._sums, self._weight, self.last = {}, 0.0, means["loss"]
        return means


def _message(loss: float | None, history: History) -> str:
    parts = [] if loss is None else [f"loss {loss:.3f}"]
    if history.evaluations:
        parts.append(f"accuracy {history.evaluations[-1][ALL]['accuracy']:.3f}")
    return ", ".join(parts)
