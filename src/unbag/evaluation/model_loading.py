"""Loading of models by name or from an object: model types, options and predictors."""

import copy
import logging
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from inspect import isclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.inference.function import CallablePredictor
from unbag.inference.in_memory import build_classifier_predictor, find_model_name, is_classifier
from unbag.inference.long_premises import LongPremisePredictor
from unbag.inference.options import (
    MODEL_OPTIONS,
    BuiltInKwargs,
    CausalKwargs,
    ClassifierKwargs,
    EndpointKwargs,
    FunctionKwargs,
    InMemoryKwargs,
    get_default,
)
from unbag.inference.predictor import Predictor
from unbag.utils.errors import build_user_code_error
from unbag.utils.hub import is_model_name
from unbag.utils.options import OptionError, format_flag, parse_options, suggest_name
from unbag.utils.safe_io import validate_file

logger = logging.getLogger(__name__)

_NOT_RECORDED: Final = {
    "spending",  # counts requests; passed only by the library itself
    *(name for name, (_, option) in MODEL_OPTIONS.items() if not option.affects_predictions),
}


class ModelType(NamedTuple):
    """Type of a model, such as a classifier or a function, with its options."""

    description: str
    name_form: str
    options: frozenset[str]


def _names(kwargs: type, *internal: str) -> frozenset[str]:
    """Collect the names of keyword arguments, and of options that only the library itself passes."""
    return frozenset(kwargs.__annotations__).union(internal)


CLASSIFIER: Final = ModelType("a classifier", "a Hub id or a folder", _names(ClassifierKwargs))
CAUSAL: Final = ModelType("a causal language model", "causal:ORG/LM", _names(CausalKwargs))
ENDPOINT: Final = ModelType("a model behind an endpoint", "endpoint:NAME", _names(EndpointKwargs, "spending"))
BUILT_IN: Final = ModelType(
    "a built-in model",
    "lexical, hypothesis-only or majority",
    _names(BuiltInKwargs, "language", "tags", "hypothesis_only", "l2", "seed"),
)
IN_MEMORY: Final = ModelType("a classifier in memory", "a CrossEncoder or a pipeline", _names(InMemoryKwargs))
FUNCTION: Final = ModelType("a function", "module:function", _names(FunctionKwargs))
PREDICTOR: Final = ModelType("a predictor", "an object", frozenset({"threshold"}))
KINDS: Final = (CLASSIFIER, CAUSAL, ENDPOINT, BUILT_IN, IN_MEMORY, FUNCTION, PREDICTOR)


def find_model_type(model: Any) -> ModelType:
    """Determine the type of a model from its name or object."""
    if isinstance(model, Path):
        return CLASSIFIER
    if not isinstance(model, str):
        if is_classifier(model):
            return IN_MEMORY
        return PREDICTOR if isinstance(model, Predictor) and not isclass(model) else FUNCTION
    from unbag.baselines.lexical.predictors import BASELINES

    before, colon, _ = model.partition(":")
    if colon and not re.match(r"[A-Za-z]:[\\/]", model):  # `C:\…` is a folder on Windows
        return {"causal": CAUSAL, "endpoint": ENDPOINT}.get(before, FUNCTION)
    return BUILT_IN if model in BASELINES else CLASSIFIER


PROMPT_MARK: Final = " · "
"""Text between the names of a model and a prompt, if the model is evaluated with several prompts."""


class ModelVariant(NamedTuple):
    """Model with the options that apply to it, including at most one prompt."""

    model: Any  # by name or as an object
    options: dict[str, Any]
    suffix: str  # mark and name of the prompt, for a model with several prompts; otherwise empty


def list_variants(models: Sequence[Any], options: Mapping[str, Any]) -> list[ModelVariant]:
    """Expand models to variants: one variant per model, or one per prompt if a model has several prompts.

    >>> [each.suffix for each in list_variants(["endpoint:lm", "org/model"], {"prompt": ("a.jinja", "strict.jinja")})]
    [' · a', ' · strict', '']
    """
    variants = []
    for model in models:
        own = {name: value for name, value in options.items() if name in find_model_type(model).options}
        prompts = own.pop("prompt", ())
        files = [prompts] if isinstance(prompts, str | Path) else prompts
        stems = [Path(file).stem for file in files]
        if repeated := sorted({stem for stem in stems if stems.count(stem) > 1}):
            raise ValueError(
                f"--prompt: expected different file names, got {', '.join(repeated)} twice; rename one of the files"
            )
        if not files:
            variants.append(ModelVariant(model, own, ""))
        for file, stem in zip(files, stems, strict=True):
            suffix = f"{PROMPT_MARK}{stem}" if len(files) > 1 else ""
            variants.append(ModelVariant(model, {**own, "prompt": str(file)}, suffix))
    return variants


def validate_model_options(models: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Validate that each option applies to at least one of the models. Options with the value None are not given.

    >>> validate_model_options(["my:model"], {"head": "plain"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    unbag.utils.options.OptionError: head is for a Hub id or a folder; ...; omit head (--head)
    """
    kinds = {_display_name(model): find_model_type(model) for model in models}
    for option in (name for name, value in options.items() if value is not None):
        if any(option in kind.options for kind in kinds.values()):
            continue
        takers = [kind.name_form for kind in KINDS if option in kind.options]
        if not takers:
            raise TypeError(f"expected a model option, got {option!r}{suggest_name(option, MODEL_OPTIONS)}")
        model, kind = next(iter(kinds.items()))
        own = ", ".join(sorted(kind.options & MODEL_OPTIONS.keys()))
        raise OptionError(
            f"{option} is for {' or '.join(takers)}; {model} is {kind.description}, which takes only {own}; omit "
            f"{option} ({format_flag(option)})"
        )


def has_stable_identity(model: Any) -> bool:
    """Check whether a model has a stable identity, so that later runs can reuse its predictions.

    Anonymous functions have none.
    """
    if find_model_type(model) in (FUNCTION, PREDICTOR):
        return getattr(model, "identity", None) is not None
    return True


def _display_name(model: Any) -> str:
    return str(model) if isinstance(model, str | Path) else str(getattr(model, "__qualname__", type(model).__name__))


_NOT_OF_EXPORTED: Final = frozenset({"dtype", "device", "head", "trust_remote_code", "template"})
_OF_CHAT: Final = frozenset({"num_fewshot", "prompt"})
_OF_ROUTES: Final = frozenset({"separator", "label_map"})
_OF_WORDNET: Final = frozenset({"natlog", "wordnet"})

Model = str | Path | Predictor | Callable[[list[str], list[str]], Any]
"""A Hub id, a folder, a built-in model, `module:function` as text, a predictor, a function, or a classifier in memory;
see `load_predictor`."""


def load_predictor(model: Model, **options: Any) -> tuple[Predictor, str]:
    """Load a model as a predictor. Returns the predictor and its display name.

    A model is given as in `unbag.evaluate`. A folder or Hub id may also be that of a lexical model. `module:function`
    is imported from the current folder or an installed package. `options` are those of its type (`inference.options`).

    Raises:
        ValueError: If the model or function does not exist, or an option does not apply to the model's type.
    """
    options = parse_options(MODEL_OPTIONS, options)
    validate_model_options([model], options)
    long_premise = options.pop("long_premise", get_default("long_premise"))
    threshold = options.get("threshold")
    loaded, name = _predictor_of(model, options)
    predictor: Any = loaded if threshold is None else copy.copy(loaded)  # the object may belong to the user
    if threshold is not None:
        predictor.threshold = threshold  # applied to the stored probabilities (`inference.single_output`)
    if long_premise == get_default("long_premise"):
        return predictor, name
    return LongPremisePredictor(predictor, long_premise), name


def _predictor_of(model: Model, options: dict[str, Any]) -> tuple[Predictor, str]:
    kind = find_model_type(model)
    # A classifier validates its threshold, which it requires if it has one output.
    if kind not in (CLASSIFIER, IN_MEMORY) and not (kind is ENDPOINT and _is_route(options)):
        options = {name: value for name, value in options.items() if name != "threshold"}
    if isinstance(model, str | Path):
        return _load_by_name(model, options), str(model)
    if is_classifier(model):
        return build_classifier_predictor(model, **options), find_model_name(model)
    if isinstance(model, Predictor):
        return model, (model.identity or {}).get("name") or type(model).__name__
    if hasattr(model, "predict") or not callable(model):
        raise ValueError(
            f"model: expected the name of a model (such as a Hub id or a folder), a CrossEncoder, a transformers "
            f"text-classification pipeline, a function of premises and hypotheses, or a predictor with `label_space`, "
            f"`identity` and `predict` (unbag.inference.predictor.Predictor), got an object of type "
            f"{type(model).__module__}.{type(model).__qualname__}; wrap it in a function: lambda premises, hypotheses: "
            "…"
        )
    return CallablePredictor(model, **options), getattr(model, "__qualname__", type(model).__qualname__)


def validate_model(model: Model) -> None:
    """Validate the name of a model without loading it. Whether a Hub id exists is checked when the model is loaded."""
    kind = find_model_type(model)
    if not isinstance(model, str | Path) or kind is BUILT_IN:
        return
    name = str(model)
    if kind is FUNCTION:
        _import_function(name)
    if kind in (CAUSAL, ENDPOINT):
        before, _, name = name.partition(":")
        if not name.strip():
            raise ValueError(f"{before}: expected a model name after the colon, got none; add the name")
    if kind in (FUNCTION, ENDPOINT):  # only a server knows the names of its models
        return
    path = Path(name).expanduser()
    if (path / "config.json").exists():
        validate_file(path / "config.json")
    elif path.is_dir() or path.is_file():
        from unbag.inference.hub_files import resolve_origin

        resolve_origin(path, None)  # raises; the message depends on the files
    elif path.exists() or not is_model_name(name):
        raise ValueError(
            f"expected a model (a Hub id such as org/name, or a model folder), got {name!r}; check the name"
        )


def validate_lexicon(model: Model) -> None:
    """Validate that WordNet is installed, if the model needs it. `unbag prefetch` installs it."""
    if find_model_type(model) is BUILT_IN and model in _OF_WORDNET:
        from unbag.baselines.wordnet.database import validate_wordnet

        validate_wordnet()


def select_cache_key_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Select the non-default options that affect a model's predictions."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value != get_default(name) and name not in _NOT_RECORDED
    }


def build_options_record(model: Model, predictor: Predictor, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Build the JSON record of a model's options. Return None if the model is a Python object instead of a name.

    The revision is omitted, since the predictor's identity contains its commit. A label map is recorded as the order of
    the outputs.
    """
    if not isinstance(model, str | Path):
        return None
    recorded = select_cache_key_options({name: value for name, value in options.items() if name != "revision"})
    if "label_map" in recorded:
        recorded["label_map"] = ",".join(get_label_order(predictor))
    return recorded


def get_label_order(predictor: Predictor) -> tuple[str, ...]:
    """Get the labels of a model's outputs, in output order. The default is the predictor's `label_space`."""
    return tuple(getattr(predictor, "order", predictor.label_space))


def _load_by_name(model: str | Path, options: dict[str, Any]) -> Predictor:
    from unbag.baselines.lexical.fitting import LexicalTrainingOptions
    from unbag.baselines.lexical.predictors import BASELINES

    kind = find_model_type(model)
    if kind is BUILT_IN:
        if Path(model).exists():
            logger.warning("%s: the built-in model; pass ./%s for the model in the folder of this name", model, model)
        built_in: Predictor = BASELINES[str(model)](LexicalTrainingOptions(**options))
        return built_in
    if kind is FUNCTION:
        return CallablePredictor(_import_function(str(model)), **options)
    if kind is CLASSIFIER:
        return _load_classifier(model, options)
    validate_model(model)
    name = str(model).partition(":")[2]
    if kind is ENDPOINT:
        return _connect_to_endpoint(name, options)
    from unbag.inference.llm.causal import CausalPredictor

    return CausalPredictor.load(name, **options)


def _is_route(options: Mapping[str, Any]) -> bool:
    """Check whether the address of an endpoint is a classification route."""
    from unbag.inference.classification_endpoint import find_route

    return find_route(options.get("base_url")) is not None


def _connect_to_endpoint(name: str, options: dict[str, Any]) -> Predictor:
    """Load a classifier behind one of the classification routes, or a language model behind any other address."""
    is_route = _is_route(options)
    if wrong := sorted(set(options) & (_OF_CHAT if is_route else _OF_ROUTES)):
        from unbag.inference.classification_endpoint import ROUTES

        routes = ", ".join(f"/{route}" for route in ROUTES)
        raise ValueError(
            f"{', '.join(wrong)}: {'not supported' if is_route else 'supported only'} for URLs that end in {routes}, "
            f"got {options.get('base_url')}; correct --base-url, or omit the option"
        )
    # The import errors of both name the extra.
    if is_route:
        from unbag.inference.classification_endpoint import ClassificationEndpointPredictor

        return ClassificationEndpointPredictor(name, **options)
    from unbag.inference.llm.endpoint import EndpointPredictor

    return EndpointPredictor(name, **options)


def _load_classifier(model: str | Path, options: dict[str, Any]) -> Predictor:
    """Load a classifier or a lexical model from the Hub or a folder."""
    from unbag.baselines.lexical.model import is_lexical_model, locate_lexical_model
    from unbag.data.readers import is_hub_id

    if is_lexical_model(model, revision=options.get("revision")):
        from unbag.baselines.lexical.predictors import LexicalPredictor

        options.pop("threshold", None)  # `load_predictor` sets it
        _reject_options(model, "a lexical model", options.keys() - {"revision", "pipeline"})
        folder = locate_lexical_model(model, **options)
        return LexicalPredictor(folder, revision=folder.name if is_hub_id(str(model)) else None)
    try:
        from unbag.inference.transformer import TransformerPredictor
    except ImportError as error:
        raise ImportError(
            f"expected torch and transformers, got an error ({error}); install them: pip install 'unbag[models]'"
        ) from error
    from unbag.inference.exported import ExportedPredictor
    from unbag.inference.exported_files import has_only_exported_models

    if "model_file" in options or has_only_exported_models(model, options.get("revision")):
        kind = "an exported model, which runs on the CPU with its own dtypes,"
        _reject_options(model, kind, options.keys() & _NOT_OF_EXPORTED)
        return ExportedPredictor.load(model, **options)
    from unbag.inference.cross_encoder import CrossEncoderPredictor, is_modular_cross_encoder
    from unbag.inference.hub_files import resolve_origin

    trust = bool(options.get("trust_remote_code"))
    origin = resolve_origin(model, options.get("revision"), trust_remote_code=trust)
    if is_modular_cross_encoder(origin):
        _reject_options(model, "a CrossEncoder made of modules", options.keys() & {"head", "template"})
        others = {name: value for name, value in options.items() if name not in ("revision", "trust_remote_code")}
        return CrossEncoderPredictor.load(origin, **others)
    # The weights are of the commit whose files were inspected, even if the branch moves meanwhile.
    return TransformerPredictor.load(model, **options | {"revision": origin.commit})


def _reject_options(model: str | Path, kind: str, options: Collection[str]) -> None:
    if options:
        raise ValueError(f"{model}: {kind} does not support the option {', '.join(sorted(options))}; omit it")


def _import_function(name: str) -> Callable[[list[str], list[str]], Any]:
    module_name, _, attribute = name.partition(":")
    if not (attribute and all(module_name.split("."))):
        raise ValueError(f"expected module:function, got {name!r}; pass a module and one of its functions")
    if module_name.endswith(".py") and "/" not in module_name:
        raise ValueError(f"expected module:function, got {name!r}; pass {module_name.removesuffix('.py')}:{attribute}")
    sys.path.insert(0, str(Path.cwd()))  # as with `python -m`, so that modules of the user can be imported
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # a script may call sys.exit at import
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise ValueError(f"expected module:function, got {name!r}: {error}") from error
        raise build_user_code_error(
            f"{name}: expected an importable module {module_name}", error, "correct it"
        ) from error
    finally:
        sys.path.pop(0)
    try:
        function: Callable[[list[str], list[str]], Any] = getattr(module, attribute)
    except AttributeError as error:
        raise ValueError(f"expected module:function, got {name!r}: {error}") from error
    if not callable(function):
        raise ValueError(
            f"expected module:function, got {name!r}, which has type {type(function).__name__}; pass a function "
            "that takes a list of premises and a list of hypotheses"
        )
    return function
