"""Edits: what has to be done to a premise to come to a hypothesis, and what each does where it is done.

Leaving out what restricts (an adjective, an adjunct, a relative clause, a conjunct) goes to something more general;
putting it in, to something more specific; a word for a word, to what the lexicon says. Determiners, negations and
modals are compared at the words they belong to.
"""

from typing import Final

from unbag.baselines.natlog import relations as known
from unbag.baselines.natlog.alignment import LOOSE, CannotReadError, Edit, Sort, anchor, at_one_place, left_over
from unbag.baselines.natlog.determiners import A, between
from unbag.baselines.natlog.lexicon import LexicalRelations
from unbag.baselines.natlog.parsing import NOUNS, OBJECTS, SUBJECTS, Tree
from unbag.baselines.natlog.polarity import determiner_of
from unbag.baselines.natlog.relations import Relation
from unbag.data.text.grammar import ARTICLES

_CORE: Final = (*SUBJECTS, *OBJECTS, "pobj", "ROOT", "acomp", "xcomp", "ccomp", "pcomp", "agent")
_SPAN: Final = 4
_ATTRIBUTES: Final = frozenset({"amod", "compound", "nmod", "nummod", "poss"})
"""Dependencies of words that say something of the noun they stand at."""
_DETAILS: Final = frozenset("another this that these those small large big huge".split())
"""Words of determiners that say more than "a" or "the": which one, or how large a group."""
_COMPARED: Final = frozenset({"JJR", "JJS", "RBR", "RBS"})
_FORWARD: Final = Relation.FORWARD_ENTAILMENT


def edits(premise: Tree, hypothesis: Tree, pairs: dict[int, int], words: LexicalRelations) -> list[Edit]:
    """Return the edits from a premise to a hypothesis, in the order of their places.

    Args:
        premise: its tree.
        hypothesis: its tree.
        pairs: which of the hypothesis's words is aligned to which of the premise's.
        words: the lexicon.

    Raises:
        CannotReadError: if one of them is none that is known here.
    """
    pairs = _of_one_noun(premise, hypothesis, pairs)
    back = {j: i for i, j in pairs.items()}
    found: list[Edit] = []
    consumed: tuple[set[int], set[int]] = (set(), set())
    between_same = _between_same(premise, hypothesis)
    one_place = all(len(tokens) <= _SPAN for tokens in between_same)  # parsers may hang up the same words otherwise
    if one_place and (phrase := _one_phrase(premise, hypothesis, between_same, words)):
        return [phrase]
    if exchanged := _exchanged(premise, hypothesis):
        return [exchanged]
    for i, j in sorted(pairs.items()):
        if edit := _substitution(premise, i, hypothesis, j, words, pairs, consumed):
            found.append(edit)
        found += _determiners(premise, i, hypothesis, j, pairs)
        found += _negations(premise, i, hypothesis, j)
        found += _modals(premise, i, hypothesis, j)
        if not one_place:
            _same_place(premise, i, hypothesis, j, pairs)
    for root, place, tokens, (relation, source) in left_over(premise, hypothesis, pairs, consumed[0], words):
        found.append(Edit(Sort.DELETE, premise.text(tokens), "", relation, source, root, place, tokens))
    for root, place, tokens, (relation, source) in left_over(hypothesis, premise, back, consumed[1], words):
        found.append(Edit(Sort.INSERT, "", hypothesis.text(tokens), relation.converse, source, place, root, tokens))
    found = _without_moves(found, premise, hypothesis, pairs)
    _refuse_paraphrases(found, premise, hypothesis)
    return found


def _substitution(
    premise: Tree,
    i: int,
    hypothesis: Tree,
    j: int,
    words: LexicalRelations,
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
    if (premise.tags[i] in _COMPARED) is not (hypothesis.tags[j] in _COMPARED) and one[:3] == two[:3]:
        raise CannotReadError(f"how {premise.words[i]!r} and {hypothesis.words[j]!r} are related")
    related = words.relation(one, two, pos) or words.relation(one, two, hypothesis.pos[j])
    related = related or words.relation(premise.words[i].lower(), hypothesis.words[j].lower(), pos)
    if related is None:
        raise CannotReadError(f"how {premise.words[i]!r} and {hypothesis.words[j]!r} are related")
    relation = related.relation
    _check_measured(premise, i, hypothesis, j, relation)
    if relation is Relation.ALTERNATION and pos in NOUNS and premise.deps[i] != "attr":
        # Two things may do the same, and one may do it to two.
        relation = Relation.INDEPENDENCE
    return Edit(Sort.SUBSTITUTE, premise.words[i], hypothesis.words[j], relation, related.source, i, j)


def _check_measured(premise: Tree, i: int, hypothesis: Tree, j: int, relation: Relation) -> None:
    """Check that no adjective is measured by both of two nouns: a small elephant is no small animal.

    Raises:
        CannotReadError: If one is.
    """
    if relation not in (_FORWARD, Relation.REVERSE_ENTAILMENT) or premise.pos[i] not in NOUNS:
        return
    # The word before as well: parsers may take the noun for a part of what follows.
    one, two = (
        {tree.lemmas[n] for n in (*tree.children[noun], max(noun - 1, 0))}
        for tree, noun in ((premise, i), (hypothesis, j))
    )
    nouns = premise.lemmas[i], hypothesis.lemmas[j]
    is_occupation = any(noun.endswith(known.OCCUPATIONS) for noun in nouns)
    if measured := one & two & (known.GRADABLE | (known.RATED if is_occupation else frozenset())):
        raise CannotReadError(f"how {min(measured)!r} is measured for {nouns[0]!r} and {nouns[1]!r}")


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
    first, second = (frozenset(text.lower().split()) & _DETAILS for text in texts)
    if relation is Relation.EQUIVALENCE and first != second:
        if not (first < second or second < first):
            raise CannotReadError(f"how the determiners {texts[0]!r} and {texts[1]!r} are related")
        relation = _FORWARD if second < first else Relation.REVERSE_ENTAILMENT
        return [Edit(Sort.DETERMINER, texts[0] or "no determiner", texts[1] or "no determiner", relation, "", i, j)]
    is_number = relation is not Relation.EQUIVALENCE and max(one.number, two.number) > 1
    if is_number and premise.lemmas[i] in known.UNITS:  # within two hours is not within one
        raise CannotReadError(f"how {texts[0]!r} and {texts[1]!r} of {premise.words[i]!r} are related")
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


def _same_place(premise: Tree, i: int, hypothesis: Tree, j: int, pairs: dict[int, int]) -> None:
    """Refuse two aligned words that have different parts in their sentences."""
    one, two = anchor(premise, i, set(pairs)), anchor(hypothesis, j, set(pairs.values()))
    core = premise.deps[i] in _CORE or hypothesis.deps[j] in _CORE or premise.lemmas[i] in known.OF_THINGS
    same_head = at_one_place(one, two, pairs)
    if core and not same_head:
        raise CannotReadError(f"what part {premise.words[i]!r} has in both sentences")
    if core and same_head and {premise.deps[i], hypothesis.deps[j]} & {*SUBJECTS, "dobj"}:
        subjects = [tree.deps[n] in SUBJECTS for tree, n in ((premise, i), (hypothesis, j))]
        passive = [tree.deps[n] == "nsubjpass" for tree, n in ((premise, i), (hypothesis, j))]
        if subjects[0] != subjects[1] or passive[0] != passive[1]:
            raise CannotReadError(f"what part {premise.words[i]!r} has in both sentences")


def _exchanged(premise: Tree, hypothesis: Tree) -> Edit | None:
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

    said = [premise.determiners[noun][1] if noun in premise.determiners else "" for noun in (subject, object_)]
    if not all(
        word == "the" or premise.pos[noun] == "PROPN" for word, noun in zip(said, (subject, object_), strict=True)
    ):
        return None
    if not all(determiner_of(tree, noun) == A for tree in (premise, hypothesis) for noun in tree.determiners):
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


def _one_phrase(
    premise: Tree, hypothesis: Tree, between_same: tuple[list[int], list[int]], words: LexicalRelations
) -> Edit | None:
    """Return what is done where one noun, of several words perhaps, stands for another ("body of water")."""
    heads, texts = [], []
    for tree, rest in zip((premise, hypothesis), between_same, strict=True):
        if not rest or not tree.operator_tokens.isdisjoint(rest):
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
    _check_measured(premise, heads[0], hypothesis, heads[1], related.relation)
    return Edit(Sort.SUBSTITUTE, texts[0], texts[1], related.relation, related.source, heads[0], heads[1])


def _between_same(premise: Tree, hypothesis: Tree) -> tuple[list[int], list[int]]:
    """Return the tokens of both sentences, but for articles, between the words that are the same before and after."""
    one, two = ([word.lower() for word in tree.words] for tree in (premise, hypothesis))
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    end = 0
    while end < min(len(one), len(two)) - start and one[-1 - end] == two[-1 - end]:
        end += 1
    first, second = ([i for i in range(start, len(side) - end) if side[i] not in ARTICLES] for side in (one, two))
    return first, second


def _of_one_noun(premise: Tree, hypothesis: Tree, pairs: dict[int, int]) -> dict[int, int]:
    """Return the aligned words without those that say something of one noun there and of another here."""

    def moved(i: int, j: int) -> bool:
        if not {premise.deps[i], hypothesis.deps[j]} <= _ATTRIBUTES:
            return False
        return not at_one_place(anchor(premise, i, set(pairs)), anchor(hypothesis, j, set(pairs.values())), pairs)

    return {i: j for i, j in pairs.items() if not moved(i, j)}


def _without_moves(found: list[Edit], premise: Tree, hypothesis: Tree, pairs: dict[int, int]) -> list[Edit]:
    """Drop what was only moved: it belongs to the same word there, or to one that parsers mistake.

    "A happy dog sees a cat" and "A dog sees a happy cat" say different things of the two.
    """

    def is_move(one: Edit, two: Edit) -> bool:
        if one.premise.lower() != two.hypothesis.lower() or one.left is None or two.right is None:
            return False
        if at_one_place(two.left, one.right, pairs):
            return True
        if not {premise.deps[one.left], hypothesis.deps[two.right]} <= LOOSE:
            return False
        nouns = [premise.pos[premise.heads[one.left]] in NOUNS, hypothesis.pos[hypothesis.heads[two.right]] in NOUNS]
        return not all(nouns) and not (any(nouns) and premise.lemmas[one.left] in known.OF_THINGS)

    gone = [edit for edit in found if edit.sort is Sort.DELETE]
    come = [edit for edit in found if edit.sort is Sort.INSERT]
    for edit in gone:
        same = next((other for other in come if is_move(edit, other)), None)
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
            attributes = (
                one.left is not None
                and two.right is not None
                and {premise.deps[one.left], hypothesis.deps[two.right]} <= _ATTRIBUTES
            )
            if places[0] == places[1] or (lemmas[0] & lemmas[1] and not attributes):
                raise CannotReadError(f"how {one.premise!r} and {two.hypothesis!r} are related")
