"""Options of models, declared once: the Python API, the command line and the results' records derive from them.

There is one class of keyword arguments per model type. An option is declared as `Annotated[type, Option(…)]`, with its
description, default and parser. The classes are typed dictionaries instead of dataclasses, so that `unbag.evaluate`
takes the options as typed keyword arguments (`typing.Unpack`).

At the top, the module imports only `unbag.utils`, because every start of the command reads it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypedDict

from unbag.utils.options import DeclaredOptions, NonNegativeInt, Option, PositiveInt, collect_options

Dtype = Literal["float32", "bfloat16", "float16"]
"""Floating-point type of a network's weights and computation."""

Head = Literal["plain", "residual"]
"""Classification head of a model trained by HEX (`unbag.models.hex`)."""

LongPremise = Literal["truncate", "any-chunk", "every-sentence"]
"""Handling of premises that exceed the model's maximum length (`unbag.inference.long_premises`)."""


def _parse_label_map(value: Mapping[str, str] | Sequence[str] | str) -> Mapping[str, str]:
    from unbag.data.labels import parse_label_map

    if isinstance(value, Mapping):
        return value
    return parse_label_map(value if isinstance(value, str) else ",".join(map(str, value)))


def _parse_threshold(value: float | str) -> float | str:
    from unbag.inference.single_output import parse_threshold

    return parse_threshold(value)


_Revision = Annotated[str | None, Option("Branch, tag or commit of the model.")]
_Dtype = Annotated[
    Dtype | None,
    Option("Floating-point type: float32, bfloat16 or float16 (default: float32).", default="float32", metavar="DTYPE"),
]
_Device = Annotated[
    str | None,
    Option("Torch device, such as cuda:1 (default: a GPU if available).", affects_predictions=False),
]
_LabelMap = Annotated[
    Mapping[str, str] | Sequence[str] | str | None,
    Option(
        "Labels of the model outputs in order, comma-separated or repeated.",
        "In Python also a list, or a mapping from the model's label names to unbag's.",
        parse=_parse_label_map,
    ),
]
_Threshold = Annotated[
    float | str | None,
    Option(
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
    Option(
        "Handling of long premises: truncate (default), any-chunk or every-sentence.",
        "`any-chunk` joins sentences to chunks that fit, and uses the chunk with the highest entailment probability. "
        "`every-sentence` does the same with single sentences.",
        default="truncate",
        metavar="MODE",
    ),
]
_TrustRemoteCode = Annotated[
    bool | None,
    Option("Run Python code from the model repository; recorded in results (default: off).", default=False),
]
_MaxLength = Annotated[
    PositiveInt | None, Option("Maximum number of tokens per pair (default: the model's maximum).", metavar="N")
]
_BatchTokens = Annotated[
    PositiveInt | None, Option("Maximum number of tokens per batch (default: chosen for speed).", metavar="N")
]
_NumFewshot = Annotated[
    NonNegativeInt | None,
    Option("Number of few-shot examples in the prompt: 0, 3 or 6 (default: 0).", default=0, metavar="N"),
]
_Prompt = Annotated[
    Path | str | Sequence[Path | str] | None,
    Option(
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
        Option(
            "Head of a HEX model: plain, or residual as in the HEX paper (default: plain).",
            default="plain",
            metavar="HEAD",
        ),
    ]
    trust_remote_code: _TrustRemoteCode
    template: Annotated[
        str | None,
        Option(
            "Classifiers of one text: Jinja template file or recipe name (as --prompt).",
            "The template contains premise and hypothesis, and `raw: true` in its front matter.",
            metavar="FILE",
        ),
    ]
    model_file: Annotated[
        str | None,
        Option("Exported model file, such as onnx/model.onnx (default: the only such file).", metavar="FILE"),
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
        bool | None, Option("Causal models: apply the chat template (default: if the tokenizer has one).")
    ]
    max_length: _MaxLength
    batch_tokens: _BatchTokens
    trust_remote_code: _TrustRemoteCode


class EndpointKwargs(TypedDict, total=False):
    """Options of a language model or classifier that is served by an endpoint."""

    base_url: Annotated[str | None, Option("Endpoint URL, ending in /v1, /predict, /rerank, /classify or /score.")]
    num_fewshot: _NumFewshot
    prompt: _Prompt
    separator: Annotated[
        str | None,
        Option("Endpoints: separator of premise and hypothesis in requests to /classify.", "For example `[SEP]`."),
    ]
    label_map: _LabelMap
    threshold: _Threshold
    concurrency: Annotated[
        PositiveInt | None,
        Option("Endpoints: number of concurrent requests (default: 8).", metavar="N", affects_predictions=False),
    ]
    retries: Annotated[
        NonNegativeInt | None,
        Option(
            "Endpoints: maximum number of retries of a request (default: 8).",
            metavar="N",
            affects_predictions=False,
        ),
    ]
    no_cache: Annotated[
        bool | None,
        Option(
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
        Option(
            "Training corpora or files of the built-in models (default: snli,mnli).",
            parse=lambda value: tuple(map(str, value)) or None,
        ),
    ]
    max_train_pairs: Annotated[
        PositiveInt | None,
        Option("Maximum number of training pairs of the built-in models (default: all).", metavar="N"),
    ]
    pipeline: Annotated[
        str | None,
        Option(
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


MODEL_OPTIONS: Final[DeclaredOptions] = collect_options(ModelKwargs)
"""Type and description of each option, in the order of the command's help."""


IDENTITY_OPTIONS: Final = frozenset(
    "revision label_map model_file head base_url separator trust_remote_code trust_labels".split()
).union(BuiltInKwargs.__annotations__)
"""Options that describe a model instead of its use. A comparison of two models needs no equal values."""


def get_default(name: str) -> Any:
    """Get the default value of a model option. Return None if no public class declares the option."""
    return MODEL_OPTIONS[name][1].default if name in MODEL_OPTIONS else None
