"""Reconstruction of the command of a training run from its record, for model cards. Needs no torch."""

import shlex
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from unbag.training.config import TrainConfig
from unbag.training.recipes import find_recipe

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
    words = ["unbag", "train", recipe.name.replace("_", "-")]
    for option, default in _defaults(recipe.config).items():
        value = options.get(option)
        if option in _OF_ONE_MACHINE or value is None or value == default:
            continue
        words.append(f"--{option.replace('_', '-')}")
        if value is not True:
            words += map(str, value) if isinstance(value, list) else [str(value)]
    if record["processes"] > 1:
        words = ["torchrun", "--nproc_per_node", str(record["processes"]), "-m", *words]
    return shlex.join(words)


def _defaults(config: type[TrainConfig]) -> dict[str, Any]:
    """Build a JSON object with the default values of a recipe. Options without a default are None."""
    defaults = {each.name: None if each.default is MISSING else each.default for each in fields(config)}
    first = ("model", "revision", "corpus")  # the order in which readers expect them
    ordered = {name: defaults[name] for name in first} | defaults
    return {name: list(value) if isinstance(value, tuple) else value for name, value in ordered.items()}
