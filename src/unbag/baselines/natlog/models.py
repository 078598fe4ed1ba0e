"""Finite logical models of a sentence pair, one per possible combination of truth values of the two sentences.

A model consists of subject entities and object entities, the nouns and adjectives that describe each entity, and the
events between them, now and at up to two other times. `is_true_in_model` evaluates a sentence in a model.

`find_truth_value_models` searches the models without enumerating all of them. The events of different subjects are
independent. The search therefore first computes the pairs of truth values (of the premise's and the hypothesis's verb
phrase) that one subject can have, given the objects. Then it distributes these pairs over the subjects. It adds one
subject at a time until no quantifier can detect a change. No quantifier distinguishes k + 1 subjects from more, where k
is the largest number in the pair ("exactly k" fails at k + 1 members in Y, "all but k" at k + 1 members outside Y). The
search therefore covers any number of subjects.

**The bound** applies to the objects, which all subjects share. Things are equivalent if the same (modified) noun
phrases describe them. There are three classes: described by both phrases, by the premise's only, or by the hypothesis's
only. The search tries at most `max_entities` entities per class (default: 2 (k + 1)), in addition to named entities and
to entities that make a noun non-empty. The value of a quantifier does not change if all but k + 1 of its entities are
removed, so 2 (k + 1) entities suffice for two sentences and one subject. Sharing the objects makes no difference for
any shape that occurs: a test raises the bound. Two other times suffice: one at which the premise's *always* fails, and
one at which the hypothesis's does.

In an exchanged pair (x does it to y, y to x), the events of different subjects are not independent. The search then
enumerates all models with at most `_MOST_EVENTS` pairs of an agent and a patient over all times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Final, NamedTuple

from unbag.baselines.natlog.parsing import (
    ALWAYS,
    NEVER,
    ClauseLogicalForm,
    NounPhrase,
    PairLogicalForm,
    Quantifier,
    WordRelations,
)
from unbag.baselines.natlog.relations import REGIONS, Region, Relation

_OTHER_TIMES: Final = 2
_MOST_EVENTS: Final = 9  # with 2 or 3 options each, up to 3⁹ = 19,683 models of a sentence


class LogicalModelEntity(NamedTuple):
    """Entity of a logical model, with the nouns and adjectives that describe it."""

    nouns: Region  # whether the noun of the premise, and that of the hypothesis, describe the entity
    adjectives: frozenset[str] = frozenset()

    def is_described_by(self, side: int, phrase: NounPhrase) -> bool:
        """Check whether a noun phrase of the premise (`side` 0) or the hypothesis (`side` 1) describes the entity."""
        return self.nouns[side] and (phrase.adjective is None or phrase.adjective in self.adjectives)


class LogicalModelEvent(NamedTuple):
    """Event between an agent and a patient, with the verbs and adverbs of manner that describe it."""

    verbs: Region = (False, False)  # of premise and hypothesis
    adverbs: frozenset[str] = frozenset()


EventRow = tuple[LogicalModelEvent, ...]
"""Events of one subject with each object at one time."""


@dataclass(frozen=True)
class FiniteModel:
    """Finite logical model for the interpretation of two sentences, with entities and events.

    In an exchanged pair, the subjects are entities of the premise's subject and the hypothesis's object.
    """

    subjects: tuple[LogicalModelEntity, ...]
    objects: tuple[LogicalModelEntity, ...]  # a verb without an object has one artificial object, the last one
    named: tuple[int, int]  # numbers of named subjects and named objects, which come first
    times: tuple[tuple[EventRow, ...], ...]  # events of each subject with each object, now and at the other times


def is_true_in_model(
    sentence_index: int, clause: ClauseLogicalForm, word_relations: WordRelations, model: FiniteModel
) -> bool:
    """Check whether a sentence (`sentence_index` 0: premise, 1: hypothesis) is true in a logical model."""
    turned = sentence_index == 1 and word_relations.exchanged
    agents, patients = (model.objects, model.subjects) if turned else (model.subjects, model.objects)
    named_agents, named_patients = reversed(model.named) if turned else model.named

    def does(agent: int, patient: int, time: int) -> bool:
        event = model.times[time][patient][agent] if turned else model.times[time][agent][patient]
        return event.verbs[sentence_index] and (
            clause.adverb is None or _manner(sentence_index, clause, word_relations) in event.adverbs
        )

    def plain(agent: int, time: int) -> bool:
        if clause.object is None:
            return does(agent, len(patients) - 1, time)
        entities = [(entity, does(agent, patient, time)) for patient, entity in enumerate(patients)]
        return _holds(sentence_index, clause.object, word_relations, entities, named_patients)

    entities = [
        (entity, clause.evaluate_modifiers([plain(agent, time) for time in range(len(model.times))]))
        for agent, entity in enumerate(agents)
    ]
    return _holds(sentence_index, clause.subject, word_relations, entities, named_agents)


def _manner(side: int, clause: ClauseLogicalForm, word_relations: WordRelations) -> str:
    """Build the name of a manner. In an exchanged pair, the events x to y and y to x have separate manners."""
    return f"{clause.adverb} in return" if side == 1 and word_relations.exchanged else str(clause.adverb)


def _holds(
    side: int,
    phrase: NounPhrase,
    word_relations: WordRelations,
    entities: list[tuple[LogicalModelEntity, bool]],
    named: int,
) -> bool:
    members = [(i, does) for i, (entity, does) in enumerate(entities) if entity.is_described_by(side, phrase)]
    if phrase.is_referential(word_relations.coreferent):
        assert named >= phrase.number
        # Named entities come first. The phrase refers to as many of them as its number.
        if sum(does for i, does in members if i < phrase.number) < phrase.number:
            return False
        if phrase.quantifier is Quantifier.THE:
            return True
    n = sum(does for _, does in members)
    return phrase.is_satisfied_by(n, len(members) - n)


def find_truth_value_models(
    logical_form: PairLogicalForm, max_entities: int | None = None
) -> dict[Region, FiniteModel]:
    """Find the possible pairs of truth values of premise and hypothesis, each with one example (a logical model).

    `max_entities` limits the number of objects per class, and in an exchanged pair also of subjects. The module
    docstring explains the default, 2 (k + 1).
    """
    if logical_form.word_relations.exchanged:
        return _exchanged_outcomes(
            logical_form, max_entities or _enough(logical_form.premise.subject, *_objects(logical_form))
        )
    return _outcomes(logical_form, max_entities or _enough(*_objects(logical_form)))


def _objects(shape: PairLogicalForm) -> list[NounPhrase]:
    return [phrase for phrase in (shape.premise.object, shape.hypothesis.object) if phrase is not None]


def _enough(*phrases: NounPhrase) -> int:
    return 2 * (1 + max((phrase.number for phrase in phrases), default=1))


def _outcomes(shape: PairLogicalForm, bound: int) -> dict[Region, FiniteModel]:
    premise, hypothesis, word_relations = shape.premise, shape.hypothesis, shape.word_relations
    phrases = (premise.subject, hypothesis.subject, *_objects(shape))
    most = 1 + max(phrase.number for phrase in phrases)
    models: dict[Region, FiniteModel] = {}
    for objects, ways in _ways(premise, hypothesis, word_relations, bound, most):
        for values, subjects in _distributions(
            premise.subject, hypothesis.subject, word_relations, frozenset(ways), most
        ).items():
            if values not in models:
                named = sum(subject.named for subject in subjects)
                times = zip(*(ways[subject.values] for subject in subjects), strict=True)
                models[values] = FiniteModel(
                    tuple(subject.entity for subject in subjects),
                    objects.entities,
                    (named, objects.named),
                    tuple(times),
                )
        if len(models) == len(REGIONS):
            break
    return models


def _timed(premise: ClauseLogicalForm, hypothesis: ClauseLogicalForm) -> bool:
    return any(modifier in (ALWAYS, NEVER) for clause in (premise, hypothesis) for modifier in clause.modifiers)


def _kinds(
    premise: NounPhrase | None, hypothesis: NounPhrase | None, relation: Relation, coreferent: bool
) -> tuple[int, list[LogicalModelEntity], bool]:
    """Compute the number of named entities, the classes of entities, and whether only named entities matter."""
    phrases = [phrase for phrase in (premise, hypothesis) if phrase is not None]
    named = max((phrase.number for phrase in phrases if phrase.is_referential(coreferent)), default=0)
    adjectives = sorted({phrase.adjective for phrase in phrases if phrase.adjective})
    if premise is None or hypothesis is None:  # one of the verbs has no object, so only the other noun counts
        nouns: list[Region] = [(premise is not None, hypothesis is not None)] if phrases else []
    else:
        nouns = [part for part in REGIONS if part not in relation.empty_regions and any(part)]
    kinds = [
        LogicalModelEntity(part, frozenset(a for a, fits in zip(adjectives, chosen, strict=True) if fits))
        for part in nouns
        for chosen in product((True, False), repeat=len(adjectives))
    ]
    closed = all(
        phrase.is_referential(coreferent) and phrase.quantifier is not Quantifier.EXACTLY for phrase in phrases
    )
    return named, kinds, closed


class _Domain(NamedTuple):
    entities: tuple[LogicalModelEntity, ...]
    named: int  # the first entities are named


@cache
def _domains(
    premise: NounPhrase | None, hypothesis: NounPhrase | None, relation: Relation, coreferent: bool, bound: int
) -> list[_Domain]:
    """List the sets of entities for subjects or objects, one per equivalence class, in ascending order of size."""
    named, kinds, closed = _kinds(premise, hypothesis, relation, coreferent)
    phrases = (premise, hypothesis)
    # Two entities are equivalent if the same phrases describe them, because no sentence distinguishes them.
    part_of = {
        kind: REGIONS.index(
            tuple(phrase is not None and kind.is_described_by(side, phrase) for side, phrase in enumerate(phrases))
        )
        for kind in kinds
    }
    no_phrase = REGIONS.index((False, False))
    domains: dict[tuple[tuple[int, ...], tuple[int, ...]], _Domain] = {}
    for first in product(kinds, repeat=named):
        # (number of other entities in each of `REGIONS`, which nouns are not empty) -> the other entities
        named_fit = tuple(any(entity.nouns[side] for entity in first) for side in (0, 1))
        growing: dict[tuple[tuple[int, ...], tuple[bool, ...]], tuple[LogicalModelEntity, ...]] = {
            ((0,) * len(REGIONS), named_fit): ()
        }
        for kind in kinds:
            part = no_phrase if closed else part_of[kind]
            # An entity that no phrase describes can still make a noun non-empty, so one of them is tried.
            limit = 1 if part == no_phrase else bound
            longer: dict[tuple[tuple[int, ...], tuple[bool, ...]], tuple[LogicalModelEntity, ...]] = {}
            for (counts, nonempty), rest in growing.items():
                longer.setdefault((counts, nonempty), rest)
                fit = tuple(before or now for before, now in zip(nonempty, kind.nouns, strict=True))
                for count in range(1, limit - counts[part] + 1):
                    more = (*counts[:part], counts[part] + count, *counts[part + 1 :])
                    longer.setdefault((more, fit), (*rest, *[kind] * count))
            growing = longer
        needed = tuple(any(kind.nouns[side] for kind in kinds) for side in (0, 1))
        for (counts, nonempty), rest in growing.items():
            if nonempty == needed:
                key = tuple(part_of[entity] for entity in first), counts[:no_phrase]
                domains.setdefault(key, _Domain((*first, *rest), named))
    return sorted(domains.values(), key=lambda domain: len(domain.entities))


@cache
def _ways(
    premise: ClauseLogicalForm, hypothesis: ClauseLogicalForm, word_relations: WordRelations, bound: int, most: int
) -> list[tuple[_Domain, dict[Region, tuple[EventRow, ...]]]]:
    """List the object sets with the truth values that the verb phrases can have for one subject, and example rows."""
    rows = _Rows(premise, hypothesis, word_relations, most)
    choices: list[tuple[_Domain, dict[Region, tuple[EventRow, ...]]]] = []
    for objects in _domains(premise.object, hypothesis.object, word_relations.object, word_relations.coreferent, bound):
        domain = objects
        if premise.object is None or hypothesis.object is None:
            # Artificial object for a verb without an object.
            alone = LogicalModelEntity((premise.object is None, hypothesis.object is None))
            domain = _Domain((*objects.entities, alone), objects.named)
        plain = rows.by_truth(domain)
        ways: dict[Region, tuple[EventRow, ...]] = {}
        for now in plain:
            others = combinations_with_replacement(plain, _OTHER_TIMES) if _timed(premise, hypothesis) else [()]
            for times in ((now, *other) for other in others):
                values = (
                    premise.evaluate_modifiers([value for value, _ in times]),
                    hypothesis.evaluate_modifiers([value for _, value in times]),
                )
                ways.setdefault(values, tuple(plain[time] for time in times))
        # A set of objects adds nothing if its values are a subset of those of another set.
        if not any(ways.keys() <= other.keys() for _, other in choices):
            choices = [(other, those) for other, those in choices if not those.keys() <= ways.keys()]
            choices.append((domain, ways))
        if len(ways) == len(REGIONS):
            break
    return choices


class _Counts(NamedTuple):
    """Counts for a quantifier: n and m (capped at the largest relevant number), and named members in Y."""

    n: int = 0
    m: int = 0
    named: int = 0

    def add(self, fits: bool, does: bool, named: bool, most: int) -> "_Counts":
        if not fits:
            return self
        return _Counts(min(most, self.n + does), min(most, self.m + (not does)), self.named + (does and named))

    def is_satisfied_by(self, phrase: NounPhrase, coreferent: bool) -> bool:
        if phrase.is_referential(coreferent):
            if self.named < phrase.number:
                return False
            if phrase.quantifier is Quantifier.THE:
                return True
        return phrase.is_satisfied_by(self.n, self.m)


_State = tuple[_Counts, _Counts, bool, bool]
"""Counts of premise and hypothesis, and flags: whether a row has an event of each verb, or a noun fits a subject."""


class _Rows:
    """Possible rows of one subject at one time. The states of each prefix of the objects are cached."""

    def __init__(
        self, premise: ClauseLogicalForm, hypothesis: ClauseLogicalForm, word_relations: WordRelations, most: int
    ) -> None:
        self._clauses = (premise, hypothesis)
        self._lexicon = word_relations
        self._most = most
        self._one_without = (premise.object is None) != (hypothesis.object is None)
        adverbs = sorted({clause.adverb for clause in self._clauses if clause.adverb})
        manners = [
            frozenset(adverb for adverb, is_in in zip(adverbs, chosen, strict=True) if is_in)
            for chosen in product((False, True), repeat=len(adverbs))
        ]
        self._choices = [
            [LogicalModelEvent(verb, manner) for verb in verbs for manner in (manners if any(verb) else manners[:1])]
            for verbs in _verb_choices(premise, hypothesis, word_relations.verb)
        ]
        self._cache: dict[tuple[int, tuple[LogicalModelEntity, ...], int], dict[_State, EventRow]] = {}

    def by_truth(self, objects: _Domain) -> dict[Region, EventRow]:
        """List the possible truth values of the unmodified verb phrases, each with one example assignment."""
        rows: dict[Region, EventRow] = {}
        for choice in range(len(self._choices)):
            for (*counts, any1, any2), row in self._states(choice, objects.entities, objects.named).items():
                if self._one_without and (any1, any2) in self._lexicon.verb.empty_regions:
                    continue
                values = [
                    one.n > 0 if clause.object is None else one.is_satisfied_by(clause.object, self._lexicon.coreferent)
                    for clause, one in zip(self._clauses, counts, strict=True)
                ]
                rows.setdefault((values[0], values[1]), row)
        return rows

    def _states(self, choice: int, entities: tuple[LogicalModelEntity, ...], named: int) -> dict[_State, EventRow]:
        if not entities:
            return {(_Counts(), _Counts(), False, False): ()}
        key = (choice, entities, named)
        if key not in self._cache:
            entity, index = entities[-1], len(entities) - 1
            states: dict[_State, EventRow] = {}
            for (first, second, any1, any2), row in self._states(choice, entities[:-1], named).items():
                for event in self._choices[choice]:
                    one, two = (
                        self._added(side, counts, event, entity, index < named, index)
                        for side, counts in enumerate((first, second))
                    )
                    if self._one_without:
                        uses = [event.verbs[side] and entity.nouns[side] for side in (0, 1)]
                        state = (one, two, any1 or uses[0], any2 or uses[1])
                    else:
                        state = (one, two, False, False)
                    states.setdefault(state, (*row, event))
            self._cache[key] = states
        return self._cache[key]

    def _added(
        self, side: int, counts: _Counts, event: LogicalModelEvent, entity: LogicalModelEntity, named: bool, index: int
    ) -> _Counts:
        clause = self._clauses[side]
        does = event.verbs[side] and (clause.adverb is None or clause.adverb in event.adverbs)
        if clause.object is None:
            return counts.add(entity.nouns[side], does, False, self._most)
        named = named and index < clause.object.number
        return counts.add(entity.is_described_by(side, clause.object), does, named, self._most)


def _verb_choices(
    premise: ClauseLogicalForm, hypothesis: ClauseLogicalForm, relation: Relation
) -> Iterator[list[Region]]:
    """Iterate over the combinations of the two verbs in the events of one subject at one time."""
    if relation is Relation.ALTERNATION:  # between agents: a row contains events of one verb only
        yield [(True, False), (False, False)]
        yield [(False, True), (False, False)]
    elif (premise.object is None) != (hypothesis.object is None):  # also between agents; checked on complete rows
        yield list(REGIONS)
    else:
        yield [part for part in REGIONS if part not in relation.empty_regions]


class _Subject(NamedTuple):
    entity: LogicalModelEntity
    named: bool
    values: Region  # of the two verb phrases


@cache
def _distributions(
    premise: NounPhrase, hypothesis: NounPhrase, word_relations: WordRelations, possible: frozenset[Region], most: int
) -> dict[Region, list[_Subject]]:
    """Find the possible truth values of the two sentences, each pair with a smallest list of subjects."""
    named, kinds, closed = _kinds(premise, hypothesis, word_relations.subject, word_relations.coreferent)
    phrases = (premise, hypothesis)
    values = [part for part in REGIONS if part in possible]

    def add_subject(state: _State, subject: _Subject, index: int) -> _State:
        one, two = (
            counts.add(
                subject.entity.is_described_by(side, phrase) and (subject.named or not closed),
                subject.values[side],
                subject.named and index < phrase.number,
                most,
            )
            for side, (counts, phrase) in enumerate(zip(state[:2], phrases, strict=True))
        )
        return one, two, state[2] or subject.entity.nouns[0], state[3] or subject.entity.nouns[1]

    # Breadth-first search: each layer adds one subject, so the first list that reaches a state is the smallest.
    layer: dict[_State, list[_Subject]] = {(_Counts(), _Counts(), False, False): []}
    for index in range(named):
        longer: dict[_State, list[_Subject]] = {}
        for state, subjects in layer.items():
            for kind, value in product(kinds, values):
                subject = _Subject(kind, True, value)
                longer.setdefault(add_subject(state, subject, index), [*subjects, subject])
        layer = longer
    reached = dict(layer)
    while layer:
        longer = {}
        for state, subjects in layer.items():
            for kind, value in product(kinds, values):
                subject = _Subject(kind, False, value)
                # The capped counts make the number of states finite, so the search ends.
                if (new := add_subject(state, subject, 0)) not in reached:
                    reached[new] = longer[new] = [*subjects, subject]
        layer = longer
    by_values: dict[Region, list[_Subject]] = {}
    for (one, two, *nonempty), subjects in reached.items():
        if all(nonempty):
            part = (
                one.is_satisfied_by(premise, word_relations.coreferent),
                two.is_satisfied_by(hypothesis, word_relations.coreferent),
            )
            by_values.setdefault(part, subjects)
    return by_values


def _exchanged_outcomes(shape: PairLogicalForm, bound: int) -> dict[Region, FiniteModel]:
    premise, hypothesis, word_relations = shape.premise, shape.hypothesis, shape.word_relations
    if premise.object is None or hypothesis.object is None:
        raise ValueError(
            f"swapped pair: expected a grammatical object in both sentences, got {premise} and {hypothesis}; add the "
            "object"
        )
    first = _domains(premise.subject, hypothesis.object, word_relations.subject, word_relations.coreferent, bound)
    second = _domains(premise.object, hypothesis.subject, word_relations.object, word_relations.coreferent, bound)
    n_times = 1 + _OTHER_TIMES * _timed(premise, hypothesis)
    models: dict[Region, FiniteModel] = {}
    for subjects, objects in sorted(
        product(first, second), key=lambda pair: len(pair[0].entities) * len(pair[1].entities)
    ):
        if len(subjects.entities) * len(objects.entities) * n_times > _MOST_EVENTS:
            break
        sides = [
            _by_truth(side, clause, word_relations, subjects, objects, n_times)
            for side, clause in enumerate((premise, hypothesis))
        ]
        for values in REGIONS:
            if values not in models:
                # The relation of the two verbs must hold event by event.
                for one, two in product(*(side[value] for side, value in zip(sides, values, strict=True))):
                    if word_relations.verb.empty_regions.isdisjoint(zip(_verbs(one), _verbs(two), strict=True)):
                        events = [LogicalModelEvent((a[0], b[0]), a[1] | b[1]) for a, b in zip(one, two, strict=True)]
                        models[values] = _world(subjects, objects, events)
                        break
        if len(models) == len(REGIONS):
            break
    return models


_OneSided = tuple[tuple[bool, frozenset[str]], ...]
"""Whether the verb of one sentence describes each possible event at each time, and the manner of the event."""


def _verbs(events: _OneSided) -> Iterator[bool]:
    return (verb for verb, _ in events)


def _by_truth(
    side: int,
    clause: ClauseLogicalForm,
    word_relations: WordRelations,
    subjects: _Domain,
    objects: _Domain,
    n_times: int,
) -> dict[bool, list[_OneSided]]:
    """Group the possible events by the truth value of one sentence, with one manner per set of events."""
    options = [(False, frozenset[str]()), (True, frozenset[str]())]
    if clause.adverb is not None:
        options.append((True, frozenset({_manner(side, clause, word_relations)})))
    by_value: dict[bool, dict[tuple[bool, ...], _OneSided]] = {True: {}, False: {}}
    for events in product(options, repeat=len(subjects.entities) * len(objects.entities) * n_times):
        both_sides = [LogicalModelEvent((verb and side == 0, verb and side == 1), manner) for verb, manner in events]
        value = is_true_in_model(side, clause, word_relations, _world(subjects, objects, both_sides))
        by_value[value].setdefault(tuple(_verbs(events)), events)
    return {value: list(those.values()) for value, those in by_value.items()}


def _world(subjects: _Domain, objects: _Domain, events: Sequence[LogicalModelEvent]) -> FiniteModel:
    """Build a model from a flat list of events in the order time, subject, object."""
    wide, long = len(objects.entities), len(subjects.entities)
    rows = [tuple(events[start : start + wide]) for start in range(0, len(events), wide)]
    times = tuple(tuple(rows[start : start + long]) for start in range(0, len(rows), long))
    return FiniteModel(subjects.entities, objects.entities, (subjects.named, objects.named), times)
