"""A model's config, network and tokenizer as transformers reads them, and one line of what it cannot read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

import unbag.models  # noqa: F401  (makes them known to the Auto classes)
from unbag.inference.model_error import ModelError
from unbag.inference.origin import Origin
from unbag.inference.remote_code import elsewhere, names_code
from unbag.utils import errors
from unbag.utils.advice import first_fitting
from unbag.utils.files import read_object
from unbag.utils.redaction import first_line

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

_MOST_PARTS: Final = 1_000
"""Layers, groups of layers, or labels that a config may name; language models have some hundred layers."""
_COUNTS_PARTS: Final = re.compile(r"(^|_)((?<!per_)layers?|groups|group_num|blocks|num_labels)$")
"""Such as `num_hidden_layers`, `n_layer`, `decoder_layers`, ALBERT's `inner_group_num` and our own `blocks`."""
_KINDS: Final = {
    AutoModelForSequenceClassification: "a sequence classifier",
    AutoModelForCausalLM: "a causal language model",
}


def config_of(origin: Origin) -> "PretrainedConfig":
    """Return a model's config.

    Raises:
        ModelError: if it cannot be read, it names more layers or labels than any model has, or it needs code that is
            not trusted or lies elsewhere.
    """
    folder = origin.fetched()
    if origin.trust and (name := elsewhere(folder)):
        repository, _, module = name.partition("--")
        raise ModelError(
            f"{origin} runs code of another repository, {repository} ({module}), at no commit that its files name; "
            "copy the code beside the model and name it there without the repository"
        )
    require_few_parts(folder / "config.json")
    config: PretrainedConfig
    try:
        config = AutoConfig.from_pretrained(origin.source, **origin.options())
    except OSError as error:
        raise ModelError(f"cannot read the config of {origin}: {first_line(error)}") from error
    except Exception as error:  # an unknown architecture, one that needs code of the repository, nonsense
        _refuse_code(origin, folder)
        raise ModelError(f"{origin} is not a model that transformers knows: {_reason(error)}") from error
    names = config.architectures or ()
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ModelError(f"expected a list of names as architectures in the config of {origin}, found {names!r:.100}")
    return config


def is_causal_lm(config: "PretrainedConfig") -> bool:
    """Tell whether a model says of itself that it continues texts. GPT-2's architecture is called `GPT2LMHeadModel`."""
    names = config.architectures or ()
    return any(name.endswith(("ForCausalLM", "GPT2LMHeadModel")) for name in names)


def network_of(kind: Any, origin: Origin, dtype: torch.dtype, **options: Any) -> tuple[Any, list[str]]:
    """Return a network, and the names of the weights that its files lack, sorted.

    Args:
        kind: one of `_KINDS`.
        origin: where it is read from.
        dtype: what the weights are cast to.
        options: of its `from_pretrained`.

    Raises:
        ModelError: if it cannot be loaded.
    """
    folder = origin.fetched(weights=True)
    how = origin.options() | options
    try:
        network, info = kind.from_pretrained(origin.source, dtype=dtype, output_loading_info=True, **how)
    except Exception as error:  # a shape that does not fit, a file cut short, a pointer in a weight file's place, …
        _refuse_code(origin, folder)
        raise ModelError(f"cannot load {origin} as {_KINDS[kind]}: {_reason(error)}") from error
    return network, sorted(info["missing_keys"])


def no_weights(missing: Sequence[str], origin: Origin) -> str:
    """Return what to say of a model whose files lack weights."""
    return f"the files of {origin} hold no weights for {missing[:4]}{' and others' if len(missing) > 4 else ''}"


def tokenizer_of(origin: Origin) -> "PreTrainedTokenizerBase":
    """Return a model's tokenizer.

    Raises:
        ModelError: if it cannot be loaded.
    """
    try:
        with errors.as_errors():
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(origin.source, **origin.options())
    except Exception as error:  # of files that anyone may have written: anything
        raise ModelError(f"cannot load the tokenizer of {origin}: {first_line(error)}") from error
    return tokenizer


def require_few_parts(path: Path) -> None:
    """Refuse a config that names more layers, groups, blocks or labels than `_MOST_PARTS`, before one is made.

    A part is an object, whatever the files hold, so that a billion of them never ends. A width costs nothing before
    it is compared with the shapes of the weights.

    Raises:
        ModelError: naming the first.
    """
    try:
        config = read_object(path)
    except ValueError:  # transformers says so
        return
    for name, value in _numbers(config):
        if _COUNTS_PARTS.search(name) and value > _MOST_PARTS:
            raise ModelError(
                f"{path}: expected {name} to be at most {_MOST_PARTS:,}, got {f'{value:,}'[:40]}; take another copy of "
                "the model"
            )


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the numbers in a config by name, those of configs within it too."""
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif isinstance(value, int | float):
            yield name, value


def _refuse_code(origin: Origin, folder: Path) -> None:
    """Say of a model that could not be read that it needs code which nobody has trusted, if it does."""
    if not origin.trust and names_code(folder):
        raise ModelError(
            f"{origin} needs code of its own repository, which is not run unless you say so: "
            + first_fitting(
                "read the code at the commit that you mean (--revision), then pass --trust-remote-code",
                "`unbag evaluate --trust-remote-code` runs it, this command does not",
            )
        ) from None


def _reason(error: Exception) -> str:
    """Return an error's first line, behind its kind where that alone says what is wrong, as of a KeyError."""
    line = first_line(error)
    return line if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {line}"
