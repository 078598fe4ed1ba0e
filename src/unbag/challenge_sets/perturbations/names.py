"""Replacement of a name in a text with another name of the same class from the same text.

The new sentence contradicts the old one, under Breaking NLI's assumption that both describe the same event (Glockner et
al. 2018): if Jones opened the door, Smith did not. The operation prefers no pair to a doubtful one: the name must take
part in a past event, or be the place of one (`name_mentions`), and the text must use the new name in the same way.

Names of one class fit the same place: the title, the number of words or the article are the same. Two names may denote
one thing if they share the first letters of a word, if one abbreviates the other, or if a longer name of the text has
words of both (John, Smith, John Smith). Such names are not exchanged.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.name_mentions import (
    PLACE_LABELS,
    PLACE_LEVELS,
    NameClass,
    NameKind,
    NameMention,
    find_mention,
    find_name_span,
    is_name_type_evident,
    is_supported_entity,
)
from unbag.challenge_sets.perturbations.substitution import SubstitutedSentence
from unbag.data.text.entities import Entity
from unbag.data.text.parses import Parse
from unbag.utils import rng

DEFAULT_SEED: Final = 13
NAMES: Final = "names"
"""Category of the pairs."""

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
        for entity in filter(is_supported_entity, entities):
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
    for entity in filter(is_supported_entity, entities):
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
