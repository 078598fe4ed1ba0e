"""Speed and correctness of the natural-logic labeller, compared with a solver on the same pairs.

    python benchmarks/natlog.py [--file SICCK-Ground-Truth-apr24.csv]

Claim: the labeller labels thousands of pairs per second, since all pairs of one shape share one relation, which is
computed once. The relations are correct. The pairs are built from invented seeds with all modifiers, in both sentences'
positions and two parts at a time. `--file` adds the shapes of the authors' 1,304 pairs.

- `labelled`: the whole computation from seeds to sentences and relations;
- `searched`: the labeller's search with all caches emptied before each shape, which is the cost of a pair with a new
  shape;
- `agree`: the number of shapes with the same relation as the peer. The peer is z3, which searches for models of a fixed
  size that make premise and hypothesis true or false. Its encoding shares no code with the labeller's search.

All are timed on one core. The program prints one JSON line.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import z3

from sicck_reproduction import build_official_logical_forms
from unbag.baselines.natlog import model_checking, models
from unbag.baselines.natlog.model_checking import compute_relation
from unbag.baselines.natlog.parsing import ALWAYS, NEVER, ClauseLogicalForm, NounPhrase, PairLogicalForm, Quantifier
from unbag.baselines.natlog.relations import REGIONS, Region, Relation, classify_relation
from unbag.challenge_sets.perturbations.modifiers import (
    COMBINATIONS,
    MODIFIERS_BY_NAME,
    POSITIONS,
    SeedPair,
    build_modified_logical_form,
    modify_seed_pair,
    split_change_by_sentence,
)
from unbag.challenge_sets.perturbations.sicck import read_sicck

SEEDS = (
    ("a poodle is chasing a cat", "a dog is chasing a cat", "entailment"),
    ("a cat is eating a sardine", "a cat is eating a fish", "entailment"),
    ("two women are sprinting on a beach", "two women are moving on a beach", "entailment"),
    ("a baker is kneading the dough", "a baker is cutting the bread", "neutral"),
    ("the duck is leading the goose", "the goose is leading the duck", "contradiction"),
    ("a girl is opening a door", "a girl is closing a door", "contradiction"),
    ("a horse is jumping over a ditch", "a horse isn't jumping over the ditch", "contradiction"),
    ("a cup is full of peas", "a cup is empty", "contradiction"),
    ("three boys are carrying a red box", "three boys are carrying a green box", "contradiction"),
)
TURNS = 200  # repetitions over all seeds
MOST = 6  # maximum number of subjects, and of objects, in the solver's models
MOST_EXCHANGED = 3


Phrases = tuple[NounPhrase | None, NounPhrase | None]


def main() -> None:
    """Time all computations, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="the authors' file, to add its shapes")
    args = parser.parse_args()
    seeds = [seed for pair in SEEDS if (seed := SeedPair.from_pair(*pair))]
    assert len(seeds) == len(SEEDS)
    shapes = list(dict.fromkeys(model_checking._nameless(shape) for seed in seeds for shape in shapes_of(seed)))
    if args.file:
        shapes += [model_checking._nameless(shape) for shape in build_official_logical_forms(read_sicck(args.file))]
        shapes = list(dict.fromkeys(shapes))
    pairs = sum(1 for seed in seeds for _ in modify_seed_pair(seed, combinations=True))

    def labelled() -> None:
        empty_caches()
        for _ in range(TURNS):
            for seed in seeds:
                for _ in modify_seed_pair(seed, combinations=True):
                    pass

    def searched() -> list[Relation]:
        found = []
        for shape in shapes:
            empty_caches()
            # Without caches, each shape is searched from scratch, as by the solver.
            found.append(compute_relation(shape))
        return found

    labelled_s, _ = timed(labelled)
    searched_s, ours = timed(searched)
    solved_s, theirs = timed(lambda: [solved(shape) for shape in shapes])
    for shape, one, other in zip(shapes, ours, theirs, strict=True):
        if one is not other:
            print(f"{one} by the labeller, {other} by the solver: {shape}", file=sys.stderr)
    record = {
        "benchmark": "natlog",
        "pairs": TURNS * pairs,
        "labelled_per_s": round(TURNS * pairs / labelled_s),
        "shapes": len(shapes),
        "searched_per_s": round(len(shapes) / searched_s),
        "z3_per_s": round(len(shapes) / solved_s, 1),
        "agree": sum(one is other for one, other in zip(ours, theirs, strict=True)),
    }
    print(json.dumps(record))


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Measure the CPU seconds of a function, and return them with its result."""
    begin = time.process_time()
    found = run()
    return time.process_time() - begin, found


def empty_caches() -> None:
    """Empty all caches of the labeller."""
    for cached in (model_checking._relate, models._domains, models._ways, models._distributions):
        cached.cache_clear()


def shapes_of(seed: SeedPair) -> list[PairLogicalForm]:
    """List the shapes of the pairs built from a seed."""
    found = [seed.shape]
    for pair in modify_seed_pair(seed, combinations=True):
        if pair.position in POSITIONS:
            parts, names = pair.part.split("+"), pair.modifier.split("+")
            assert len(parts) == 1 or pair.part in COMBINATIONS
            change = tuple(
                (part, MODIFIERS_BY_NAME[name]) for part, name in zip(parts, names * len(parts), strict=False)
            )
            found.append(build_modified_logical_form(seed.shape, *split_change_by_sentence(change, pair.position)))
    return found


def solved(shape: PairLogicalForm) -> Relation:
    """Compute the relation with z3, in models with up to `MOST` subjects and as many objects."""
    encoding = Encoding(shape, MOST_EXCHANGED if shape.word_relations.exchanged else MOST)
    premise, hypothesis = (encoding.says(side) for side in (0, 1))
    shown: list[Region] = []
    for part in REGIONS:
        encoding.solver.push()
        encoding.solver.add(premise == part[0], hypothesis == part[1])
        if encoding.solver.check() == z3.sat:
            shown.append(part)
        encoding.solver.pop()
    return classify_relation(shown) or Relation.INDEPENDENCE


class Encoding:
    """The models of a shape with up to n subjects and n objects, as propositional constraints.

    A thing that fits neither noun is absent from the model.
    """

    def __init__(self, shape: PairLogicalForm, n: int) -> None:
        self.shape, self.n = shape, n
        self.solver = z3.Solver()
        lexicon, clauses = shape.word_relations, (shape.premise, shape.hypothesis)
        subjects: Phrases = (clauses[0].subject, clauses[1].subject)
        objects: Phrases = (clauses[0].object, clauses[1].object)
        if lexicon.exchanged:
            subjects, objects = (subjects[0], objects[1]), (objects[0], subjects[1])
        self.named = [
            max((p.number for p in phrases if p and p.is_referential(lexicon.coreferent)), default=0)
            for phrases in (subjects, objects)
        ]
        self.subjects = self._things("s", subjects, lexicon.subject, self.named[0])
        self.objects = self._things("o", objects, lexicon.object, self.named[1])
        self.one_without = (objects[0] is None) != (objects[1] is None)
        if None in objects:  # a verb without object still has an object in the model
            self.objects.append([z3.BoolVal(phrase is None) for phrase in objects])
        timed = any(modifier in (ALWAYS, NEVER) for clause in clauses for modifier in clause.modifiers)
        self.times = range(3 if timed else 1)
        self.does = [
            {(t, i, j): z3.Bool(f"verb {side} {t} {i} {j}") for t in self.times for i, j in self._places()}
            for side in (0, 1)
        ]
        self.manner: dict[Any, Any] = {}
        self._relate_verbs()

    def _places(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(len(self.subjects)) for j in range(len(self.objects))]

    def _things(self, name: str, phrases: Phrases, relation: Relation, named: int) -> list[list[Any]]:
        fits = [
            [z3.BoolVal(False) if p is None else z3.Bool(f"noun {side} {name}{i}") for side, p in enumerate(phrases)]
            for i in range(self.n)
        ]
        for i, one in enumerate(fits):
            if None not in phrases:
                for part in relation.empty_regions:
                    # A thing that fits neither noun is not in the model, so that region needs no constraint.
                    if any(part):
                        self.solver.add(z3.Not(z3.And(one[0] == part[0], one[1] == part[1])))
            if i < named:
                self.solver.add(z3.Or(*one))
        for side, phrase in enumerate(phrases):
            if phrase is not None:
                self.solver.add(z3.Or(*(one[side] for one in fits)))
        return fits

    def _relate_verbs(self) -> None:
        lexicon = self.shape.word_relations
        by_doer = not lexicon.exchanged and (lexicon.verb is Relation.ALTERNATION or self.one_without)
        for t in self.times:
            for i, subject in enumerate(self.subjects):
                for j, thing in enumerate(self.objects):
                    there = z3.And(z3.Or(*subject), z3.Or(*thing))
                    uses = [side[t, i, j] for side in self.does]
                    self.solver.add(z3.Implies(z3.Or(*uses), there))
                    if not by_doer:
                        for part in lexicon.verb.empty_regions:
                            self.solver.add(z3.Implies(there, z3.Not(self._are(uses, part))))
                if by_doer:
                    places = range(len(self.objects))
                    uses = [
                        z3.Or(
                            *(
                                z3.And(does[t, i, j], self.objects[j][side] if self.one_without else True)
                                for j in places
                            )
                        )
                        for side, does in enumerate(self.does)
                    ]
                    for part in lexicon.verb.empty_regions:
                        self.solver.add(z3.Implies(z3.Or(*subject), z3.Not(self._are(uses, part))))

    @staticmethod
    def _are(uses: list[Any], part: Region) -> Any:
        return z3.And(uses[0] == part[0], uses[1] == part[1])

    def says(self, side: int) -> Any:
        """Build the formula that is true if the premise (side 0) or the hypothesis (side 1) is true."""
        clause: ClauseLogicalForm = (self.shape.premise, self.shape.hypothesis)[side]
        turned = side == 1 and self.shape.word_relations.exchanged
        doers, others = (self.objects, self.subjects) if turned else (self.subjects, self.objects)
        named_doers, named_others = reversed(self.named) if turned else self.named

        def does(doer: int, other: int, t: int) -> Any:
            place = (t, other, doer) if turned else (t, doer, other)
            verb = self.does[side][place]
            if clause.adverb is None:
                return verb
            return z3.And(verb, self.manner.setdefault((clause.adverb, turned, place), z3.FreshBool("manner")))

        def plain(doer: int, t: int) -> Any:
            if clause.object is None:
                return does(doer, len(others) - 1, t)
            who = [does(doer, other, t) for other in range(len(others))]
            return self._holds(side, clause.object, others, who, named_others, id(others))

        who = []
        for doer in range(len(doers)):
            value: Any = None
            for modifier in reversed(clause.modifiers):
                if modifier == ALWAYS:
                    value = z3.And(*(plain(doer, t) for t in self.times))
                elif modifier == NEVER:
                    value = z3.Not(z3.Or(*(plain(doer, t) for t in self.times)))
                else:
                    value = z3.Not(plain(doer, 0) if value is None else value)
            who.append(plain(doer, 0) if value is None else value)
        return self._holds(side, clause.subject, doers, who, named_doers, id(doers))

    def _holds(self, side: int, phrase: NounPhrase, things: list[Any], who: list[Any], named: int, kind: int) -> Any:
        k = phrase.number
        members = [
            thing[side]
            if phrase.adjective is None
            else z3.And(thing[side], self.manner.setdefault((phrase.adjective, kind, i), z3.FreshBool("adjective")))
            for i, thing in enumerate(things)
        ]
        do = [(z3.And(member, does), 1) for member, does in zip(members, who, strict=True)]
        do_not = [(z3.And(member, z3.Not(does)), 1) for member, does in zip(members, who, strict=True)]
        formula = {
            Quantifier.THE: lambda: z3.BoolVal(True),
            Quantifier.EXACTLY: lambda: z3.PbEq(do, k),
            Quantifier.EVERY: lambda: z3.And(z3.PbEq(do_not, 0), z3.PbGe(do, k)),
            Quantifier.NOT_EVERY: lambda: z3.Or(z3.PbGe(do_not, 1), z3.PbLe(do, k - 1)),
            Quantifier.ALL_BUT: lambda: z3.PbEq(do_not, k),
            Quantifier.NO: lambda: z3.PbLe(do, k - 1),
        }.get(phrase.quantifier, lambda: z3.PbGe(do, k))()
        if phrase.is_referential(self.shape.word_relations.coreferent):
            formula = z3.And(formula, *(one for one, _ in do[:k]))
        return formula


if __name__ == "__main__":
    main()
