"""Options of models, declared once: the Python API, the command line and the results' records derive from them.

There is one class of keyword arguments per model type. An option is declared as `Annotated[type, ModelOption(…)]`, with
its description, default and parser. The classes are typed dictionaries instead of dataclasses, so that `unbag.evaluate`
takes the options as typed keyword arguments (`typing.Unpack`).

At the top, the module imports only `unbag.utils`, because every start of the command reads it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, Final, Literal, TypedDict, TypeVar, get_type_hints

from unbag.utils.options import validate_int, validate_value

_T = TypeVar("_T", bound=Callable[..., Any])

Dtype = Literal["float32", "bfloat16", "float16"]
"""Floating-point type of a network's weights and computation."""

Head = Literal["plain", "residual"]
"""Classification head of a model trained by HEX (`unbag.models.hex`)."""

LongPremise = Literal["truncate", "any-chunk", "every-sentence"]
"""Handling of premises that exceed the model's maximum length (`unbag.inference.long_premises`)."""


@dataclass(frozen=True)
class ModelOption:
    """Description of a model option."""

    help: str  # description in one line, for the command line and Python
    details: str = ""  # continuation of the description, for Python only
    default: Any = None  # value that the loaders use if the option is not given
    metavar: str | None = None  # name of the value in the command's help
    minimum: int | None = None
    affects_predictions: bool = True  # whether the records of results contain the option
    parse: Callable[[Any], Any] | None = None  # from a value of the declared type to the value that the loaders take


def _parse_label_map(value: Mapping[str, str] | Sequence[str] | str) -> Mapping[str, str]:
    from unbag.data.labels import parse_label_map

    if isinstance(value, Mapping):
        return value
    return parse_label_map(value if isinstance(value, str) else ",".join(map(str, value)))


def _parse_threshold(value: float | str) -> float | str:
    from unbag.inference.single_output import parse_threshold

    return parse_threshold(value)


def _to_texts(value: Any) -> tuple[str, ...] | None:
    return (str(value),) if isinstance(value, str | Path) else tuple(map(str, value)) or None


_Revision = Annotated[str | None, ModelOption("Branch, tag or commit of the model.")]
_Dtype = Annotated[
    Dtype | None,
    ModelOption(
        "Floating-point type: float32, bfloat16 or float16 (default: float32).", default="float32", metavar="DTYPE"
    ),
]
_Device = Annotated[
    str | None,
    ModelOption("Torch device, such as cuda:1 (default: a GPU if available).", affects_predictions=False),
]
_LabelMap = Annotated[
    Mapping[str, str] | Sequence[str] | str | None,
    ModelOption(
        "Labels of the model outputs in order, comma-separated or repeated.",
        "In Python also a list, or a mapping from the model's label names to unbag's.",
        parse=_parse_label_map,
    ),
]
_Threshold = Annotated[
    float | str | None,
    ModelOption(
        "Entailment threshold, or break-even (as many entailments as in the gold labels).",
        "Minimum probability of entailment, from 0 to 1 (default: the most probable label). A model with one output (a "
        "reranker, a fact checker) needs a threshold, which applies to the sigmoid. Text may have more digits than a "
        "float.",
        metavar="PROBABILITY",
        parse=_parse_threshold,
    ),
]
_LongPremise = Annotated[
    LongPremise | None,
    ModelOption(
        "Handling of long premises: truncate (default), any-chunk or every-sentence.",
        "`any-chunk` joins sentences to chunks that fit, and uses the chunk with the highest entailment probability. "
        "`every-sentence` does the same with single sentences.",
        default="truncate",
        metavar="MODE",
    ),
]
_TrustRemoteCode = Annotated[
    bool | None,
    ModelOption("Run Python code from the model repository; recorded in results (default: off).", default=False),
]
_MaxLength = Annotated[
    int | None, ModelOption("Maximum number of tokens per pair (default: the model's maximum).", metavar="N", minimum=1)
]
_BatchTokens = Annotated[
    int | None, ModelOption("Maximum number of tokens per batch (default: chosen for speed).", metavar="N", minimum=1)
]
_NumFewshot = Annotated[
    int | None,
    ModelOption(
        "Number of few-shot examples in the prompt: 0, 3 or 6 (default: 0).", default=0, metavar="N", minimum=0
    ),
]
_Prompt = Annotated[
    Path | str | Sequence[Path | str] | None,
    ModelOption(
        "Files with Jinja prompt templates, or recipe names; each is evaluated alone.",
        "See `inference.llm.prompt_file`. Recipes: qwen3-reranker, bge-reranker-gemma, minicheck-t5, monot5.",
        metavar="FILE",
    ),
]


class InMemoryKwargs(TypedDict, total=False):
    """Options of a classifier in memory: a `CrossEncoder` or a text-classification pipeline."""

    label_map: _LabelMap
    threshold: _Threshold
    long_premise: _LongPremise
    max_length: _MaxLength
    batch_tokens: _BatchTokens


class ClassifierKwargs(InMemoryKwargs, total=False):
    """Options of a classifier that is loaded from the Hub or a folder."""

    revision: _Revision
    dtype: _Dtype
    device: _Device
    head: Annotated[
        Head | None,
        ModelOption(
            "Head of a HEX model: plain, or residual as in the HEX paper (default: plain).",
            default="plain",
            metavar="HEAD",
        ),
    ]
    trust_remote_code: _TrustRemoteCode
    template: Annotated[
        str | None,
        ModelOption(
            "Classifiers of one text: Jinja template file or recipe name (as --prompt).",
            "The template contains premise and hypothesis, and `raw: true` in its front matter.",
            metavar="FILE",
        ),
    ]
    model_file: Annotated[
        str | None,
        ModelOption("Exported model file, such as onnx/model.onnx (default: the only such file).", metavar="FILE"),
    ]


class CausalKwargs(TypedDict, total=False):
    """Options of a causal language model."""

    threshold: _Threshold
    revision: _Revision
    dtype: _Dtype
    device: _Device
    num_fewshot: _NumFewshot
    prompt: _Prompt
    apply_chat_template: Annotated[
        bool | None, ModelOption("Causal models: apply the chat template (default: if the tokenizer has one).")
    ]
    max_length: _MaxLength
    batch_tokens: _BatchTokens
    trust_remote_code: _TrustRemoteCode


class EndpointKwargs(TypedDict, total=False):
    """Options of a language model or classifier that is served by an endpoint."""

    base_url: Annotated[str | None, ModelOption("Endpoint URL, ending in /v1, /predict, /rerank, /classify or /score.")]
    num_fewshot: _NumFewshot
    prompt: _Prompt
    separator: Annotated[
        str | None,
        ModelOption("Endpoints: separator of premise and hypothesis in requests to /classify.", "For example `[SEP]`."),
    ]
    label_map: _LabelMap
    threshold: _Threshold
    concurrency: Annotated[
        int | None,
        ModelOption(
            "Endpoints: number of concurrent requests (default: 8).", metavar="N", minimum=1, affects_predictions=False
        ),
    ]
    retries: Annotated[
        int | None,
        ModelOption(
            "Endpoints: maximum number of retries of a request (default: 8).",
            metavar="N",
            minimum=0,
            affects_predictions=False,
        ),
    ]
    no_cache: Annotated[
        bool | None,
        ModelOption(
            "Endpoints: ignore stored answers, and send all requests again (default: off).",
            default=False,
            affects_predictions=False,
        ),
    ]


class BuiltInKwargs(TypedDict, total=False):
    """Options of a built-in model."""

    threshold: _Threshold
    train_data: Annotated[
        Sequence[str] | None,
        ModelOption("Training corpora or files of the built-in models (default: snli,mnli).", parse=_to_texts),
    ]
    max_train_pairs: Annotated[
        int | None,
        ModelOption("Maximum number of training pairs of the built-in models (default: all).", metavar="N", minimum=1),
    ]
    pipeline: Annotated[
        str | None,
        ModelOption(
            "spaCy pipeline of the built-in models, or all (default: en_core_web_sm).",
            "It selects the content words.",
            metavar="NAME",
        ),
    ]


class FunctionKwargs(TypedDict, total=False):
    """Options of a model that is a Python function."""

    label_map: _LabelMap
    threshold: _Threshold
    long_premise: _LongPremise


class ModelKwargs(CausalKwargs, ClassifierKwargs, EndpointKwargs, BuiltInKwargs, total=False):
    """Options of all model types."""


def _collect_options(kwargs: type) -> dict[str, tuple[Any, ModelOption]]:
    hints = get_type_hints(kwargs, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}


MODEL_OPTIONS: Final[Mapping[str, tuple[Any, ModelOption]]] = _collect_options(ModelKwargs)
"""Type and description of each option, in the order of the command's help."""


IDENTITY_OPTIONS: Final = frozenset(
    "revision label_map model_file head base_url separator trust_remote_code trust_labels".split()
).union(BuiltInKwargs.__annotations__)
"""Options that describe a model instead of its use. A comparison of two models needs no equal values."""


def describe_model_options(function: _T) -> _T:
    """Add the model options to the signature and the docstring of a function that takes them as `**model_options`."""
    declared = signature(function)
    fixed = [each for each in declared.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=hint)
        for name, (hint, _) in MODEL_OPTIONS.items()
    ]
    function.__signature__ = declared.replace(parameters=[*fixed, *options])  # type: ignore[attr-defined]
    # The docstring is None with -OO, and less indented since Python 3.13.
    function.__doc__ = re.sub(r"^( +)model_options: .*$", _describe_options, function.__doc__ or "", flags=re.MULTILINE)
    return function


def _describe_options(entry: re.Match[str]) -> str:
    lines = (f"{name}: {option.help} {option.details}".strip() for name, (_, option) in MODEL_OPTIONS.items())
    first, rest = entry[1], f"{entry[1]}    "
    return "\n".join(
        fill(line, 120, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) for line in lines
    )


def get_default(name: str) -> Any:
    """Get the default value of a model option. Return None if no public class declares the option."""
    return MODEL_OPTIONS[name][1].default if name in MODEL_OPTIONS else None


def parse_model_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Validate model options, and convert their values to the types that the loaders expect.

    Options with the value None are left out. Names that are not in `MODEL_OPTIONS` are not validated. A parsed value
    can be parsed again.

    >>> parse_model_options({"threshold": "0.5", "label_map": "entailment,not_entailment", "dtype": None})
    {'threshold': 0.5, 'label_map': {'0': 'entailment', '1': 'not_entailment'}}
    >>> parse_model_options({"dtype": "float23"})
    Traceback (most recent call last):
        ...
    ValueError: expected dtype to be float32, bfloat16, float16, got 'float23'
    """
    return {
        name: _parse(name, value)
        for name, value in options.items()
        if not (value is None or (value is False and get_default(name) is False))  # off by default
    }


def _parse(name: str, value: Any) -> Any:
    if name not in MODEL_OPTIONS:
        return value
    hint, option = MODEL_OPTIONS[name]
    validate_value(name, hint, value)
    if option.minimum is not None:
        validate_int(name, value, minimum=option.minimum)
    return value if option.parse is None else option.parse(value)
