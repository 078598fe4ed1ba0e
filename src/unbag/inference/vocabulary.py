"""What a tokenizer must be able to do for a model's answers to mean something: pad, tell words apart, fit the model."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from unbag.inference.model_error import ModelError
from unbag.inference.probe_pairs import PAIRS
from unbag.utils import errors
from unbag.utils.redaction import first_line

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_KNOWN_WORDS: Final = 0.25
"""The share of the probe's words that a tokenizer must know. Those of models in use know all of one language's; one of
nothing but special tokens knows none."""


def require_padding(network: Any, tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
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


def require_words(tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
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


def require_vectors(network: Any, tokenizer: "PreTrainedTokenizerBase", source: str) -> None:
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


def require_vectors_of(texts: Iterable[Sequence[int]], network: Any, tokenizer: "PreTrainedTokenizerBase") -> None:
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
