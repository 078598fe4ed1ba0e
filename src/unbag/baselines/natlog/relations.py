"""The seven relations of natural logic, and their algebra.

MacCartney & Manning (2009), "An extended model of natural logic", section 2; as in Table 3 of Akoju et al. (2023).
Two sets X and Y cut a universe into four parts: what is in both, in X only, in Y only, in neither. Which of the parts
are empty is the relation. The seven are those of sets that are neither empty nor the whole universe.

Operators are words that reverse inclusions, or block their reading, in what depends on them.

From what the literature on monotonicity and negative polarity lists (Ladusaw 1980; van der Wouden 1997; Karttunen 2012
for verbs). The context of a word that is missing here counts as upward.
"""

from collections.abc import Iterable
from enum import Enum
from functools import cache
from itertools import product
from typing import Final

from unbag.data.labels import CONTRADICTION, ENTAILMENT, FORWARD_ENTAILMENT, NEUTRAL, REVERSE_ENTAILMENT

Part = tuple[bool, bool]
"""A part of the universe: whether it is in X, and whether it is in Y."""

PARTS: Final[tuple[Part, ...]] = ((True, True), (True, False), (False, True), (False, False))


class Relation(Enum):
    """A relation of a set X to a set Y, or of what a premise says to what a hypothesis says."""

    EQUIVALENCE = "equivalence"
    """X = Y."""
    FORWARD_ENTAILMENT = FORWARD_ENTAILMENT
    """X ⊂ Y: crow, bird."""
    REVERSE_ENTAILMENT = REVERSE_ENTAILMENT
    """X ⊃ Y: Asian, Thai."""
    NEGATION = "negation"
    """X ∩ Y = ∅ and X ∪ Y = U: able, unable."""
    ALTERNATION = "alternation"
    """X ∩ Y = ∅ and X ∪ Y ≠ U: cat, dog."""
    COVER = "cover"
    """X ∩ Y ≠ ∅ and X ∪ Y = U: animal, non-ape."""
    INDEPENDENCE = "independence"
    """All other cases: hungry, hippo."""

    @property
    def empty(self) -> frozenset[Part]:
        """The parts of the universe that are empty."""
        return _EMPTY[self]

    @property
    def converse(self) -> "Relation":
        """The relation of Y to X.

        >>> Relation.FORWARD_ENTAILMENT.converse.value
        'reverse_entailment'
        """
        return _BY_EMPTY[frozenset((y, x) for x, y in self.empty)]

    @property
    def negated(self) -> "Relation":
        """The relation of not-X to not-Y.

        >>> Relation.FORWARD_ENTAILMENT.negated.value, Relation.ALTERNATION.negated.value
        ('reverse_entailment', 'cover')
        """
        return _BY_EMPTY[frozenset((not x, not y) for x, y in self.empty)]


_EMPTY: Final = {
    Relation.EQUIVALENCE: frozenset({(True, False), (False, True)}),
    Relation.FORWARD_ENTAILMENT: frozenset({(True, False)}),
    Relation.REVERSE_ENTAILMENT: frozenset({(False, True)}),
    Relation.NEGATION: frozenset({(True, True), (False, False)}),
    Relation.ALTERNATION: frozenset({(True, True)}),
    Relation.COVER: frozenset({(False, False)}),
    Relation.INDEPENDENCE: frozenset[Part](),
}
_BY_EMPTY: Final = {empty: relation for relation, empty in _EMPTY.items()}


def relation_of(parts: Iterable[Part]) -> Relation | None:
    """Return the relation of two sets from the parts of the universe that are not empty.

    Returns:
        None if X or Y is empty or the whole universe: more than one relation would hold.

    >>> relation_of([(True, True), (False, True), (False, False)]).value
    'forward_entailment'
    """
    return _BY_EMPTY.get(frozenset(PARTS) - frozenset(parts))


@cache
def join(first: Relation, second: Relation) -> frozenset[Relation]:
    """Return every relation that X can have to Z where X has the first to Y and Y the second to Z.

    MacCartney & Manning 2009, section 2.3, where more than one is possible for 17 of the 49 joins. Found by going
    through all universes: X, Y and Z cut one into eight parts, each of which is empty or not.

    >>> sorted(relation.value for relation in join(Relation.FORWARD_ENTAILMENT, Relation.ALTERNATION))
    ['alternation']
    """
    parts = list(product((False, True), repeat=3))
    relations = set()
    for present in product((False, True), repeat=len(parts)):
        universe = [part for part, there in zip(parts, present, strict=True) if there]
        if (
            relation_of((x, y) for x, y, _ in universe) is first
            and relation_of((y, z) for _, y, z in universe) is second
            and (outer := relation_of((x, z) for x, _, z in universe))
        ):
            relations.add(outer)
    return frozenset(relations)


class Context(Enum):
    """What a context does to the sets put into it: keeps inclusions, turns them round, or neither."""

    UPWARD = "upward"
    DOWNWARD = "downward"
    NON_MONOTONE = "non_monotone"


def project(relation: Relation, context: Context) -> Relation:
    """Return what is sure of f(X) and f(Y), where X has a relation to Y and f is a context of that kind.

    Inclusion is weak here: that f(X) ⊂ f(Y) is all that an upward context promises, and f(X) = f(Y) is not ruled out.
    Negation, alternation and cover are lost: monotone contexts differ in what becomes of them (MacCartney & Manning
    2009, section 4.2), and independence says nothing. `Relation.negated` is the projection through "not", which is
    downward and loses nothing.
    """
    if relation is Relation.EQUIVALENCE:
        return relation
    if relation in (Relation.FORWARD_ENTAILMENT, Relation.REVERSE_ENTAILMENT):
        if context is Context.UPWARD:
            return relation
        if context is Context.DOWNWARD:
            return relation.converse
    return Relation.INDEPENDENCE


_CONTRADICTIONS: Final = (Relation.NEGATION, Relation.ALTERNATION)
_NEUTRALS: Final = (Relation.COVER, Relation.INDEPENDENCE)


def four_way(relation: Relation) -> str | None:
    """Return which of `data.labels.FOUR_WAY` a relation is (Akoju et al. 2023, section 4.1, 2); None for equivalence.

    >>> four_way(Relation.ALTERNATION), four_way(Relation.COVER)
    ('contradiction', 'neutral')
    """
    if relation is Relation.EQUIVALENCE:
        return None
    if relation in _CONTRADICTIONS:
        return CONTRADICTION
    return NEUTRAL if relation in _NEUTRALS else relation.value


def three_way(relation: Relation) -> str:
    """Return the label of NLI: whether the hypothesis follows from the premise, is ruled out by it, or neither.

    >>> three_way(Relation.EQUIVALENCE), three_way(Relation.REVERSE_ENTAILMENT)
    ('entailment', 'neutral')
    """
    if relation in (Relation.EQUIVALENCE, Relation.FORWARD_ENTAILMENT):
        return ENTAILMENT
    return CONTRADICTION if relation in _CONTRADICTIONS else NEUTRAL


DOWNWARD_VERBS: Final = frozenset(
    "abstain avoid ban bar cease decline deny discourage dissuade doubt eschew exclude fail forbid forget hesitate "
    "hinder impede lack neglect omit oppose preclude prevent prohibit quit refrain refuse reject resist shun stop "
    "disallow disapprove renounce dislike detest miss".split()
)
"""Verbs whose complement is a downward context: who refuses to eat fruit refuses to eat apples."""
DOWNWARD_OBJECTS: Final = frozenset(
    "avoid ban deny eschew exclude forbid lack oppose preclude prevent prohibit refuse reject shun".split()
)
"""Those of them of which this holds of an object too; who stops a car, or misses a bus, does so to one there is."""
DOWNWARD_ADJECTIVES: Final = frozenset(
    "unable unlikely unwilling reluctant impossible improbable hard difficult unaware incapable doubtful unnecessary "
    "dangerous forbidden illegal prohibited afraid unusual rare wrong stupid".split()
)
DOWNWARD_NOUNS: Final = frozenset(
    "lack absence refusal failure inability denial doubt unwillingness prohibition ban shortage avoidance".split()
)
"""What follows them with "of", "to" or "that" is a downward context."""
NEGATIVE_OF: Final = frozenset({"free", "devoid", "void", "innocent", "ignorant"})
"""Adjectives of which the same holds with "of" alone: free to eat apples is free to eat fruit."""
EMOTIVE: Final = frozenset(
    "surprised amazed astonished shocked glad happy sad sorry proud ashamed delighted disappointed angry annoyed "
    "pleased thrilled relieved upset worried surprising amazing shocking sad strange odd".split()
)
"""Adjectives whose "that" clause is not monotone: who is glad that a dog barked may be so for it was a dog."""
SURPRISING: Final = frozenset(
    "surprise amaze astonish shock annoy please delight disappoint worry bother upset anger".split()
)
"""Verbs whose clause, subject or not, is not monotone."""
AVERSIVE: Final = frozenset("hate fear loathe despise".split())
"""Verbs whose infinitive or gerund is not monotone: who hates cooking for many does not hate cooking."""
FACTIVE_VERBS: Final = frozenset("forget regret resent hate like dislike detest love ignore mind".split())
"""Verbs of which the same holds."""
ASKING: Final = frozenset("wonder ask know see check decide inquire enquire care remember tell say find learn".split())
"""Verbs after which "if" is "whether"."""
TOWARD_KINDS: Final = frozenset("love like hate dislike detest fear enjoy prefer adore admire despise loathe".split())
"""Verbs of which a bare noun as the object names a kind: who hates big dogs does not hate dogs."""
AVERTING: Final = frozenset(
    "protect shield guard save defend keep hide differ shelter recover warn vote protest argue fight decide advise "
    "campaign demonstrate far away different safe exempt immune apart absent distinct separate isolated "
    "independent".split()
)
"""What makes the phrase of "from" or "against" one of which nothing is known."""
MEASURING: Final = frozenset(
    "number percentage percent proportion share fraction amount quantity total average rate size price cost weight "
    "height length age population rest remainder half third quarter sum count ratio".split()
)
"""Nouns before "of" that measure the noun that follows."""
QUANTITIES: Final = frozenset(
    "no nobody nothing none nowhere neither nor few fewer fewest each every all both either half whoever "
    "wherever".split()
)
"""Words that are a determiner; elsewhere their scope is not known."""
ONLY: Final = frozenset("only merely solely exclusively just".split())
EXACTLY: Final = frozenset("exactly only just precisely merely about almost nearly most than".split())
"""Words before "once" and "twice"."""
ALMOST: Final = frozenset("almost nearly virtually practically".split())
USUALLY: Final = frozenset("always usually generally normally typically mostly invariably regularly constantly".split())
"""Adverbs that are about the times a clause's adverbials name: who always sings in the morning does not always sing."""
EXCEPTIVES: Final = frozenset("except excepting excluding besides barring".split())
MASSES: Final = frozenset(
    "water wine beer milk juice tea coffee oil food bread meat rice sugar salt butter cheese money time hope interest "
    "attention information evidence snow rain sun sunlight work help effort progress sleep noise traffic light air "
    "energy space room gold silver iron wood glass paper cotton wool petrol blood music furniture advice".split()
)
"""Nouns without a plural: "little wine" is not much, and "wine" alone can name the kind."""
WHERE: Final = frozenset(
    "in on at by near under over behind beside through across along down around into onto from".split()
)
"""Prepositions of places, which captions have: "children play in a park" is about these children."""
GRADABLE: Final = frozenset(
    "big small little large great tall short long high low heavy light fast slow strong weak huge tiny".split()
)
"""Adjectives measured by their noun: a large mouse is no large animal."""
RATED: Final = frozenset("good bad great poor excellent terrible skillful skilful clumsy experienced".split())
"""Adjectives measured by an occupation: a good violinist may be a bad cook."""
OCCUPATIONS: Final = ("er", "or", "ist", "ian", "eur", "cook", "nurse", "pilot")
"""Endings of nouns of occupations."""
TRAILING: Final = frozenset("while when whenever since because after before until once".split())
"""Conjunctions whose clause can be inside or outside of what is said of the main one: "he did not sing because …"."""
BEFORE_AS: Final = frozenset("as so same such".split())
"""What comes before an "as" of comparison."""
DOWNWARD_PREPOSITIONS: Final = frozenset({"without", "before"})
DOWNWARD_CONJUNCTIONS: Final = frozenset({"if", "whenever", "before", "lest"})
OF_THINGS: Final = frozenset({"with", "without", "of", "like"})
"""Prepositions that say of a thing what it has or is: of another thing, or of what is done, they say something else."""
OTHER_PREPOSITIONS: Final = frozenset({"except", "besides", "unlike", "unless", "whether", "until", "but", "like"})
"""Contexts of which nothing is promised in either direction."""
RARELY: Final = frozenset({"rarely", "seldom", "hardly", "scarcely", "barely", "infrequently"})
"""Adverbs under which a verb's dependents are as under few."""
OUTSIDE: Final = frozenset(
    "if unless because since although though whereas while when whenever after before until as so lest once".split()
)
"""Conjunctions whose clause is outside the scope of what is said in the main one."""
PRIVATIVE: Final = frozenset(
    "fake former ex toy counterfeit imaginary fictional fictitious pretend mock bogus false would-be sham".split()
)
"""Adjectives whose noun does not hold: a fake gun is none."""
MODAL_ADJECTIVES: Final = frozenset(
    "alleged possible potential supposed putative likely probable purported presumed apparent so-called future "
    "prospective hypothetical suspected aspiring reputed claimed intended expected proposed planned attempted "
    "would-be wannabe honorary acting vice deputy assistant associate retired past late stuffed simulated virtual "
    "artificial imitation replica faux pseudo quasi model dummy decoy mythical cartoon painted averted nominal half "
    "non-alcoholic vegan vegetarian synthetic".split()
)
"""Adjectives and nouns that leave open whether their noun holds."""
MATERIALS: Final = frozenset(
    "wooden plastic paper stone bronze glass rubber chocolate snow sand clay metal iron steel gold golden silver brass "
    "copper marble wax ice porcelain ceramic cardboard cloth felt wool woolen woollen inflatable robot robotic "
    "plush gingerbread sugar lego straw tin".split()
)
"""What a living thing is not made of: a stone lion is none."""
COLOURS: Final = frozenset(
    "black white red green blue yellow brown grey gray orange pink purple gold golden silver tan beige".split()
)
UNITS: Final = frozenset(
    "second minute hour day week month year decade century time o'clock metre meter centimetre centimeter foot inch "
    "mile kilometre kilometer yard pound kilogram kilo gram ton dollar euro cent percent degree litre liter gallon "
    "night morning evening afternoon weekend season".split()
)
"""Nouns of measures: what is done within two hours need not be done within one."""
ADVERSE: Final = frozenset(
    "partly partially half formerly previously originally virtually practically falsely hypothetically theoretically "
    "seemingly purportedly ostensibly less more least most as longer how".split()
)
"""Adverbs without which a clause need not hold."""
NOT_FACTUAL: Final = frozenset("dream theory imagination fantasy legend novel story tale movie film fiction".split())
"""Nouns after "in": what is so there need not be so."""
INCHOATIVE: Final = frozenset(
    "break open close shut move change grow burn drop melt sink roll ring turn shake boil freeze explode run fly sail "
    "start begin stop end crack tear spill dry fill empty".split()
)
"""Verbs that without an object say something of the subject: who breaks a window does not break."""
NOT_QUITE: Final = frozenset({"almost", "nearly", "barely", "hardly", "scarcely", "rarely", "seldom", "no"})
MODAL_ADVERBS: Final = frozenset(
    "allegedly possibly perhaps maybe probably potentially supposedly apparently reportedly presumably".split()
)
UNIQUE: Final = frozenset(
    "only first second third fourth fifth sixth seventh eighth ninth tenth last same next sole final best worst "
    "main chief favorite favourite".split()
)
"""Adjectives like a superlative: the first man to land there is not the first tall man to."""
COLLECTIVE: Final = frozenset(
    "meet gather marry assemble collide differ agree argue combine separate divorce cooperate share compete".split()
)
"""Verbs that hold of several together, and not of each."""
PARTS_OF_GROUPS: Final = frozenset("group bunch crowd pair couple band team set kind type sort piece lot".split())
"""Nouns before "of" that say how many, or what portion, of the noun that follows."""
