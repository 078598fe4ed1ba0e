"""Edits: what has to be done to a premise to come to a hypothesis, and what each does where it is done.

Leaving out what restricts (an adjective, an adjunct, a relative clause, a conjunct) goes to something more general;
putting it in, to something more specific; a word for a word, to what the lexicon says. Determiners, negations and
modals are compared at the words they belong to.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from unbag.natlog import operators as known
from unbag.natlog.determiners import A, Kind, between
from unbag.natlog.lexicon import Words
from unbag.natlog.polarity import determiner_of
from unbag.natlog.relations import Relation
from unbag.natlog.trees import NOUNS, OBJECTS, SUBJECTS, VERBS, Tree


class CannotReadError(Exception):
    """A pair has something that is not known here; the message says what."""


class Sort(Enum):
    """What is done."""

    SUBSTITUTE = "substitute"
    DELETE = "delete"
    INSERT = "insert"
    DETERMINER = "change the determiner"
    NEGATION = "change the negation"


@dataclass(frozen=True)
class Edit:
    """A step from the premise to the hypothesis.

    Attributes:
        sort: what is done.
        premise: the words that it takes away, empty if none.
        hypothesis: those that it puts there.
        relation: of the one to the other, where they stand and for themselves.
        source: why.
        left: the premise's token that it is done at; for words that are put in, what they are put to; None if nothing.
        right: the hypothesis's; for words that are taken away, what they were put to.
        leaving: the tokens that it takes away, or puts in: their operators are not around it.
    """

    sort: Sort
    premise: str
    hypothesis: str
    relation: Relation
    source: str
    left: int | None
    right: int | None
    leaving: frozenset[int] = frozenset()


_CORE: Final = (*SUBJECTS, *OBJECTS, "pobj", "ROOT", "acomp", "xcomp", "ccomp", "pcomp", "agent")
_ADJUNCTS: Final = frozenset(
    "advmod prep acl relcl npadvmod appos nmod nummod quantmod poss agent dative advcl amod compound".split()
)
_SPAN: Final = 4
_LOOSE: Final = frozenset({"advmod", "npadvmod", "prep", "advcl", "dep", "appos", "parataxis"})
"""Dependencies whose heads parsers mistake, and which say the same of another word near by."""
_FORWARD: Final = Relation.FORWARD_ENTAILMENT


def edits(premise: Tree, hypothesis: Tree, pairs: dict[int, int], words: Words) -> list[Edit]:
    """Return the edits from a premise to a hypothesis, in the order of their places.

    Args:
        premise: its tree.
        hypothesis: its tree.
        pairs: which of the hypothesis's words is aligned to which of the premise's.
        words: the lexicon.

    Raises:
        CannotReadError: if one of them is none that is known here.
    """
    back = {j: i for i, j in pairs.items()}
    found: list[Edit] = []
    consumed: tuple[set[int], set[int]] = (set(), set())
    one_place = _differ_in_one_place(premise, hypothesis)
    if one_place and (phrase := _one_phrase(premise, hypothesis, words)):
        return [phrase]
    exchanged = _exchanged(premise, hypothesis, pairs)
    if exchanged:
        return [exchanged]
    for i, j in sorted(pairs.items()):
        if edit := _substitution(premise, i, hypothesis, j, words, pairs, consumed):
            found.append(edit)
        found += _determiners(premise, i, hypothesis, j, pairs)
        found += _negations(premise, i, hypothesis, j)
        found += _modals(premise, i, hypothesis, j)
        if not one_place:
            _same_place(premise, i, hypothesis, j, pairs)
    for root in _roots(premise, set(pairs) | consumed[0]):
        tokens = _removed(premise, root, hypothesis, pairs, consumed[0])
        relation, source = _removal(premise, root, tokens, set(pairs), words)
        head = anchor(premise, root, set(pairs))
        place = None if head is None else pairs[head]
        found.append(Edit(Sort.DELETE, premise.text(tokens), "", relation, source, root, place, tokens))
    for root in _roots(hypothesis, set(back) | consumed[1]):
        tokens = _removed(hypothesis, root, premise, back, consumed[1])
        relation, source = _removal(hypothesis, root, tokens, set(back), words)
        head = anchor(hypothesis, root, set(back))
        place = None if head is None else back[head]
        found.append(Edit(Sort.INSERT, "", hypothesis.text(tokens), relation.converse, source, place, root, tokens))
    found = _without_moves(found)
    _refuse_paraphrases(found, premise, hypothesis)
    return found


def _substitution(
    premise: Tree,
    i: int,
    hypothesis: Tree,
    j: int,
    words: Words,
    pairs: dict[int, int],
    consumed: tuple[set[int], set[int]],
) -> Edit | None:
    one, two = premise.lemmas[i], hypothesis.lemmas[j]
    if one == two or premise.words[i].lower() == hypothesis.words[j].lower():
        return None
    pos = premise.pos[i]
    if pos in NOUNS:
        phrases = _phrases(premise, i, set(pairs)), _phrases(hypothesis, j, set(pairs.values()))
        for first in phrases[0]:
            for second in phrases[1]:
                if len(first) + len(second) == 2:
                    continue
                old, new = _joined(premise, first), _joined(hypothesis, second)
                if related := words.relation(old, new, "NOUN"):
                    consumed[0].update(first)
                    consumed[1].update(second)
                    return Edit(Sort.SUBSTITUTE, old, new, related.relation, related.source, i, j)
    if pos == "PROPN" and two == "person":
        return Edit(Sort.SUBSTITUTE, premise.words[i], "person", _FORWARD, "a name", i, j)
    if pos == "PRON" or hypothesis.pos[j] == "PRON" or (pos == "PROPN" and not words.is_entry(one)):
        raise CannotReadError(f"how {premise.words[i]!r} and {hypothesis.words[j]!r} are related")
    related = words.relation(one, two, pos) or words.relation(one, two, hypothesis.pos[j])
    related = related or words.relation(premise.words[i].lower(), hypothesis.words[j].lower(), pos)
    if related is None:
        raise CannotReadError(f"how {premise.words[i]!r} and {hypothesis.words[j]!r} are related")
    relation = related.relation
    if relation is Relation.ALTERNATION and pos in NOUNS and premise.deps[i] != "attr":
        # Two things may do the same, and one may do it to two.
        relation = Relation.INDEPENDENCE
    return Edit(Sort.SUBSTITUTE, premise.words[i], hypothesis.words[j], relation, related.source, i, j)


def _phrases(tree: Tree, noun: int, aligned: set[int]) -> list[tuple[int, ...]]:
    """Return a noun with the words right before it that are not aligned, the longest phrase first."""
    start = noun
    while start and start - 1 not in aligned and start - 1 not in tree.silent and tree.heads[start - 1] >= start:
        start -= 1
    return [tuple(range(first, noun + 1)) for first in range(start, noun + 1)]


def _joined(tree: Tree, tokens: tuple[int, ...]) -> str:
    return " ".join([*(tree.words[i].lower() for i in tokens[:-1]), tree.lemmas[tokens[-1]]])


def _determined(tree: Tree, noun: int, aligned: set[int]) -> int:
    """Return the noun that a noun shares its determiner with, where that is not aligned: "no cat or dog"."""
    shares = tree.deps[noun] == "conj" and noun not in tree.determiners and tree.heads[noun] not in aligned
    return tree.heads[noun] if shares else noun


def _determiners(premise: Tree, i: int, hypothesis: Tree, j: int, pairs: dict[int, int]) -> list[Edit]:
    if premise.pos[i] not in NOUNS and i not in premise.determiners and j not in hypothesis.determiners:
        return []
    i, j = _determined(premise, i, set(pairs)), _determined(hypothesis, j, set(pairs.values()))
    one, two = determiner_of(premise, i), determiner_of(hypothesis, j)
    relation = between(one, two)
    texts = [tree.determiners[n][1] if n in tree.determiners else "" for tree, n in ((premise, i), (hypothesis, j))]
    if relation is None:
        raise CannotReadError(f"how the determiners {texts[0]!r} and {texts[1]!r} are related")
    if relation is Relation.EQUIVALENCE and (one.kind, one.number) == (two.kind, two.number):
        return []
    return [Edit(Sort.DETERMINER, texts[0] or "no determiner", texts[1] or "no determiner", relation, "", i, j)]


def _negations(premise: Tree, i: int, hypothesis: Tree, j: int) -> list[Edit]:
    one, two = premise.negations.get(i), hypothesis.negations.get(j)
    if (one is None) is (two is None):
        return []
    texts = [tree.words[n] if n is not None else "" for tree, n in ((premise, one), (hypothesis, two))]
    return [Edit(Sort.NEGATION, texts[0], texts[1], Relation.NEGATION, "", i, j)]


def _modals(premise: Tree, i: int, hypothesis: Tree, j: int) -> list[Edit]:
    one, two = premise.modals.get(i, ""), hypothesis.modals.get(j, "")
    if one == two:
        return []
    possible = ("can", "could", "may", "might")
    if one in possible and two in possible:
        return []
    if not one and two in possible:
        return [Edit(Sort.INSERT, "", two, _FORWARD, "what is so can be", i, j)]
    if one in possible and not two:
        return [Edit(Sort.DELETE, one, "", Relation.REVERSE_ENTAILMENT, "what is so can be", i, j)]
    raise CannotReadError(f"how {one or premise.words[i]!r} and {two or hypothesis.words[j]!r} are related")


def anchor(tree: Tree, token: int, aligned: set[int]) -> int | None:
    """Return the aligned word that a token depends on; a conjunct stands for a first one that is not aligned."""
    below = token
    for above in tree.above(token):
        if above in aligned:
            return above
        heirs = [child for child in tree.children[above] if tree.deps[child] == "conj" and child in aligned]
        if heirs and below not in heirs:
            return heirs[0]
        below = above
    return None


def _same_place(premise: Tree, i: int, hypothesis: Tree, j: int, pairs: dict[int, int]) -> None:
    """Refuse two aligned words that have different parts in their sentences."""
    one, two = anchor(premise, i, set(pairs)), anchor(hypothesis, j, set(pairs.values()))
    core = premise.deps[i] in _CORE or hypothesis.deps[j] in _CORE
    same_head = (None if one is None else pairs[one]) == two
    if core and not same_head:
        raise CannotReadError(f"what part {premise.words[i]!r} has in both sentences")
    if core and same_head and {premise.deps[i], hypothesis.deps[j]} & {*SUBJECTS, "dobj"}:
        subjects = [tree.deps[n] in SUBJECTS for tree, n in ((premise, i), (hypothesis, j))]
        passive = [tree.deps[n] == "nsubjpass" for tree, n in ((premise, i), (hypothesis, j))]
        if subjects[0] != subjects[1] or passive[0] != passive[1]:
            raise CannotReadError(f"what part {premise.words[i]!r} has in both sentences")


def _exchanged(premise: Tree, hypothesis: Tree, pairs: dict[int, int]) -> Edit | None:
    """Return what is done where subject and object have changed places, and nothing else has."""
    one, two = premise.root, hypothesis.root
    if premise.lemmas[one] != hypothesis.lemmas[two]:
        return None
    subject, object_ = premise.first(one, "nsubj"), premise.first(one, "dobj")
    other_subject, other_object = hypothesis.first(two, "nsubj"), hypothesis.first(two, "dobj")
    if subject is None or object_ is None or other_subject is None or other_object is None:
        return None

    def phrase(tree: Tree, noun: int) -> list[str]:
        return [tree.lemmas[i] for i in sorted(tree.subtree(noun)) if i not in tree.silent]

    def determiners(tree: Tree) -> list[object]:
        return [determiner_of(tree, noun) for noun in tree.determiners]

    said = [premise.determiners[noun][1] if noun in premise.determiners else "" for noun in (subject, object_)]
    if not all(
        word == "the" or premise.pos[noun] == "PROPN" for word, noun in zip(said, (subject, object_), strict=True)
    ):
        return None
    if not all(each == A for tree in (premise, hypothesis) for each in determiners(tree)):
        return None
    if one in premise.negations or two in hypothesis.negations:
        return None
    first = phrase(premise, subject), phrase(premise, object_)
    second = phrase(hypothesis, other_object), phrase(hypothesis, other_subject)
    if first[0] == first[1] or first != second:
        return None
    rest = [
        sorted(tree.lemmas[i] for i in range(len(tree.words)) if i not in tree.silent) for tree in (premise, hypothesis)
    ]
    if rest[0] != rest[1]:
        return None
    return Edit(
        Sort.SUBSTITUTE,
        premise.text(premise.subtree(one)),
        hypothesis.text(hypothesis.subtree(two)),
        Relation.ALTERNATION,
        "who does it and to whom has changed places",
        one,
        two,
    )


def _one_phrase(premise: Tree, hypothesis: Tree, words: Words) -> Edit | None:
    """Return what is done where one noun, of several words perhaps, stands for another ("body of water")."""
    spans = _spans(premise, hypothesis)
    heads, texts = [], []
    for tree, span in zip((premise, hypothesis), spans, strict=True):
        rest = [i for i in span if tree.words[i].lower() not in ("a", "an")]
        told = {token for _, _, token in tree.determiners.values()} | set(tree.negations.values())
        if not rest or told & set(rest):
            return None
        tops = [i for i in rest if tree.heads[i] not in rest or tree.heads[i] == i]
        if len(tops) != 1 or tree.pos[tops[0]] not in ("NOUN", "PROPN"):
            return None
        lemma = tree.lemmas[tops[0]] if tops[0] == rest[-1] else tree.words[rest[-1]].lower()
        texts.append(" ".join([*(tree.words[i].lower() for i in rest[:-1]), lemma]))
        heads.append(tops[0])
    related = words.relation(texts[0], texts[1], "NOUN")
    if related is None or related.relation is Relation.ALTERNATION:
        return None
    return Edit(Sort.SUBSTITUTE, texts[0], texts[1], related.relation, related.source, heads[0], heads[1])


def _differ_in_one_place(premise: Tree, hypothesis: Tree) -> bool:
    """Tell whether all words before some place and all after it are the same: parsers may hang them up otherwise."""
    return all(
        len([i for i in span if tree.words[i].lower() not in ("a", "an")]) <= _SPAN
        for tree, span in zip((premise, hypothesis), _spans(premise, hypothesis), strict=True)
    )


def _spans(premise: Tree, hypothesis: Tree) -> tuple[range, range]:
    """Return the tokens of both sentences between the words that are the same before and after."""
    one, two = ([word.lower() for word in tree.words] for tree in (premise, hypothesis))
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    end = 0
    while end < min(len(one), len(two)) - start and one[-1 - end] == two[-1 - end]:
        end += 1
    return range(start, len(one) - end), range(start, len(two) - end)


def _roots(tree: Tree, told: set[int]) -> list[int]:
    """Return the words that are left over and do not depend on others that are."""
    left = [i for i in range(len(tree.words)) if i not in told and i not in tree.silent]
    return [i for i in left if not any(above in left for above in tree.above(i))]


def _removed(tree: Tree, root: int, other: Tree, pairs: dict[int, int], consumed: set[int]) -> frozenset[int]:
    """Return what is left over below a word, with the words that say nothing of their own.

    Raises:
        CannotReadError: if words stay that depended on it, and depend on something else than it did now.
    """
    tokens: list[int] = [root]
    stay: list[int] = []
    for above in tokens:  # which grows
        for child in tree.children[above]:
            (stay if child in pairs or child in consumed else tokens).append(child)
    if not stay:
        return frozenset(tokens)
    anchor = next((above for above in tree.above(root) if above in pairs), None)
    place = None if anchor is None else pairs[anchor]
    heirs = [child for child in stay if tree.deps[child] == "conj" and child in pairs]
    for child in stay:
        if child not in pairs or {tree.deps[child], other.deps[pairs[child]]} & _LOOSE:
            continue
        head = other.heads[pairs[child]]
        at_root = other.heads[pairs[child]] == pairs[child]
        if child in heirs and (head == place or (place is None and at_root)):
            continue
        if heirs and head == pairs[heirs[0]]:
            continue
        if tree.deps[root] in ("acl", "relcl", "amod", "advcl", "prep", "pcomp") and head == place:
            continue
        raise CannotReadError(f"what becomes of {tree.words[child]!r} without {tree.words[root]!r}")
    return frozenset(tokens)


def _removal(tree: Tree, root: int, tokens: frozenset[int], aligned: set[int], words: Words) -> tuple[Relation, str]:
    """Return the relation of a sentence to the same without some of its words, where they stand."""
    dep, lemma, head = tree.deps[root], tree.lemmas[root], tree.heads[root]
    if any(tree.deps[child] == "conj" and child in aligned for child in tree.children[root]) or dep == "conj":
        return _conjunct(tree, root, dep)
    if dep in ("advmod", "neg"):
        if lemma in known.NOT_QUITE:
            return Relation.ALTERNATION, f"{lemma} is not quite"
        if lemma in known.MODAL_ADVERBS:
            return Relation.REVERSE_ENTAILMENT, f"what is so is {lemma} so"
        return _FORWARD, "an adverb restricts"
    if dep in ("amod", "compound", "nmod") and tree.pos[head] in NOUNS:
        if lemma in known.PRIVATIVE:
            return Relation.ALTERNATION, f"what is {lemma} is none"
        if lemma in known.MODAL_ADJECTIVES:
            return Relation.INDEPENDENCE, f"what is {lemma} may be none"
        phrase, noun = f"{tree.words[root].lower()} {tree.lemmas[head]}", tree.lemmas[head]
        if tree.pos[root] == "PROPN" and tree.pos[head] == "PROPN":
            raise CannotReadError(f"the name {phrase!r}")
        if dep != "amod" and words.is_entry(phrase) and words.is_entry(noun):
            related = words.relation(phrase, noun, "NOUN")
            thing = words.relation(phrase, "physical entity", "NOUN")
            if related is None and thing is not None and thing.relation is _FORWARD:  # a sea lion is one, no lion
                raise CannotReadError(f"whether {phrase!r} is {noun!r}")
        return _FORWARD, "an adjective restricts" if dep == "amod" else "a noun restricts another"
    if dep == "advcl":
        marks = {tree.lemmas[child] for child in tree.children[root]}
        if marks & {"if", "unless", "whether"}:
            return Relation.REVERSE_ENTAILMENT, "what is so is so under a condition"
        return _FORWARD, "a clause that says when, why or how restricts"
    bare = tree.lemmas[head] == "be" and tree.first(head, "acomp", "attr") is None
    if dep in ("prep", "advmod") and (bare or lemma in known.OTHER_PREPOSITIONS - {"until", "unlike"}):
        raise CannotReadError(f"what becomes of the sentence without {tree.text(tokens)!r}")
    if dep == "dobj":
        determiner = determiner_of(tree, root)
        if tree.pos[head] in VERBS and determiner.kind in (Kind.SOME, Kind.EVERY, Kind.MOST, Kind.EXACTLY):
            return _FORWARD, "who does it to something does it"
    if dep == "prt":
        related = words.relation(f"{tree.lemmas[head]} {lemma}", tree.lemmas[head], "VERB")
        if related is not None and related.relation in (Relation.EQUIVALENCE, _FORWARD):
            return related.relation, related.source
    if dep in _ADJUNCTS:
        names = {
            "relcl": "a relative clause",
            "acl": "a clause",
            "prep": "a prepositional phrase",
            "nummod": "a number",
        }
        return _FORWARD, f"{names.get(dep, 'an adjunct')} restricts"
    raise CannotReadError(f"what becomes of the sentence without {tree.text(tokens)!r}")


def _conjunct(tree: Tree, root: int, dep: str) -> tuple[Relation, str]:
    first = tree.heads[root] if dep == "conj" else root
    chain = [first, *(child for child in tree.children[first] if tree.deps[child] == "conj")]
    links = {
        tree.lemmas[child] for each in chain for child in tree.children[each] if tree.deps[child] in ("cc", "preconj")
    }
    if tree.lemmas[tree.heads[first]] in known.COLLECTIVE | {"between"} and tree.deps[first] in (*SUBJECTS, "pobj"):
        raise CannotReadError("whether what is said of several is said of each")
    if links & {"or", "nor", "either"}:
        return Relation.REVERSE_ENTAILMENT, "each of two is one of them"
    if not links & {"and", "but", "&", "yet", "both"}:
        raise CannotReadError(f"what joins {tree.words[root]!r} to the rest")
    determiner = determiner_of(tree, first)
    if tree.pos[first] in NOUNS and not determiner.named and determiner.kind is not Kind.SOME:
        return Relation.REVERSE_ENTAILMENT, "dogs and cats are what is a dog or a cat"
    return _FORWARD, "who is both is each"


def _without_moves(found: list[Edit]) -> list[Edit]:
    """Drop what was only moved."""
    gone = [edit for edit in found if edit.sort is Sort.DELETE]
    come = [edit for edit in found if edit.sort is Sort.INSERT]
    for edit in gone:
        same = next((other for other in come if other.hypothesis.lower() == edit.premise.lower()), None)
        if same is not None:
            found = [each for each in found if each is not edit and each is not same]
            come.remove(same)
    return found


def _refuse_paraphrases(found: list[Edit], premise: Tree, hypothesis: Tree) -> None:
    """Refuse what goes to something more general and to something more specific at one word.

    "A skit which is funny" is a funny skit, "costumed performer" nearly a clown: what the two come to is not known.
    """
    general = [edit for edit in found if edit.sort is not Sort.INSERT and edit.relation is _FORWARD]
    specific = [edit for edit in found if edit.sort is not Sort.DELETE and edit.relation is Relation.REVERSE_ENTAILMENT]
    for one in general:
        for two in specific:
            if Sort.DETERMINER in (one.sort, two.sort):
                continue
            lemmas = [
                {tree.lemmas[i] for i in edit.leaving if i not in tree.silent}
                for tree, edit in ((premise, one), (hypothesis, two))
            ]
            places = [
                premise.heads[edit.left] if edit.left is not None and edit.sort is Sort.DELETE else edit.left
                for edit in (one, two)
            ]
            if places[0] == places[1] or lemmas[0] & lemmas[1]:
                raise CannotReadError(f"how {one.premise!r} and {two.hypothesis!r} are related")
