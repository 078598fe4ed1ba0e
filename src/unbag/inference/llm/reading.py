"""From what a language model says to a label: by its first token's probabilities, or by its words."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from unbag.data.labels import LABELS, LabelError, canonical
from unbag.inference.llm.prompts import WORDS

LEAST_MASS: Final = 0.5
"""How much of the first token's probability must lie on tokens that begin a label's word. With less the model is about
to say something else, and what little it gives the words says nothing of its answer."""

_THOUGHTS: Final = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_ANNOUNCED: Final = re.compile(r"\banswer\b(?:\s+is)?[\s:*_\"'`(]*([a-z]+)", re.IGNORECASE)
_LABEL_OF: Final = {word.lower(): label for label, word in WORDS.items()}


def label_in(text: str) -> str | None:
    """Return the label that an answer names, or None where it is none that can be read without guessing.

    That is a label's word, or a label's name, in any case and with any punctuation around it: the first word of the
    answer, or else the word that follows the last "answer" or "answer is". Thoughts between `<think>` and `</think>`
    are no part of the answer. A word somewhere in a sentence ("There is no way to tell") is no answer.

    >>> label_in("**Yes**, since a dog is an animal."), label_in("Let us see. The answer is: maybe.")
    ('entailment', 'neutral')
    >>> label_in("There is no way to tell.")
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
        label = canonical(word)
    except LabelError:
        return None
    return label if label in LABELS else None


def probabilities_of(top: Sequence[tuple[str, float]]) -> list[float] | None:
    """Return the probability of each of `LABELS` by the likeliest first tokens of an answer.

    A token speaks for the label whose word it begins, in any case and with spaces before it (` Yes`, `yes`, `Y`). What
    is not among the tokens counts as 0; the three are then made to sum to 1.

    Args:
        top: tokens and their log-probabilities.

    Returns:
        Three numbers, or None where less than `LEAST_MASS` lies on the labels' words.

    >>> found = probabilities_of([("Yes", math.log(0.6)), (" no", math.log(0.2)), ("The", math.log(0.2))])
    >>> [round(share, 6) for share in found]
    [0.75, 0.0, 0.25]
    """
    mass: Mapping[str, list[float]] = {label: [] for label in LABELS}
    for token, log in top:
        start = token.strip().lower()
        begun = [label for label in LABELS if start and WORDS[label].lower().startswith(start)]
        if len(begun) == 1:
            mass[begun[0]].append(math.exp(min(log, 0.0)))
    shares = [math.fsum(mass[label]) for label in LABELS]
    total = math.fsum(shares)
    return [share / total for share in shares] if total >= LEAST_MASS else None
