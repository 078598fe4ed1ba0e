"""Load a classifier from the Hub or a folder, and reject one whose predictions would mean nothing.

Config, network and tokenizer are read by transformers. A tokenizer must be able to pad, to tell words apart, and to fit
the model's embedding table.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

import unbag.models  # noqa: F401  (makes them known to the Auto classes)
from unbag.data.labels import LABELS, resolve_order, single_output_labels
from unbag.inference.hub_files import Origin, elsewhere, names_code, origin_of
from unbag.inference.label_probe import PAIRS
from unbag.inference.predictor import ModelError
from unbag.inference.single_output import RANKING, Threshold, checked_threshold
from unbag.inference.tokenization import length_limit
from unbag.utils import errors
from unbag.utils.advice import first_fitting
from unbag.utils.files import read_object
from unbag.utils.redaction import first_line

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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
    validate_shard_count(folder / "config.json")
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


def validate_shard_count(path: Path) -> None:
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


_KNOWN_WORDS: Final = 0.25
"""The share of the probe's words that a tokenizer must know. Those of models in use know all of one language's; one of
nothing but special tokens knows none."""


def validate_padding(network: Any, tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
    """Refuse a model without a padding token; one that only the tokenizer names is told to the network.

    Raises:
        ModelError: if neither names one.
    """
    if network.config.pad_token_id is None:  # decoders find their last token by it
        network.config.pad_token_id = tokenizer.pad_token_id
    if network.config.pad_token_id is None:
        raise ModelError(
            f"{source} names a padding token in neither config nor tokenizer; set pad_token_id in config.json"
        )


def validate_tokenizer_words(tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
    """Refuse a tokenizer to which words are all the same, as one is that is made without its files.

    What is asked is the text of the probe: of its words, in the language of which it knows most, it must know
    `_KNOWN_WORDS`.

    Raises:
        ModelError: if it does not.
    """
    try:
        with errors.as_errors():
            premise, hypothesis, _ = PAIRS["en"][0]
            tokenizer(premise, hypothesis)
            known = {language: _known_share(tokenizer, language) for language in PAIRS}
    except Exception as error:  # its library raises Exception itself
        raise ModelError(f"the tokenizer of {source} cannot read a word: {first_line(error)}") from error
    language = max(known, key=known.__getitem__)
    if known[language] < _KNOWN_WORDS:
        raise ModelError(
            f"the tokenizer of {source} knows {known[language]:.0%} of ordinary words ({language}), so that all pairs "
            "would look alike to the model; are its files there (tokenizer.json, vocab.txt, …), and of this model?"
        )


def validate_embedding_table(network: Any, tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
    """Refuse a tokenizer with a token that the model has no vector for, before it is trained.

    Whether a text has such a token, only the text tells. A training may meet any, hours after its beginning.

    Raises:
        ModelError: naming the token.
    """
    vectors = _vectors(network)
    token, number = max(tokenizer.get_vocab().items(), key=lambda each: each[1], default=("", -1))
    if vectors is not None and number >= vectors:
        raise ModelError(
            f"{source}: expected a vector for every token, got {vectors:,} vectors and a tokenizer with token "
            f"{number:,} ({token!r:.40}); take the tokenizer of this model, or resize the model "
            "(resize_token_embeddings)"
        )


def validate_token_ids(texts: Iterable[Sequence[int]], network: Any, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Refuse texts, as token ids, with a token that the model has no vector for, which a GPU does not survive.

    Raises:
        ModelError: naming the token.
    """
    vectors = _vectors(network)
    if vectors is not None and (last := max(map(max, filter(None, texts)), default=0)) >= vectors:
        raise ModelError(
            f"the tokenizer gives token {last} ({tokenizer.decode([last])!r:.40}), the model has {vectors} tokens: "
            "they are of different models"
        )


def _vectors(network: Any) -> int | None:
    """Return how many tokens a model has vectors for; None of one that reads something else, such as characters."""
    try:
        return len(network.get_input_embeddings().weight)
    except (AttributeError, NotImplementedError):
        return None


def _known_share(tokenizer: "PreTrainedTokenizerBase", language: str) -> float:
    """Return the share of tokens that are not unknown, of words and single characters of a language's pairs."""
    texts = [text for premise, hypothesis, _ in PAIRS[language] for text in (premise, hypothesis)]
    units = [unit for text in texts for unit in re.findall(r"\w" if language == "zh" else r"\w+", text)]
    tokens = [tokenizer.encode(unit, add_special_tokens=False) for unit in units]
    unknown = {None, tokenizer.unk_token_id}
    return sum(bool(ids) and not unknown.intersection(ids) for ids in tokens) / len(units)


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
        label_map: as in `data.labels.resolve_order`.
        threshold: of a model of one output, where entailment begins (`unbag.inference.single_output`).
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
    validate_padding(network, tokenizer, origin.source)
    validate_tokenizer_words(tokenizer, origin.source)
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
        label_map: as in `data.labels.resolve_order`.
        threshold: as `load_classifier`.

    Raises:
        ModelError: if the network has a single output and no threshold or several and one, or pairs cannot be padded.
        labels.LabelError: if it does not say which output is which label.
    """
    threshold = _threshold(network.config, threshold, source)
    validate_padding(network, tokenizer, source)
    validate_tokenizer_words(tokenizer, source)
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
        label_map: as in `data.labels.resolve_order`, for a classifier whose config does not tell its labels.
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
    validate_padding(network, tokenizer, origin.source)
    validate_tokenizer_words(tokenizer, origin.source)
    validate_embedding_table(network, tokenizer, origin.source)
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
        return single_output_labels(next(iter((config.id2label or {}).values()), ""), label_map)
    names = config.id2label or {}
    if not isinstance(names, dict) or not all(str(output).isdecimal() for output in names):
        raise ModelError(f"expected id2label in config.json to name each output by its number, found {names!r:.100}")
    return resolve_order({int(output): str(label) for output, label in names.items()}, label_map)
