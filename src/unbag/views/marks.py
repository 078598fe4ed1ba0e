"""Where the words that matter are in a sentence."""

import re
from collections.abc import Iterable
from itertools import pairwise

from unbag.views.examples import Mark

TOGETHER = "together"


def marked(text: str, phrases: Iterable[str | None], kind: str) -> tuple[Mark, ...]:
    """Return where phrases occur in a text as whole words, in any case; marks do not overlap, the longest wins.

    >>> marked("A man, a man-eater and a woman", ["man"], "misleads")
    (Mark(start=2, end=5, kind='misleads'), Mark(start=9, end=12, kind='misleads'))
    """
    candidates = []
    for phrase in phrases:
        if phrase and phrase.strip():
            pattern = r"\s+".join(map(re.escape, phrase.split()))
            spans = [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)]
            # What a tokenizer cut off a word ("n't") or a language writes without spaces has no edge.
            candidates += spans or [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    taken: list[tuple[int, int]] = []
    for start, end in sorted(candidates, key=lambda span: (span[0] - span[1], span)):
        if all(end <= other or start >= until for other, until in taken):
            taken.append((start, end))
    return tuple(Mark(start, end, kind) for start, end in sorted(taken))


def kept_together(original: str, permuted: str) -> tuple[Mark, ...]:
    """Return the runs of words of a permuted sentence that stood side by side in the original too.

    Words are what lies between the spaces of the permuted sentence, as the permuter joins them.

    >>> [mark[:2] for mark in kept_together("An old man reads a book.", "a book reads An old man .")]
    [(0, 6), (13, 23)]
    """
    words = [match.span() for match in re.finditer(r"\S+", permuted)]
    runs: list[Mark] = []
    for (start, end), (then, until) in pairwise(words):
        pair = rf"(?<!\w){re.escape(permuted[start:end])}\s*{re.escape(permuted[then:until])}(?!\w)"
        if not re.search(pair, original):
            continue
        if runs and runs[-1].end == end:
            runs[-1] = Mark(runs[-1].start, until, TOGETHER)
        else:
            runs.append(Mark(start, until, TOGETHER))
    return tuple(runs)
