"""Semantics of the demonstration corpus: labels computed from the meanings of sentences.

A scene is a set of constraints on a picture. The conventions, after those of SNLI:

- Entailment: every constraint of the hypothesis follows from one of the premise's. "A dog" is at least one dog, "two
  dogs" exactly two, and each member of a group performs the action.
- Both sentences describe **the same picture and the same event**, with the same participants. Contradiction: under
  this assumption, a constraint of one sentence is incompatible with a constraint of the other. So "a woman is
  reading" contradicts "a man is reading", and "the girl is chasing the dog" contradicts "the dog is chasing the girl"
  (one chase has one chaser). A passive sentence has the meaning of the active sentence.
- Neutral: all other pairs.
- Size is relative to the noun: "a big puppy" says nothing about "a big animal".
- A negated caption ("No dog is running.") excludes every scene that entails its scene. So "no dog is running" entails
  "no poodle is running", and contradicts "a poodle is running".
- The captions of a longer premise describe different events in one picture. The label is that of the caption about the
  event of the hypothesis.
"""

from collections.abc import Callable, Sequence
from itertools import permutations

from tools.demo_corpus.lexicon import (
    ADJECTIVES,
    COUNTS,
    INDEPENDENT,
    NOUNS,
    PLACES,
    RELATIVE,
    TIMES,
    VAGUE_PLACES,
    VERBS,
    Taxonomy,
    get_implied_adjectives,
)
from tools.demo_corpus.scenes import Caption, Entity, Gear, Scene
from unbag.data import labels


def entails(premise: Scene, hypothesis: Scene) -> bool:
    """Check whether the hypothesis is true of every picture of which the premise is true. Reflexive and transitive."""
    if not (_covers(PLACES, premise.place, hypothesis.place) and _covers(TIMES, premise.time, hypothesis.time)):
        return False
    if hypothesis.verb is None:  # The hypothesis only mentions a participant, in any role.
        return _match(hypothesis.agents, premise.participants, _entity_follows)
    if premise.verb is None or not VERBS.is_a(premise.verb, hypothesis.verb):
        return False
    return _match(hypothesis.agents, premise.agents, _entity_follows) and _match(
        _patients(hypothesis), _patients(premise), _entity_follows
    )


def contradicts(one: Scene, other: Scene) -> bool:
    """Check whether no picture of a single event with the same participants satisfies both sentences. Symmetric."""
    if _clash_in_setting(one, other):
        return True
    if one.verb is None or other.verb is None:
        return not _can_be_same(one.participants, other.participants)
    if VERBS.excludes(one.verb, other.verb) or not _can_be_same(one.agents, other.agents):
        return True
    # Two unrelated verbs may have different objects.
    return VERBS.are_related(one.verb, other.verb) and not _can_be_same(_patients(one), _patients(other))


def label(premise: Scene, hypothesis: Scene) -> str:
    """Compute the label of a pair, one of `data.labels.LABELS`."""
    if entails(premise, hypothesis):
        return labels.ENTAILMENT
    return labels.CONTRADICTION if contradicts(premise, hypothesis) else labels.NEUTRAL


def label_captions(premise: Caption, hypothesis: Caption) -> str:
    """Compute the label of two captions, each of which may be negated."""
    if not (premise.is_negated or hypothesis.is_negated):
        return label(premise.scene, hypothesis.scene)
    pair = (hypothesis.scene, premise.scene) if premise.is_negated else (premise.scene, hypothesis.scene)
    if not entails(*pair):
        return labels.NEUTRAL
    return labels.ENTAILMENT if hypothesis.is_negated and premise.is_negated else labels.CONTRADICTION


def are_captions_clear(premise: Caption, hypothesis: Caption) -> bool:
    """Check whether the label of two captions is undisputed, as `is_clear` does for captions without negation.

    With a negation, the following pairs are excluded: different numbers, such as "no dog is running" with "two dogs are
    running"; "some dogs are not running", which need not exclude that some are; and "a dog is sleeping" with "no dog is
    running", which is true of the same event only.
    """
    if not (premise.is_negated or hypothesis.is_negated):
        return is_clear(premise.scene, hypothesis.scene)
    numbers = [{entity.number for entity in each.scene.participants} for each in (premise, hypothesis)]
    if numbers[0] != numbers[1] or len(numbers[0]) > 1 or "some" in numbers[0]:
        return False
    return premise.is_negated or not contradicts(premise.scene, hypothesis.scene)


def have_related_actions(one: Scene, other: Scene) -> bool:
    """Check whether two scenes may describe one event, because one action is the other or a kind of it."""
    return one.verb is not None and other.verb is not None and VERBS.are_related(one.verb, other.verb)


def are_unrelated(one: Scene, other: Scene) -> bool:
    """Check whether two scenes describe different events with different participants."""
    return not have_related_actions(one, other) and all(
        NOUNS.excludes(ours.noun, theirs.noun) for ours in one.participants for theirs in other.participants
    )


def is_clear(premise: Scene, hypothesis: Scene) -> bool:
    """Check whether the label of a pair is undisputed, as required for the corpus.

    The conventions determine a label for every pair, but annotators may disagree with some labels. The following pairs
    are excluded: "a dog" as premise of "two dogs"; two participants and a group that may consist of them; size with a
    changed noun; a young adult and a child; a bystander that the premise does not mention; different verbs with
    apparently crossed roles; other participants with an unrelated action; verbs that often but not always co-occur; a
    vague place that the action suggests; and two places that may be the same, such as a river and a lake.
    """
    if premise.place is None:
        if hypothesis.place in VAGUE_PLACES:
            return False
    elif hypothesis.place is not None and not PLACES.are_related(premise.place, hypothesis.place):
        if not PLACES.excludes(premise.place, hypothesis.place):
            return False
    if (len(premise.agents) == 2 and _has_group(hypothesis)) or (len(hypothesis.agents) == 2 and _has_group(premise)):
        return False
    if not all(_entities_clear(p, h) for p in premise.participants for h in hypothesis.participants):
        return False
    if premise.verb is None or hypothesis.verb is None:
        return all(any(not NOUNS.excludes(p.noun, h.noun) for p in premise.participants) for h in hypothesis.agents)
    related = VERBS.are_related(premise.verb, hypothesis.verb)
    if related and (premise.patient is None) == (hypothesis.patient is None):
        return not _half_swapped(premise, hypothesis)
    if not premise.agents or not hypothesis.agents:
        return False
    if _crossed(premise, hypothesis) or _crossed(hypothesis, premise):
        return False
    if related or VERBS.excludes(premise.verb, hypothesis.verb) or _clash_in_setting(premise, hypothesis):
        return True
    # "A woman reads", "a man eats": both may be in one picture, contrary to the convention on participants.
    return frozenset((premise.verb, hypothesis.verb)) in INDEPENDENT and not contradicts(premise, hypothesis)


def _patients(scene: Scene) -> tuple[Entity, ...]:
    return () if scene.patient is None else (scene.patient,)


def _covers(taxonomy: Taxonomy, premise: str | None, hypothesis: str | None) -> bool:
    return hypothesis is None or (premise is not None and taxonomy.is_a(premise, hypothesis))


def _clash(taxonomy: Taxonomy, one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and taxonomy.excludes(one, other)


def _clash_in_setting(one: Scene, other: Scene) -> bool:
    return _clash(PLACES, one.place, other.place) or _clash(TIMES, one.time, other.time)


def _match(few: Sequence[Entity], many: Sequence[Entity], holds: Callable[[Entity, Entity], bool]) -> bool:
    """Check whether there is an injective map from `few` to `many` whose pairs satisfy `holds(of_many, of_few)`."""
    return any(
        all(holds(theirs, ours) for theirs, ours in zip(chosen, few, strict=True))
        for chosen in permutations(many, len(few))
    )


def _can_be_same(one: Sequence[Entity], other: Sequence[Entity]) -> bool:
    """Check whether the participants of the shorter list may be among those of the longer list."""
    few, many = sorted((one, other), key=len)
    return _match(few, many, lambda theirs, ours: not _entities_clash(theirs, ours))


def _adjectives(entity: Entity) -> tuple[str, ...]:
    return (*entity.adjectives, *get_implied_adjectives(entity.noun))


def _entity_follows(premise: Entity, hypothesis: Entity) -> bool:
    p, h = COUNTS[premise.number], COUNTS[hypothesis.number]
    if not NOUNS.is_a(premise.noun, hypothesis.noun) or p.low < h.low or p.high > h.high:
        return False
    for adjective in hypothesis.adjectives:
        if adjective in RELATIVE and premise.noun != hypothesis.noun:
            return False
        if not any(ADJECTIVES.is_a(other, adjective) for other in _adjectives(premise)):
            return False
    return hypothesis.gear is None or (premise.gear is not None and _gear_follows(premise.gear, hypothesis.gear))


def _gear_follows(premise: Gear, hypothesis: Gear) -> bool:
    return NOUNS.is_a(premise.noun, hypothesis.noun) and hypothesis.colour in (None, premise.colour)


def _entities_clash(one: Entity, other: Entity) -> bool:
    if NOUNS.excludes(one.noun, other.noun):
        return True
    a, b = COUNTS[one.number], COUNTS[other.number]
    if a.high < b.low or b.high < a.low:
        return True
    for adjective in _adjectives(one):
        if adjective in RELATIVE and one.noun != other.noun:
            continue
        if any(ADJECTIVES.excludes(adjective, theirs) for theirs in _adjectives(other)):
            return True
    if one.gear is None or other.gear is None or not NOUNS.are_related(one.gear.noun, other.gear.noun):
        return False
    return one.gear.colour is not None and other.gear.colour is not None and one.gear.colour != other.gear.colour


def _has_group(scene: Scene) -> bool:
    return any(entity.number != "one" for entity in scene.participants)


def _entities_clear(premise: Entity, hypothesis: Entity) -> bool:
    for one, other in ((premise, hypothesis), (hypothesis, premise)):
        if NOUNS.is_a(one.noun, "adult") and "young" in one.adjectives and NOUNS.is_a(other.noun, "child"):
            return False
    if NOUNS.excludes(premise.noun, hypothesis.noun):
        return True
    if premise.number == "one" and hypothesis.number != "one":
        return False
    relative = RELATIVE.intersection
    same_noun = premise.noun == hypothesis.noun
    return same_noun or not (relative(premise.adjectives) and relative(hypothesis.adjectives))


def _half_swapped(one: Scene, other: Scene) -> bool:
    """Check whether agent and patient are exchanged between the scenes, with compatible nouns."""
    if one.patient is None or other.patient is None or not one.agents or not other.agents:
        return False
    first, second = one.agents[0].noun, one.patient.noun
    crossed = NOUNS.are_related(first, other.patient.noun) and NOUNS.are_related(second, other.agents[0].noun)
    # Compatible nouns may be the same entity: in "a boy is pushing a toddler" and "a toddler is pushing a boy", the boy
    # may be the toddler.
    return crossed and not NOUNS.are_related(first, other.agents[0].noun) and not NOUNS.excludes(first, second)


def _crossed(one: Scene, other: Scene) -> bool:
    """Check whether an agent of `other` may be the patient of `one` and cannot be an agent of `one`."""
    if one.patient is None:
        return False
    patient = one.patient
    return any(
        not _entities_clash(patient, agent) and all(_entities_clash(theirs, agent) for theirs in one.agents)
        for agent in other.agents
    )
