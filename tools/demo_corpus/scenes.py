"""What a caption says, apart from its words: who does what to whom, where and when."""

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
    traits_of,
)


class Gear(NamedTuple):
    """Something worn or carried: a noun and perhaps a colour."""

    noun: str
    colour: str | None = None


class Entity(NamedTuple):
    """One participant, or a group of the same kind.

    Attributes:
        noun: a concept of `lexicon.NOUNS`.
        number: a key of `lexicon.COUNTS`.
        adjectives: concepts of `lexicon.ADJECTIVES`, sorted by `described`.
        gear: what each of them wears or carries.
    """

    noun: str
    number: str = "one"
    adjectives: tuple[str, ...] = ()
    gear: Gear | None = None

    def described(self, *adjectives: str) -> "Entity":
        """Return the same with exactly these adjectives, in one fixed order, so that equal meanings are equal."""
        return self._replace(adjectives=tuple(sorted(set(adjectives), key=lambda word: (ADJECTIVE[word].place, word))))


class Scene(NamedTuple):
    """The meaning of one caption. What is None or empty is left unsaid.

    Attributes:
        agents: who does it: none (an agentless passive), one, or two that do it together.
        verb: a concept of `lexicon.VERBS`; None says only that the one agent is there.
        patient: whom or what it is done to.
        place: a concept of `lexicon.PLACES`.
        time: a concept of `lexicon.TIMES`.
    """

    agents: tuple[Entity, ...]
    verb: str | None = None
    patient: Entity | None = None
    place: str | None = None
    time: str | None = None

    @property
    def participants(self) -> tuple[Entity, ...]:
        """The agents, then the patient where there is one."""
        return self.agents if self.patient is None else (*self.agents, self.patient)

    def with_participant(self, index: int, entity: Entity) -> "Scene":
        """Return the same scene with another entity at that index of `participants`."""
        if index == len(self.agents):
            return self._replace(patient=entity)
        return self._replace(agents=(*self.agents[:index], entity, *self.agents[index + 1 :]))


def gear_of(noun: str) -> tuple[str, ...]:
    """Return what the noun may wear or carry, as nouns; nothing for a thing."""
    if NOUNS.is_a(noun, "person"):
        return WORN if NOUNS.is_a(noun, "toddler") else WORN + CARRIED
    return PET_GEAR if NOUNS.related(noun, "dog") or NOUNS.related(noun, "cat") else ()


def _sound_entity(entity: Entity) -> bool:
    noun, traits = NOUN[entity.noun], traits_of(entity.noun)
    if noun.mass and entity != Entity(entity.noun):
        return False
    for adjective in entity.adjectives:
        # "a young puppy" says young twice, "an old puppy" says what cannot be
        if adjective not in noun.adjectives or adjective in traits:
            return False
        if any(ADJECTIVES.excludes(adjective, other) for other in (*entity.adjectives, *traits)):
            return False
        if any(other != adjective and ADJECTIVES.is_a(other, adjective) for other in entity.adjectives):
            return False  # "a small tiny dog"
    return entity.gear is None or entity.gear.noun in gear_of(entity.noun)


def is_sound(scene: Scene) -> bool:
    """Tell whether the scene is one that a fluent sentence of the grammar can say: no clash, nothing said twice."""
    people = scene.participants
    if not people or not all(_sound_entity(entity) for entity in people):
        return False
    for index, one in enumerate(people):
        # "a man … a man" would need "another man", which says more
        if any(NOUNS.related(one.noun, other.noun) for other in people[:index]):
            return False
        if scene.place is not None and NOUN[one.noun].outdoor and not _fits(scene.place, ("outdoors", "barn")):
            return False
    if len(scene.agents) == 2 and any(entity.number != "one" for entity in scene.agents):
        return False  # whose red coats are those of "two boys and three girls in red coats"?
    if scene.verb is None:
        # "There is a dog." alone says too little to be a caption
        return len(people) == 1 and scene.patient is None and (scene.place is not None or people[0].gear is not None)
    verb = VERB[scene.verb]
    if scene.patient is None:
        if verb.patients and not verb.optional:
            return False
    elif not _under(scene.patient.noun, verb.patients):
        return False
    if not scene.agents and (scene.patient is None or not passive_of(scene)):
        return False
    if not all(_under(entity.noun, verb.agents) for entity in scene.agents):
        return False
    if verb.together and len(scene.agents) == 1 and COUNTS[scene.agents[0].number].low < 2:
        return False
    return scene.place is None or not verb.where or _fits(scene.place, verb.where)


def passive_of(scene: Scene) -> bool:
    """Tell whether the scene has a passive sentence: a participle, and an object that one can count."""
    if scene.verb is None or scene.patient is None:
        return False
    return any(past for _, past in VERB[scene.verb].words) and not NOUN[scene.patient.noun].mass


@cache  # of few arguments, and asked for every scene drawn
def _under(noun: str, roots: tuple[str, ...]) -> bool:
    """Tell whether the noun is what a verb takes, or a more general word for some of it."""
    return any(NOUNS.related(noun, root) for root in roots)


@cache
def _fits(place: str, roots: tuple[str, ...]) -> bool:
    return any(PLACES.related(place, root) for root in roots)
