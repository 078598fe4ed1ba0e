"""Parsing of a language model's response to a label, by the probabilities of its first token or by its words."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from unbag.data.labels import LABELS, LabelError, resolve_label
from unbag.inference.llm.prompts import WORDS

LEAST_MASS: Final = 0.5
"""Minimum probability mass of the first token on tokens that begin a label's word. With less, the model is about to
write something else, and the small probabilities of the words do not reflect its answer."""

_THOUGHTS: Final = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_ANNOUNCED: Final = re.compile(r"\banswer\b(?:\s+is)?[\s:*_\"'`(]*([a-z]+)", re.IGNORECASE)
_LABEL_OF: Final = {word.lower(): label for label, word in WORDS.items()}


def parse_label(text: str) -> str | None:
    """Extract the label that a response names; None if it names none unambiguously.

    The label is given by its word or its name, in any case and with any punctuation around it. It is the first word of
    the response, or the word after the last "answer" or "answer is". Thoughts between `<think>` and `</think>` are
    ignored. A word inside a sentence ("There is no way to tell") does not count.

    >>> parse_label("**Yes**, since a dog is an animal."), parse_label("Let us see. The answer is: maybe.")
    ('entailment', 'neutral')
    >>> parse_label("There is no way to tell.")
    """
    answer = _THOUGHTS.sub(" ", text)
    if first := re.search(r"[^\W\d_]+", answer):
        if label := _named(first[0]):
            return label
    announced = _ANNOUNCED.findall(answer)
    return _named(announced[-1]) if announced else None


def _named(word: str) -> str | None:
    if label := _LABEL_OF.get(word.lower()):
        return label
    try:
        label = resolve_label(word)
    except LabelError:
        return None
    return label if label in LABELS else None


def first_token_probabilities(top: Sequence[tuple[str, float]]) -> list[float] | None:
    """Compute the probability of each of `LABELS` from the likeliest first tokens of a response.

    A token counts for the label whose word it begins, in any case and with spaces before it (` Yes`, `yes`, `Y`).
    Tokens outside the list count as 0. The three probabilities are then normalized to sum to 1.

    Args:
        top: Tokens and their log-probabilities.

    Returns:
        Three numbers, or None if the labels' words have less than `LEAST_MASS`.

    >>> top = [("Yes", math.log(0.6)), (" no", math.log(0.2)), ("The", math.log(0.2))]
    >>> [round(share, 6) for share in first_token_probabilities(top)]
    [0.75, 0.0, 0.25]
    """
    mass: Mapping[str, list[float]] = {label: [] for label in LABELS}
    for token, log in top:
        start = token.strip().lower()
        candidates = [label for label in LABELS if start and WORDS[label].lower().startswith(start)]
        if len(candidates) == 1:
            mass[candidates[0]].append(math.exp(min(log, 0.0)))  # rounding may make it positive
    shares = [math.fsum(mass[label]) for label in LABELS]
    total = math.fsum(shares)
    return [share / total for share in shares] if total >= LEAST_MASS else None
