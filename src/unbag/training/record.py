"""Schema of `training.json`, the record of a finished training run.

The schema contains the fields that model cards and later runs read. `training.run` writes the record.
"""

from pathlib import Path
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.challenge_sets.results import Count, read_record
from unbag.training.config import Precision

FILE: Final = "training.json"


class _Model(TypedDict):
    name: str
    revision: str


class TrainingRecord(TypedDict):
    """Schema of training.json."""

    schema: Count
    recipe: str
    config: dict[str, Any]  # `TrainConfig.to_json`
    precision: Precision
    model: _Model
    data: dict[str, list[dict[str, Any]]]  # `TrainingData.build_record`
    embeddings: NotRequired[str]
    label_order: list[str]
    pairs_per_epoch: Count
    steps_per_epoch: Count
    steps: Count
    truncated_pairs: Count
    bias_accuracy: NotRequired[float]
    augmentation: NotRequired[dict[str, Any]]  # `PairAugmenter.build_record`
    evaluations: list[dict[str, Any]]  # each with its `step` and the metrics by dataset
    best_evaluation: dict[str, Any]
    interpolation: NotRequired[dict[str, Any]]  # `interpolation.interpolate_network`
    processes: Count
    device: str
    environment: dict[str, str]


def read_training_record(folder: Path) -> dict[str, Any]:
    """Read and validate the training record in the output folder of a finished run."""
    return read_record(folder / FILE, TrainingRecord, "the record of a finished training run")
