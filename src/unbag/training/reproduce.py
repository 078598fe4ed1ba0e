"""The command that a run was started with, from the record that it left."""

import shlex
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from unbag.training.config import TrainConfig
from unbag.training.recipes import find_recipe

_OF_ONE_MACHINE: Final = frozenset({"resume_from_checkpoint", "push_checkpoints"})  # the weights do not depend on them
_COMMIT: Final = 40  # hexadecimal digits


def command(record: Mapping[str, Any]) -> str:
    """Return the `unbag train …` that makes the model of a `training.json` again.

    Options that have their defaults are left out; the model is named with the commit that was trained.
    """
    recipe = find_recipe(record["recipe"])
    options = dict(record["config"])
    name, revision = record["model"]["name"], record["model"]["revision"]
    if len(revision) == _COMMIT:
        options |= {"model": name, "revision": revision}
    if options.get("precision") is None and record["precision"] != "no":  # as accelerate was configured
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
    """Return the options of a recipe with their defaults as JSON holds them; None where there is none."""
    defaults = {each.name: None if each.default is MISSING else each.default for each in fields(config) if each.init}
    first = ("model", "revision", "corpus")  # what a reader looks for
    ordered = {name: defaults[name] for name in first} | defaults
    return {name: list(value) if isinstance(value, tuple) else value for name, value in ordered.items()}
