"""Scenes, which represent the meanings of captions: who does what to whom, where and when."""

from functools import cache
from typing import NamedTuple

from tools.demo_corpus.lexicon import (
    ADJECTIVE,
    ADJECTIVES,
    CARRIED,
    COUNTS,
    NOUN,
    NOUNS,
    PET_GEAR,
    PLACES,
    VERB,
    WORN,
    get_implied_adjectives,
)


class Gear(NamedTuple):
    """Worn or carried object: a noun with an optional color."""

    noun: str
    colour: str | None = None


class Entity(NamedTuple):
    """Participant of a scene, or a group of equal participants."""

    noun: str  # concept in `lexicon.NOUNS`
    number: str = "one"  # key of `lexicon.COUNTS`
    adjectives: tuple[str, ...] = ()  # concepts in `lexicon.ADJECTIVES`, sorted by `described`
    gear: Gear | None = None  # object that each participant wears or carries

    def described(self, *adjectives: str) -> "Entity":
        """Copy the entity with the given adjectives, in canonical order, so that equal meanings are equal."""
        return self._replace(adjectives=tuple(sorted(set(adjectives), key=lambda word: (ADJECTIVE[word].place, word))))


class Scene(NamedTuple):
    """Meaning of a caption. Details that are not mentioned are None or empty."""

    agents: tuple[Entity, ...]  # none (an agentless passive), one, or two that act together
    verb: str | None = None  # concept in `lexicon.VERBS`; None for a scene that only mentions one agent
    patient: Entity | None = None
    place: str | None = None  # concept in `lexicon.PLACES`
    time: str | None = None  # concept in `lexicon.TIMES`

    @property
    def participants(self) -> tuple[Entity, ...]:
        """Agents, followed by the patient if there is one."""
        return self.agents if self.patient is None else (*self.agents, self.patient)

    def with_participant(self, index: int, entity: Entity) -> "Scene":
        """Copy the scene with another entity at an index of `participants`."""
        if index == len(self.agents):
            return self._replace(patient=entity)
        return self._replace(agents=(*self.agents[:index], entity, *self.agents[index + 1 :]))


class Caption(NamedTuple):
    """Sentence about a scene: that there is such a scene in the picture, or, if negated, that there is none."""

    scene: Scene
    is_negated: bool = False


def list_gear(noun: str) -> tuple[str, ...]:
    """List the objects that a noun may wear or carry; empty for things."""
    if NOUNS.is_a(noun, "person"):
        return WORN if NOUNS.is_a(noun, "toddler") else WORN + CARRIED
    return PET_GEAR if NOUNS.are_related(noun, "dog") or NOUNS.are_related(noun, "cat") else ()


def _sound_entity(entity: Entity) -> bool:
    noun, traits = NOUN[entity.noun], get_implied_adjectives(entity.noun)
    if noun.mass and entity != Entity(entity.noun):
        return False
    for adjective in entity.adjectives:
        # "A young puppy" is redundant, and "an old puppy" is contradictory.
        if adjective not in noun.adjectives or adjective in traits:
            return False
        if any(ADJECTIVES.excludes(adjective, other) for other in (*entity.adjectives, *traits)):
            return False
        if any(other != adjective and ADJECTIVES.is_a(other, adjective) for other in entity.adjectives):
            return False  # "a small tiny dog"
    return entity.gear is None or entity.gear.noun in list_gear(entity.noun)


def is_sound(scene: Scene) -> bool:
    """Check whether the grammar has a fluent sentence for a scene: no contradiction and no redundancy."""
    people = scene.participants
    if not people or not all(_sound_entity(entity) for entity in people):
        return False
    for index, one in enumerate(people):
        # "A man … a man" would need "another man", which adds information.
        if any(NOUNS.are_related(one.noun, other.noun) for other in people[:index]):
            return False
        if scene.place is not None and NOUN[one.noun].outdoor and not _fits(scene.place, ("outdoors", "barn")):
            return False
    if len(scene.agents) == 2 and any(entity.number != "one" for entity in scene.agents):
        return False  # "Two boys and three girls in red coats" is ambiguous.
    if scene.verb is None:
        # "There is a dog." has too few details for a caption.
        return len(people) == 1 and scene.patient is None and (scene.place is not None or people[0].gear is not None)
    verb = VERB[scene.verb]
    if scene.patient is None:
        if verb.patients and not verb.optional:
            return False
    elif not _under(scene.patient.noun, verb.patients):
        return False
    if not scene.agents and (scene.patient is None or not has_passive(scene)):
        return False
    if not all(_under(entity.noun, verb.agents) for entity in scene.agents):
        return False
    if verb.together and len(scene.agents) == 1 and COUNTS[scene.agents[0].number].low < 2:
        return False
    return scene.place is None or not verb.where or _fits(scene.place, verb.where)


def has_passive(scene: Scene) -> bool:
    """Check whether a scene has a passive sentence: a past participle and a countable patient."""
    if scene.verb is None or scene.patient is None:
        return False
    return any(past for _, past in VERB[scene.verb].words) and not NOUN[scene.patient.noun].mass


@cache  # Cached, because there are few arguments and each sampled scene calls this function.
def _under(noun: str, roots: tuple[str, ...]) -> bool:
    """Check whether a noun satisfies the selectional restriction of a verb, or is a hypernym of a noun that does."""
    return any(NOUNS.are_related(noun, root) for root in roots)


@cache
def _fits(place: str, roots: tuple[str, ...]) -> bool:
    return any(PLACES.are_related(place, root) for root in roots)
