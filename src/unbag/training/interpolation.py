"""Interpolation after training, between the original and the trained weights, with a limit on the accuracy loss.

Wortsman et al. 2022 (WiSE-FT), https://arxiv.org/abs/2109.01903, interpolate between a model before and after
fine-tuning. The rule that chooses α is unbag's.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

from unbag.inference.loading import has_classification_head
from unbag.training.dataset import ALL, Metrics
from unbag.training.output import Record
from unbag.training.weight_averaging import Weights, clone_weights, interpolate_weights

OPTION: Final = "--interpolate"
GRID: Final = tuple(step / 10 for step in range(11))
MAX_LOSS: Final = 1  # percentage points of validation accuracy
_TOTALS: Final = frozenset({"alpha", ALL})  # keys of a row of the curve that name no corpus
logger = logging.getLogger(__name__)


def copy_original_weights(network: Any, *, sharding: str | None = None) -> Weights:
    """Copy the weights of a classifier before training. They must not be sharded (`trainer.describe_sharding`)."""
    if sharding is not None:
        raise ValueError(
            f"{OPTION}: expected unsharded weights, got {sharding}; train without {OPTION}, then run "
            "`unbag models interpolate`"
        )
    if not has_classification_head(network.config):
        raise ValueError(
            f"{OPTION}: expected a model that is a classifier before training, got a model without a head; "
            f"omit {OPTION}"
        )
    return clone_weights(network)


def interpolate_network(network: Any, original: Weights, evaluate: Callable[[], Metrics]) -> Record:
    """Set a trained network's weights to (1 − α) θ_original + α θ_trained, with the best α of `GRID`.

    α is chosen by the accuracy on validation pairs, which `evaluate` computes. All processes call this together.

    Returns:
        `alpha`, the chosen α; `max_loss`, in percentage points; `curve`, the metrics for each α of `GRID`.
    """
    trained = clone_weights(network)
    curve: list[Record] = []
    for alpha in GRID:
        network.load_state_dict(interpolate_weights(original, trained, alpha))
        curve.append({"alpha": alpha, **evaluate()})
    alpha = choose_alpha(curve)
    if alpha == 0:
        logger.warning(
            "%s: every α above 0 loses more than %d point of accuracy on a validation corpus; the output is the "
            "original model",
            *(OPTION, MAX_LOSS),
        )
    network.load_state_dict(interpolate_weights(original, trained, alpha))
    return {"alpha": alpha, "max_loss": MAX_LOSS, "curve": curve}


def choose_alpha(curve: Sequence[Record], max_accuracy_loss: float = MAX_LOSS) -> float:
    """Choose the largest α at which accuracy drops by at most `max_accuracy_loss` points on each validation corpus.

    The loss is measured against α = 0, which is in the curve.

    >>> row = lambda alpha, correct: {"alpha": alpha, "snli": {"accuracy": correct / 200, "pairs": 200}}
    >>> choose_alpha([row(0.0, 160), row(0.3, 157), row(0.6, 158), row(1.0, 150)])
    0.6
    """
    [first] = [row for row in curve if row["alpha"] == 0]

    def is_kept(name: str, row: Record) -> bool:
        before, after = (round(each[name]["accuracy"] * each[name]["pairs"]) for each in (first, row))
        return bool(100 * (before - after) <= max_accuracy_loss * first[name]["pairs"])

    corpora = first.keys() - _TOTALS
    return max(float(row["alpha"]) for row in curve if all(is_kept(name, row) for name in corpora))
