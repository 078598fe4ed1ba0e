"""Reconstruction of the command of a training run from its record, for model cards. Needs no torch."""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

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
    # As in the record, which has lists instead of tuples.
    defaults = {
        each.name: list(each.default) if isinstance(each.default, tuple) else each.default
        for each in fields(recipe.config)
    }
    # The order in which readers expect them.
    for option in dict.fromkeys(["model", "revision", "corpus", *defaults]):
        value = options.get(option)
        if option in _OF_ONE_MACHINE or value is None or value == defaults[option]:
            continue
        words.append(f"--{option.replace('_', '-')}")
        if value is not True:
            words += map(str, value) if isinstance(value, list) else [str(value)]
    if record["processes"] > 1:
        words = ["torchrun", "--nproc_per_node", str(record["processes"]), "-m", *words]
    return shlex.join(words)
