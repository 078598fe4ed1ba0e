"""Sentence shapes for tests of the labeler: seeds with every kind of lexicon and one modifier at a time."""

from itertools import product

from unbag.baselines.natlog.parsing import ClauseLogicalForm, NounPhrase, PairLogicalForm, Quantifier, WordRelations
from unbag.baselines.natlog.relations import Relation

A, THE = NounPhrase(), NounPhrase(Quantifier.THE)
LEXICONS = {
    "same": WordRelations(),
    "subject": WordRelations(subject=Relation.FORWARD_ENTAILMENT),
    "object": WordRelations(object=Relation.FORWARD_ENTAILMENT),
    "verb": WordRelations(verb=Relation.FORWARD_ENTAILMENT),
    "excluding verbs": WordRelations(verb=Relation.ALTERNATION),
    "excluding verbs, one scene": WordRelations(verb=Relation.ALTERNATION, coreferent=True),
    "excluding objects, one scene": WordRelations(object=Relation.ALTERNATION, coreferent=True),
    "nothing known": WordRelations(subject=Relation.INDEPENDENCE, verb=Relation.INDEPENDENCE),
}
EXCHANGE_LEXICON = WordRelations(verb=Relation.ALTERNATION, coreferent=True, exchanged=True)
MODIFIERS = [(), ("not",), ("always",), ("never",), ("not", "always")]


def iter_phrases(number=1):
    yield from (NounPhrase(quantifier, number) for quantifier in Quantifier)
    yield NounPhrase(Quantifier.A, number, "green")


def iter_variants(plain: ClauseLogicalForm):
    """Yield the clauses with one modification of a part."""
    for new in iter_phrases(plain.subject.number):
        yield ClauseLogicalForm(new, plain.object, plain.modifiers)
    for new in iter_phrases() if plain.object else ():
        yield ClauseLogicalForm(plain.subject, new, plain.modifiers)
    for modifiers in MODIFIERS:
        yield ClauseLogicalForm(plain.subject, plain.object, modifiers)
    yield ClauseLogicalForm(plain.subject, plain.object, plain.modifiers, "neatly")


def iter_pair_shapes():
    """Yield the shapes of modified seeds as in SICCK: in the premise, the hypothesis or both."""
    for lexicon, plain in product(
        [*LEXICONS.values(), EXCHANGE_LEXICON], [ClauseLogicalForm(A, A), ClauseLogicalForm(THE, A)]
    ):
        for new in iter_variants(plain):
            yield from (
                PairLogicalForm(new, plain, lexicon),
                PairLogicalForm(plain, new, lexicon),
                PairLogicalForm(new, new, lexicon),
            )
