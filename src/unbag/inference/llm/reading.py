"""Conversion of a language model's response to a label or to label probabilities."""

import json
import math
import re
from collections.abc import Sequence
from typing import Final

from unbag.data.labels import LabelError, resolve_label
from unbag.inference.llm.prompts import DEFAULT_WORDS, Words

LEAST_MASS: Final = 0.5
"""Minimum probability mass on first tokens that begin a label word. With less, the model is about to
write something else, and the small probabilities of the label words do not reflect its answer."""

_THOUGHTS: Final = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_ANNOUNCED: Final = re.compile(r"\banswer\b(?:\s+is)?[\s:*_\"'`(]*", re.IGNORECASE)
_FIRST_WORD: Final = re.compile(r"[^\W\d_]+")


def parse_label(text: str, label_words: Words = DEFAULT_WORDS) -> str | None:
    """Extract the label from a response. Return None if the response contains no label or is ambiguous.

    The label is given by one of its words or its name, in any case and with any punctuation around it. It begins the
    response, or follows the last "answer" or "answer is". Thoughts between `<think>` and `</think>` are ignored. A word
    inside a sentence ("There is no way to tell") does not count.

    Args:
        text: Response.
        label_words: Words for each label (default: Yes, Maybe, No).

    >>> parse_label("**Yes**, since a dog is an animal."), parse_label("Let us see. The answer is: maybe.")
    ('entailment', 'neutral')
    >>> parse_label("There is no way to tell.")
    >>> parse_label("Not supported.", {"entailment": ("supported",), "not_entailment": ("not supported",)})
    'not_entailment'
    """
    answer = _THOUGHTS.sub(" ", text)
    if (first := _FIRST_WORD.search(answer)) and (label := _named(answer[first.start() :], label_words)):
        return label
    announced = list(_ANNOUNCED.finditer(answer))
    return _named(answer[announced[-1].end() :], label_words) if announced else None


def parse_json_label(text: str, field: str, label_words: Words) -> str | None:
    """Extract the label from a JSON object in a response. Return None if `field` contains no known label.

    Thoughts, and text or code fences around the object, are ignored.

    >>> parse_json_label('{"verdict": "Yes"}', "verdict", DEFAULT_WORDS)
    'entailment'
    """
    answer = _THOUGHTS.sub(" ", text)
    start, end = answer.find("{"), answer.rfind("}")
    try:
        value = json.loads(answer[start : end + 1])[field]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(value, str):
        return None
    given = value.strip().casefold()
    return next((label for label, listed in label_words.items() if given in {word.casefold() for word in listed}), None)


def _named(text: str, words: Words) -> str | None:
    """Find the label whose word, or else whose name, begins a text."""
    start = text.casefold()
    by_length = sorted(((word.casefold(), label) for label, listed in words.items() for word in listed), key=_length)
    for word, label in by_length:  # the longest one first: "not supported" before "not"
        if start.startswith(word) and not start[len(word) : len(word) + 1].isalnum():
            return label
    name = _FIRST_WORD.match(text)
    try:
        label = resolve_label(name[0]) if name else ""
    except LabelError:
        return None
    return label if label in words else None


def _length(item: tuple[str, str]) -> int:
    return -len(item[0])


def compute_label_probabilities(
    top_logprobs: Sequence[tuple[str, float]], label_words: Words = DEFAULT_WORDS
) -> list[float] | None:
    """Compute label probabilities from the most likely first tokens of a response.

    A token counts for the label of which it begins a word, in any case and with spaces before it (` Yes`, `yes`, `Y`).
    Tokens outside the list count as 0. The probabilities are then normalized to sum to 1.

    Args:
        top_logprobs: Tokens and their log-probabilities.
        label_words: Words for each label (default: Yes, Maybe, No).

    Returns:
        One number per label in the order of `label_words`, or None if the labels' words have less than `LEAST_MASS`.

    >>> top = [("Yes", math.log(0.6)), (" no", math.log(0.2)), ("The", math.log(0.2))]
    >>> [round(share, 6) for share in compute_label_probabilities(top)]
    [0.75, 0.0, 0.25]
    """
    mass: dict[str, list[float]] = {label: [] for label in label_words}
    for token, log in top_logprobs:
        start = token.strip().casefold()
        candidates = [
            label
            for label, listed in label_words.items()
            if start and any(w.casefold().startswith(start) for w in listed)
        ]
        if len(candidates) == 1:
            mass[candidates[0]].append(math.exp(min(log, 0.0)))  # rounding may make it positive
    shares = [math.fsum(each) for each in mass.values()]
    total = math.fsum(shares)
    return [share / total for share in shares] if total >= LEAST_MASS else None


def find_value_token(tokens: Sequence[str], field: str) -> int | None:
    """Find the index of the first token of a field's value in a JSON response. Return None if there is none.

    Args:
        tokens: Tokens of the answer, in their order.
        field: Name of the field, whose value is text.

    >>> find_value_token(['{"', 'verdict', '":', ' "', 'Yes', '"}'], "verdict")
    4
    """
    before = re.compile(rf'"{re.escape(field)}"\s*:\s*"?\Z')
    text = ""
    for place, token in enumerate(tokens):
        if before.search(text) and token.strip().strip('"'):
            return place
        text += token
    return None
