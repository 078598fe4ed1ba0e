"""Schema of `training.json`, the record of a finished training run.

The schema contains the fields that model cards and later runs read. `training.run` writes the record.
"""

from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

from unbag.challenge_sets.results import Seed, read_record
from unbag.training.config import Precision

FILE: Final = "training.json"


class _Config(TypedDict):
    model: str
    language: str
    word_order: str
    hypothesis_only: bool
    augment: list[str]
    augment_pairs: int
    batch_size: int
    learning_rate: float
    warmup_ratio: float
    weight_decay: float
    max_grad_norm: float
    seed: Seed
    early_stopping_patience: int | None
    embeddings: NotRequired[str | None]


class _Model(TypedDict):
    name: str
    revision: str


class _Pairs(TypedDict):
    name: str
    origin: str
    splits: list[str]
    revisions: list[str]
    excluded: dict[str, int]
    pairs: int
    weight: NotRequired[float]


class _Data(TypedDict):
    training: list[_Pairs]
    held_out: list[_Pairs]


class _Metrics(TypedDict):
    accuracy: float
    loss: float
    pairs: int


class _Evaluation(TypedDict):
    step: int
    all: _Metrics


class _InterpolatedModel(TypedDict):
    alpha: float
    all: _Metrics


class _Interpolation(TypedDict):
    alpha: float
    max_loss: float
    curve: list[_InterpolatedModel]


class _AddedPairs(TypedDict):
    pairs: int


class _Augmentation(TypedDict):
    words: str
    first_epoch: dict[str, _AddedPairs]


class TrainingRecord(TypedDict):
    """Schema of training.json."""

    schema: int
    recipe: str
    config: _Config
    precision: Precision
    model: _Model
    data: _Data
    embeddings: NotRequired[str]
    label_order: list[str]
    pairs_per_epoch: int
    steps_per_epoch: int
    steps: int
    truncated_pairs: int
    bias_accuracy: NotRequired[float]
    augmentation: NotRequired[_Augmentation]
    evaluations: list[_Evaluation]
    best_evaluation: _Evaluation
    interpolation: NotRequired[_Interpolation]
    processes: int
    device: str
    environment: dict[str, str]


def read_training_record(folder: Path) -> dict[str, Any]:
    """Read and validate the training record in the output folder of a finished run."""
    record = read_record(folder / FILE, TrainingRecord, "the record of a finished training run")
    if "interpolation" in record and not record["interpolation"]["curve"]:
        raise ValueError(f"{folder / FILE}: expected interpolated models, got an empty curve; train again")
    return record
