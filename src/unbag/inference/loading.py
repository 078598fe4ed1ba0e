"""Loading of models from the Hub or a folder, with validation of weights, tokenizer and config.

transformers reads config, network and tokenizer. The tokenizer must have a padding token, know ordinary words, and fit
the model's embedding table.
"""

import inspect
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from unbag.utils.files import read_json_object
from unbag.utils.redaction import extract_first_line

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase


logger = logging.getLogger(__name__)

_STANDARD_INPUTS: Final = {"input_ids", "attention_mask", SEGMENT_IDS}
_MOST_PARTS: Final = 1_000
"""Maximum number of layers, groups of layers, or labels in a config; language models have some hundred layers."""
_COUNTS_PARTS: Final = re.compile(r"(^|_)((?<!per_)layers?|groups|group_num|blocks|num_labels)$")
"""Such keys are `num_hidden_layers`, `n_layer`, `decoder_layers`, ALBERT's `inner_group_num` and unbag's `blocks`."""
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
    validate_config_counts(folder / "config.json")
    config: PretrainedConfig
    try:
        config = AutoConfig.from_pretrained(origin.source, **origin.build_loading_options())
    except OSError as error:
        raise ModelError(
            f"cannot read the config of {origin}: {extract_first_line(error)}; check config.json"
        ) from error
    except Exception as error:  # an unknown architecture, one that needs custom code, or invalid values
        _raise_if_untrusted_code(origin, folder)
        raise ModelError(
            f"{origin}: expected a config that transformers can load, got an error ({_reason(error)}); check "
            "config.json, or update transformers"
        ) from error
    names = config.architectures or ()
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ModelError(
            f"expected a list of names as architectures in the config of {origin}, got {names!r:.100}; correct "
            "config.json"
        )
    return config


def is_causal_lm(config: "PretrainedConfig") -> bool:
    """Check whether a config declares a causal language model."""
    names = config.architectures or ()
    # GPT-2's architecture has a name of its own.
    return any(name.endswith(("ForCausalLM", "GPT2LMHeadModel")) for name in names)


def has_classification_head(config: "PretrainedConfig") -> bool:
    """Check whether a config declares a sequence classifier."""
    return any(name.endswith("ForSequenceClassification") for name in config.architectures or ())


def is_encoder_decoder_lm(config: "PretrainedConfig") -> bool:
    """Check whether a config declares an encoder-decoder that generates text, such as T5."""
    names = config.architectures or ()
    return bool(getattr(config, "is_encoder_decoder", False)) and any(
        name.endswith(("ForConditionalGeneration", "WithLMHeadModel")) for name in names
    )


_OTHER_HEADS: Final = {
    "ForTokenClassification": "a token classifier",
    "ForMultipleChoice": "a multiple-choice model",
    "ForQuestionAnswering": "a question-answering model",
    "ForNextSentencePrediction": "a next-sentence model",
    "ForMaskedLM": "a masked language model",
    "ForPreTraining": "a pre-trained model",
    "Model": "an encoder",
}
"""Kinds of models by the end of their architecture's name; the last three have no head that scores pairs."""


def validate_classifier_config(config: "PretrainedConfig", origin: ModelOrigin) -> None:
    """Validate that a config declares a sequence classifier, or no architecture at all.

    transformers would load any other model as a classifier with a new, random head.
    """
    names = config.architectures or ()
    if not names or has_classification_head(config):
        return
    if origin.trust_remote_code and "AutoModelForSequenceClassification" in (getattr(config, "auto_map", None) or {}):
        return
    listed = ", ".join(names)
    if is_causal_lm(config) or is_encoder_decoder_lm(config):
        kind = "a causal language model" if is_causal_lm(config) else "a text-to-text model"
        raise ModelError(
            f"{origin}: expected a sequence classifier, got {kind} ({listed}), which answers in words; pass "
            f"causal:{origin}, and the prompt and the answer words of its card with --prompt (a file, or one of "
            f"{', '.join(RECIPES)})"
        )
    suffix, kind = next(((end, kind) for end, kind in _OTHER_HEADS.items() if names[0].endswith(end)), ("", "a model"))
    if suffix in ("ForMaskedLM", "ForPreTraining", "Model"):
        raise ModelError(
            f"{origin}: expected a sequence classifier, got {kind} without a classification head ({listed}); pass a "
            "model that was fine-tuned for classification"
        )
    raise ModelError(
        f"{origin}: expected a sequence classifier (…ForSequenceClassification), got {kind} ({listed}); pass a "
        "function that calls the model"
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
    """Build the error message for missing weights."""
    others = " and others" if len(missing_weights) > 4 else ""
    return f"the files of {origin} contain no weights for {missing_weights[:4]}{others}"


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


def validate_config_counts(path: Path) -> None:
    """Validate that the numbers of layers, groups, blocks and labels in a config are at most `_MOST_PARTS`.

    transformers creates an object for each, before it reads a weight, so a billion of them would never end. A large
    width costs nothing before it is compared with the shapes of the weights.
    """
    try:
        config = read_json_object(path)
    except ValueError:  # transformers reports an invalid file
        return
    for name, value in _numbers(config):
        if _COUNTS_PARTS.search(name) and value > _MOST_PARTS:
            raise ModelError(
                f"{path}: expected {name} to be at most {_MOST_PARTS:,}, got {f'{value:,}'[:40]}; download the model "
                "again"
            )


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Iterate over the numbers in a config and its nested configs, with their names."""
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif isinstance(value, int | float):
            yield name, value


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
    """Validate that a tokenizer has a usable vocabulary, by encoding the words of the label probe.

    A tokenizer that was created without its vocabulary files knows no words. The fraction of known words must be at
    least `_KNOWN_WORDS` in the best language.
    """
    try:
        with errors.convert_rust_panics():
            premise, hypothesis, _ = PAIRS["en"][0]
            tokenizer(premise, hypothesis)
            shares = {language: _known_share(tokenizer, language) for language in PAIRS}
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


def _known_share(tokenizer: "PreTrainedTokenizerBase", language: str) -> float:
    """Compute the fraction of a language's probe words (in Chinese, characters) without unknown tokens."""
    texts = [text for premise, hypothesis, _ in PAIRS[language] for text in (premise, hypothesis)]
    units = [unit for text in texts for unit in re.findall(r"\w" if language == "zh" else r"\w+", text)]
    tokens = [tokenizer.encode(unit, add_special_tokens=False) for unit in units]
    unknown = {None, tokenizer.unk_token_id}
    return sum(bool(ids) and not unknown.intersection(ids) for ids in tokens) / len(units)


# transformers initializes missing weights at random, with a warning only.
_RANDOM: Final = "so these weights and all predictions would be random"


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


def load_classifier(
    model: str | Path,
    *,
    revision: str | None,
    dtype: torch.dtype,
    label_map: Mapping[str, str] | None,
    threshold: Threshold | None = None,
    trust_remote_code: bool = False,
) -> Classifier:
    """Load a sequence classifier and its tokenizer from the same commit.

    The options are those of `inference.options.ClassifierKwargs`.

    Raises:
        ModelError: If there is no such model, it has no trained classification head, it has one output and no
            threshold, or it needs code that is not trusted.
        labels.LabelError: If its config does not define the label of each output.
    """
    origin = resolve_origin(model, revision, trust_remote_code=trust_remote_code)
    config = load_config(origin)
    validate_classifier_config(config, origin)
    threshold = _threshold(config, threshold, origin.source)
    if has_classification_head(config):
        _order(config, label_map)  # raises before gigabytes are downloaded
    network, missing = load_network(AutoModelForSequenceClassification, origin, dtype)
    if missing:
        raise ModelError(
            f"{build_missing_weights_message(missing, origin)}, {_RANDOM}; pass a model that was fine-tuned for "
            "classification"
        )
    return build_classifier(
        network, load_tokenizer(origin), origin.compute_identity(), label_map=label_map, threshold=threshold
    )


def build_classifier(
    network: Any,
    tokenizer: "PreTrainedTokenizerBase",
    identity: ModelIdentity,
    *,
    label_map: Mapping[str, str] | None,
    threshold: Threshold | None = None,
) -> Classifier:
    """Build a classifier from a loaded model and its tokenizer. The network is set to evaluation mode.

    The errors are those of `load_classifier`.
    """
    threshold = _threshold(network.config, threshold, identity.source)
    supplies_segments = prepare_tokenizer(network, tokenizer, identity.source)
    return Classifier(
        network.eval(), tokenizer, identity, _order(network.config, label_map), threshold, supplies_segments
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


def load_causal_lm(
    model: str | Path,
    *,
    revision: str | None,
    dtype: torch.dtype,
    trust_remote_code: bool = False,
    has_prompt: bool = True,
) -> LoadedModel:
    """Load a causal language model or an encoder-decoder, and its tokenizer, from the same commit.

    `has_prompt` states whether the user chose a prompt, which an encoder-decoder requires.
    """
    origin = resolve_origin(model, revision, trust_remote_code=trust_remote_code)
    config = load_config(origin)
    is_encoder_decoder = is_encoder_decoder_lm(config)
    if not is_causal_lm(config) and not is_encoder_decoder:
        raise ModelError(
            f"{origin}: expected a causal language model (…ForCausalLM) or a text-to-text model, got "
            f"{', '.join(config.architectures or ['no architecture in its config'])}; "
            + (
                "omit causal: for a classifier"
                if has_classification_head(config)
                else "pass a function that calls the model"
            )
        )
    if is_encoder_decoder and not has_prompt:
        raise ModelError(
            f"{origin}: expected --prompt for a text-to-text model ({', '.join(config.architectures or ())}), got "
            "none; pass a file with the prompt and the answer words of its card, or --prompt minicheck-t5 or monot5 "
            "for such models"
        )
    auto_class = AutoModelForSeq2SeqLM if is_encoder_decoder else AutoModelForCausalLM
    network, missing = load_network(auto_class, origin, dtype)
    if missing:
        raise ModelError(f"{build_missing_weights_message(missing, origin)}, {_RANDOM}")
    return LoadedModel(network.eval(), load_tokenizer(origin), origin.compute_identity())


def load_classifier_for_training(
    model: str | Path, *, revision: str | None, label_map: Mapping[str, str] | None, seed: int
) -> Classifier:
    """Load an NLI classifier, or a pre-trained model with a new classification head, for training in float32.

    A new head has the three labels in the order of `LABELS`, and its config names them. The seed initializes it.

    Raises:
        ModelError: If there is no such model, it is a classifier with other labels, its files lack more than a head, or
            an embedding is missing for a token of its tokenizer.
        labels.LabelError: If a classifier's config does not define the label of each output.
    """
    origin = resolve_origin(model, revision)
    config = load_config(origin)
    new_head = not has_classification_head(config)
    if new_head and label_map is not None:
        raise ModelError(f"{origin} has no classification head yet, so it has no labels to map; omit label_map")
    order: tuple[str, ...] = LABELS
    if not new_head:
        order = _order(config, label_map)
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


def _threshold(config: "PretrainedConfig", threshold: Any, source: str) -> Threshold | None:
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


def _order(config: "PretrainedConfig", label_map: Mapping[str, str] | None) -> tuple[str, ...]:
    if config.num_labels == 1:
        return resolve_single_output_labels(next(iter((config.id2label or {}).values()), ""), label_map)
    names = config.id2label or {}
    if not isinstance(names, dict) or not all(str(output).isdecimal() for output in names):
        raise ModelError(
            f"expected id2label in config.json to map output numbers to label names, got {names!r:.100}; correct "
            "config.json"
        )
    return resolve_output_labels({int(output): str(label) for output, label in names.items()}, label_map)
