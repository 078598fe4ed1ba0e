"""Sentence shapes for tests of the labeller: seeds with every kind of lexicon and one modifier at a time."""

from itertools import product

from unbag.baselines.natlog.parsing import Clause, Lexicon, NounPhrase, Quantifier, Shape
from unbag.baselines.natlog.relations import Relation

A, THE = NounPhrase(), NounPhrase(Quantifier.THE)
LEXICONS = {
    "same": Lexicon(),
    "subject": Lexicon(subject=Relation.FORWARD_ENTAILMENT),
    "object": Lexicon(object=Relation.FORWARD_ENTAILMENT),
    "verb": Lexicon(verb=Relation.FORWARD_ENTAILMENT),
    "excluding verbs": Lexicon(verb=Relation.ALTERNATION),
    "excluding verbs, one scene": Lexicon(verb=Relation.ALTERNATION, coreferent=True),
    "excluding objects, one scene": Lexicon(object=Relation.ALTERNATION, coreferent=True),
    "nothing known": Lexicon(subject=Relation.INDEPENDENCE, verb=Relation.INDEPENDENCE),
}
EXCHANGED = Lexicon(verb=Relation.ALTERNATION, coreferent=True, exchanged=True)
MODIFIERS = [(), ("not",), ("always",), ("never",), ("not", "always")]


def phrases(number=1):
    yield from (NounPhrase(quantifier, number) for quantifier in Quantifier)
    yield NounPhrase(Quantifier.A, number, "green")


def variants(plain: Clause):
    """Yield the clauses with one modification of a part."""
    for new in phrases(plain.subject.number):
        yield Clause(new, plain.object, plain.modifiers)
    for new in phrases() if plain.object else ():
        yield Clause(plain.subject, new, plain.modifiers)
    for modifiers in MODIFIERS:
        yield Clause(plain.subject, plain.object, modifiers)
    yield Clause(plain.subject, plain.object, plain.modifiers, "neatly")


def shapes():
    """Yield the shapes of modified seeds as in SICCK: in the premise, the hypothesis or both."""
    for lexicon, plain in product([*LEXICONS.values(), EXCHANGED], [Clause(A, A), Clause(THE, A)]):
        for new in variants(plain):
            yield from (Shape(new, plain, lexicon), Shape(plain, new, lexicon), Shape(new, new, lexicon))
