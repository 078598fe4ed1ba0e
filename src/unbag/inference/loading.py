"""A classifier of the Hub or of a folder, refused where its answers would mean nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from huggingface_hub import resolve_revision
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    RevisionResolutionError,
)
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from unbag.inference.encoding import length_limit
from unbag.inference.revision import folder_revision
from unbag.labels import LABELS, resolve_order

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase


_KINDS: Final = {
    AutoModelForSequenceClassification: "a sequence classifier",
    AutoModelForCausalLM: "a causal language model",
}
_RANDOM: Final = "so these would be random and so would every answer"  # transformers draws them, with a warning


class ModelError(ValueError):
    """A model that cannot be had, or that is no trained classifier."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with its tokenizer, and what is known of it; a language model is no more than this."""

    network: Any  # a `PreTrainedModel` on the CPU, in evaluation mode; the types of transformers' methods are wrong
    tokenizer: "PreTrainedTokenizerBase"
    name: str  # the Hub id, or `folder`: where a folder is does not matter to its predictions; or `memory`
    revision: str  # the commit, or a hash of the folder's files or of what is in memory

    def tokens_read(self, wanted: int | None) -> int | None:
        """Return the most tokens to show it at once: as many as wanted, or all it can read; None without a limit.

        Raises:
            ModelError: if it cannot read so many.
        """
        limit = length_limit(self.tokenizer, self.network)
        if wanted is not None and not 1 <= wanted <= (limit or wanted):
            raise ModelError(f"asked for max_length {wanted}, the model reads 1 to {limit} tokens")
        return wanted or limit


@dataclass(frozen=True)
class Classifier(LoadedModel):
    """A sequence classifier; `order` has the label of each output."""

    order: tuple[str, ...]


def load_classifier(
    model: str | Path, *, revision: str | None, dtype: torch.dtype, label_map: Mapping[str, str] | None
) -> Classifier:
    """Load a model and its tokenizer, both of the same commit.

    Args:
        model: a Hub id such as `org/name`, or a folder made by `save_pretrained`.
        revision: the branch, tag or commit of a Hub model.
        dtype: what the weights are cast to.
        label_map: as in `labels.resolve_order`.

    Raises:
        ModelError: if there is no such model, it has no trained classification head, or a single output.
        labels.LabelError: if it does not say which output is which label.
    """
    folder = _folder(model, revision)
    source = str(folder or model)
    # Config, weights and tokenizer are read from one commit, though a branch may move meanwhile.
    commit = _commit(source, revision) if folder is None else None
    config = _config(source, commit)
    if _is_causal_lm(config):
        raise ModelError(
            f"{source} is a causal language model ({', '.join(config.architectures or ())}), which has no head that "
            f"classifies; causal:{source} asks it in words, by the likelihood of each label's word"
        )
    _require_several(config, source)
    if any(name.endswith("ForSequenceClassification") for name in config.architectures or ()):
        _order(config, label_map)  # say so before gigabytes are fetched, rather than after
    network, missing = _network(AutoModelForSequenceClassification, source, commit, dtype)
    if missing:
        raise ModelError(
            f"{_no_weights(missing, source)}, {_RANDOM}; expected a model fine-tuned for classification, not a "
            "pre-trained one without a head"
        )
    tokenizer = _tokenizer(source, commit)
    _require_padding(network, tokenizer, source)
    return Classifier(network.eval(), tokenizer, *_identity(source, folder, commit), _order(config, label_map))


def classifier_of(
    network: Any,
    tokenizer: "PreTrainedTokenizerBase",
    *,
    name: str,
    revision: str,
    source: str,
    label_map: Mapping[str, str] | None,
) -> Classifier:
    """Return a classifier of a network and a tokenizer that are in memory.

    Args:
        network: a sequence classifier, which is put into evaluation mode.
        tokenizer: its tokenizer.
        name: as in `LoadedModel`.
        revision: as in `LoadedModel`.
        source: what to call it where it is refused.
        label_map: as in `labels.resolve_order`.

    Raises:
        ModelError: if the network has a single output, or pairs cannot be padded.
        labels.LabelError: if it does not say which output is which label.
    """
    _require_several(network.config, source)
    _require_padding(network, tokenizer, source)
    return Classifier(network.eval(), tokenizer, name, revision, _order(network.config, label_map))


def load_causal_lm(model: str | Path, *, revision: str | None, dtype: torch.dtype) -> LoadedModel:
    """Load a causal language model and its tokenizer, both of the same commit.

    Args:
        model: as `load_classifier`.
        revision: as `load_classifier`.
        dtype: what the weights are cast to.

    Raises:
        ModelError: if there is no such model, or it is no causal language model.
    """
    folder = _folder(model, revision)
    source = str(folder or model)
    commit = _commit(source, revision) if folder is None else None
    config = _config(source, commit)
    if not _is_causal_lm(config):
        raise ModelError(
            f"expected a causal language model (…ForCausalLM), found {source} to be "
            f"{', '.join(config.architectures or ['of no stated architecture'])}; leave out causal: for a classifier"
        )
    network, missing = _network(AutoModelForCausalLM, source, commit, dtype)
    if missing:
        raise ModelError(f"{_no_weights(missing, source)}, {_RANDOM}")
    return LoadedModel(network.eval(), _tokenizer(source, commit), *_identity(source, folder, commit))


def load_to_train(
    model: str | Path, *, revision: str | None, label_map: Mapping[str, str] | None, seed: int
) -> Classifier:
    """Load a model to be trained, in float32: an NLI classifier, or a pre-trained model that is given a new head.

    A new head has the three labels in the order of `LABELS`, by name in its config.

    Args:
        model: as `load_classifier`.
        revision: as `load_classifier`.
        label_map: as in `labels.resolve_order`, for a classifier whose config does not tell its labels.
        seed: decides the new head.

    Raises:
        ModelError: if there is no such model, it is a classifier of other labels, or its files lack more than a head.
        labels.LabelError: if a classifier does not say which output is which label.
    """
    folder = _folder(model, revision)
    source = str(folder or model)
    commit = _commit(source, revision) if folder is None else None
    config = _config(source, commit)
    new_head = not any(name.endswith("ForSequenceClassification") for name in config.architectures or ())
    if new_head and label_map is not None:
        raise ModelError(f"{source} has no classification head yet, so it has no labels to map; leave label_map out")
    order: tuple[str, ...] = LABELS
    if not new_head:
        order = _order(config, label_map)
        if sorted(order) != sorted(LABELS):
            raise ModelError(f"{source} predicts {', '.join(order)}; expected a classifier of {', '.join(LABELS)}")
    if new_head or label_map is not None:  # what is published says which output is which
        config.id2label = dict(enumerate(order))
        config.label2id = {label: output for output, label in enumerate(order)}
        config.problem_type = None
    torch.manual_seed(seed)
    network, missing = _network(AutoModelForSequenceClassification, source, commit, torch.float32, config=config)
    base = f"{network.base_model_prefix}."
    # A pooler belongs to the head: pre-training without a sentence task leaves none.
    lacking = [name for name in missing if not new_head or (name.startswith(base) and "pooler" not in name)]
    if lacking:
        raise ModelError(f"{_no_weights(lacking, source)}; expected a pre-trained model whose head alone is new")
    tokenizer = _tokenizer(source, commit)
    _require_padding(network, tokenizer, source)
    return Classifier(network, tokenizer, *_identity(source, folder, commit), order)


def _folder(model: str | Path, revision: str | None) -> Path | None:
    """Return the folder that is meant, or None if it is a Hub id."""
    path = Path(model).expanduser()
    if not path.is_dir():
        if isinstance(model, Path) or model.startswith((".", "/", "~")) or model.count("/") > 1:
            raise ModelError(f"expected a folder with a model or a Hub id such as org/name, found no folder {model}")
        return None
    if not (path / "config.json").is_file():
        entries = sorted(entry.name for entry in path.iterdir())[:10]
        raise ModelError(f"expected a model made by save_pretrained in {path}, found no config.json but {entries}")
    if revision is not None:
        raise ModelError(f"{path} is a folder, which has no revision {revision!r}; leave the revision out")
    return path


def _commit(source: str, revision: str | None) -> str:
    """Return the commit that a branch, a tag or nothing stands for; from the cache if the Hub is out of reach."""
    try:
        return resolve_revision(source, revision=revision).resolved
    except RevisionNotFoundError as error:
        raise ModelError(f"the model {source} has no revision {revision!r}; see its history on the Hub") from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"found neither a folder {source} nor a model of that name on the Hub; check the spelling, or log in "
            "(`hf auth login`) if it is private or gated"
        ) from error
    except (HfHubHTTPError, HFValidationError, RevisionResolutionError) as error:
        raise ModelError(f"cannot look up {source} on the Hub: {_first_line(error)}") from error


def _config(source: str, commit: str | None) -> "PretrainedConfig":
    config: PretrainedConfig
    try:
        config = AutoConfig.from_pretrained(source, revision=commit, trust_remote_code=False)
    except OSError as error:
        raise ModelError(f"cannot read the config of {source}: {_first_line(error)}") from error
    except ValueError as error:  # an unknown architecture, or one that needs code of the repository
        raise ModelError(f"{source} is not a model that transformers knows: {_first_line(error)}") from error
    return config


def _require_several(config: "PretrainedConfig", source: str) -> None:
    if config.num_labels == 1:
        raise ModelError(
            f"{source} has one output, like models that rank or score similarity; expected a classifier with an "
            "output for each label"
        )


def _order(config: "PretrainedConfig", label_map: Mapping[str, str] | None) -> tuple[str, ...]:
    return resolve_order({int(output): str(label) for output, label in (config.id2label or {}).items()}, label_map)


def _is_causal_lm(config: "PretrainedConfig") -> bool:
    """Tell whether a model says of itself that it continues texts. GPT-2's architecture is called `GPT2LMHeadModel`."""
    names = config.architectures or ()
    return any(name.endswith(("ForCausalLM", "GPT2LMHeadModel")) for name in names)


def _network(kind: Any, source: str, commit: str | None, dtype: torch.dtype, **options: Any) -> tuple[Any, list[str]]:
    """Return a model of one of `_KINDS`, and the names of the weights that its files lack."""
    try:
        network, info = kind.from_pretrained(
            source, revision=commit, dtype=dtype, trust_remote_code=False, output_loading_info=True, **options
        )
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot load {source} as {_KINDS[kind]}: {_first_line(error)}") from error
    return network, sorted(info["missing_keys"])


def _no_weights(missing: Sequence[str], source: str) -> str:
    return f"the files of {source} hold no weights for {missing[:4]}{' and others' if len(missing) > 4 else ''}"


def _require_padding(network: Any, tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
    if network.config.pad_token_id is None:  # decoders find their last token by it
        network.config.pad_token_id = tokenizer.pad_token_id
    if network.config.pad_token_id is None:
        raise ModelError(
            f"{source} names a padding token in neither config nor tokenizer; set pad_token_id in config.json"
        )


def _identity(source: str, folder: Path | None, commit: str | None) -> tuple[str, str]:
    """Return the name and the revision by which a model is known."""
    return source if folder is None else "folder", commit or folder_revision(Path(source))


def _tokenizer(source: str, commit: str | None) -> "PreTrainedTokenizerBase":
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            source, revision=commit, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot load the tokenizer of {source}: {_first_line(error)}") from error
    return tokenizer


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
