"""Sampling of scenes, and small random edits of scenes.

An edit does not determine the label. The groups below only make a label probable; `semantics.label` computes the label
(adding "young" to a boy adds no information). An edit returns None if it does not apply or if `is_sound` rejects the
result.
"""

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from tools.demo_corpus.lexicon import (
    ADJECTIVES,
    COUNTS,
    INDEPENDENT,
    NOUN,
    NOUNS,
    PLACE,
    PLACES,
    TIME,
    TIMES,
    VAGUE_PLACES,
    VERB,
    VERBS,
    nouns_under,
)
from tools.demo_corpus.scenes import Entity, Gear, Scene, is_sound, list_gear

Edit = Callable[[Scene, random.Random], Scene | None]
T = TypeVar("T")

_ANIMATE = frozenset(nouns_under(("person", "animal")))
_TRANSITIVE = tuple(verb.concept for verb in VERB.values() if verb.words and verb.patients)
_INTRANSITIVE = tuple(verb.concept for verb in VERB.values() if verb.words and not verb.patients)
# Verbs whose two roles allow the same nouns, so that only the word order shows who does what.
_REVERSIBLE = (
    *("chase", "chase", "follow", "follow", "photograph", "draw", "teach", "interview", "lift", "lick", "push"),
    *("splash", "rescue"),
)
_COMMON = ("woman", "man", "girl", "boy", "dog")
_ALL_TIMES = tuple(TIME)
_CONCRETE = tuple(place for place in PLACE if place not in VAGUE_PLACES)


def draw_scene(rng: random.Random) -> Scene:
    """Sample a sound scene like those of captions: few participants with many details."""
    while True:
        # Two of five scenes are reversible, and most of the others have an object.
        verb = rng.choice(rng.choice((_REVERSIBLE, _REVERSIBLE, _TRANSITIVE, _TRANSITIVE, _INTRANSITIVE)))
        agents: tuple[Entity, ...] = (_draw_entity(rng, VERB[verb].agents),)
        patient = None
        if VERB[verb].patients:
            patient = _draw_entity(rng, VERB[verb].patients)
            if NOUNS.are_related(agents[0].noun, patient.noun):
                continue  # The most common reason for an unsound scene, checked before the rest is sampled.
        elif rng.random() < 0.45:
            agents = (*agents, _draw_entity(rng, VERB[verb].agents))
            agents = tuple(entity._replace(number="one") for entity in agents)
        scene = change_setting(Scene(agents, verb, patient), rng)
        if is_sound(scene):
            return scene


def change_setting(scene: Scene, rng: random.Random) -> Scene:
    """Sample another place and time for a scene, or none. The result may be unsound."""
    place = rng.choice(_CONCRETE) if rng.random() < 0.8 else None
    time = rng.choice(_ALL_TIMES) if rng.random() < 0.3 else None
    return scene._replace(place=place, time=time)


@cache
def _choices(roots: tuple[str, ...]) -> tuple[str, ...]:
    """List the nouns to sample from. Specific nouns occur twice, and common nouns more often, as in captions."""
    nouns = nouns_under(roots)
    specific = [noun for noun in nouns if len(NOUNS.list_descendants(noun)) == 1]
    common = [noun for noun in nouns if noun in _COMMON]
    return (*nouns, *specific, *common, *common)


def _draw_entity(rng: random.Random, roots: tuple[str, ...]) -> Entity:
    noun = rng.choice(_choices(roots))
    if NOUN[noun].mass:
        return Entity(noun)
    animate = noun in _ANIMATE
    count = rng.choice(tuple(COUNTS)) if rng.random() < (0.3 if animate else 0.15) else "one"
    known = NOUN[noun].adjectives
    wanted = min(len(known), rng.choice((0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2)))
    gear = None
    if animate and rng.random() < (0.45 if NOUNS.is_a(noun, "person") else 0.15) and list_gear(noun):
        what = rng.choice(list_gear(noun))
        gear = Gear(what, rng.choice(NOUN[what].adjectives) if rng.random() < 0.8 else None)
    return Entity(noun, count, (), gear).described(*rng.sample(known, wanted))


def _pick(rng: random.Random, options: Sequence[T]) -> T | None:
    return rng.choice(options) if options else None


def _someone(scene: Scene, rng: random.Random, having: Callable[[Entity], object]) -> tuple[int, Entity] | None:
    """Sample a participant for which `having` is true. Returns the index and the participant."""
    return _pick(rng, [(i, entity) for i, entity in enumerate(scene.participants) if having(entity)])


# ---- deletions and generalizations


def _drop_adjective(scene: Scene, rng: random.Random) -> Scene | None:
    if (found := _someone(scene, rng, lambda entity: entity.adjectives)) is None:
        return None
    index, entity = found
    gone = rng.choice(entity.adjectives)
    kept = (word for word in entity.adjectives if word != gone)
    return scene.with_participant(index, entity.described(*kept))


def _widen_adjective(scene: Scene, rng: random.Random) -> Scene | None:
    found = _someone(scene, rng, lambda entity: any(ADJECTIVES.list_ancestors(word) for word in entity.adjectives))
    if found is None:
        return None
    index, entity = found
    wider = ((ADJECTIVES.list_ancestors(word) or [word])[0] for word in entity.adjectives)
    return scene.with_participant(index, entity.described(*wider))


def _drop_gear(scene: Scene, rng: random.Random) -> Scene | None:
    if (found := _someone(scene, rng, lambda entity: entity.gear)) is None:
        return None
    return scene.with_participant(found[0], found[1]._replace(gear=None))


def _widen_gear(scene: Scene, rng: random.Random) -> Scene | None:
    if (found := _someone(scene, rng, lambda entity: entity.gear)) is None:
        return None
    index, entity = found
    assert entity.gear is not None
    options = [entity.gear._replace(noun=noun) for noun in NOUNS.list_ancestors(entity.gear.noun) if NOUN[noun].words]
    if entity.gear.colour is not None:
        options.append(entity.gear._replace(colour=None))
    return None if not options else scene.with_participant(index, entity._replace(gear=rng.choice(options)))


def _drop_place(scene: Scene, rng: random.Random) -> Scene | None:
    return None if scene.place is None else scene._replace(place=None)


def _drop_time(scene: Scene, rng: random.Random) -> Scene | None:
    return None if scene.time is None else scene._replace(time=None)


def _widen_place(scene: Scene, rng: random.Random) -> Scene | None:
    wider = None if scene.place is None else _pick(rng, PLACES.list_ancestors(scene.place))
    return None if wider is None else scene._replace(place=wider)


def _widen_time(scene: Scene, rng: random.Random) -> Scene | None:
    wider = None if scene.time is None else _pick(rng, TIMES.list_ancestors(scene.time))
    return None if wider is None else scene._replace(time=wider)


def _renamed(entity: Entity, noun: str) -> Entity:
    """Replace the noun of an entity, and remove incompatible adjectives and gear."""
    if NOUN[noun].mass:
        return Entity(noun)
    gear = entity.gear if entity.gear is not None and entity.gear.noun in list_gear(noun) else None
    kept = (word for word in entity.adjectives if word in NOUN[noun].adjectives)
    return entity._replace(noun=noun, gear=gear).described(*kept)


def _widen_noun(scene: Scene, rng: random.Random) -> Scene | None:
    index = rng.randrange(len(scene.participants))
    entity = scene.participants[index]
    noun = _pick(rng, [noun for noun in NOUNS.list_ancestors(entity.noun) if NOUN[noun].words])
    return None if noun is None else scene.with_participant(index, _renamed(entity, noun))


def _with_verb(scene: Scene, verb: str) -> Scene:
    return scene._replace(verb=verb, patient=scene.patient if VERB[verb].patients else None)


def _widen_verb(scene: Scene, rng: random.Random) -> Scene | None:
    if scene.verb is None:
        return None
    verb = _pick(rng, [verb for verb in VERBS.list_ancestors(scene.verb) if VERB[verb].words])
    return None if verb is None else _with_verb(scene, verb)


def _widen_count(scene: Scene, rng: random.Random) -> Scene | None:
    index = rng.randrange(len(scene.participants))
    entity = scene.participants[index]
    count = COUNTS[entity.number]
    wider = [
        name
        for name, other in COUNTS.items()
        if name != entity.number and other.low <= count.low and count.high <= other.high
    ]
    return None if not wider else scene.with_participant(index, entity._replace(number=rng.choice(wider)))


def _drop_agent(scene: Scene, rng: random.Random) -> Scene | None:
    return scene._replace(agents=(rng.choice(scene.agents),)) if len(scene.agents) == 2 else None


def _leave_out_agents(scene: Scene, rng: random.Random) -> Scene | None:
    return scene._replace(agents=())


def _leave_out_patient(scene: Scene, rng: random.Random) -> Scene | None:
    return None if scene.patient is None else scene._replace(patient=None)


def _leave_out_verb(scene: Scene, rng: random.Random) -> Scene | None:
    found = _someone(scene, rng, lambda entity: entity.noun in _ANIMATE)
    return None if found is None else Scene((found[1],), None, None, scene.place, scene.time)


# ---- additions, specializations, and compatible replacements


def _add_adjective(scene: Scene, rng: random.Random) -> Scene | None:
    index, entity = rng.choice(tuple(enumerate(scene.participants)))
    word = _pick(rng, [word for word in NOUN[entity.noun].adjectives if word not in entity.adjectives])
    return None if word is None else scene.with_participant(index, entity.described(*entity.adjectives, word))


def _add_gear(scene: Scene, rng: random.Random) -> Scene | None:
    found = _someone(scene, rng, lambda entity: list_gear(entity.noun) and (not entity.gear or not entity.gear.colour))
    if found is None:
        return None
    index, entity = found
    what = rng.choice(list_gear(entity.noun)) if entity.gear is None else entity.gear.noun
    return scene.with_participant(index, entity._replace(gear=Gear(what, rng.choice(NOUN[what].adjectives))))


def _add_place(scene: Scene, rng: random.Random) -> Scene | None:
    below = (
        _CONCRETE
        if scene.place is None
        else [place for place in PLACES.list_descendants(scene.place) if place != scene.place]
    )
    return None if not below else scene._replace(place=rng.choice(below))


def _add_time(scene: Scene, rng: random.Random) -> Scene | None:
    below = (
        _ALL_TIMES
        if scene.time is None
        else [time for time in TIMES.list_descendants(scene.time) if time != scene.time]
    )
    return None if not below else scene._replace(time=rng.choice(below))


def _narrow_noun(scene: Scene, rng: random.Random) -> Scene | None:
    index, entity = rng.choice(tuple(enumerate(scene.participants)))
    noun = _pick(rng, [noun for noun in NOUNS.list_descendants(entity.noun) if noun != entity.noun])
    return None if noun is None else scene.with_participant(index, _renamed(entity, noun))


def _narrow_verb(scene: Scene, rng: random.Random) -> Scene | None:
    if scene.verb is None:
        return None
    takes = scene.patient is not None
    below = [
        verb for verb in VERBS.list_descendants(scene.verb) if verb != scene.verb and bool(VERB[verb].patients) == takes
    ]
    return None if not below else scene._replace(verb=rng.choice(below))


def _add_patient(scene: Scene, rng: random.Random) -> Scene | None:
    if scene.verb is None or scene.patient is not None or not VERB[scene.verb].patients:
        return None
    return scene._replace(patient=_draw_entity(rng, VERB[scene.verb].patients))


def _add_agent(scene: Scene, rng: random.Random) -> Scene | None:
    if scene.verb is None or len(scene.agents) != 1:
        return None
    both = [scene.agents[0], _draw_entity(rng, VERB[scene.verb].agents)._replace(number="one")]
    rng.shuffle(both)
    return scene._replace(agents=tuple(both))


def _other_verb(scene: Scene, rng: random.Random) -> Scene | None:
    verb = _pick(rng, _companions(scene.verb)) if scene.verb is not None else None
    if verb is None:
        return None
    patient = _draw_entity(rng, VERB[verb].patients) if VERB[verb].patients else None
    return scene._replace(verb=verb, patient=patient)


@cache
def _companions(verb: str) -> tuple[str, ...]:
    return tuple(sorted(other for pair in INDEPENDENT if verb in pair for other in pair if other != verb))


# ---- incompatible replacements


def _change_noun(scene: Scene, rng: random.Random) -> Scene | None:
    index, entity = rng.choice(tuple(enumerate(scene.participants)))
    noun = _pick(rng, _rivals(entity.noun))
    return None if noun is None else scene.with_participant(index, _renamed(entity, noun))


@cache
def _rivals(noun: str) -> tuple[str, ...]:
    """List the nouns that exclude a noun and have the same type or a common parent."""
    parents = set(NOUN[noun].parents) - {"thing"}
    return tuple(
        other
        for other in NOUNS.list_exclusive(noun)
        if NOUN[other].words and ((noun in _ANIMATE and other in _ANIMATE) or parents & set(NOUN[other].parents))
    )


def _change_adjective(scene: Scene, rng: random.Random) -> Scene | None:
    if (found := _someone(scene, rng, lambda entity: entity.adjectives)) is None:
        return None
    index, entity = found
    gone = rng.choice(entity.adjectives)
    word = _pick(rng, [word for word in ADJECTIVES.list_exclusive(gone) if word in NOUN[entity.noun].adjectives])
    if word is None:
        return None
    kept = (other for other in entity.adjectives if other != gone)
    return scene.with_participant(index, entity.described(*kept, word))


def _change_colour(scene: Scene, rng: random.Random) -> Scene | None:
    if (found := _someone(scene, rng, lambda entity: entity.gear and entity.gear.colour)) is None:
        return None
    index, entity = found
    assert entity.gear is not None
    colour = rng.choice([word for word in NOUN[entity.gear.noun].adjectives if word != entity.gear.colour])
    return scene.with_participant(index, entity._replace(gear=entity.gear._replace(colour=colour)))


def _change_verb(scene: Scene, rng: random.Random) -> Scene | None:
    if scene.verb is None:
        return None
    verb = _pick(rng, [verb for verb in VERBS.list_exclusive(scene.verb) if VERB[verb].words])
    return None if verb is None else _with_verb(scene, verb)


def _change_place(scene: Scene, rng: random.Random) -> Scene | None:
    other = None if scene.place is None else _pick(rng, PLACES.list_exclusive(scene.place))
    return None if other is None else scene._replace(place=other)


def _change_time(scene: Scene, rng: random.Random) -> Scene | None:
    other = None if scene.time is None else _pick(rng, TIMES.list_exclusive(scene.time))
    return None if other is None else scene._replace(time=other)


def _change_count(scene: Scene, rng: random.Random) -> Scene | None:
    if (found := _someone(scene, rng, lambda entity: entity.number != "one")) is None:
        return None
    index, entity = found
    return scene.with_participant(index, entity._replace(number=rng.choice(("two", "three", "four", "several"))))


def _draw_anew(scene: Scene, rng: random.Random) -> Scene | None:
    return draw_scene(rng)


# ---- the same words in another order


def _swap_roles(scene: Scene, rng: random.Random) -> Scene | None:
    if scene.patient is None or len(scene.agents) != 1:
        return None
    return scene._replace(agents=(scene.patient,), patient=scene.agents[0])


def _two(scene: Scene) -> tuple[Entity, Entity] | None:
    people = scene.participants
    return (people[0], people[1]) if len(people) == 2 else None


def _swap_adjectives(scene: Scene, rng: random.Random) -> Scene | None:
    """Exchange an adjective of each of two participants, or move one if the other has none."""
    if (both := _two(scene)) is None:
        return None
    one, other = both
    mine, theirs = _pick(rng, one.adjectives), _pick(rng, other.adjectives)
    if mine == theirs:
        return None
    kept = [word for word in one.adjectives if word != mine]
    left = [word for word in other.adjectives if word != theirs]
    first = one.described(*kept, *([theirs] if theirs else []))
    second = other.described(*left, *([mine] if mine else []))
    return scene.with_participant(0, first).with_participant(1, second)


def _swap_gear(scene: Scene, rng: random.Random) -> Scene | None:
    if (both := _two(scene)) is None or both[0].gear == both[1].gear:
        return None
    first, second = both[0]._replace(gear=both[1].gear), both[1]._replace(gear=both[0].gear)
    return scene.with_participant(0, first).with_participant(1, second)


def _swap_order(scene: Scene, rng: random.Random) -> Scene | None:
    return scene._replace(agents=scene.agents[::-1]) if len(scene.agents) == 2 else None


LESS: tuple[Edit, ...] = (
    *(_drop_adjective, _widen_adjective, _drop_gear, _widen_gear, _drop_place, _drop_time, _widen_place, _widen_time),
    *(_widen_noun, _widen_noun, _widen_verb, _widen_count, _drop_agent, _leave_out_agents, _leave_out_patient),
    *(_leave_out_verb, _swap_order),
)
MORE: tuple[Edit, ...] = (
    *(_add_adjective, _add_adjective, _add_gear, _add_place, _add_time, _narrow_noun, _narrow_noun, _narrow_verb),
    *(_add_patient, _add_agent, _other_verb, _other_verb),
)
CHANGE: tuple[Edit, ...] = (
    *(_change_noun, _change_noun, _change_adjective, _change_colour, _change_verb, _change_verb, _change_place),
    *(_change_time, _change_count, _draw_anew, _draw_anew, _draw_anew),
)
SWAP: tuple[Edit, ...] = (_swap_roles, _swap_roles, _swap_adjectives, _swap_gear)


def apply_random_edit(edits: Sequence[Edit], scene: Scene, rng: random.Random) -> Scene | None:
    """Apply a random edit to a scene; None if three sampled edits do not apply or produce unsound scenes."""
    for _ in range(3):
        changed = rng.choice(edits)(scene, rng)
        if changed is not None and changed != scene and is_sound(changed):
            return changed
    return None
