"""What kinds of models there are, by how they are named, and which options each takes."""

import re
from collections.abc import Mapping, Sequence
from inspect import isclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.inference.in_memory import is_classifier
from unbag.inference.predictor import Predictor


class Kind(NamedTuple):
    """A kind of model: what it is, how one is named, and its options."""

    what: str
    named: str
    options: frozenset[str]


_OF_NETWORKS: Final = frozenset({"label_map", "max_length", "batch_tokens"})
# As the loaders have them, which are too heavy to import for a look at a name; a test holds them together.
CLASSIFIER: Final = Kind(
    "a classifier",
    "a Hub id or a folder",
    _OF_NETWORKS | {"revision", "dtype", "device", "head", "threshold", "trust_remote_code"},
)
CAUSAL: Final = Kind(
    "a causal language model",
    "causal:ORG/LM",
    frozenset({"revision", "dtype", "device", "shots", "chat", "max_length", "batch_tokens", "trust_remote_code"}),
)
ENDPOINT: Final = Kind(
    "a model behind an endpoint",
    "endpoint:NAME",
    frozenset({"base_url", "shots", "concurrency", "retries", "spending", "cache"}),
)
BUILT_IN: Final = Kind(
    "a built-in model",
    "lexical, hypothesis-only or majority",
    frozenset({"training", "language", "pipeline", "tags", "hypothesis_only", "pairs", "l2", "seed"}),
)
IN_MEMORY: Final = Kind("a classifier in memory", "a CrossEncoder or a pipeline", _OF_NETWORKS | {"threshold"})
FUNCTION: Final = Kind("a function", "module:function", frozenset({"label_map"}))
PREDICTOR: Final = Kind("a predictor", "an object", frozenset())
KINDS: Final = (CLASSIFIER, CAUSAL, ENDPOINT, BUILT_IN, IN_MEMORY, FUNCTION, PREDICTOR)


def kind_of(model: Any) -> Kind:
    """Return the kind of a model as it is named or handed in."""
    if isinstance(model, str):
        return _named(model)
    if isinstance(model, Path):
        return CLASSIFIER
    if is_classifier(model):
        return IN_MEMORY
    return PREDICTOR if isinstance(model, Predictor) and not isclass(model) else FUNCTION


def _named(name: str) -> Kind:
    from unbag.baselines.lexical.predictors import BASELINES

    before, colon, _ = name.partition(":")
    if colon and not re.match(r"[A-Za-z]:[\\/]", name):  # a drive of Windows is a folder's
        return {"causal": CAUSAL, "endpoint": ENDPOINT}.get(before, FUNCTION)
    return BUILT_IN if name in BASELINES and not Path(name).exists() else CLASSIFIER


def fitting(model: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options that a model of this kind takes."""
    return {name: value for name, value in options.items() if name in kind_of(model).options}


def check(models: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that none of some models takes.

    Args:
        models: as they are named or handed in.
        options: by name; None says nothing.

    Raises:
        ValueError: saying what takes it, and what the models take.

    >>> check(["my:model"], {"shots": 3})
    Traceback (most recent call last):
        ...
    ValueError: shots is for causal:ORG/LM or endpoint:NAME; my:model is a function, which takes only label_map
    """
    kinds = {_shown(model): kind_of(model) for model in models}
    for option in (name for name, value in options.items() if value is not None):
        if any(option in kind.options for kind in kinds.values()):
            continue
        takers = [kind.named for kind in KINDS if option in kind.options]
        whose = f"{option} is for {' or '.join(takers)}; " if takers else ""
        model, kind = next(iter(kinds.items()))
        taken = f"takes only {', '.join(sorted(kind.options))}" if kind.options else "takes no options"
        raise ValueError(f"{whose or f'no model has an option {option}; '}{model} is {kind.what}, which {taken}")


def is_recognised(model: Any) -> bool:
    """Tell whether a model's predictions are found again another time; those of a function of no name are not."""
    if kind_of(model) in (FUNCTION, PREDICTOR):
        return getattr(model, "identity", None) is not None
    return True


def _shown(model: Any) -> str:
    return str(model) if isinstance(model, str | Path) else str(getattr(model, "__qualname__", type(model).__name__))
