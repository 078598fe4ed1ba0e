"""What a tokenizer must be able to do for a model's answers to mean something: pad, and tell words apart."""

import re
from typing import TYPE_CHECKING, Any, Final

from unbag import panics
from unbag.inference.model_error import ModelError
from unbag.inference.probe_pairs import PAIRS
from unbag.secrets import first_line

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
        with panics.as_errors():
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


def _known_share(tokenizer: "PreTrainedTokenizerBase", language: str) -> float:
    """Return the share of tokens that are not unknown, of words and single characters of a language's pairs."""
    texts = [text for premise, hypothesis, _ in PAIRS[language] for text in (premise, hypothesis)]
    units = [unit for text in texts for unit in re.findall(r"\w" if language == "zh" else r"\w+", text)]
    tokens = [tokenizer.encode(unit, add_special_tokens=False) for unit in units]
    unknown = {None, tokenizer.unk_token_id}
    return sum(bool(ids) and not unknown.intersection(ids) for ids in tokens) / len(units)
