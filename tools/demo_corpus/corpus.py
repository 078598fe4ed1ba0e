"""Corpus of the demonstration: premises, hypotheses and labels, sampled from the grammar with a seed."""

import random
import zlib
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from tools.demo_corpus import edits, semantics
from tools.demo_corpus.scenes import Caption, Scene, is_sound
from tools.demo_corpus.sentences import write_text
from unbag.data import labels

SPLITS: Final = {"train": 6_000, "validation": 2_400, "test": 1_500}
"""Splits with their default sizes. The split `test` is not shipped; use it for unseen pairs."""

_TRIES: Final = 6  # maximum number of hypotheses per premise before a new premise is sampled
# Probability, by label, that a hypothesis has the words of its premise in another order or construction. A bag of
# words cannot distinguish such pairs, so a lexical model reaches an accuracy of only about 0.75.
_SAME_WORDS: Final = {labels.ENTAILMENT: 0.30, labels.NEUTRAL: 0.12, labels.CONTRADICTION: 0.20}
# Weights of 0, 1, … deletions in a hypothesis (with other words or the same words), and of 1, 2, … additions or
# changes. There are more changes than additions, because additions make a hypothesis longer.
_LEFT_OUT: Final = {True: (80, 15, 5), False: (20, 40, 28, 12)}
_EDITS: Final = {labels.NEUTRAL: (30, 50, 20), labels.CONTRADICTION: (10, 30, 35, 25)}
_TEXTS: Final = 0.2  # share of the pairs with a negation, or with a premise of several captions
_NUMBERS: Final = (1, 1, 1, 2, 2, 3)  # of captions in these premises
_CROSSED: Final = 0.3  # share of hypotheses with the action of one caption and the agents of another
_FRAMED: Final = 0.15  # share of sentences of these pairs that begin with "It is (not) true that" or the like
_NEGATED: Final = 0.4  # share of negated captions among those that do not determine the label
# Whether the premise and the hypothesis are negated, by label. Only a negated caption entails a negated caption.
_NEGATIONS: Final = {
    labels.ENTAILMENT: ((False, False), (True, True)),
    labels.NEUTRAL: ((False, False), (False, True), (True, False), (True, True)),
    labels.CONTRADICTION: ((False, False), (False, True), (True, False)),
}


class DemoPair(NamedTuple):
    """Example with a label in `data.labels.LABELS`."""

    id: str
    premise: str
    hypothesis: str
    label: str


class ScenePair(NamedTuple):
    """Example with the scenes that its sentences describe, which determine the label."""

    pair: DemoPair
    premise: tuple[Caption, ...]
    hypothesis: Caption
    evidence: int = 0  # position of the caption that determines the label, in `premise`


def generate_pairs(split: str, n: int | None = None, seed: int = 0) -> Iterator[DemoPair]:
    """Generate the pairs of one split, a key of `SPLITS`, with n pairs (default: `SPLITS[split]`).

    The labels follow from the meanings of the sentences (see `semantics`). Equal splits and seeds produce equal pairs,
    and a smaller n produces a prefix. The pairs of a split are unique. The splits share no premise, whatever the seeds.
    Each group of three (rows 0 to 2, 3 to 5, …) contains all labels.

    >>> [pair.id for pair in generate_pairs("validation", 2)]
    ['demo-validation-000000', 'demo-validation-000001']
    """
    return (meant.pair for meant in generate_scene_pairs(split, n, seed))


def generate_scene_pairs(split: str, n: int | None = None, seed: int = 0) -> Iterator[ScenePair]:
    """Generate the pairs of `generate_pairs`, with the scenes of both sentences."""
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
        is_plain = rng.random() >= _TEXTS
        while True:
            premise, hypothesis, evidence = (_draw_plain if is_plain else _draw_text)(split, wanted, rng)
            # After "two dogs", the referent of "the dog" would be ambiguous.
            definite = False if _regrouped(premise[evidence].scene, hypothesis.scene) else None
            framed = 0.0 if is_plain else _FRAMED
            sentences = write_text(premise, rng, framed=framed), write_text([hypothesis], rng, definite, framed=framed)
            if sentences not in seen and sentences[0] != sentences[1]:
                break
        seen.add(sentences)
        yield ScenePair(DemoPair(f"demo-{split}-{index:06d}", *sentences, wanted), premise, hypothesis, evidence)


def _regrouped(premise: Scene, hypothesis: Scene) -> bool:
    before, after = ([entity.number for entity in scene.participants] for scene in (premise, hypothesis))
    return before != after and any(count != "one" for count in before)


Meaning = tuple[tuple[Caption, ...], Caption, int]
"""Captions of the premise, the hypothesis, and the position of the caption that determines the label."""


def _draw_plain(split: str, wanted: str, rng: random.Random) -> Meaning:
    """Sample a pair of single captions without negation."""
    same_words = rng.random() < _SAME_WORDS[wanted]
    while True:
        premise = Caption(_draw_premise(split, rng))
        for _ in range(_TRIES):
            scene = _derive(premise.scene, wanted, same_words, rng)
            if scene is None:
                break
            if _has_label(premise, Caption(scene), wanted):
                return (premise,), Caption(scene), 0


def _draw_text(split: str, wanted: str, rng: random.Random) -> Meaning:
    """Sample a pair with a negation, or with a premise of several captions."""
    n = rng.choice(_NUMBERS)
    # A premise of one caption without negation in the pair would be plain.
    is_negated, is_hypothesis_negated = rng.choice([each for each in _NEGATIONS[wanted] if n > 1 or any(each)])
    while True:
        scenes = [_draw_premise(split, rng), *(edits.draw_scene(rng) for _ in range(n - 1))]
        if not all(semantics.are_unrelated(*pair) for pair in combinations(scenes, 2)):
            continue
        evidence, *others = scenes
        captions = [Caption(evidence, is_negated), *(Caption(scene, rng.random() < _NEGATED) for scene in others)]
        for _ in range(_TRIES):
            # Which edits lead to the label depends on the negations, and "A reads, B runs: B reads" needs two captions.
            scene = _derive(evidence, rng.choice(labels.LABELS), rng.random() < _SAME_WORDS[wanted], rng)
            if others and rng.random() < _CROSSED:
                scene = evidence._replace(agents=rng.choice(others).agents)
            if scene is None or not is_sound(scene):
                continue
            hypothesis = Caption(scene, is_hypothesis_negated)
            is_other = any(semantics.have_related_actions(scene, other) for other in others)
            is_same = n == 1 or semantics.have_related_actions(scene, evidence)
            if is_same and not is_other and _has_label(captions[0], hypothesis, wanted):
                order = rng.sample(captions, n)
                return tuple(order), hypothesis, order.index(captions[0])


def _draw_premise(split: str, rng: random.Random) -> Scene:
    while True:
        premise = edits.draw_scene(rng)
        while _split_of(premise) != split:  # Another place or time changes the split, and is faster than a new scene.
            premise = edits.change_setting(premise, rng)
        if is_sound(premise):
            return premise


def _has_label(premise: Caption, hypothesis: Caption, wanted: str) -> bool:
    """Check whether a pair undisputedly has the wanted label."""
    return semantics.label_captions(premise, hypothesis) == wanted and semantics.are_captions_clear(premise, hypothesis)


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
