"""Record of a training run, `training.json`, and the command that reproduces the run. Needs no torch.

The schema contains the fields that model cards and later runs read. `training.run` writes the record.
"""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.challenge_sets.results import Count, read_record
from unbag.training.config import Precision
from unbag.training.recipes import find_recipe
from unbag.utils.options import format_flag

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
    interpolation: NotRequired[dict[str, Any]]  # `weight_averaging.interpolate_network`
    processes: Count
    device: str
    environment: dict[str, str]


def read_training_record(folder: Path) -> dict[str, Any]:
    """Read and validate the training record in the output folder of a finished run."""
    return read_record(folder / FILE, TrainingRecord, "the record of a finished training run")


_OF_ONE_MACHINE: Final = frozenset({"resume_from_checkpoint", "push_checkpoints"})  # without influence on weights
_COMMIT: Final = 40  # hexadecimal digits


def build_train_command(record: Mapping[str, Any]) -> str:
    """Build the `unbag train` command that reproduces a model from its `training.json`.

    Options with default values are omitted. The model is named with the commit that was trained.
    """
    recipe = find_recipe(record["recipe"])
    options = dict(record["config"])
    name, revision = record["model"]["name"], record["model"]["revision"]
    if len(revision) == _COMMIT:
        options |= {"model": name, "revision": revision}
    if options.get("precision") is None and record["precision"] != "no":  # it came from accelerate's config
        options["precision"] = record["precision"]
    words = ["unbag", "train", recipe.recipe.replace("_", "-")]
    # As in the record, which has lists instead of tuples.
    defaults = {
        each.name: list(each.default) if isinstance(each.default, tuple) else each.default for each in fields(recipe)
    }
    # The order in which readers expect them.
    for option in dict.fromkeys(["model", "revision", "corpus", *defaults]):
        value = options.get(option)
        if option in _OF_ONE_MACHINE or value is None or value == defaults[option]:
            continue
        words.append(format_flag(option))
        if value is not True:
            words += map(str, value) if isinstance(value, list) else [str(value)]
    if record["processes"] > 1:
        words = ["torchrun", "--nproc_per_node", str(record["processes"]), "-m", *words]
    return shlex.join(words)
