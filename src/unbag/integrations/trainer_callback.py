"""Callback for the transformers `Trainer` that evaluates on challenge sets during training."""

import logging
import math
import time
from collections.abc import Sequence
from typing import Any, Final

try:
    from transformers import EarlyStoppingCallback, TrainerCallback
except ImportError as error:
    raise ImportError(
        "UnbagCallback: expected PyTorch and transformers, got none; install them: pip install 'unbag[models]'"
    ) from error

from unbag.challenge_sets.base import SCORE, MetricDefinition
from unbag.challenge_sets.request import BuiltSet, SetRequest
from unbag.inference.distributed import connect_process_group
from unbag.inference.live import ClassifierInTraining, unwrap_model
from unbag.inference.tokenization import EncodedPairs
from unbag.integrations.built_sets import (
    build_sets,
    compute_set_metrics,
    count_rows,
    get_output_labels,
    has_skill_score,
    iter_logged_metrics,
    list_pairs,
    parse_requests,
)
from unbag.scoring.skill import MIN_LABEL_ROWS
from unbag.utils.options import PositiveInt, validate

PREFIX: Final = "eval_unbag_"
"""Prefix of all logged metric names, before `<set>_<metric>`."""

_TIMED_ROWS: Final = 64
"""Number of rows for measuring the speed: enough for full batches, and a small part of an evaluation."""

logger = logging.getLogger(__name__)


class UnbagCallback(TrainerCallback):
    """Callback that evaluates the model on challenge sets and logs `eval_unbag_<set>_<metric>`.

        trainer = Trainer(model, args, train_dataset=…, eval_dataset=…, processing_class=tokenizer)
        trainer.add_callback(unbag.UnbagCallback(trainer, ["permuted", "swapped"]))
        trainer.train()

    The metrics are those quoted in model cards, with their 95 % intervals (`eval_unbag_permuted_p_c`, `…_p_c_low`,
    `…_p_c_high`). All sets have `…_skill_no_lexical`, the metric for model selection: 0 is chance or the best constant
    prediction, 1 is perfect. It does not include the lexical baseline, which `unbag evaluate` adds.

    The metrics are logged with `trainer.log` to `log_history` and to all trackers, in a separate entry after that of
    the evaluation. They are also added to the metrics that `trainer.evaluate()` returns, so that they can be used as
    `metric_for_best_model` (with `greater_is_better=False` for `…_p_c` and other metrics for which lower is better).
    Add callbacks that read the metrics, such as `EarlyStoppingCallback`, after this one.

    The callback runs the model in evaluation mode on its device and then restores its mode, so that training is not
    affected. In distributed training each process runs a part of the batches; the first process scores and broadcasts
    the metrics. They do not depend on the number of processes.

    Args:
        trainer: `Trainer` with `processing_class=tokenizer`.
        sets: Names of challenge sets, for a sample of the default corpus of each, or requests. A
            `unbag.challenge_sets.request.SetRequest` specifies pairs, options (`{"q": 10}`: ten orders of each permuted
            example) and the number of examples.
        max_examples: Number of source examples of a set given by name (default: 100, or as many more as the skill
            score requires, up to the default sample).
        max_rows: Maximum number of rows per evaluation, over all sets and including shuffled words (default: no limit).
            Sets with more rows get fewer source examples. The number of rows and the estimated duration of one
            evaluation are logged when training starts.
        batch_tokens: Maximum number of tokens per batch, including padding. The default is fast on a CPU or a GPU.

    Raises:
        ValueError: If a set cannot be built, if the Trainer has no tokenizer, or if `metric_for_best_model` is not a
            metric of these sets or contradicts `greater_is_better`. `data.labels.LabelError` if the config does not
            contain NLI labels.
    """

    def __init__(
        self,
        trainer: Any,
        sets: Sequence[SetRequest | str] | SetRequest | str,
        *,
        max_examples: int | None = None,
        max_rows: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        if not hasattr(trainer, "callback_handler"):
            raise ValueError(
                "trainer: expected a Trainer, as in trainer.add_callback(UnbagCallback(trainer, "
                f"{['permuted']})), got {type(trainer).__name__}"
            )
        self._trainer, self._batch_tokens = trainer, batch_tokens
        validate("max_rows", PositiveInt | None, max_rows)
        group = connect_process_group()
        self._requests = group.main_process_first(lambda: parse_requests(sets, max_examples))
        self._sets: list[BuiltSet] = []
        self._check(trainer.model)  # building the sets takes long
        self._sets = group.main_process_first(lambda: build_sets(self._requests, max_rows))
        self._check(trainer.model)
        self._encoded: list[EncodedPairs] | None = None
        self._training = False
        self._last: tuple[int, dict[str, float]] | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Validate the settings before the first step, and log the estimated duration of an evaluation."""
        self._check(kwargs.get("model"))
        self._training, self._last = True, None
        self._log_cost(kwargs.get("model"))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Discard the cached metrics. They do not apply to the best weights, which the Trainer may load afterwards."""
        self._training, self._last = False, None

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, float] | None = None, **kwargs: Any
    ) -> None:
        """Evaluate the model on the challenge sets, log the scores, and add them to `metrics`.

        Raises:
            ValueError: If the model's outputs are not finite.
        """
        # With several evaluation sets, this method is called several times for the same weights.
        if not self._training or self._last is None or self._last[0] != state.global_step:
            self._last = state.global_step, self._numbers(kwargs.get("model"))
            self._trainer.log(dict(self._last[1]))
        if metrics is not None:
            metrics.update(self._last[1])
            if (best := self._find_best_metric()) is not None and best[0] not in metrics:
                # The Trainer raises a KeyError for a missing metric, such as P^c without any correct prediction.
                logger.warning("%s has no value for these predictions and counts as the worst value", best[0])
                metrics[best[0]] = -math.inf if best[1].higher_is_better else math.inf

    def _log_cost(self, model: Any) -> None:
        rows = sum(map(count_rows, self._sets))
        classifier = self._classifier(model)
        pairs = list(map(list_pairs, self._sets))
        premises, hypotheses = ([text for each in pairs for text in each[side]] for side in (0, 1))
        chosen = [number * rows // _TIMED_ROWS for number in range(_TIMED_ROWS)] if rows > _TIMED_ROWS else range(rows)
        some = classifier.encode([premises[row] for row in chosen], [hypotheses[row] for row in chosen])
        classifier.predict(some)  # warm-up, since the first call allocates memory and selects kernels
        start = time.perf_counter()
        classifier.predict(some)
        speed = len(chosen) / max(time.perf_counter() - start, 1e-9)
        if connect_process_group().rank == 0:
            logger.warning(
                "each evaluation runs %s rows of %s, which takes about %s s at the measured %s rows per second; "
                "set max_rows=… to limit this time",
                f"{rows:,}",
                ", ".join(each.name for each in self._sets),
                f"{rows / speed:,.1f}",
                f"{speed:,.0f}",
            )

    def _numbers(self, model: Any) -> dict[str, float]:
        classifier = self._classifier(model)
        # The tokens do not change in training, so the sets are tokenized once.
        if self._encoded is None:
            self._encoded = [classifier.encode(*list_pairs(each)) for each in self._sets]
        group = connect_process_group()
        numbers: dict[str, float] = {}
        for each, pairs in zip(self._sets, self._encoded, strict=True):
            predictions = classifier.predict(pairs)
            # One process scores and broadcasts, so that all processes select the same best model.
            computed = (
                compute_set_metrics(each.name, each.rows, predictions, each.skill_score_mask) if group.rank == 0 else {}
            )
            values = group.broadcast(computed)
            numbers |= {f"{PREFIX}{each.name}_{name}": value for name, value in values.items()}
        return numbers

    def _classifier(self, model: Any) -> ClassifierInTraining:
        model = self._trainer.model if model is None else model
        tokenizer, device = self._trainer.processing_class, self._trainer.args.device
        return ClassifierInTraining(
            model, get_output_labels(unwrap_model(model)), tokenizer, device, self._batch_tokens
        )

    def _find_best_metric(self) -> tuple[str, MetricDefinition] | None:
        """Find the name and definition of `metric_for_best_model`. Return None if it is not a metric of a set."""
        best = self._trainer.args.metric_for_best_model or ""
        name = best if best.startswith("eval_") else f"eval_{best}"
        if not name.startswith(PREFIX):
            return None
        logged = {f"{PREFIX}{each}": metric for each, metric in iter_logged_metrics(self._requests)}
        if name not in logged:
            raise ValueError(f"metric_for_best_model: expected one of {', '.join(logged)}, got {best!r}")
        return name, logged[name]

    def _check(self, model: Any) -> None:
        """Validate the labels of the model, and that the settings and the sets fit `metric_for_best_model`."""
        self._classifier(model)
        found = self._find_best_metric()
        if found is None:
            return
        name, metric = found
        for each in self._sets if metric is SCORE else ():
            if name.startswith(f"{PREFIX}{each.name}_") and not has_skill_score(each):
                raise ValueError(
                    f"metric_for_best_model: expected a set with {MIN_LABEL_ROWS} rows or more of two labels, got "
                    f"{len(each.rows)} rows of {each.name}; increase max_examples or max_rows"
                )
        best, greater = self._trainer.args.metric_for_best_model, self._trainer.args.greater_is_better
        if greater is not None and greater != metric.higher_is_better:
            raise ValueError(
                f"greater_is_better: expected {metric.higher_is_better} for {best}, got {greater}, which may be the "
                "default of transformers; set it in TrainingArguments"
            )
        callbacks = self._trainer.callback_handler.callbacks
        early = [place for place, each in enumerate(callbacks) if isinstance(each, EarlyStoppingCallback)]
        if self in callbacks and early and early[0] < callbacks.index(self):
            raise ValueError(
                f"callbacks: expected EarlyStoppingCallback after UnbagCallback, which logs {best!r}, got the "
                "reverse order; add both with trainer.add_callback, UnbagCallback first"
            )
