"""Replacement of a name in a text with another name of the same class from the same text.

The new sentence contradicts the old one, under Breaking NLI's assumption that both describe the same event (Glockner et
al. 2018): if Jones opened the door, Smith did not. The operation prefers no pair to a doubtful one: the name must take
part in a past event, or be the place of one, and the text must use the new name in the same way.

The entities come from a statistical model that confuses persons, organizations and other names. So a name counts only
if it is written as one, stands alone (no title but a known one, no modifier, possessive or conjunct), and has a role
that fits its kind. Places have three levels, so that a place is replaced with another place that does not contain or
lie in it. The lists were written for unbag from general knowledge. Names of two levels (Georgia, New York, Singapore,
Washington) and names with an article (the Netherlands) are in no list.

Names of one class fit the same place: the title, the number of words or the article are the same. Two names may denote
one thing if they share the first letters of a word, if one abbreviates the other, or if a longer name of the text has
words of both (John, Smith, John Smith). Such names are not exchanged.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.substitution import SubstitutedSentence
from unbag.data.text.entities import Entity
from unbag.data.text.parses import Parse
from unbag.utils import rng

DEFAULT_SEED: Final = 13
NAMES: Final = "names"
"""Category of the pairs."""


class PlaceLevel(StrEnum):
    """Administrative level of a place, such as a city. Two places of the same level do not overlap."""

    COUNTRY = "country"
    STATE = "state"  # of the United States
    CITY = "city"


_COUNTRIES: Final = (
    "Afghanistan Albania Algeria Angola Argentina Armenia Australia Austria Azerbaijan Bangladesh Belarus Belgium "
    "Bolivia Bosnia Botswana Brazil Bulgaria Burma Cambodia Cameroon Canada Chad Chile China Colombia Croatia Cuba "
    "Cyprus Denmark Ecuador Egypt Estonia Ethiopia Finland France Germany Ghana Greece Guinea Haiti Honduras Hungary "
    "Iceland India Indonesia Iran Iraq Ireland Israel Italy Jamaica Japan Jordan Kazakhstan Kenya Kuwait Laos Latvia "
    "Lebanon Liberia Libya Lithuania Madagascar Malawi Malaysia Mali Malta Mongolia Morocco Mozambique Namibia Nepal "
    "New_Zealand Nicaragua Niger Nigeria North_Korea Norway Oman Pakistan Paraguay Peru Poland Portugal Qatar Romania "
    "Russia Rwanda Saudi_Arabia Senegal Serbia Slovakia Slovenia Somalia South_Africa South_Korea Spain Sri_Lanka "
    "Sudan Sweden Switzerland Syria Taiwan Tanzania Thailand Tunisia Turkey Uganda Ukraine Uruguay Uzbekistan "
    "Venezuela Vietnam Yemen Zambia Zimbabwe"
)
_US_STATES: Final = (
    "Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Hawaii Idaho Illinois Indiana "
    "Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri Montana "
    "Nebraska Nevada New_Hampshire New_Jersey New_Mexico North_Carolina North_Dakota Ohio Oklahoma Oregon "
    "Pennsylvania Rhode_Island South_Carolina South_Dakota Tennessee Texas Utah Vermont Virginia West_Virginia "
    "Wisconsin Wyoming"
)
_CITIES: Final = (
    "Amsterdam Ankara Antwerp Athens Atlanta Auckland Austin Baghdad Baltimore Bangkok Barcelona Basel Beijing Beirut "
    "Belfast Belgrade Berlin Birmingham Bologna Bordeaux Boston Bristol Brussels Bucharest Budapest Buenos_Aires "
    "Cairo Calcutta Cape_Town Charlotte Chicago Cincinnati Cleveland Cologne Columbus Copenhagen Dallas Damascus "
    "Delhi Denver Detroit Dresden Dublin Edinburgh El_Paso Florence Frankfurt Geneva Genoa Glasgow Guangzhou Hamburg "
    "Hanoi Helsinki Houston Indianapolis Istanbul Jakarta Jerusalem Johannesburg Kabul Kiev Krakow Kyoto Lagos "
    "Las_Vegas Leeds Lima Lisbon Liverpool London Los_Angeles Louisville Lyon Madrid Malaga Manchester Manila "
    "Marseille Melbourne Memphis Miami Milan Milwaukee Minneapolis Montreal Moscow Mumbai Munich Nairobi Naples "
    "Nashville New_Delhi New_Orleans Newark Oakland Osaka Oslo Ottawa Oxford Palermo Paris Philadelphia Pittsburgh "
    "Prague Rome Rotterdam Sacramento Salzburg San_Antonio San_Diego San_Francisco Santiago Seattle Seoul Seville "
    "Shanghai Sheffield St._Louis Stockholm Stuttgart Sydney Tehran Tokyo Toledo Toronto Toulouse Tucson Tulsa Turin "
    "Valencia Vancouver Venice Verona Vienna Warsaw Zurich"
)


PLACE_LEVELS: Final = {
    name.replace("_", " "): level
    for level, text in (
        (PlaceLevel.COUNTRY, _COUNTRIES),
        (PlaceLevel.STATE, _US_STATES),
        (PlaceLevel.CITY, _CITIES),
    )
    for name in text.split()
}
"""Level of each place."""


class NameKind(StrEnum):
    """Type of the entity that a name denotes."""

    PERSON = "person"
    ORGANIZATION = "organization"
    PLACE = "place"


class NameClass(NamedTuple):
    """A class of names that can replace each other in a sentence."""

    kind: NameKind
    form: str  # title and number of words of a person, article and form of an organization, or level of a place


class NameMention(NamedTuple):
    """An occurrence of a name in a sentence."""

    start: int  # position of its first token, without title and article
    end: int  # position after its last token
    text: str
    name_class: NameClass


ROLE: Final = "name: not the subject or place of a past event"
JOINED: Final = "name: part of a longer phrase, or with a modifier or a possessive"
NOT_LISTED: Final = "name: not a known country, state or city"

TITLES: Final = frozenset(
    "Mr. Mrs. Ms. Miss Mr Mrs Ms Dr. Dr Sir Lady Lord Professor President Senator Governor Captain Colonel General "
    "Sergeant Inspector Judge Justice Monsieur Madame".split()
)
PLACE_LABELS: Final = frozenset({"GPE", "LOC"})
_KIND_OF: Final = {
    "PERSON": NameKind.PERSON,
    "ORG": NameKind.ORGANIZATION,
    **dict.fromkeys(PLACE_LABELS, NameKind.PLACE),
}

_PERSON_VERBS: Final = frozenset(
    "accept answer appear approach argue arrive ask attack beckon begin blink bow break bring burst buy call carry "
    "catch chuckle clear climb close come continue cross cry dance decide describe die discover drag draw drink drive "
    "drop eat enter escape explain fall find finish follow frown gasp gaze get give glance go grab grin groan grunt "
    "hand hang hear hesitate hit hold hurry interrupt jump kick kill kiss kneel laugh lead lean leap leave lift "
    "listen look marry meet mention move murmur mutter nod notice observe open order pause pick point pour propose "
    "pull push put raise reach read remark reply respond retire return ride rise run rush say see seize sell send "
    "shake shout shrug shut sigh sign sing sip sit sleep smile snap speak stand stare start steal step stop stride "
    "strike suggest swallow swim swing take talk tell throw touch travel turn visit wait wake walk watch wave whisper "
    "win wink write yell".split()
)
"""Verbs whose subject is a person, or sometimes an organization."""
_COMMUNICATION: Final = frozenset(
    "accept announce answer appear argue ask begin call come conclude continue decide describe explain fall find give "
    "go mention move observe open order point propose raise reach read remark reply report respond run say see sell "
    "send sign start state stop strike suggest take tell win write".split()
)
"""Verbs whose subject may be a person, an organization or a product."""
_ORGANIZATION_VERBS: Final = frozenset(
    "accept acquire adopt advise agree amend announce answer apply approve argue ask assign authorize award begin buy "
    "call cancel certify choose complete conclude conduct confirm contact create decide declare deny determine "
    "develop direct distribute enact establish estimate evaluate examine file find fund give grant hire identify "
    "implement inform introduce investigate issue launch learn notify obtain offer open order pass pay prepare "
    "propose provide publish purchase receive recommend reject release reply report request respond review revise say "
    "sell send sign solicit start state submit sue suggest tell test vote warn win".split()
)
"""Verbs whose subject may be an organization."""
_OBJECT_VERBS: Final = frozenset(
    "answer appoint arrest ask attack beat call choose consult contact defeat dismiss elect fire follow greet hire "
    "inform interview invite kill kiss marry meet nominate notify pay phone question replace see shoot succeed sue "
    "tell thank visit warn".split()
)
"""Verbs whose object is a person or an organization."""
_PASSIVE_VERBS: Final = frozenset(
    "appoint arrest ask assassinate award beat capture charge choose convict defeat dismiss elect execute find fire "
    "hire indict inform injure invite kill murder nominate pick promote quote rescue select sentence shock shoot stab "
    "summon surprise welcome".split()
)
"""Verbs of events that happen to persons."""
_STATES: Final = frozenset(
    "admire adore affect appear appreciate attempt attend avoid be become believe belong concern consider consist "
    "contain continue cost deal depend deserve differ dominate doubt enjoy equal exist expect face fail favor favour "
    "fear feel fit grow hat hate have hear help hope ignore impact include influence involve keep know lack last lie "
    "like listen live look love matter mean need notice observe oppose own plan play prefer regard reign remain "
    "remember represent resemble respect rule see seem separate serve show specialize stay struggle study suffer "
    "support suppose surround teach tend think train trust try understand use value want watch wish "
    "witness work".split()
)
"""Verbs of shared actions, or of states without a time. The pipeline parses "hated" as a
form of "hat"."""
_SPREAD: Final = frozenset(
    "air broadcast distribute find grow introduce issue open operate perform print publish record release sell speak "
    "tour use".split()
)
"""Verbs of events that may happen in several places."""
_ORGANIZATION_NOUNS: Final = frozenset(
    "Administration Agency Airlines Airways Association Bank Board Bureau Commission Committee Company Corporation "
    "Council Department Foundation Institute Ministry Party Police Press Service Society Union University".split()
)
_PLACE_PREPOSITIONS: Final = frozenset("in to from through into toward towards across".split())
_PAST: Final = frozenset({"VBD", "VBN"})
_AUXILIARIES: Final = frozenset({"was", "were", "had", "been"})
_ARTICLE: Final = "the"
_MARKS_BEFORE: Final = frozenset("\"“(‘'")
_MARKS_AFTER: Final = frozenset(',.;:!"”')


def find_name_span(parse: Parse, entity: Entity) -> tuple[int, int]:
    """Find the token span of an entity's name, without title, article and possessive ending. The span may be empty."""
    start, end, _ = entity
    while start < end and (parse.words[start] in TITLES or parse.lower_words[start] == _ARTICLE):
        start += 1
    while start < end and parse.tags[end - 1] == "POS":
        end -= 1
    return start, end


def find_mention(parse: Parse, entity: Entity) -> NameMention | str:
    """Find the mention of an entity's name in a sentence, or the reason why the name cannot be replaced."""
    kind = _KIND_OF[entity.label]
    start, end = find_name_span(parse, entity)
    heads = [i for i in range(start, end) if not start <= parse.heads[i] < end]
    if len(heads) != 1 or not _is_written_as_name(parse, start, end):
        return JOINED
    [head] = heads
    if not _has_role(parse, head, kind):
        return ROLE
    has_title = start > 0 and (parse.words[start - 1] in TITLES or parse.lower_words[start - 1] == _ARTICLE)
    first = start - has_title
    if not _stands_alone(parse, first, end, head):
        return JOINED
    form = _form(parse.text(start, end), kind, parse.text(first, start) if first < start else "")
    if form is None:
        return NOT_LISTED if kind is NameKind.PLACE else JOINED
    return NameMention(start, end, parse.text(start, end), NameClass(kind, form))


def is_name_type_evident(parse: Parse, mention: NameMention) -> bool:
    """Check whether the verb or a title implies the type of a name (person or organization). Always True for places.

    For example, only persons nod, but both persons and organizations begin.
    """
    kind, form = mention.name_class
    if kind is NameKind.PLACE or form.split()[0] in TITLES:
        return True
    [head] = [i for i in range(mention.start, mention.end) if not mention.start <= parse.heads[i] < mention.end]
    if parse.deps[head] != "nsubj":
        return False
    verb = parse.lemmas[parse.heads[head]]
    return verb in (_PERSON_VERBS - _COMMUNICATION if kind is NameKind.PERSON else _ORGANIZATION_VERBS)


def _form(name: str, kind: NameKind, before: str) -> str | None:
    """Determine the form of a name after a title or article (`NameClass`), or None if it does not fit its kind."""
    is_article = before.lower() == _ARTICLE
    match kind:
        case NameKind.PERSON if not is_article:
            return f"{before} {len(name.split())}".strip()
        case NameKind.ORGANIZATION if is_article or not before:
            kind_of_name = _organization_form(name)
            return f"{before.lower()} {kind_of_name}".strip() if kind_of_name else None
        case NameKind.PLACE if not before:
            return PLACE_LEVELS.get(name)
    return None


def _organization_form(name: str) -> str:
    """Determine the form of a name that shows an organization; empty for any other name."""
    if name.isupper() and name.isalpha() and len(name) > 1:
        return "acronym"
    return "words" if " " in name and name.split()[-1] in _ORGANIZATION_NOUNS else ""


def _is_written_as_name(parse: Parse, start: int, end: int) -> bool:
    """Check that each token is a capitalized word and a singular proper noun, joined to no word outside the name."""
    words = range(start, end)
    if not all(parse.tags[i] == "NNP" and parse.words[i][0].isupper() and parse.words[i].isalpha() for i in words):
        return False
    if not all(parse.spaces[i] for i in words[:-1]) or end == len(parse.words):
        return False
    if start and not parse.spaces[start - 1] and parse.words[start - 1] not in _MARKS_BEFORE:
        return False
    if not parse.spaces[end - 1] and parse.words[end] not in _MARKS_AFTER:
        return False
    return parse.pos[end] != "PROPN" and parse.words[end][0] not in "(0123456789"


def _stands_alone(parse: Parse, first: int, end: int, head: int) -> bool:
    """Check that nothing but its title or article, the token `first`, belongs to the name with the given head."""
    if any(not first <= child < end for i in range(first, end) for child in parse.children(i)):
        return False
    if first and parse.pos[first - 1] in ("PROPN", "ADJ"):
        return False
    # "From Waterloo Boris took the tube" is parsed with a subject of two words.
    if first and parse.pos[first - 1] == "ADP" and parse.heads[head] > head:
        return False
    # "Paris, Texas": the tree does not show reliably that the second name belongs to the first one.
    return not (parse.words[end] == "," and parse.words[end + 1 : end + 2] and parse.words[end + 1][0].isupper())


def _has_role(parse: Parse, head: int, kind: NameKind) -> bool:
    """Check that a name takes part in a past event or, for a place, is where it happened."""
    dep, above = parse.deps[head], parse.heads[head]
    if kind is NameKind.PLACE:
        if dep != "pobj" or parse.lower_words[above] not in _PLACE_PREPOSITIONS or parse.deps[above] != "prep":
            return False
        verb = parse.heads[above]
        while parse.tags[verb] in ("NN", "NNS") and parse.deps[verb] in ("dobj", "pobj"):  # "joined a club in Paris"
            verb = parse.heads[parse.heads[verb]] if parse.deps[verb] == "pobj" else parse.heads[verb]
        return _is_past_event(parse, verb) and parse.lemmas[verb] not in _SPREAD
    if not _is_past_event(parse, above):
        return False
    match dep:
        case "nsubj":
            return True
        case "nsubjpass":
            return kind is NameKind.PERSON and parse.lemmas[above] in _PASSIVE_VERBS
        case "dobj" | "dative":
            return parse.lemmas[above] in _OBJECT_VERBS
    return False


def _is_past_event(parse: Parse, verb: int) -> bool:
    """Check that a token is a main verb of a sentence, in the past, and no verb of a state."""
    # "Ann came and saw Bob": the second verb depends on the first one.
    main = parse.heads[verb] if parse.deps[verb] == "conj" else verb
    if (
        parse.deps[main] != "ROOT"
        or parse.pos[verb] != "VERB"
        or parse.tags[verb] not in _PAST
        or parse.lemmas[verb] in _STATES
    ):
        return False
    auxiliaries = [i for i in parse.children(verb) if parse.deps[i] in ("aux", "auxpass")]
    if any(parse.lower_words[i] not in _AUXILIARIES for i in auxiliaries):
        return False
    # A participle without an auxiliary may begin a reduced clause: "Ann, seen in Rome, …".
    return parse.tags[verb] == "VBD" or bool(auxiliaries)


MIN_NAMES: Final = 3
"""Minimum number of names of a class in the text, the replaced one included."""


UNSURE: Final = "name: several kinds of entities, or also a common word"
SCOPE: Final = "name: under a negation, an alternative or a comparison"
PRONOUN: Final = "name: gendered word in the sentence"
OTHER_PLACE: Final = "name: another place or nationality in the sentence"
REPEATED: Final = "name: more than once in the sentence"
FEW: Final = f"name: fewer than {MIN_NAMES} names of the class in the text"
SAME: Final = "name: every other name may denote the same entity"

_GENDERED_TITLES: Final = frozenset("Mr. Mrs. Ms. Miss Mr Mrs Ms Sir Lady Lord Monsieur Madame".split())
_GENDERED: Final = frozenset(
    "actor actress aunt boy boyfriend brother daughter father gentleman girl girlfriend he her hers herself him "
    "himself his husband king lady madam man miss mother mr mr. mrs mrs. ms prince princess queen she sir sister son "
    "uncle waiter waitress widow widower wife woman".split()
)
_SCOPE: Final = frozenset(
    "again all also always another any anyone besides both but cannot decades dozens each either even ever every "
    "except few fewer formerly hardly hundreds if instead less like lot lots many maybe n't neither never no nobody "
    "none nor not nothing n’t often only or other others perhaps previously probably same several sometimes than "
    "thousands too unless usually without years".split()
)
"""Words that allow both sentences to be true of one event, or that compare the name with another name."""
_PREFIX: Final = 3  # first letters that a name and its short form share: Tom, Tommy
_REGIONAL_LABELS: Final = frozenset({*PLACE_LABELS, "NORP", "FAC", "LANGUAGE"})

AnnotatedSentence = tuple[Parse, Sequence[Entity]]
"""A parsed sentence with its entities."""


@dataclass(frozen=True)
class TextNames:
    """The names that occur in a text."""

    names: Mapping[NameClass, Sequence[str]]  # names of each class that can replace another one, sorted
    ambiguous: frozenset[str]  # names with several kinds, and names with a word that the text also writes in lower case
    # Words of each name of several words, by each of these words.
    multiword_names: Mapping[str, Sequence[frozenset[str]]]


def collect_names(sentences: Iterable[AnnotatedSentence]) -> TextNames:
    """Collect the names in a text. The result does not depend on the sentence order."""
    labels: defaultdict[str, set[str]] = defaultdict(set)
    used: defaultdict[NameClass, set[str]] = defaultdict(set)
    common: set[str] = set()
    several: set[frozenset[str]] = set()
    for parse, entities in sentences:
        # A word that the text also writes in lower case, such as "may", may be no name.
        common.update(word for word in parse.words if word.islower())
        for entity in (each for each in entities if each.label in _KIND_OF):
            start, end = find_name_span(parse, entity)
            if start == end:
                continue
            name = parse.text(start, end)
            labels[name].add(entity.label)
            if end - start > 1:
                several.add(frozenset(parse.lower_words[start:end]))
            if entity.label in PLACE_LABELS and name in PLACE_LEVELS:
                used[NameClass(NameKind.PLACE, PLACE_LEVELS[name])].add(name)
            mention = find_mention(parse, entity)
            if isinstance(mention, NameMention) and is_name_type_evident(parse, mention):
                used[mention.name_class].add(mention.text)
    ambiguous = frozenset(
        name for name, of in labels.items() if len(of) > 1 or any(word in common for word in name.lower().split())
    )
    multiword_names: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for words in several:
        for word in words:
            multiword_names[word].append(words)
    return TextNames(
        {of: tuple(sorted(each - ambiguous)) for of, each in used.items()}, ambiguous, dict(multiword_names)
    )


def replace_name(
    parse: Parse,
    entities: Sequence[Entity],
    names: TextNames,
    seed: int = DEFAULT_SEED,
    rejection_counts: Counter[str] | None = None,
) -> SubstitutedSentence | None:
    """Replace one name of a sentence by another name of the text, so that the new sentence contradicts the old one.

    Return None if no replacement is certain to contradict. The draw depends on the seed, the sentence and the names of
    the text (`collect_names`) alone. The call adds rejected names by reason to `rejection_counts`.
    """
    edits = []
    for entity in (each for each in entities if each.label in _KIND_OF):
        mention = find_mention(parse, entity)
        edit = mention if isinstance(mention, str) else _edit_or_reason(parse, entities, mention, names, seed)
        if isinstance(edit, SubstitutedSentence):
            edits.append(edit)
        elif rejection_counts is not None:
            rejection_counts[edit] += 1
    return edits[int(rng.compute_key(seed, "exchanged name", parse)) % len(edits)] if edits else None


def build_name_pairs(
    iter_sentences: Callable[[], Iterable[AnnotatedSentence]],
    seed: int = DEFAULT_SEED,
    rejection_counts: Counter[str] | None = None,
) -> dict[str, SubstitutedSentence]:
    """Replace a name in each suitable sentence of a text. Returns a dict from premises to substituted sentences.

    `iter_sentences` is called twice, so that no sentence is held in memory. The call adds rejected names by reason to
    `rejection_counts`.
    """
    names = collect_names(iter_sentences())
    return {
        str(parse): pair
        for parse, entities in iter_sentences()
        if (pair := replace_name(parse, entities, names, seed, rejection_counts)) is not None
    }


def are_names_possibly_coreferent(old: str, new: str, names: TextNames) -> bool:
    """Check whether two names could denote the same person, organization or place.

    >>> nothing = TextNames({}, frozenset(), {})
    >>> [are_names_possibly_coreferent("Tom", new, nothing) for new in ("Tommy", "Tom Jones", "Mary")]
    [True, True, False]
    >>> [are_names_possibly_coreferent("FDA", new, nothing) for new in ("Food and Drug Administration", "EPA")]
    [True, False]
    """
    one, other = (_name_words(name) for name in (old, new))
    # Too strict for Mary and Mark, but a wrong label is worse than a missing pair.
    if any(a[:_PREFIX] == b[:_PREFIX] for a in one for b in other):
        return True
    if _initials(old) == new.lower() or _initials(new) == old.lower():
        return True
    return any(not words.isdisjoint(other) for word in one for words in names.multiword_names.get(word, ()))


def _name_words(name: str) -> list[str]:
    return [word for word in name.lower().replace("-", " ").split() if word not in ("the", "of", "and")]


def _initials(name: str) -> str:
    """Build the abbreviation of a name of several words."""
    words = _name_words(name)
    return "".join(word[0] for word in words) if len(words) > 1 else ""


def _edit_or_reason(
    parse: Parse, entities: Sequence[Entity], mention: NameMention, names: TextNames, seed: int
) -> SubstitutedSentence | str:
    """Exchange a name, or find the reason why it is not exchanged."""
    reason = _sentence_reason(parse, entities, mention, names)
    if reason is not None:
        return reason
    candidates = names.names.get(mention.name_class, ())
    if len({mention.text, *candidates}) < MIN_NAMES:
        return FEW
    start = int(rng.compute_key(seed, "name", parse, mention.start)) % len(candidates)
    present = set(parse.lower_words)
    # Cyclic from a random start: one draw per name, whatever the number of rejected candidates.
    for new in (*candidates[start:], *candidates[:start]):
        if present.isdisjoint(_name_words(new)) and not are_names_possibly_coreferent(mention.text, new, names):
            sentence = str(parse)
            # Counted from the end, since a parse has no character offsets.
            begin = len(sentence) - len(parse.text(mention.start, len(parse.words)))
            hypothesis = sentence[:begin] + new + sentence[begin + len(mention.text) :]
            return SubstitutedSentence(hypothesis, NAMES, WordNetRelation.CO_HYPONYM, mention.text, new)
    return SAME


def _sentence_reason(parse: Parse, entities: Sequence[Entity], mention: NameMention, names: TextNames) -> str | None:
    """Find the reason against a name that shows in the rest of its sentence and in the text."""
    if mention.text in names.ambiguous:
        return UNSURE
    others = [*parse.lower_words[: mention.start], *parse.lower_words[mention.end :]]
    if not _SCOPE.isdisjoint(others):
        return SCOPE
    title = mention.name_class.form.split()[0]
    if (
        mention.name_class.kind is NameKind.PERSON
        and title not in _GENDERED_TITLES
        and not _GENDERED.isdisjoint(others)
    ):
        return PRONOUN
    if not set(_name_words(mention.text)).isdisjoint(others):
        return REPEATED
    if mention.name_class.kind is NameKind.PLACE and sum(each.label in _REGIONAL_LABELS for each in entities) > 1:
        return OTHER_PLACE
    return None
