"""A classifier of the Hub or of a folder, refused where its answers would mean nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from unbag.data.labels import LABELS, of_one_output, resolve_order
from unbag.inference.encoding import length_limit
from unbag.inference.model_error import ModelError
from unbag.inference.origin import origin_of
from unbag.inference.reading import config_of, is_causal_lm, network_of, no_weights, tokenizer_of
from unbag.inference.vocabulary import require_padding, require_vectors, require_words
from unbag.one_output import RANKING, Threshold, checked_threshold
from unbag.utils.advice import first_fitting

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

_RANDOM: Final = "so these would be random and so would every answer"  # transformers draws them, with a warning


@dataclass(frozen=True)
class LoadedModel:
    """A model with its tokenizer, and what is known of it; a language model is no more than this."""

    network: Any  # a `PreTrainedModel` on the CPU, in evaluation mode; the types of transformers' methods are wrong
    tokenizer: "PreTrainedTokenizerBase"
    name: str  # the Hub id, or `folder`: where a folder is does not matter to its predictions; or `memory`
    revision: str  # the commit, or a hash of the folder's files or of what is in memory
    code: str | None = field(default=None, kw_only=True)  # a hash of the repository's code, where that is trusted

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
    """A sequence classifier.

    `order` has the label of each output. A model of one output has a `threshold`, and the labels of what reaches it and
    of what does not.
    """

    order: tuple[str, ...]
    threshold: Threshold | None = None


def load_classifier(
    model: str | Path,
    *,
    revision: str | None,
    dtype: torch.dtype,
    label_map: Mapping[str, str] | None,
    threshold: Threshold | None = None,
    trust_remote_code: bool = False,
) -> Classifier:
    """Load a model and its tokenizer, both of the same commit.

    Args:
        model: a Hub id such as `org/name`, or a folder made by `save_pretrained`.
        revision: the branch, tag or commit of a Hub model.
        dtype: what the weights are cast to.
        label_map: as in `labels.resolve_order`.
        threshold: of a model of one output, where entailment begins (`unbag.one_output`).
        trust_remote_code: run code of the repository.

    Raises:
        ModelError: if there is no such model, it has no trained classification head, a single output and no threshold
            or several and one, or it needs code that is not trusted.
        labels.LabelError: if it does not say which output is which label.
    """
    origin = origin_of(model, revision, trust=trust_remote_code)
    config = config_of(origin)
    if is_causal_lm(config):
        raise ModelError(
            f"{origin} is a causal language model ({', '.join(config.architectures or ())}), which has no head that "
            f"classifies; causal:{origin} asks it in words, by the likelihood of each label's word"
        )
    threshold = _threshold(config, threshold, origin.source)
    if any(name.endswith("ForSequenceClassification") for name in config.architectures or ()):
        _order(config, label_map)  # say so before gigabytes are fetched, rather than after
    network, missing = network_of(AutoModelForSequenceClassification, origin, dtype)
    if missing:
        raise ModelError(
            f"{no_weights(missing, origin)}, {_RANDOM}; expected a model fine-tuned for classification, not a "
            "pre-trained one without a head"
        )
    tokenizer = tokenizer_of(origin)
    require_padding(network, tokenizer, origin.source)
    require_words(tokenizer, origin.source)
    return Classifier(
        network.eval(),
        tokenizer,
        *origin.identity(),
        _order(config, label_map),
        threshold,
        code=origin.code(),
    )


def classifier_of(
    network: Any,
    tokenizer: "PreTrainedTokenizerBase",
    *,
    name: str,
    revision: str,
    source: str,
    label_map: Mapping[str, str] | None,
    threshold: Threshold | None = None,
) -> Classifier:
    """Return a classifier of a network and a tokenizer that are in memory.

    Args:
        network: a sequence classifier, which is put into evaluation mode.
        tokenizer: its tokenizer.
        name: as in `LoadedModel`.
        revision: as in `LoadedModel`.
        source: what to call it where it is refused.
        label_map: as in `labels.resolve_order`.
        threshold: as `load_classifier`.

    Raises:
        ModelError: if the network has a single output and no threshold or several and one, or pairs cannot be padded.
        labels.LabelError: if it does not say which output is which label.
    """
    threshold = _threshold(network.config, threshold, source)
    require_padding(network, tokenizer, source)
    require_words(tokenizer, source)
    return Classifier(network.eval(), tokenizer, name, revision, _order(network.config, label_map), threshold)


def load_causal_lm(
    model: str | Path, *, revision: str | None, dtype: torch.dtype, trust_remote_code: bool = False
) -> LoadedModel:
    """Load a causal language model and its tokenizer, both of the same commit.

    Args:
        model: as `load_classifier`.
        revision: as `load_classifier`.
        dtype: what the weights are cast to.
        trust_remote_code: as `load_classifier`.

    Raises:
        ModelError: if there is no such model, or it is no causal language model.
    """
    origin = origin_of(model, revision, trust=trust_remote_code)
    config = config_of(origin)
    if not is_causal_lm(config):
        raise ModelError(
            f"expected a causal language model (…ForCausalLM), found {origin} to be "
            f"{', '.join(config.architectures or ['of no stated architecture'])}; leave out causal: for a classifier"
        )
    network, missing = network_of(AutoModelForCausalLM, origin, dtype)
    if missing:
        raise ModelError(f"{no_weights(missing, origin)}, {_RANDOM}")
    tokenizer = tokenizer_of(origin)
    code = origin.code()
    return LoadedModel(network.eval(), tokenizer, *origin.identity(), code=code)


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
        ModelError: if there is no such model, it is a classifier of other labels, its files lack more than a head, or
            its tokenizer has tokens that it has no vectors for.
        labels.LabelError: if a classifier does not say which output is which label.
    """
    origin = origin_of(model, revision)
    config = config_of(origin)
    new_head = not any(name.endswith("ForSequenceClassification") for name in config.architectures or ())
    if new_head and label_map is not None:
        raise ModelError(f"{origin} has no classification head yet, so it has no labels to map; leave label_map out")
    order: tuple[str, ...] = LABELS
    if not new_head:
        order = _order(config, label_map)
        if sorted(order) != sorted(LABELS):
            raise ModelError(f"{origin} predicts {', '.join(order)}; expected a classifier of {', '.join(LABELS)}")
    if new_head or label_map is not None:  # what is published says which output is which
        config.id2label = dict(enumerate(order))
        config.label2id = {label: output for output, label in enumerate(order)}
        config.problem_type = None
    torch.manual_seed(seed)
    network, missing = network_of(AutoModelForSequenceClassification, origin, torch.float32, config=config)
    base = f"{network.base_model_prefix}."
    # A pooler belongs to the head: pre-training without a sentence task leaves none.
    lacking = [name for name in missing if not new_head or (name.startswith(base) and "pooler" not in name)]
    if lacking:
        raise ModelError(f"{no_weights(lacking, origin)}; expected a pre-trained model whose head alone is new")
    tokenizer = tokenizer_of(origin)
    require_padding(network, tokenizer, origin.source)
    require_words(tokenizer, origin.source)
    require_vectors(network, tokenizer, origin.source)
    return Classifier(network, tokenizer, *origin.identity(), order)


def _threshold(config: "PretrainedConfig", threshold: Any, source: str) -> Threshold | None:
    """Return where entailment begins for a model of one output, and None for one of several."""
    if config.num_labels != 1:
        if threshold is not None:
            raise ModelError(
                f"{source} has {config.num_labels} outputs, of which the likeliest is its answer; a threshold is for a "
                "model of one output"
            )
        return None
    if threshold is None:
        raise ModelError(
            f"{source} has one output, like models that rank, check facts or score similarity; "
            + first_fitting(
                "say where entailment begins as its card does, --threshold 0.5 (of the sigmoid of the output), or, "
                f"where that is not known, --threshold {RANKING}",
                "`unbag evaluate --threshold` says where entailment begins, this command takes models of several "
                "outputs",
            )
        )
    return checked_threshold(threshold)


def _order(config: "PretrainedConfig", label_map: Mapping[str, str] | None) -> tuple[str, ...]:
    if config.num_labels == 1:
        return of_one_output(next(iter((config.id2label or {}).values()), ""), label_map)
    names = config.id2label or {}
    if not isinstance(names, dict) or not all(str(output).isdecimal() for output in names):
        raise ModelError(f"expected id2label in config.json to name each output by its number, found {names!r:.100}")
    return resolve_order({int(output): str(label) for output, label in names.items()}, label_map)
