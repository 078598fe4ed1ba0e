"""From what a user calls a model to a predictor."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Final

from unbag.inference.function import CallablePredictor
from unbag.inference.in_memory import is_classifier, name_of, predictor_of_classifier
from unbag.inference.predictor import Predictor

_BY_KIND: Final = ("causal", "endpoint")
"""What stands before a colon and is no module: language models that are asked in words (`unbag.llm`)."""

DEFAULTS: Final[Mapping[str, Any]] = {"dtype": "float32", "head": "plain", "shots": 0}
"""The options of models that have a default of their own, as their `load` has it; a test holds them together."""

_NOT_DECIDING: Final = frozenset({"device", "concurrency", "retries", "spending", "cache"})

Model = str | Path | Predictor | Callable[[list[str], list[str]], Any]
"""A Hub id, a folder, a built-in model, `module:function` as text, a predictor, a function, or a classifier in memory;
see `predictor_of`."""


def predictor_of(model: Model, **options: Any) -> tuple[Predictor, str]:
    """Return a predictor and the name to show for it.

    Args:
        model: the name of a built-in model (`lexical.predictors.BASELINES`); a Hub id or a folder, of a classifier
            (`TransformerPredictor`) or of a lexical model; `causal:` and the Hub id or folder of a causal language
            model (`llm.causal`); `endpoint:` and the name of a model behind an API (`llm.endpoint`); `module:function`,
            a function to import from the current folder or an installed package (`CallablePredictor`); a function
            itself; a `CrossEncoder` or a text-classification pipeline (`in_memory`); or a predictor.
        options: for a Hub id or folder: those of `TransformerPredictor.load`; for a language model: those of
            `CausalPredictor.load` or `EndpointPredictor.load`; for a built-in model: those of
            `lexical.training.Recipe`. None says nothing.

    Raises:
        ValueError: if there is no such model or function, or the options do not fit the kind of model.
    """
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(model, Path) or (isinstance(model, str) and ":" not in model):
        from unbag.lexical.predictors import BASELINES

        if model in BASELINES and not Path(model).exists():
            return _baseline(str(model), options), str(model)
        return _of_hub_or_folder(model, options), str(model)
    if kind := prompted(model):
        return _language_model(kind, str(model).partition(":")[2], options), str(model)
    if is_classifier(model):
        return predictor_of_classifier(model, **options), name_of(model)
    if options:
        raise ValueError(f"expected the options {', '.join(options)} with a Hub id or a folder only, found {model!r}")
    if isinstance(model, str):
        return CallablePredictor(_function(model)), model
    if isinstance(model, Predictor):
        return model, (model.identity or {}).get("name") or type(model).__name__
    if hasattr(model, "predict") or not callable(model):
        raise ValueError(
            f"expected a model as text (a Hub id, a folder, …), a CrossEncoder, a text-classification pipeline of "
            f"transformers, a function of premises and hypotheses, or a predictor with `label_space`, `identity` and "
            f"`predict` (unbag.inference.Predictor); found {type(model).__module__}.{type(model).__qualname__}. A "
            "function that asks it will do: lambda premises, hypotheses: …"
        )
    return CallablePredictor(model), getattr(model, "__qualname__", repr(model))


def deciding(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a model's options that decide its numbers and are not as by default; on any device."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and name not in _NOT_DECIDING and value != DEFAULTS.get(name)
    }


def recorded_options(model: Model, predictor: Predictor, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the options that a model was named with, for the record; None of an object, which has no name.

    The commit of a revision is in the predictor's identity, and the meaning of a label map is the order of outputs.
    """
    if not isinstance(model, str | Path):
        return None
    recorded = deciding({name: value for name, value in options.items() if name != "revision"})
    if "label_map" in recorded:
        recorded["label_map"] = ",".join(getattr(predictor, "order", predictor.label_space))
    return recorded


def prompted(model: Model) -> str | None:
    """Return the kind of a model that is asked in words, `causal` or `endpoint`; None for any other."""
    kind, colon, _ = model.partition(":") if isinstance(model, str) else ("", "", "")
    return kind if colon and kind in _BY_KIND else None


def prompted_options(kind: str) -> frozenset[str]:
    """Return the options of the models of a kind that `prompted` names."""
    return frozenset(signature(_loader(kind)).parameters) - {"model"}


def _loader(kind: str) -> Callable[..., Predictor]:
    if kind == "endpoint":
        from unbag.llm.endpoint import EndpointPredictor  # which says which extra is missing, if it is

        return EndpointPredictor.load
    from unbag.llm.causal import CausalPredictor

    return CausalPredictor.load


def _language_model(kind: str, name: str, options: dict[str, Any]) -> Predictor:
    if not name:
        raise ValueError(f"expected the name of a model after {kind}:, found none")
    if wrong := sorted(set(options) - prompted_options(kind)):
        raise ValueError(f"{kind}:{name} has no option {', '.join(wrong)}")
    return _loader(kind)(name, **options)


def _baseline(name: str, options: dict[str, Any]) -> Predictor:
    from unbag.lexical.predictors import BASELINES
    from unbag.lexical.training import Recipe

    if wrong := sorted(set(options) - set(Recipe.__dataclass_fields__)):
        raise ValueError(f"the built-in model {name!r} has no option {', '.join(wrong)}; it takes --training")
    predictor: Predictor = BASELINES[name](Recipe(**options))
    return predictor


def _of_hub_or_folder(model: str | Path, options: dict[str, Any]) -> Predictor:
    from unbag.lexical.hub import is_lexical_model, open_lexical_model
    from unbag.rows import is_hub_id

    if "training" in options:
        raise ValueError(f"expected --training with a built-in model only, found {str(model)!r}")
    if is_lexical_model(model, revision=options.get("revision")):
        from unbag.lexical.predictors import LexicalPredictor

        if wrong := sorted(set(options) - {"revision"}):
            raise ValueError(f"{model} is a lexical model, which has no option {', '.join(wrong)}")
        folder = open_lexical_model(model, **options)
        return LexicalPredictor(folder, revision=folder.name if is_hub_id(str(model)) else None)
    try:
        from unbag.inference.transformer import TransformerPredictor
    except ImportError as error:
        raise ImportError(f"models need torch and transformers: pip install 'unbag[models]' ({error})") from error
    return TransformerPredictor.load(model, **options)


def _function(name: str) -> Callable[[list[str], list[str]], Any]:
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the user's own module is found
    try:
        function: Callable[[list[str], list[str]], Any] = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"expected module:function, found {name!r}: {error}") from error
    finally:
        sys.path.pop(0)
    return function
