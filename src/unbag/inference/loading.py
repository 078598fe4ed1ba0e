"""Loading of models from the Hub or a folder, with validation of weights, tokenizer and config.

transformers reads config, network and tokenizer. The tokenizer must have a padding token, know ordinary words, and fit
the model's embedding table.
"""

import inspect
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

import unbag.models  # noqa: F401  (registers unbag's architectures with the Auto classes)
from unbag.data.labels import LABELS, resolve_output_labels, resolve_single_output_labels
from unbag.inference.hub_files import (
    ModelIdentity,
    ModelOrigin,
    advise_on_other_weights,
    list_custom_classes,
    resolve_origin,
)
from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.prompt_file import RECIPES
from unbag.inference.predictor import ModelError
from unbag.inference.segments import SEGMENT_IDS, supply_segment_ids
from unbag.inference.single_output import BREAK_EVEN, Threshold, parse_threshold
from unbag.inference.tokenization import compute_length_limit
from unbag.utils import errors
from unbag.utils.redaction import extract_first_line

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase


logger = logging.getLogger(__name__)

_STANDARD_INPUTS: Final = {"input_ids", "attention_mask", SEGMENT_IDS}
_KINDS: Final = {
    AutoModelForSequenceClassification: "a sequence classifier",
    AutoModelForCausalLM: "a causal language model",
    AutoModelForSeq2SeqLM: "a text-to-text model",
}


def load_config(origin: ModelOrigin) -> "PretrainedConfig":
    """Load a model's config. It may need code of its own repository only, if that is trusted."""
    folder = origin.download()
    external = [name for name in list_custom_classes(folder) if "--" in name] if origin.trust_remote_code else []
    if external:
        repository, _, module = external[0].partition("--")
        raise ModelError(
            f"{origin} runs code from another repository, {repository} ({module}), without a fixed commit; copy "
            "the code to the model folder, and refer to it in auto_map without the repository"
        )
    config: PretrainedConfig
    try:
        config = AutoConfig.from_pretrained(origin.source, **origin.build_loading_options())
    except Exception as error:  # an unknown architecture, one that needs custom code, or invalid values
        _raise_if_untrusted_code(origin, folder)
        raise ModelError(
            f"{origin}: expected a config that transformers can load, got an error ({_reason(error)}); check "
            "config.json, or update transformers"
        ) from error
    names = config.architectures or ()
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ModelError(
            f"expected a list of names as architectures in the config of {origin}, got {names!r:.100}; correct "
            "config.json"
        )
    return config


def is_causal_lm(config: "PretrainedConfig") -> bool:
    """Check whether a config declares a causal language model."""
    return _declares(config, "ForCausalLM", "GPT2LMHeadModel")  # GPT-2's architecture has a name of its own


def has_classification_head(config: "PretrainedConfig") -> bool:
    """Check whether a config declares a sequence classifier."""
    return _declares(config, "ForSequenceClassification")


def is_encoder_decoder_lm(config: "PretrainedConfig") -> bool:
    """Check whether a config declares an encoder-decoder that generates text, such as T5."""
    is_pair = bool(getattr(config, "is_encoder_decoder", False))
    return is_pair and _declares(config, "ForConditionalGeneration", "WithLMHeadModel")


def _declares(config: "PretrainedConfig", *endings: str) -> bool:
    return any(name.endswith(endings) for name in config.architectures or ())


_PRE_TRAINED: Final = {
    "ForMaskedLM": "a masked language model",
    "ForPreTraining": "a pre-trained model",
    "Model": "an encoder",
}
"""Kinds of models without a head that scores pairs, by the end of their architecture's name."""
_OTHER_HEADS: Final = _PRE_TRAINED | {
    "ForTokenClassification": "a token classifier",
    "ForMultipleChoice": "a multiple-choice model",
    "ForQuestionAnswering": "a question-answering model",
    "ForNextSentencePrediction": "a next-sentence model",
}


def validate_classifier_config(config: "PretrainedConfig", origin: ModelOrigin) -> None:
    """Validate that a config declares a sequence classifier, or no architecture at all.

    transformers would load any other model as a classifier with a new, random head.
    """
    names = config.architectures or ()
    is_custom = origin.trust_remote_code and AutoModelForSequenceClassification.__name__ in (
        getattr(config, "auto_map", None) or {}
    )
    if not names or has_classification_head(config) or is_custom:
        return
    listed = ", ".join(names)
    if is_causal_lm(config) or is_encoder_decoder_lm(config):
        got = f"{'a causal language model' if is_causal_lm(config) else 'a text-to-text model'} ({listed})"
        advice = (
            f"which answers in words; pass causal:{origin}, and the prompt and the answer words of its card with "
            f"--prompt (a file, or one of {', '.join(RECIPES)})"
        )
        raise ModelError(f"{origin}: expected a sequence classifier, got {got}, {advice}")
    ending = next((each for each in _OTHER_HEADS if names[0].endswith(each)), "")
    is_headless = ending in _PRE_TRAINED
    raise ModelError(
        f"{origin}: expected a sequence classifier (…ForSequenceClassification), got "
        f"{_OTHER_HEADS.get(ending, 'a model')}{' without a classification head' if is_headless else ''} ({listed}); "
        + ("pass a fine-tuned classifier" if is_headless else "pass a function that calls the model")
    )


def load_network(auto_class: Any, origin: ModelOrigin, dtype: torch.dtype, **options: Any) -> tuple[Any, list[str]]:
    """Load a network with an Auto class of `_KINDS`, and list the weights that are missing from its files, sorted."""
    folder = origin.download(weights=True)
    kwargs = origin.build_loading_options() | options
    try:
        network, info = auto_class.from_pretrained(origin.source, dtype=dtype, output_loading_info=True, **kwargs)
    except Exception as error:  # a wrong shape, a truncated file, a Git LFS pointer in place of a weight file, …
        _raise_if_untrusted_code(origin, folder)
        reason = "; ".join(filter(None, [_reason(error).rstrip("."), advise_on_other_weights(folder)]))
        raise ModelError(f"cannot load {origin} as {_KINDS[auto_class]}: {reason}") from error
    return network, sorted(info["missing_keys"])


def build_missing_weights_message(missing_weights: Sequence[str], origin: ModelOrigin) -> str:
    """Build the error message for missing weights, which transformers initializes at random, with a warning only."""
    others = " and others" if len(missing_weights) > 4 else ""
    return (
        f"the files of {origin} contain no weights for {missing_weights[:4]}{others}, so these weights and the "
        "predictions would be random"
    )


def load_tokenizer(origin: ModelOrigin) -> "PreTrainedTokenizerBase":
    """Load a model's tokenizer."""
    try:
        with errors.convert_rust_panics():
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
                origin.source, **origin.build_loading_options()
            )
    except Exception as error:  # untrusted files raise errors of any kind
        raise ModelError(
            f"cannot load the tokenizer of {origin}: {extract_first_line(error)}; check the tokenizer files"
        ) from error
    return tokenizer


def _raise_if_untrusted_code(origin: ModelOrigin, folder: Path) -> None:
    """Raise an error if a model needs custom code that the user has not trusted."""
    if not origin.trust_remote_code and list_custom_classes(folder):
        raise ModelError(
            f"{origin} requires code from its own repository, which is not trusted; review the code at a commit, then "
            "evaluate the model with --trust-remote-code and this commit as --revision"
        ) from None


def _reason(error: Exception) -> str:
    """Build the first line of an error, with its type if the message alone is unclear (such as a KeyError)."""
    line = extract_first_line(error)
    return line if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {line}"


_KNOWN_WORDS: Final = 0.25
"""Minimum share of common words that a tokenizer must cover. Usual tokenizers cover all words of one language; a
tokenizer with only special tokens covers none."""


def _validate_tokenizer_vocabulary(tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
    """Validate that a tokenizer knows the words of the label probe in some language.

    A tokenizer that was created without its vocabulary files knows no words.
    """
    unknown = {None, tokenizer.unk_token_id}
    shares = {}
    try:
        with errors.convert_rust_panics():
            for language, pairs in PAIRS.items():
                text = " ".join(chain.from_iterable(pair[:2] for pair in pairs))
                units = re.findall(r"\w" if language == "zh" else r"\w+", text)  # in Chinese, characters
                tokens = [tokenizer.encode(unit, add_special_tokens=False) for unit in units]
                shares[language] = sum(bool(ids) and not unknown.intersection(ids) for ids in tokens) / len(units)
            tokenizer("a", "b")
    except Exception as error:  # the tokenizers library raises bare Exceptions
        raise ModelError(
            f"the tokenizer of {source} cannot encode a word: {extract_first_line(error)}; check the tokenizer files"
        ) from error
    language = max(shares, key=shares.__getitem__)
    if shares[language] < _KNOWN_WORDS:
        raise ModelError(
            f"the tokenizer of {source} covers {shares[language]:.0%} of common words ({language}), so all pairs "
            "would have nearly the same tokens; check that its files (tokenizer.json, vocab.txt, …) exist and "
            "belong to this model"
        )


def validate_embedding_table(network: Any, tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
    """Validate that the model has an embedding for every token in the tokenizer's vocabulary.

    A training would fail only when a text has such a token, possibly after hours.
    """
    vectors = _embedding_count(network)
    token, number = max(tokenizer.get_vocab().items(), key=lambda each: each[1], default=("", -1))
    if vectors is not None and number >= vectors:
        raise ModelError(
            f"{source}: expected an embedding for every token, got {vectors:,} embeddings and a tokenizer with "
            f"token {number:,} ({token!r:.40}); use the tokenizer of this model, or resize the embeddings "
            "(resize_token_embeddings)"
        )


def validate_token_ids(texts: Iterable[Sequence[int]], network: Any, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Validate that the model has an embedding for every token id in the given texts.

    On a GPU, an index outside the table would end the process's use of the device, not only this call.
    """
    vectors = _embedding_count(network)
    if vectors is not None and (last := max(map(max, filter(None, texts)), default=0)) >= vectors:
        raise ModelError(
            f"expected token ids below {vectors}, the number of embeddings, got {last} "
            f"({tokenizer.decode([last])!r:.40}) from the tokenizer; use the tokenizer of this model"
        )


def _embedding_count(network: Any) -> int | None:
    """Count the token embeddings of a model. Return None for models with other inputs, such as characters."""
    try:
        return len(network.get_input_embeddings().weight)
    except (AttributeError, NotImplementedError):
        return None


@dataclass(frozen=True)
class LoadedModel:
    """Model with its tokenizer and identity."""

    network: Any  # a `PreTrainedModel` on the CPU, in evaluation mode; the types of transformers' methods are wrong
    tokenizer: "PreTrainedTokenizerBase"
    identity: ModelIdentity

    def resolve_max_length(self, max_length: int | None) -> int | None:
        """Get the maximum input length in tokens: `max_length`, by default the model's limit. None without either."""
        limit = compute_length_limit(self.tokenizer, self.network)
        if max_length is not None and not 1 <= max_length <= (limit or max_length):
            raise ModelError(
                f"max_length (--max-length): expected 1 to {limit} tokens, got {max_length}; change --max-length"
            )
        return max_length or limit


@dataclass(frozen=True)
class Classifier(LoadedModel):
    """Sequence classifier with its label order."""

    order: tuple[str, ...]  # label of each output; for a model of one output, the labels above and below `threshold`
    threshold: Threshold | None = None  # required for one output
    supplies_segments: bool = False  # whether the tokenizer returns segment ids only for unbag

    @property
    def n_outputs(self) -> int:
        """Number of outputs (logits) of the network."""
        return int(self.network.config.num_labels)


def build_classifier(
    network: Any,
    tokenizer: "PreTrainedTokenizerBase",
    identity: ModelIdentity,
    *,
    label_map: Mapping[str, str] | None,
    threshold: Threshold | None = None,
) -> Classifier:
    """Build a classifier from a loaded model and its tokenizer. The network is set to evaluation mode."""
    threshold = resolve_threshold(network.config, threshold, identity.source)
    supplies_segments = prepare_tokenizer(network, tokenizer, identity.source)
    return Classifier(
        network.eval(), tokenizer, identity, resolve_order(network.config, label_map), threshold, supplies_segments
    )


def prepare_tokenizer(
    network: Any, tokenizer: "PreTrainedTokenizerBase", source: str, *, is_trained: bool = True
) -> bool:
    """Validate the tokenizer of a network, and make it return the inputs that the network reads.

    `is_trained` is whether the model is evaluated, and not trained with these inputs first. Returns whether the
    tokenizer returned no segment ids before.
    """
    text_config = network.config.get_text_config()
    if text_config.pad_token_id is None:  # decoders need it to find the last token of a row
        text_config.pad_token_id = tokenizer.pad_token_id
    if text_config.pad_token_id is None:
        raise ModelError(
            f"{source} defines no padding token in its config or tokenizer; set pad_token_id in config.json"
        )
    _validate_tokenizer_vocabulary(tokenizer, source)
    premise, hypothesis, _ = PAIRS["en"][0]
    read = inspect.signature(network.forward).parameters.keys() - _STANDARD_INPUTS
    unknown = sorted(read.intersection(tokenizer(premise, hypothesis)))
    if getattr(network.config, "use_lang_emb", False) and getattr(network.config, "n_langs", 1) > 1:
        unknown.append("langs")
    if unknown:
        raise ModelError(
            f"{source}: expected a network that reads only tokens and segments, got one that also reads "
            f"{', '.join(unknown)}; pass a function that calls the model"
        )
    try:
        supplied = supply_segment_ids(network, tokenizer)
    except ValueError as error:
        raise ModelError(f"{source}: {error}") from error
    if supplied:
        logger.warning(
            "%s: the tokenizer returns no segment ids (token_type_ids), although the network reads them; they are "
            "computed from premise and hypothesis%s",
            source,
            ". If the model was trained without them, pass a function that calls the model" if is_trained else "",
        )
    return supplied


def load_classifier_for_training(
    model: str | Path, *, revision: str | None, label_map: Mapping[str, str] | None, seed: int
) -> Classifier:
    """Load an NLI classifier, or a pre-trained model with a new classification head, for training in float32.

    A new head has the three labels in the order of `LABELS`, and its config names them. The seed initializes it.
    """
    origin = resolve_origin(model, revision)
    config = load_config(origin)
    new_head = not has_classification_head(config)
    if new_head and label_map is not None:
        raise ModelError(f"{origin} has no classification head yet, so it has no labels to map; omit label_map")
    order: tuple[str, ...] = LABELS
    if not new_head:
        order = resolve_order(config, label_map)
        if sorted(order) != sorted(LABELS):
            raise ModelError(
                f"{origin}: expected a classifier with the labels {', '.join(LABELS)}, got {', '.join(order)}; use "
                "another model"
            )
    if new_head or label_map is not None:  # so that the published config defines the label of each output
        config.id2label = dict(enumerate(order))
        config.label2id = {label: output for output, label in enumerate(order)}
        config.problem_type = None
    torch.manual_seed(seed)
    network, missing = load_network(AutoModelForSequenceClassification, origin, torch.float32, config=config)
    base = f"{network.base_model_prefix}."
    # A pooler counts as part of the head: models that were pre-trained without a sentence task have none.
    lacking = [name for name in missing if not new_head or (name.startswith(base) and "pooler" not in name)]
    if lacking:
        raise ModelError(
            f"{build_missing_weights_message(lacking, origin)}; expected a pre-trained model in which only the "
            "head is missing"
        )
    tokenizer = load_tokenizer(origin)
    supplies_segments = prepare_tokenizer(network, tokenizer, origin.source, is_trained=False)
    validate_embedding_table(network, tokenizer, origin.source)
    return Classifier(network, tokenizer, origin.compute_identity(), order, supplies_segments=supplies_segments)


def resolve_threshold(config: "PretrainedConfig", threshold: Any, source: str) -> Threshold | None:
    """Validate the threshold, which a model with one output requires."""
    if threshold is None:
        if config.num_labels != 1:
            return None
        raise ModelError(
            f"{source} has one output, like rerankers, fact checkers and similarity models; evaluate it with the "
            "entailment threshold from its card, such as --threshold 0.5 (applied to the sigmoid of the output), or "
            f"with --threshold {BREAK_EVEN} if the threshold is unknown"
        )
    return parse_threshold(threshold)


def resolve_order(config: "PretrainedConfig", label_map: Mapping[str, str] | None) -> tuple[str, ...]:
    """Resolve the label of each output of a classifier."""
    if config.num_labels == 1:
        return resolve_single_output_labels(next(iter((config.id2label or {}).values()), ""), label_map)
    names = config.id2label or {}
    if not isinstance(names, dict) or not all(str(output).isdecimal() for output in names):
        raise ModelError(
            f"expected id2label in config.json to map output numbers to label names, got {names!r:.100}; correct "
            "config.json"
        )
    return resolve_output_labels({int(output): str(label) for output, label in names.items()}, label_map)
