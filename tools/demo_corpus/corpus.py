"""The demonstration corpus: premises, hypotheses and labels, drawn from the grammar by a seed."""

import random
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tools.demo_corpus import edits, semantics
from tools.demo_corpus.scenes import Scene, is_sound
from tools.demo_corpus.sentences import say
from unbag.data import labels

SPLITS: Final = {"train": 6_000, "validation": 1_500, "test": 1_500}
"""The splits and their default sizes. `test` is not shipped: it is there for who wants pairs that nobody has seen."""

_TRIES: Final = 6  # hypotheses tried for one premise before another is drawn
# How often the words of a hypothesis are those of its premise in other places or other grammar, by label. A bag of
# words cannot tell these apart, so a lexical model is good on the corpus (some .75) and not perfect.
_SAME_WORDS: Final = {labels.ENTAILMENT: 0.30, labels.NEUTRAL: 0.12, labels.CONTRADICTION: 0.20}
# The weights of 0, 1, … things left out of a hypothesis (of the same words or not), and of 1, 2, … added or changed.
# More is changed than added, for what is added makes a hypothesis longer and a change does not.
_LEFT_OUT: Final = {True: (80, 15, 5), False: (20, 40, 28, 12)}
_EDITS: Final = {labels.NEUTRAL: (30, 50, 20), labels.CONTRADICTION: (10, 30, 35, 25)}


class DemoPair(NamedTuple):
    """One example; the label is a name of `data.labels.LABELS`."""

    id: str
    premise: str
    hypothesis: str
    label: str


class MeantPair(NamedTuple):
    """An example with the meanings behind its sentences, from which its label follows."""

    pair: DemoPair
    premise: Scene
    hypothesis: Scene


def generate(split: str, n: int | None = None, seed: int = 0) -> Iterator[DemoPair]:
    """Yield the pairs of one split.

    The labels follow from the meanings behind the sentences (see `semantics`). The same split and seed give the same
    pairs, and fewer of them are the first of more. Within a split no pair occurs twice; between the splits of any seeds
    no premise does.

    Args:
        split: a key of `SPLITS`.
        n: how many pairs; `SPLITS[split]` where None. The labels of each three in a row (0-2, 3-5, …) are the three.
        seed: decides everything.

    Raises:
        ValueError: if the split is unknown or n is negative.

    >>> [pair.id for pair in generate("validation", 2)]
    ['demo-validation-000000', 'demo-validation-000001']
    """
    return (meant.pair for meant in generate_meant(split, n, seed))


def generate_meant(split: str, n: int | None = None, seed: int = 0) -> Iterator[MeantPair]:
    """Yield what `generate` yields, with the two meanings of each pair.

    Raises:
        ValueError: as `generate`.
    """
    if split not in SPLITS:
        raise ValueError(f"expected one of the splits {list(SPLITS)}, got {split!r}")
    if n is not None and n < 0:
        raise ValueError(f"expected a number of pairs of at least 0, got {n}")
    return _pairs(split, SPLITS[split] if n is None else n, seed)  # a generator of its own, so that errors come at once


def _pairs(split: str, n: int, seed: int) -> Iterator[MeantPair]:
    seen: set[tuple[str, str]] = set()
    order: list[str] = []
    for index in range(n):
        # Its own generator for each pair: a change to how one is drawn leaves its neighbours alone.
        rng = random.Random(f"{seed}/{split}/{index}")
        if index % len(labels.LABELS) == 0:
            order = rng.sample(labels.LABELS, len(labels.LABELS))
        wanted = order[index % len(labels.LABELS)]
        while True:
            premise, hypothesis = _draw_scenes(split, wanted, rng)
            # After "two dogs", "the dog" would ask which.
            definite = False if _regrouped(premise, hypothesis) else None
            sentences = say(premise, rng), say(hypothesis, rng, definite=definite)
            if sentences not in seen and sentences[0] != sentences[1]:
                break
        seen.add(sentences)
        yield MeantPair(DemoPair(f"demo-{split}-{index:06d}", *sentences, wanted), premise, hypothesis)


def _regrouped(premise: Scene, hypothesis: Scene) -> bool:
    before, after = ([entity.number for entity in scene.participants] for scene in (premise, hypothesis))
    return before != after and any(count != "one" for count in before)


def _draw_scenes(split: str, wanted: str, rng: random.Random) -> tuple[Scene, Scene]:
    same_words = rng.random() < _SAME_WORDS[wanted]
    while True:
        premise = edits.draw(rng)
        while _split_of(premise) != split:  # the same elsewhere belongs to another split, and is drawn sooner
            premise = edits.elsewhere(premise, rng)
        if not is_sound(premise):
            continue
        for _ in range(_TRIES):
            hypothesis = _derive(premise, wanted, same_words, rng)
            if hypothesis is None:
                break
            if semantics.label(premise, hypothesis) == wanted and semantics.is_clear(premise, hypothesis):
                return premise, hypothesis


def _split_of(premise: Scene) -> str:
    """Return the one split that may use this premise: a third of all meanings each, whatever the seed."""
    return tuple(SPLITS)[zlib.crc32(repr(premise).encode()) % len(SPLITS)]


def _derive(premise: Scene, wanted: str, same_words: bool, rng: random.Random) -> Scene | None:
    """Return a scene that may well be to the premise what is wanted; None where the edits drawn do not apply."""
    scene = premise
    # As much is left out whatever the label, so that short hypotheses are no sign of entailment.
    for _ in range(_how_many(_LEFT_OUT[same_words], rng)):
        scene = edits.apply(edits.LESS, scene, rng) or scene
    if wanted == labels.ENTAILMENT:
        return scene
    if same_words:
        return edits.apply(edits.SWAP, scene, rng)
    for _ in range(1 + _how_many(_EDITS[wanted], rng)):
        scene = edits.apply(edits.MORE if wanted == labels.NEUTRAL else edits.CHANGE, scene, rng) or scene
    return scene


def _how_many(weights: Sequence[int], rng: random.Random) -> int:
    return rng.choices(range(len(weights)), weights)[0]
