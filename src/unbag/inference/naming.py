"""From what a user calls a model to a predictor."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from unbag.inference.function import CallablePredictor
from unbag.inference.predictor import Predictor

Model = str | Path | Predictor | Callable[[list[str], list[str]], Any]
"""A Hub id, a folder, `module:function` as text, a predictor, or a function; see `predictor_of`."""


def predictor_of(model: Model, **options: Any) -> tuple[Predictor, str]:
    """Return a predictor and the name to show for it.

    Args:
        model: a Hub id or a folder (`TransformerPredictor`); `module:function`, a function to import from the current
            folder or an installed package (`CallablePredictor`); a function itself; or a predictor.
        options: for a Hub id or folder: those of `TransformerPredictor.load`.

    Raises:
        ValueError: if there is no such model or function, or the options do not fit the kind of model.
    """
    if isinstance(model, Path) or (isinstance(model, str) and ":" not in model):
        try:
            from unbag.inference.transformer import TransformerPredictor
        except ImportError as error:
            raise ImportError(f"models need torch and transformers: pip install 'unbag[models]' ({error})") from error
        return TransformerPredictor.load(model, **options), str(model)
    if given := sorted(name for name, value in options.items() if value is not None):
        raise ValueError(f"expected the options {', '.join(given)} with a Hub id or a folder only, found {model!r}")
    if isinstance(model, str):
        return CallablePredictor(_function(model)), model
    if hasattr(model, "predict"):
        predictor = cast(Predictor, model)
        return predictor, (predictor.identity or {}).get("name") or type(model).__name__
    return CallablePredictor(cast(Callable[..., Any], model)), getattr(model, "__qualname__", repr(model))


def _function(name: str) -> Callable[[list[str], list[str]], Any]:
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does: the user's own module is found
    try:
        found: Callable[[list[str], list[str]], Any] = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"expected module:function, found {name!r}: {error}") from error
    finally:
        sys.path.pop(0)
    return found
