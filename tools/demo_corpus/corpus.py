"""Corpus of the demonstration: premises, hypotheses and labels, sampled from the grammar with a seed."""

import random
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tools.demo_corpus import edits, semantics
from tools.demo_corpus.scenes import Scene, is_sound
from tools.demo_corpus.sentences import write_sentence
from unbag.data import labels

SPLITS: Final = {"train": 6_000, "validation": 1_500, "test": 1_500}
"""Splits with their default sizes. The split `test` is not shipped; use it for unseen pairs."""

_TRIES: Final = 6  # maximum number of hypotheses per premise before a new premise is sampled
# Probability, by label, that a hypothesis has the words of its premise in another order or construction. A bag of
# words cannot distinguish such pairs, so a lexical model reaches an accuracy of only about 0.75.
_SAME_WORDS: Final = {labels.ENTAILMENT: 0.30, labels.NEUTRAL: 0.12, labels.CONTRADICTION: 0.20}
# Weights of 0, 1, … deletions in a hypothesis (with other words or the same words), and of 1, 2, … additions or
# changes. There are more changes than additions, because additions make a hypothesis longer.
_LEFT_OUT: Final = {True: (80, 15, 5), False: (20, 40, 28, 12)}
_EDITS: Final = {labels.NEUTRAL: (30, 50, 20), labels.CONTRADICTION: (10, 30, 35, 25)}


class DemoPair(NamedTuple):
    """Example with a label in `data.labels.LABELS`."""

    id: str
    premise: str
    hypothesis: str
    label: str


class ScenePair(NamedTuple):
    """Example with the scenes that its sentences describe, which determine the label."""

    pair: DemoPair
    premise: Scene
    hypothesis: Scene


def generate_pairs(split: str, n: int | None = None, seed: int = 0) -> Iterator[DemoPair]:
    """Generate the pairs of one split.

    The labels follow from the meanings of the sentences (see `semantics`). Equal splits and seeds produce equal pairs,
    and a smaller n produces a prefix. The pairs of a split are unique. The splits share no premise, whatever the seeds.

    Args:
        split: Key of `SPLITS`.
        n: Number of pairs (default: `SPLITS[split]`). Each group of three (rows 0 to 2, 3 to 5, …) contains all labels.
        seed: Random seed.

    Raises:
        ValueError: If the split is unknown or n is negative.

    >>> [pair.id for pair in generate_pairs("validation", 2)]
    ['demo-validation-000000', 'demo-validation-000001']
    """
    return (meant.pair for meant in generate_scene_pairs(split, n, seed))


def generate_scene_pairs(split: str, n: int | None = None, seed: int = 0) -> Iterator[ScenePair]:
    """Generate the pairs of `generate_pairs`, with the scenes of both sentences.

    Raises:
        ValueError: See `generate_pairs`.
    """
    if split not in SPLITS:
        raise ValueError(f"split: expected one of {list(SPLITS)}, got {split!r}; use one of these")
    if n is not None and n < 0:
        raise ValueError(f"n: expected at least 0 pairs, got {n}; use a positive number")
    return _pairs(
        split, SPLITS[split] if n is None else n, seed
    )  # A separate generator, so that errors are raised immediately.


def _pairs(split: str, n: int, seed: int) -> Iterator[ScenePair]:
    seen: set[tuple[str, str]] = set()
    order: list[str] = []
    for index in range(n):
        # A separate random generator per pair, so that a change of one pair does not affect other pairs.
        rng = random.Random(f"{seed}/{split}/{index}")
        if index % len(labels.LABELS) == 0:
            order = rng.sample(labels.LABELS, len(labels.LABELS))
        wanted = order[index % len(labels.LABELS)]
        while True:
            premise, hypothesis = _draw_scenes(split, wanted, rng)
            # After "two dogs", the referent of "the dog" would be ambiguous.
            definite = False if _regrouped(premise, hypothesis) else None
            sentences = write_sentence(premise, rng), write_sentence(hypothesis, rng, definite=definite)
            if sentences not in seen and sentences[0] != sentences[1]:
                break
        seen.add(sentences)
        yield ScenePair(DemoPair(f"demo-{split}-{index:06d}", *sentences, wanted), premise, hypothesis)


def _regrouped(premise: Scene, hypothesis: Scene) -> bool:
    before, after = ([entity.number for entity in scene.participants] for scene in (premise, hypothesis))
    return before != after and any(count != "one" for count in before)


def _draw_scenes(split: str, wanted: str, rng: random.Random) -> tuple[Scene, Scene]:
    same_words = rng.random() < _SAME_WORDS[wanted]
    while True:
        premise = edits.draw_scene(rng)
        while _split_of(premise) != split:  # Another place or time changes the split, and is faster than a new scene.
            premise = edits.change_setting(premise, rng)
        if not is_sound(premise):
            continue
        for _ in range(_TRIES):
            hypothesis = _derive(premise, wanted, same_words, rng)
            if hypothesis is None:
                break
            if semantics.label(premise, hypothesis) == wanted and semantics.is_clear(premise, hypothesis):
                return premise, hypothesis


def _split_of(premise: Scene) -> str:
    """Assign a premise to one split. Each split gets a third of all scenes, independent of the seed."""
    return tuple(SPLITS)[zlib.crc32(repr(premise).encode()) % len(SPLITS)]


def _derive(premise: Scene, wanted: str, same_words: bool, rng: random.Random) -> Scene | None:
    """Sample a scene that probably has the wanted label with the premise; None if the sampled edits do not apply."""
    scene = premise
    # The number of deletions does not depend on the label, so that short hypotheses do not indicate entailment.
    for _ in range(_how_many(_LEFT_OUT[same_words], rng)):
        scene = edits.apply_random_edit(edits.LESS, scene, rng) or scene
    if wanted == labels.ENTAILMENT:
        return scene
    if same_words:
        return edits.apply_random_edit(edits.SWAP, scene, rng)
    for _ in range(1 + _how_many(_EDITS[wanted], rng)):
        scene = edits.apply_random_edit(edits.MORE if wanted == labels.NEUTRAL else edits.CHANGE, scene, rng) or scene
    return scene


def _how_many(weights: Sequence[int], rng: random.Random) -> int:
    return rng.choices(range(len(weights)), weights)[0]
