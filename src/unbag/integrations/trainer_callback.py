"""A callback for transformers' `Trainer`: challenge sets asked at each evaluation of the model in training."""

import logging
import time
from collections.abc import Sequence
from typing import Any, Final

try:
    from transformers import EarlyStoppingCallback, TrainerCallback
except ImportError as error:
    raise ImportError("UnbagCallback needs PyTorch and transformers: pip install 'unbag[models]'") from error

from unbag.challenge_sets.request import Request
from unbag.inference.distributed import process_group
from unbag.inference.live import LiveClassifier, unwrap_model
from unbag.inference.tokenization import EncodedPairs
from unbag.integrations.asked import DEFAULT_EXAMPLES, BuiltChallengeSet, bounded, order_of, quantities, requested
from unbag.utils.options import check_int

PREFIX: Final = "eval_unbag_"
"""What the names of all that is logged begin with; `<set>_<number>` follows."""

_TIMED_ROWS: Final = 64
"""How many rows are asked to measure the speed: enough for full batches, and a small share of an evaluation."""

logger = logging.getLogger(__name__)


class UnbagCallback(TrainerCallback):
    """Ask the model in training challenge sets at each evaluation, and log `eval_unbag_<set>_<number>`.

        trainer = Trainer(model, args, train_dataset=…, eval_dataset=…, processing_class=tokenizer)
        trainer.add_callback(unbag.UnbagCallback(trainer, ["permuted", "swapped"]))
        trainer.train()

    The numbers are those that a model card quotes, each with its 95 % interval (`eval_unbag_permuted_p_c`, `…_p_c_low`,
    `…_p_c_high`). `…_beyond_guessing` is the one that all sets have, and the one to select by: 0 is a guess or the best
    constant answer, 1 a perfect reader; what counting words gets is not asked here (`unbag evaluate` does that).

    They go through `trainer.log`, so into `log_history` and to every tracker, in an entry of their own after that of
    the evaluation; and into the metrics that `trainer.evaluate()` returns, by which `metric_for_best_model` selects
    (`greater_is_better=False` with `…_p_c` and others of which less is better). A callback that reads the metrics
    itself, as `EarlyStoppingCallback` does, is added after this one.

    The model answers in evaluation mode on its device, and is left in the mode it was in: training goes on as it would
    have without the callback. In distributed training every process takes part and has its share of the batches; the
    first one scores, and all get its numbers, which do not depend on how many there are.

    Args:
        trainer: the `Trainer`, with `processing_class=tokenizer`.
        sets: names of challenge sets, a sample of each of its default corpus being asked; a
            `unbag.challenge_sets.request.Request` says which pairs, options (`{"q": 10}`: ten orders of each permuted
            example) and how many examples.
        examples: how many source examples of a set that is named.
        max_rows: the most rows that one evaluation asks, of all sets together, those with shuffled words included;
            fewer source examples are drawn where the sets have more. By default there is no bound. What one evaluation
            costs is logged when training begins: the rows, and the seconds at the speed measured on some of them.
        batch_tokens: the most tokens a batch, padding included; by default what is fast on a CPU or a GPU.

    Raises:
        ValueError: if a set cannot be had, the Trainer lacks the tokenizer, or `metric_for_best_model` is no number of
            these sets or goes the other way than `greater_is_better`; `data.labels.LabelError` if the config does not
            say which output is which label.
    """

    def __init__(
        self,
        trainer: Any,
        sets: Sequence[Request | str] | Request | str,
        *,
        examples: int = DEFAULT_EXAMPLES,
        max_rows: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        if not hasattr(trainer, "callback_handler"):
            raise ValueError(
                "expected the Trainer first, whose log the numbers go to: trainer.add_callback(UnbagCallback(trainer, "
                f"{['permuted']})); found {type(trainer).__name__}"
            )
        self._trainer, self._batch_tokens = trainer, batch_tokens
        if max_rows is not None:
            check_int("max_rows", max_rows, least=1)
        self._requests = requested(sets, examples)
        self._check(trainer.model)
        group = process_group()
        self._sets: list[BuiltChallengeSet] = group.main_process_first(lambda: bounded(self._requests, max_rows))
        self._encoded: list[EncodedPairs] | None = None
        self._training = False
        self._last: tuple[int, dict[str, float]] | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Refuse, before the first step, what could not be logged at the first evaluation, and log what one costs."""
        self._check(kwargs.get("model"))
        self._training, self._last = True, None
        self._log_cost(kwargs.get("model"))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Know that the model may be another from now on though the step stays: the best one, say."""
        self._training, self._last = False, None

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, float] | None = None, **kwargs: Any
    ) -> None:
        """Ask the sets, log the numbers, and add them to the evaluation's metrics.

        Raises:
            ValueError: if the model answers with something else than numbers.
        """
        # With several evaluation sets there are as many evaluations of the same weights.
        if not self._training or self._last is None or self._last[0] != state.global_step:
            self._last = state.global_step, self._numbers(kwargs.get("model"))
            self._trainer.log(dict(self._last[1]))
        if metrics is not None:
            metrics.update(self._last[1])

    def _log_cost(self, model: Any) -> None:
        """Log how many rows one evaluation asks, and about how long that takes at the speed of some of them."""
        rows = sum(map(len, self._sets))
        classifier = self._classifier(model)
        premises, hypotheses = ([text for each in self._sets for text in each.pairs[side]] for side in (0, 1))
        chosen = [number * rows // _TIMED_ROWS for number in range(_TIMED_ROWS)] if rows > _TIMED_ROWS else range(rows)
        some = classifier.encode([premises[row] for row in chosen], [hypotheses[row] for row in chosen])
        classifier.predict(some)  # the first time memory is allotted, and kernels are chosen
        start = time.perf_counter()
        classifier.predict(some)
        speed = len(chosen) / max(time.perf_counter() - start, 1e-9)
        if process_group().rank == 0:
            logger.warning(
                "each evaluation asks %s rows of %s: about %s s at the %s rows per second measured; "
                "max_rows=… bounds it",
                f"{rows:,}",
                ", ".join(each.described.name for each in self._sets),
                f"{rows / speed:,.1f}",
                f"{speed:,.0f}",
            )

    def _numbers(self, model: Any) -> dict[str, float]:
        classifier = self._classifier(model)
        if self._encoded is None:
            self._encoded = [classifier.encode(*each.pairs) for each in self._sets]
        group = process_group()
        numbers: dict[str, float] = {}
        for each, pairs in zip(self._sets, self._encoded, strict=True):
            answers = classifier.predict(pairs)
            found = group.broadcast(each.numbers(answers) if group.rank == 0 else {})
            numbers |= {f"{PREFIX}{each.described.name}_{name}": value for name, value in found.items()}
        return numbers

    def _classifier(self, model: Any) -> LiveClassifier:
        model = self._trainer.model if model is None else model
        tokenizer, device = self._trainer.processing_class, self._trainer.args.device
        return LiveClassifier(model, order_of(unwrap_model(model)), tokenizer, device, self._batch_tokens)

    def _check(self, model: Any) -> None:
        self._classifier(model)
        best = self._trainer.args.metric_for_best_model
        if best is None:
            return
        name = best if best.startswith("eval_") else f"eval_{best}"
        if not name.startswith(PREFIX):
            return
        logged = {f"{PREFIX}{each}": quantity for each, quantity in quantities(self._requests)}
        if name not in logged:
            raise ValueError(f"expected metric_for_best_model to be one of {', '.join(logged)}, found {best!r}")
        greater, higher = self._trainer.args.greater_is_better, logged[name].higher_is_better
        if greater is not None and greater != higher:
            raise ValueError(
                f"of {best} {'higher' if higher else 'lower'} is better: expected greater_is_better={higher} in "
                f"TrainingArguments, found {greater}, which transformers takes where nothing is said"
            )
        callbacks = self._trainer.callback_handler.callbacks
        early = [place for place, each in enumerate(callbacks) if isinstance(each, EarlyStoppingCallback)]
        if self in callbacks and early and early[0] < callbacks.index(self):
            raise ValueError(
                f"expected EarlyStoppingCallback after UnbagCallback, whose {best!r} it watches, found it before; add "
                "both by trainer.add_callback, UnbagCallback first"
            )
