import random
from collections import Counter

import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.names import (
    FEW,
    JOINED,
    NOT_LISTED,
    OTHER_PLACE,
    PLACE_LEVELS,
    PRONOUN,
    REPEATED,
    ROLE,
    SAME,
    SCOPE,
    UNSURE,
    are_names_possibly_coreferent,
    build_name_pairs,
    collect_names,
    replace_name,
)
from unbag.data.text.entities import Entity
from unbag.data.text.parses import Parse

LEMMAS = {"nodded": "nod", "walked": "walk", "arrived": "arrive", "was": "be", "issued": "issue"}


def annotate(text, label="PERSON"):
    """Annotate a sentence `[Name] verb [preposition Name] word … .` with names in brackets.

    The first name is the subject of the verb. The other words depend on the verb, and a second name on the word before
    it. The verb is the first word in `LEMMAS`.
    """
    words, entities = [], []
    for token in text.removesuffix(".").split():
        if token.startswith("["):
            entities.append([len(words), None])
        words.append(token.strip("[]"))
        if token.endswith("]"):
            entities[-1][1] = len(words)
    words.append(".")
    verb = next(i for i, word in enumerate(words) if word in LEMMAS)
    heads, deps = [verb] * len(words), ["advmod"] * len(words)
    tags, pos = ["RB"] * len(words), ["ADV"] * len(words)
    deps[verb], tags[verb], pos[verb] = "ROOT", "VBD", "VERB"
    for start, end in entities:
        for i in range(start, end):
            heads[i], deps[i], tags[i], pos[i] = end - 1, "compound", "NNP", "PROPN"
        is_subject = end <= verb
        heads[end - 1], deps[end - 1] = (verb, "nsubj") if is_subject else (start - 1, "pobj")
        if not is_subject:
            deps[start - 1] = "prep"
    spaces = [True] * (len(words) - 2) + [False, False]
    parse = Parse(*map(tuple, (words, spaces, [LEMMAS.get(w, w.lower()) for w in words], pos, tags, heads, deps)))
    labels = label if isinstance(label, list) else [label] * len(entities)
    return parse, [Entity(start, end, each) for (start, end), each in zip(entities, labels, strict=True)]


PERSONS = [annotate(f"[{name}] nodded slowly.") for name in ("Jones", "Smith", "Baker", "Carter")]
CITIES = [annotate(f"They arrived in [{name}] today.", "GPE") for name in ("Paris", "Rome", "Oslo")]
AGENCIES = [annotate(f"[{name}] issued rules today.", "ORG") for name in ("EPA", "FDA", "GAO")]
FULL = [annotate(f"[{name}] nodded slowly.") for name in ("Ann Lee", "Bob Ray", "Cy Fox")]
TEXT = [*PERSONS, *CITIES, *AGENCIES, *FULL]


def _count_exclusions(sentence, text=TEXT):
    rejected = Counter()
    assert replace_name(*sentence, collect_names([*text, sentence]), rejection_counts=rejected) is None
    return rejected


@pytest.mark.parametrize(("group", "start"), [(PERSONS, 0), (CITIES, 3), (AGENCIES, 0), (FULL, 0)])
def test_exchange_name_uses_name_of_same_class(group, start):
    words = {str(parse).split()[start] for parse, _ in group}
    for parse, entities in group:
        edit = replace_name(parse, entities, collect_names(TEXT))
        assert edit.new.split()[0] in words
        assert edit.new != edit.old
        assert edit.hypothesis == str(parse).replace(edit.old, edit.new)


def test_name_pairs_depend_on_seed_but_not_on_sentence_order():
    by_seed = [build_name_pairs(lambda: TEXT, seed) for seed in range(5)]
    assert len(by_seed[0]) == len(TEXT)
    assert len(set(map(str, by_seed))) > 1
    shuffled = random.Random(0).sample(TEXT, len(TEXT))
    assert [build_name_pairs(lambda: shuffled, seed) for seed in range(5)] == by_seed


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (annotate("[Jones] was there."), ROLE),  # a stative verb
        (annotate("They arrived with [Jones] today."), ROLE),
        (annotate("[Jones] nodded to [Jones]."), REPEATED),
        (annotate("[Jones] never nodded slowly."), SCOPE),
        (annotate("[Jones] nodded or walked."), SCOPE),
        (annotate("[Jones] walked to her slowly."), PRONOUN),
        (annotate("They arrived in [Atlantis] today.", "GPE"), NOT_LISTED),
        (annotate("They arrived in [Paris] from [Spain].", "GPE"), OTHER_PLACE),
        (annotate("[Chief Jones] nodded slowly.", "ORG"), JOINED),  # not the form of an organization
    ],
)
def test_exchange_name_excludes_unclear_sentence_with_reason(sentence, reason):
    assert reason in _count_exclusions(sentence)


def annotate_after(word, name):
    """Annotate `WORD Name nodded.`, given the line of the parse for a word that depends on the name."""
    lines = [word, f"{name} name PROPN NNP 3 nsubj", "nodded nod VERB VBD 3 ROOT", "+. . PUNCT . 3 punct"]
    return build_parse("\n".join(lines)), [Entity(1, 2, "PERSON")]


@pytest.mark.parametrize(("word", "name"), [("old old ADJ JJ 2 amod", "Jones"), ("ex- ex- ADJ JJ 2 amod", "+Jones")])
def test_exchange_name_excludes_modified_or_joined_name(word, name):
    assert _count_exclusions(annotate_after(word, name)) == {JOINED: 1}


def test_exchange_name_excludes_ambiguous_or_common_name():
    two_kinds = [annotate("They walked in [Jones] today.", "GPE")]
    common = [annotate("They walked to jones today.")]
    for others in (two_kinds, common):
        assert UNSURE in _count_exclusions(PERSONS[0], [*TEXT, *others])
        assert all(pair.new != "Jones" for pair in build_name_pairs(lambda more=others: [*TEXT, *more]).values())


def test_exchange_name_requires_enough_names():
    assert _count_exclusions(PERSONS[0], PERSONS[:2]) == {FEW: 1}
    assert build_name_pairs(lambda: PERSONS[:3])


def test_exchange_name_keeps_title():
    titled = [annotate_after("Mr. Mr. PROPN NNP 2 compound", name) for name in ("Hall", "King", "Wood")]
    for parse, entities in titled:
        edit = replace_name(parse, entities, collect_names([*titled, *TEXT]))
        assert edit.hypothesis.startswith("Mr. ")
        assert edit.new in {"Hall", "King", "Wood"} - {edit.old}


def test_exchange_name_excludes_possibly_coreferent_names():
    names = collect_names([annotate("[John Smith] nodded slowly.")])
    pairs = (("John", "Smith"), ("Smith", "John"), ("John", "Baker"))
    assert [are_names_possibly_coreferent(*pair, names) for pair in pairs] == [True, True, False]
    text = [annotate(f"[{name}] nodded slowly.") for name in ("Tom", "Tommy", "Tomas")]
    assert _count_exclusions(text[0], text) == {SAME: 1}


def test_city_is_not_exchanged_with_country():
    countries = [annotate(f"They arrived in [{name}] today.", "GPE") for name in ("France", "Italy", "Norway")]
    for premise, pair in build_name_pairs(lambda: [*CITIES, *countries]).items():
        assert PLACE_LEVELS[pair.old] is PLACE_LEVELS[pair.new], premise
