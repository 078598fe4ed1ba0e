"""The seven relations of natural logic and their algebra, and lists of operator words.

MacCartney & Manning (2009), "An extended model of natural logic", section 2; Table 3 of Akoju et al. (2023). Two sets X
and Y divide a universe into four regions: both, X only, Y only, neither. The empty regions determine the relation.
The seven relations apply to sets that are neither empty nor the whole universe.

The module also lists operators: words that reverse or block inclusions in their dependents. The lists follow the
literature on monotonicity and negative polarity (Ladusaw 1980; van der Wouden 1997; Karttunen 2012 for verbs). The
context of any other word is treated as upward.
"""

from collections.abc import Iterable
from enum import Enum
from functools import cache
from itertools import product
from typing import Final

from unbag.data.labels import CONTRADICTION, ENTAILMENT, FORWARD_ENTAILMENT, NEUTRAL, REVERSE_ENTAILMENT

Region = tuple[bool, bool]
"""Region of the universe: (whether its members are in X, whether its members are in Y)."""

REGIONS: Final[tuple[Region, ...]] = ((True, True), (True, False), (False, True), (False, False))


class Relation(Enum):
    """Relation of a set X to a set Y, or of a premise to a hypothesis."""

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
    def empty_regions(self) -> frozenset[Region]:
        """Regions of the Venn diagram of both phrases that are empty if the relation holds."""
        return _EMPTY[self]

    @property
    def converse(self) -> "Relation":
        """Relation of Y to X (the arguments in reverse order).

        >>> Relation.FORWARD_ENTAILMENT.converse.value
        'reverse_entailment'
        """
        return _BY_EMPTY[frozenset((y, x) for x, y in self.empty_regions)]

    @property
    def complement_relation(self) -> "Relation":
        """Relation of the complement of X to the complement of Y.

        >>> Relation.FORWARD_ENTAILMENT.complement_relation.value, Relation.ALTERNATION.complement_relation.value
        ('reverse_entailment', 'cover')
        """
        return _BY_EMPTY[frozenset((not x, not y) for x, y in self.empty_regions)]


_EMPTY: Final = {
    Relation.EQUIVALENCE: frozenset({(True, False), (False, True)}),
    Relation.FORWARD_ENTAILMENT: frozenset({(True, False)}),
    Relation.REVERSE_ENTAILMENT: frozenset({(False, True)}),
    Relation.NEGATION: frozenset({(True, True), (False, False)}),
    Relation.ALTERNATION: frozenset({(True, True)}),
    Relation.COVER: frozenset({(False, False)}),
    Relation.INDEPENDENCE: frozenset[Region](),
}
_BY_EMPTY: Final = {empty: relation for relation, empty in _EMPTY.items()}


def classify_relation(regions: Iterable[Region]) -> Relation | None:
    """Determine the relation between two sets from the non-empty regions of the universe.

    Return None if X or Y is empty or the whole universe, because more than one relation would hold.

    >>> classify_relation([(True, True), (False, True), (False, False)]).value
    'forward_entailment'
    """
    return _BY_EMPTY.get(frozenset(REGIONS) - frozenset(regions))


@cache
def join_relations(first: Relation, second: Relation) -> frozenset[Relation]:
    """Join two relations: compute the possible relations of X to Z from those of X to Y and of Y to Z.

    MacCartney & Manning 2009, section 2.3: 17 of the 49 joins have more than one result. The function enumerates all
    universes: X, Y and Z divide a universe into eight regions, each of which is empty or not.

    >>> sorted(relation.value for relation in join_relations(Relation.FORWARD_ENTAILMENT, Relation.ALTERNATION))
    ['alternation']
    """
    parts = list(product((False, True), repeat=3))
    relations = set()
    for present in product((False, True), repeat=len(parts)):
        universe = [part for part, there in zip(parts, present, strict=True) if there]
        if (
            classify_relation((x, y) for x, y, _ in universe) is first
            and classify_relation((y, z) for _, y, z in universe) is second
            and (outer := classify_relation((x, z) for x, _, z in universe))
        ):
            relations.add(outer)
    return frozenset(relations)


class Monotonicity(Enum):
    """Monotonicity of a context: preserves inclusions (upward), reverses them (downward), or neither."""

    UPWARD = "upward"
    DOWNWARD = "downward"
    NON_MONOTONE = "non_monotone"


def project_relation(relation: Relation, monotonicity: Monotonicity) -> Relation:
    """Project the relation of (X, Y) to that of (f(X), f(Y)), for a context f with the given monotonicity.

    Inclusion is weak here: an upward context guarantees f(X) ⊂ f(Y) without excluding f(X) = f(Y). Negation,
    alternation and cover become independence, because monotone contexts differ in their projections (MacCartney &
    Manning 2009, section 4.2). Independence provides no information. The projection through "not" is
    `Relation.complement_relation`, which is downward and preserves all information.
    """
    if relation is Relation.EQUIVALENCE:
        return relation
    if relation in (Relation.FORWARD_ENTAILMENT, Relation.REVERSE_ENTAILMENT):
        if monotonicity is Monotonicity.UPWARD:
            return relation
        if monotonicity is Monotonicity.DOWNWARD:
            return relation.converse
    return Relation.INDEPENDENCE


_CONTRADICTIONS: Final = (Relation.NEGATION, Relation.ALTERNATION)
_NEUTRALS: Final = (Relation.COVER, Relation.INDEPENDENCE)


def to_four_way_label(relation: Relation) -> str | None:
    """Convert a relation to a four-way label (Akoju et al. 2023, section 4.1, item 2). Return None for equivalence.

    >>> to_four_way_label(Relation.ALTERNATION), to_four_way_label(Relation.COVER)
    ('contradiction', 'neutral')
    """
    if relation is Relation.EQUIVALENCE:
        return None
    if relation in _CONTRADICTIONS:
        return CONTRADICTION
    return NEUTRAL if relation in _NEUTRALS else relation.value


def to_three_way_label(relation: Relation) -> str:
    """Convert a relation to an NLI label: entailment, neutral or contradiction.

    >>> to_three_way_label(Relation.EQUIVALENCE), to_three_way_label(Relation.REVERSE_ENTAILMENT)
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
"""Verbs whose complement is a downward context: a person who refuses to eat fruit refuses to eat apples."""
DOWNWARD_OBJECTS: Final = frozenset(
    "avoid ban deny eschew exclude forbid lack oppose preclude prevent prohibit refuse reject shun".split()
)
"""Verbs in `DOWNWARD_VERBS` whose object is also a downward context, unlike in "stop a car" or "miss a bus"."""
DOWNWARD_ADJECTIVES: Final = frozenset(
    "unable unlikely unwilling reluctant impossible improbable hard difficult unaware incapable doubtful unnecessary "
    "dangerous forbidden illegal prohibited afraid unusual rare wrong stupid".split()
)
DOWNWARD_NOUNS: Final = frozenset(
    "lack absence refusal failure inability denial doubt unwillingness prohibition ban shortage avoidance".split()
)
"""Nouns whose complement with "of", "to" or "that" is a downward context."""
NEGATIVE_OF_ADJECTIVES: Final = frozenset({"free", "devoid", "void", "innocent", "ignorant"})
"""Adjectives whose complement with "of" is a downward context; with "to" it is upward: free to eat apples or fruit."""
EMOTIVE_ADJECTIVES: Final = frozenset(
    "surprised amazed astonished shocked glad happy sad sorry proud ashamed delighted disappointed angry annoyed "
    "pleased thrilled relieved upset worried surprising amazing shocking sad strange odd".split()
)
"""Adjectives whose "that" clause is a non-monotone context: "glad that a dog barked" may depend on the dog."""
SURPRISE_VERBS: Final = frozenset(
    "surprise amaze astonish shock annoy please delight disappoint worry bother upset anger".split()
)
"""Verbs whose clausal arguments, including subjects, are non-monotone contexts."""
AVERSIVE_VERBS: Final = frozenset("hate fear loathe despise".split())
"""Verbs whose infinitive or gerund is a non-monotone context: hating to cook for many is not hating to cook."""
FACTIVE_VERBS: Final = frozenset("forget regret resent hate like dislike detest love ignore mind".split())
"""Verbs whose "that" clause is a non-monotone context, as after `EMOTIVE_ADJECTIVES`."""
QUESTION_VERBS: Final = frozenset(
    "wonder ask know see check decide inquire enquire care remember tell say find learn".split()
)
"""Verbs after which "if" means "whether"."""
GENERIC_OBJECT_VERBS: Final = frozenset(
    "love like hate dislike detest fear enjoy prefer adore admire despise loathe".split()
)
"""Verbs with generic bare objects: a person who hates big dogs does not necessarily hate dogs."""
AVERTING_WORDS: Final = frozenset(
    "protect shield guard save defend keep hide differ shelter recover warn vote protest argue fight decide advise "
    "campaign demonstrate far away different safe exempt immune apart absent distinct separate isolated "
    "independent".split()
)
"""Words whose complement with "from" or "against" has an unknown monotonicity."""
MEASURE_NOUNS: Final = frozenset(
    "number percentage percent proportion share fraction amount quantity total average rate size price cost weight "
    "height length age population rest remainder half third quarter sum count ratio".split()
)
"""Nouns before "of" that measure the following noun."""
QUANTIFIER_WORDS: Final = frozenset(
    "no nobody nothing none nowhere neither nor few fewer fewest each every all both either half whoever "
    "wherever".split()
)
"""Quantifier words. Their scope is known only if they are determiners."""
ONLY_ADVERBS: Final = frozenset("only merely solely exclusively just".split())
FREQUENCY_MODIFIERS: Final = frozenset("exactly only just precisely merely about almost nearly most than".split())
"""Words before "once" and "twice"."""
APPROXIMATION_ADVERBS: Final = frozenset("almost nearly virtually practically".split())
HABITUAL_ADVERBS: Final = frozenset(
    "always usually generally normally typically mostly invariably regularly constantly".split()
)
"""Adverbs that quantify over the times of other adverbials: always singing in the morning is not always singing."""
EXCEPTIVE_PREPOSITIONS: Final = frozenset("except excepting excluding besides barring".split())
MASS_NOUNS: Final = frozenset(
    "water wine beer milk juice tea coffee oil food bread meat rice sugar salt butter cheese money time hope interest "
    "attention information evidence snow rain sun sunlight work help effort progress sleep noise traffic light air "
    "energy space room gold silver iron wood glass paper cotton wool petrol blood music furniture advice".split()
)
"""Mass nouns: "little wine" is a quantity, and bare "wine" can be generic."""
PLACE_PREPOSITIONS: Final = frozenset(
    "in on at by near under over behind beside through across along down around into onto from".split()
)
"""Prepositions of place, which are typical of captions: "children play in a park" is about specific children."""
GRADABLE_ADJECTIVES: Final = frozenset(
    "big small little large great tall short long high low heavy light fast slow strong weak huge tiny".split()
)
"""Adjectives whose standard depends on the noun: a large mouse is not a large animal."""
OCCUPATION_ADJECTIVES: Final = frozenset(
    "good bad great poor excellent terrible skillful skilful clumsy experienced".split()
)
"""Adjectives whose standard depends on an occupation: a good violinist may be a bad cook."""
OCCUPATION_SUFFIXES: Final = ("er", "or", "ist", "ian", "eur", "cook", "nurse", "pilot")
"""Endings of nouns for occupations."""
TRAILING_CONJUNCTIONS: Final = frozenset("while when whenever since because after before until once".split())
"""Conjunctions that introduce a clause with ambiguous scope: "he did not sing because …"."""
WORDS_BEFORE_AS: Final = frozenset("as so same such".split())
"""Words before a comparative "as"."""
DOWNWARD_PREPOSITIONS: Final = frozenset({"without", "before"})
DOWNWARD_CONJUNCTIONS: Final = frozenset({"if", "whenever", "before", "lest"})
ATTRIBUTIVE_PREPOSITIONS: Final = frozenset({"with", "without", "of", "like"})
"""Prepositions that describe their head. With another head, the meaning differs."""
NON_MONOTONE_PREPOSITIONS: Final = frozenset(
    {"except", "besides", "unlike", "unless", "whether", "until", "but", "like"}
)
"""Prepositions and conjunctions with a non-monotone context."""
NEGATIVE_ADVERBS: Final = frozenset({"rarely", "seldom", "hardly", "scarcely", "barely", "infrequently"})
"""Adverbs that create a downward context, like "few"."""
WIDE_SCOPE_CONJUNCTIONS: Final = frozenset(
    "if unless because since although though whereas while when whenever after before until as so lest once".split()
)
"""Conjunctions that introduce a clause outside the scope of operators in the main clause."""
PRIVATIVE_ADJECTIVES: Final = frozenset(
    "fake former ex toy counterfeit imaginary fictional fictitious pretend mock bogus false would-be sham".split()
)
"""Adjectives that exclude their noun: a fake gun is not a gun."""
MODAL_ADJECTIVES: Final = frozenset(
    "alleged possible potential supposed putative likely probable purported presumed apparent so-called future "
    "prospective hypothetical suspected aspiring reputed claimed intended expected proposed planned attempted "
    "would-be wannabe honorary acting vice deputy assistant associate retired past late stuffed simulated virtual "
    "artificial imitation replica faux pseudo quasi model dummy decoy mythical cartoon painted averted nominal half "
    "non-alcoholic vegan vegetarian synthetic".split()
)
"""Modifiers that do not entail their noun: an alleged thief need not be a thief."""
MATERIALS: Final = frozenset(
    "wooden plastic paper stone bronze glass rubber chocolate snow sand clay metal iron steel gold golden silver brass "
    "copper marble wax ice porcelain ceramic cardboard cloth felt wool woolen woollen inflatable robot robotic "
    "plush gingerbread sugar lego straw tin".split()
)
"""Materials of representations: a stone lion is not a lion."""
COLORS: Final = frozenset(
    "black white red green blue yellow brown grey gray orange pink purple gold golden silver tan beige".split()
)
UNITS: Final = frozenset(
    "second minute hour day week month year decade century time o'clock metre meter centimetre centimeter foot inch "
    "mile kilometre kilometer yard pound kilogram kilo gram ton dollar euro cent percent degree litre liter gallon "
    "night morning evening afternoon weekend season".split()
)
"""Units of measurement: "within two hours" does not entail "within one hour"."""
NON_VERIDICAL_ADVERBS: Final = frozenset(
    "partly partially half formerly previously originally virtually practically falsely hypothetically theoretically "
    "seemingly purportedly ostensibly less more least most as longer how".split()
)
"""Non-veridical adverbs: "he formerly sang" does not entail "he sings"."""
FICTION_NOUNS: Final = frozenset("dream theory imagination fantasy legend novel story tale movie film fiction".split())
"""Nouns after "in" that mark fiction: "a king dies in a novel" does not entail "a king dies"."""
INCHOATIVE_VERBS: Final = frozenset(
    "break open close shut move change grow burn drop melt sink roll ring turn shake boil freeze explode run fly sail "
    "start begin stop end crack tear spill dry fill empty".split()
)
"""Verbs with an inchoative use: a person who breaks a window does not break."""
EXCLUDING_ADVERBS: Final = frozenset({"almost", "nearly", "barely", "hardly", "scarcely", "rarely", "seldom", "no"})
MODAL_ADVERBS: Final = frozenset(
    "allegedly possibly perhaps maybe probably potentially supposedly apparently reportedly presumably".split()
)
SUPERLATIVE_LIKE_ADJECTIVES: Final = frozenset(
    "only first second third fourth fifth sixth seventh eighth ninth tenth last same next sole final best worst "
    "main chief favorite favourite".split()
)
"""Adjectives that behave like superlatives: the first tall man on the moon need not be the first man on the moon."""
COLLECTIVE_VERBS: Final = frozenset(
    "meet gather marry assemble collide differ agree argue combine separate divorce cooperate share compete".split()
)
"""Verbs that apply to several subjects collectively, not to each subject."""
