"""Finite models of a pair of sentences: which of them make the premise true, the hypothesis, both, neither.

A model is some things that the subjects can speak of, some that the objects can, for each which nouns and adjectives
fit it, and who does what to whom, now and at up to two other times. `truth` says what a sentence means in one.

`outcomes` goes through all models up to a bound without making them one by one. What one subject does to the objects
says nothing of what another does, so it is enough to know which pairs of truth values (premise's verb phrase,
hypothesis's) one subject can have, given the objects, and then to share these out among the subjects.

**The bound.** Things are alike if the two (modified) noun phrases fit them alike, so there are three kinds: in both, in
the premise's only, in the hypothesis's only. At most `bound` things of a kind are tried, beside the named ones and
those without which a noun would be empty; k + 1 by default, where k is the largest number in the pair. More cannot
matter for the subjects: every quantifier, true or false, stays as it is when all but k + 1 of its things are taken away
(for "exactly k" to be false, k + 1 that do; for "all but k", k + 1 that do not; for "every", k, or one that does not),
and what is left lies in one of two kinds for each sentence. The same holds of the objects of one subject. That subjects
share their objects makes no difference on any shape that occurs: a test raises the bound. Two other times are enough:
one where the premise's *always* fails, one where the hypothesis's does.

In an exchanged pair (x does it to y, y to x) one subject's doings are another's, so there the models are made one by
one: all that have at most `_MOST_DOINGS` pairs of a doer and another at all times together.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Final, NamedTuple

from unbag.natlog.clauses import ALWAYS, NEVER, Clause, Lexicon, NounPhrase, Quantifier, Shape
from unbag.natlog.relations import PARTS, Part, Relation

_OTHER_TIMES: Final = 2
_MOST_DOINGS: Final = 9


class Thing(NamedTuple):
    """A thing: whether the noun of the premise and that of the hypothesis fits it, and which adjectives do."""

    nouns: Part
    adjectives: frozenset[str] = frozenset()

    def fits(self, side: int, phrase: NounPhrase) -> bool:
        """Tell whether it is in the set of a phrase of the premise (side 0) or the hypothesis (1)."""
        return self.nouns[side] and (phrase.adjective is None or phrase.adjective in self.adjectives)


class Doing(NamedTuple):
    """What somebody does to something: whether the premise's verb says so, the hypothesis's, and in what manner."""

    verbs: Part = (False, False)
    adverbs: frozenset[str] = frozenset()


Row = tuple[Doing, ...]
"""What one subject does to each of the objects at one time."""


@dataclass(frozen=True)
class Model:
    """A small world.

    Attributes:
        subjects: what the subjects speak of; in an exchanged pair, the premise's subject and the hypothesis's object.
        objects: likewise the objects. A verb without object has a thing of its own, the last one, as if it were one.
        named: how many of the first subjects and of the first objects are those that phrases name.
        times: what each subject does to each object, now and at the other times.
    """

    subjects: tuple[Thing, ...]
    objects: tuple[Thing, ...]
    named: tuple[int, int]
    times: tuple[tuple[Row, ...], ...]


def truth(side: int, clause: Clause, lexicon: Lexicon, model: Model) -> bool:
    """Tell whether the premise (side 0) or the hypothesis (1) is true in a model."""
    turned = side == 1 and lexicon.exchanged
    doers, others = (model.objects, model.subjects) if turned else (model.subjects, model.objects)
    named_doers, named_others = reversed(model.named) if turned else model.named

    def does(doer: int, other: int, time: int) -> bool:
        doing = model.times[time][other][doer] if turned else model.times[time][doer][other]
        return doing.verbs[side] and (clause.adverb is None or _manner(side, clause, lexicon) in doing.adverbs)

    def plain(doer: int, time: int) -> bool:
        if clause.object is None:
            return does(doer, len(others) - 1, time)
        who = [(thing, does(doer, other, time)) for other, thing in enumerate(others)]
        return _holds(side, clause.object, lexicon, who, named_others)

    who = [
        (thing, clause.modified([plain(doer, time) for time in range(len(model.times))]))
        for doer, thing in enumerate(doers)
    ]
    return _holds(side, clause.subject, lexicon, who, named_doers)


def _manner(side: int, clause: Clause, lexicon: Lexicon) -> str:
    """Return the name of a manner: what x does to y and what y does to x are two doings, each with its own."""
    return f"{clause.adverb} in return" if side == 1 and lexicon.exchanged else str(clause.adverb)


def _holds(side: int, phrase: NounPhrase, lexicon: Lexicon, who: list[tuple[Thing, bool]], named: int) -> bool:
    members = [(place, does) for place, (thing, does) in enumerate(who) if thing.fits(side, phrase)]
    if phrase.names(lexicon.coreferent):
        assert named >= phrase.number
        if sum(does for place, does in members if place < phrase.number) < phrase.number:
            return False
        if phrase.quantifier is Quantifier.THE:
            return True
    n = sum(does for _, does in members)
    return phrase.holds(n, len(members) - n)


def outcomes(shape: Shape, bound: int | None = None) -> dict[Part, Model]:
    """Return which pairs of truth values the premise and the hypothesis can have, each with a model that shows it.

    Args:
        shape: the two sentences.
        bound: how many things of a kind are tried; see the module.
    """
    if bound is None:
        bound = _largest(shape) + 1
    return _exchanged_outcomes(shape, bound) if shape.lexicon.exchanged else _outcomes(shape, bound)


def _largest(shape: Shape) -> int:
    phrases = (shape.premise.subject, shape.premise.object, shape.hypothesis.subject, shape.hypothesis.object)
    return max(phrase.number for phrase in phrases if phrase is not None)


def _outcomes(shape: Shape, bound: int) -> dict[Part, Model]:
    premise, hypothesis, lexicon = shape.premise, shape.hypothesis, shape.lexicon
    found: dict[Part, Model] = {}
    domains = _domains(premise.subject, hypothesis.subject, lexicon.subject, lexicon.coreferent, bound)
    for objects, ways in _ways(premise, hypothesis, lexicon, bound):
        for subjects in domains:
            for values, chosen in _shared_out(premise.subject, hypothesis.subject, lexicon, subjects, tuple(ways)):
                if values not in found:
                    times = zip(*(ways[combination] for combination in chosen), strict=True)
                    found[values] = Model(
                        subjects.things, objects.things, (subjects.named, objects.named), tuple(times)
                    )
            if len(found) == len(PARTS):
                return found
    return found


def _timed(premise: Clause, hypothesis: Clause) -> bool:
    return any(modifier in (ALWAYS, NEVER) for clause in (premise, hypothesis) for modifier in clause.modifiers)


class _Domain(NamedTuple):
    things: tuple[Thing, ...]
    named: int  # how many of the first of them are named


@cache
def _domains(
    premise: NounPhrase | None, hypothesis: NounPhrase | None, relation: Relation, coreferent: bool, bound: int
) -> list[_Domain]:
    """Return every choice of things for a part of the sentences, up to how the phrases fit them, the smallest first."""
    phrases = [phrase for phrase in (premise, hypothesis) if phrase is not None]
    named = max((phrase.number for phrase in phrases if phrase.names(coreferent)), default=0)
    adjectives = sorted({phrase.adjective for phrase in phrases if phrase.adjective})
    if premise is None or hypothesis is None:  # one of the verbs has no object: the other's noun stands alone
        nouns: list[Part] = [(premise is not None, hypothesis is not None)] if phrases else []
    else:
        nouns = [part for part in PARTS if part not in relation.empty and any(part)]
    kinds = [
        Thing(part, frozenset(a for a, fits in zip(adjectives, chosen, strict=True) if fits))
        for part in nouns
        for chosen in product((True, False), repeat=len(adjectives))
    ]

    def seen(thing: Thing) -> Part:
        """Tell which of the phrases fit, which is all that sentences see of a thing."""
        fits = [phrase is not None and thing.fits(side, phrase) for side, phrase in enumerate((premise, hypothesis))]
        return fits[0], fits[1]

    # Where all phrases name what they speak of, other things count only as what keeps a noun from being empty.
    closed = all(phrase.names(coreferent) and phrase.quantifier is not Quantifier.EXACTLY for phrase in phrases)

    def counted(thing: Thing) -> Part:
        return (False, False) if closed else seen(thing)

    needed = tuple(any(part[side] for part in nouns) for side in (0, 1))
    found: dict[tuple[object, ...], _Domain] = {}
    for first in product(kinds, repeat=named):
        growing: dict[tuple[object, ...], tuple[Thing, ...]] = {_key(first, (), seen, counted): ()}
        for kind in kinds:
            longer: dict[tuple[object, ...], tuple[Thing, ...]] = {}
            for rest in growing.values():
                for count in range(bound + 1):
                    # One thing that no phrase fits can still be what keeps a noun from being empty.
                    if count > 1 and not any(counted(kind)):
                        break
                    more = (*rest, *[kind] * count)
                    if sum(counted(thing) == counted(kind) for thing in more) > bound and any(counted(kind)):
                        break
                    longer.setdefault(_key(first, more, seen, counted), more)
            growing = longer
        for rest in growing.values():
            things = (*first, *rest)
            if all(any(thing.nouns[side] for thing in things) for side in (0, 1) if needed[side]):
                found.setdefault(_key(first, rest, seen, counted)[:2], _Domain(things, named))
    return sorted(found.values(), key=lambda domain: len(domain.things))


def _key(
    first: tuple[Thing, ...],
    rest: tuple[Thing, ...],
    seen: Callable[[Thing], Part],
    counted: Callable[[Thing], Part],
) -> tuple[tuple[Part, ...], tuple[Part, ...], tuple[bool, ...]]:
    """Return what decides whether two choices of things are alike: what is seen of them, and which nouns are empty."""
    nonempty = tuple(any(thing.nouns[side] for thing in (*first, *rest)) for side in (0, 1))
    return tuple(map(seen, first)), tuple(sorted(part for thing in rest if any(part := counted(thing)))), nonempty


@cache
def _ways(
    premise: Clause, hypothesis: Clause, lexicon: Lexicon, bound: int
) -> list[tuple[_Domain, dict[Part, tuple[Row, ...]]]]:
    """Return the choices of objects, each with the truth values that one subject's verb phrases can have there.

    With each pair of values goes what the subject then does at each time. A choice that allows no more than another
    one does is left out.
    """
    timed = _timed(premise, hypothesis)
    found: list[tuple[_Domain, dict[Part, tuple[Row, ...]]]] = []
    for objects in _domains(premise.object, hypothesis.object, lexicon.object, lexicon.coreferent, bound):
        domain = objects
        if premise.object is None or hypothesis.object is None:
            # The thing of a verb without object, where that is one.
            alone = Thing((premise.object is None, hypothesis.object is None))
            domain = _Domain((*objects.things, alone), objects.named)
        rows = _rows(premise, hypothesis, lexicon, domain)
        ways: dict[Part, tuple[Row, ...]] = {}
        for now in rows:
            for others in combinations_with_replacement(rows, _OTHER_TIMES) if timed else [()]:
                times = (now, *others)
                values = (
                    premise.modified([value for value, _ in times]),
                    hypothesis.modified([value for _, value in times]),
                )
                ways.setdefault(values, tuple(rows[time] for time in times))
        if not any(ways.keys() <= other.keys() for _, other in found):
            found = [(other, those) for other, those in found if not those.keys() <= ways.keys()]
            found.append((domain, ways))
    return found


def _rows(premise: Clause, hypothesis: Clause, lexicon: Lexicon, objects: _Domain) -> dict[Part, Row]:
    """Return the truth values of the plain verb phrases of one subject, each with what it does to the objects."""
    clauses = (premise, hypothesis)
    adverbs = sorted({clause.adverb for clause in clauses if clause.adverb})
    manners = [
        frozenset(a for a, is_in in zip(adverbs, chosen, strict=True) if is_in)
        for chosen in product((False, True), repeat=len(adverbs))
    ]
    found: dict[Part, Row] = {}
    for verbs in _verb_choices(premise, hypothesis, lexicon.verb):
        # (how many of each phrase's things it is done to, of the named ones, whether each verb is ever used) -> row
        states: dict[tuple[int, int, int, int, bool, bool], Row] = {(0, 0, 0, 0, False, False): ()}
        for place, thing in enumerate(objects.things):
            longer: dict[tuple[int, int, int, int, bool, bool], Row] = {}
            for (n1, n2, named1, named2, any1, any2), row in states.items():
                for verb, manner in product(verbs, manners):
                    done = [
                        verb[side]
                        and (clause.adverb is None or clause.adverb in manner)
                        and _is_object(side, clause, thing)
                        for side, clause in enumerate(clauses)
                    ]
                    name = [
                        done[side] and clause.object is not None and place < min(objects.named, clause.object.number)
                        for side, clause in enumerate(clauses)
                    ]
                    uses = [verb[side] and thing.nouns[side] for side in (0, 1)]
                    state = (
                        *(n1 + done[0], n2 + done[1], named1 + name[0], named2 + name[1]),
                        *(any1 or uses[0], any2 or uses[1]),
                    )
                    longer.setdefault(state, (*row, Doing(verb, manner)))
            states = longer
        for (n1, n2, named1, named2, any1, any2), row in states.items():
            if (premise.object is None) != (hypothesis.object is None) and (any1, any2) in lexicon.verb.empty:
                continue
            values = (
                _object_holds(0, premise, lexicon, objects, n1, named1),
                _object_holds(1, hypothesis, lexicon, objects, n2, named2),
            )
            found.setdefault(values, row)
    return found


def _verb_choices(premise: Clause, hypothesis: Clause, relation: Relation) -> Iterator[list[Part]]:
    """Yield the ways in which the two verbs can go together in what one subject does at one time."""
    if relation is Relation.ALTERNATION:  # of doers: one of the verbs is not used at all
        yield [(True, False), (False, False)]
        yield [(False, True), (False, False)]
    elif (premise.object is None) != (hypothesis.object is None):  # of doers too; seen to when the row is whole
        yield list(PARTS)
    else:
        yield [part for part in PARTS if part not in relation.empty]


def _is_object(side: int, clause: Clause, thing: Thing) -> bool:
    return thing.nouns[side] if clause.object is None else thing.fits(side, clause.object)


def _object_holds(side: int, clause: Clause, lexicon: Lexicon, objects: _Domain, n: int, named: int) -> bool:
    if clause.object is None:
        return n > 0
    if clause.object.names(lexicon.coreferent):
        if named < clause.object.number:
            return False
        if clause.object.quantifier is Quantifier.THE:
            return True
    return clause.object.holds(n, sum(thing.fits(side, clause.object) for thing in objects.things) - n)


@cache
def _shared_out(
    premise: NounPhrase,
    hypothesis: NounPhrase,
    lexicon: Lexicon,
    subjects: _Domain,
    combinations: tuple[Part, ...],
) -> list[tuple[Part, tuple[Part, ...]]]:
    """Return the truth values of the sentences, each with the verb phrases' truth values for each of the subjects."""
    states: dict[tuple[int, int, int, int], tuple[Part, ...]] = {(0, 0, 0, 0): ()}
    phrases = (premise, hypothesis)
    for place, thing in enumerate(subjects.things):
        fits = [thing.fits(side, phrase) for side, phrase in enumerate(phrases)]
        named = [place < phrase.number for phrase in phrases]
        longer: dict[tuple[int, int, int, int], tuple[Part, ...]] = {}
        for (n1, n2, named1, named2), chosen in states.items():
            for first, second in combinations:
                done = (first and fits[0], second and fits[1])
                state = (n1 + done[0], n2 + done[1], named1 + (done[0] and named[0]), named2 + (done[1] and named[1]))
                longer.setdefault(state, (*chosen, (first, second)))
        states = longer
    sizes = [sum(thing.fits(side, phrase) for thing in subjects.things) for side, phrase in enumerate(phrases)]
    found: dict[Part, tuple[Part, ...]] = {}
    for (n1, n2, named1, named2), chosen in states.items():
        values = []
        for phrase, n, named_n, size in zip(phrases, (n1, n2), (named1, named2), sizes, strict=True):
            value = phrase.holds(n, size - n)
            if phrase.names(lexicon.coreferent):
                value = named_n == phrase.number and (value or phrase.quantifier is Quantifier.THE)
            values.append(value)
        found.setdefault((values[0], values[1]), chosen)
    return list(found.items())


def _exchanged_outcomes(shape: Shape, bound: int) -> dict[Part, Model]:
    premise, hypothesis, lexicon = shape.premise, shape.hypothesis, shape.lexicon
    if premise.object is None or hypothesis.object is None:
        raise ValueError(f"expected an object in both sentences of an exchanged pair, found {premise} and {hypothesis}")
    first = _domains(premise.subject, hypothesis.object, lexicon.subject, lexicon.coreferent, bound)
    second = _domains(premise.object, hypothesis.subject, lexicon.object, lexicon.coreferent, bound)
    n_times = 1 + _OTHER_TIMES * _timed(premise, hypothesis)
    found: dict[Part, Model] = {}
    for subjects, objects in sorted(product(first, second), key=lambda pair: len(pair[0].things) * len(pair[1].things)):
        if len(subjects.things) * len(objects.things) * n_times > _MOST_DOINGS:
            break
        sides = [
            _by_truth(side, clause, lexicon, subjects, objects, n_times)
            for side, clause in enumerate((premise, hypothesis))
        ]
        for values in PARTS:
            if values not in found:
                # The verb of the one sentence and that of the other go together doing by doing, or not at all.
                for one, two in product(*(side[value] for side, value in zip(sides, values, strict=True))):
                    if lexicon.verb.empty.isdisjoint(zip(_verbs(one), _verbs(two), strict=True)):
                        doings = [Doing((a[0], b[0]), a[1] | b[1]) for a, b in zip(one, two, strict=True)]
                        found[values] = _world(subjects, objects, doings)
                        break
        if len(found) == len(PARTS):
            break
    return found


_OneSided = tuple[tuple[bool, frozenset[str]], ...]
"""Of every possible doing at every time, whether one of the sentences' verbs says so, and in what manner."""


def _verbs(doings: _OneSided) -> Iterator[bool]:
    return (verb for verb, _ in doings)


def _by_truth(
    side: int, clause: Clause, lexicon: Lexicon, subjects: _Domain, objects: _Domain, n_times: int
) -> dict[bool, list[_OneSided]]:
    """Return what can be done, by whether it makes one of the sentences true; one manner for each is enough."""
    options = [(False, frozenset[str]()), (True, frozenset[str]())]
    if clause.adverb is not None:
        options.append((True, frozenset({_manner(side, clause, lexicon)})))
    found: dict[bool, dict[tuple[bool, ...], _OneSided]] = {True: {}, False: {}}
    for doings in product(options, repeat=len(subjects.things) * len(objects.things) * n_times):
        both_sides = [Doing((verb and side == 0, verb and side == 1), manner) for verb, manner in doings]
        value = truth(side, clause, lexicon, _world(subjects, objects, both_sides))
        found[value].setdefault(tuple(_verbs(doings)), doings)
    return {value: list(those.values()) for value, those in found.items()}


def _world(subjects: _Domain, objects: _Domain, doings: Sequence[Doing]) -> Model:
    """Return the model with these doings, those of one time and one subject next to each other."""
    wide, long = len(objects.things), len(subjects.things)
    rows = [tuple(doings[start : start + wide]) for start in range(0, len(doings), wide)]
    times = tuple(tuple(rows[start : start + long]) for start in range(0, len(rows), long))
    return Model(subjects.things, objects.things, (subjects.named, objects.named), times)
