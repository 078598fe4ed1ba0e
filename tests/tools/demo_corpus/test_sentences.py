import random
import re
from collections import Counter

import pytest

from tools.demo_corpus import edits
from tools.demo_corpus.lexicon import ADJECTIVE, NOUN
from tools.demo_corpus.scenes import Caption, Entity, Gear, Scene, is_sound
from tools.demo_corpus.sentences import FORMS, list_forms, write_sentence, write_text

WOMEN = Entity("woman", "two", ("young",), Gear("coat", "red"))
DOG = Entity("dog", "one", ("small",))
FEEDING = Scene((WOMEN,), "feed", DOG, "park", "night")


class First(random.Random):
    """A random generator that always takes the first choice, for predictable sentences."""

    def choice(self, seq):
        return seq[0]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("active", "Two young women in red coats are feeding a small dog in the park at night."),
        ("passive", "A small dog is being fed by two young women in red coats in the park at night."),
        ("there", "There are two young women in red coats feeding a small dog in the park at night."),
        ("relative", "Two young women who are feeding a small dog in the park at night are wearing red coats."),
    ],
)
def test_meaning_has_expected_sentence_in_each_form(form: str, sentence: str):
    assert write_sentence(FEEDING, First(0), form, definite=False) == sentence


def test_negated_caption_has_expected_forms():
    scene = Scene((Entity("girl"),), "chase", DOG)
    said = {write_text([Caption(scene, True)], random.Random(seed), False, framed=0.3) for seed in range(200)}
    assert {
        "A girl is not chasing a small dog.",
        "No girl is chasing a small dog.",
        "There is no girl chasing a small dog.",
        "A small dog is not being chased by a girl.",
        "It is not true that a girl is chasing a small dog.",
    } <= said
    assert all(len({"not", "no", "false"} & set(sentence.lower().split())) == 1 for sentence in said), said


def test_no_does_not_replace_article_of_two_agents():
    scene = Scene((Entity("man"), Entity("woman")), "dance")
    said = {write_text([Caption(scene, True)], random.Random(seed), False) for seed in range(50)}
    assert {"A man and a woman are not dancing.", "A man is not dancing with a woman."} <= said
    assert not any("No " in sentence or " no " in sentence for sentence in said)


def test_two_captions_may_be_one_sentence():
    captions = [Caption(Scene((Entity("man"),), "sing"), True), Caption(Scene((DOG,), "run"))]
    said = {write_text(captions, random.Random(seed), False) for seed in range(100)}
    assert {"A man is not singing. A small dog is running.", "No man is singing, and a small dog is running."} <= said
    assert "Although a man is not singing, a small dog is running." in said


def test_place_or_time_can_come_first():
    said = {write_sentence(FEEDING, random.Random(seed), "fronted", definite=False) for seed in range(20)}
    assert any(sentence.startswith("In the park, two young women") for sentence in said)
    assert any(sentence.startswith("At night, two young women") for sentence in said)


def test_definite_article_is_only_used_for_beings():
    scene = Scene((Entity("man"),), "read", Entity("newspaper", "one", ("old",)))
    assert write_sentence(scene, First(0), "active", definite=True) == "The man is reading an old newspaper."


def test_two_agents_share_action():
    scene = Scene((Entity("boy"), Entity("animal", "one", ("old",))), "run", place="beach")
    assert (
        write_sentence(scene, First(0), "active", definite=False) == "A boy and an old animal are running on the beach."
    )
    assert (
        write_sentence(scene, First(0), "with", definite=False) == "A boy is running with an old animal on the beach."
    )


def test_sleeping_with_another_is_not_expressed():
    assert "with" not in list_forms(Scene((Entity("man"), Entity("woman")), "nap"))


def test_agentless_passive_and_presence_forms():
    assert write_sentence(Scene((), "chase", DOG), First(0), definite=False) == "A small dog is being chased."
    assert write_sentence(Scene((DOG,), place="park"), First(0), "there") == "There is a small dog in the park."
    assert (
        write_sentence(Scene((DOG,), place="park"), First(0), "located", definite=True)
        == "The small dog is in the park."
    )


def test_uncounted_nouns_and_bare_plurals_have_no_article():
    assert (
        write_sentence(Scene((Entity("man"),), "drink", Entity("tea")), First(0), definite=False)
        == "A man is drinking tea."
    )
    some = Entity("book", "some", ("old",))
    assert (
        write_sentence(Scene((Entity("man"),), "read", some), First(0), "active", False)
        == "A man is reading old books."
    )
    assert write_sentence(Scene((), "read", some), First(0), "passive", False) == "Some old books are being read."


def test_unsuitable_form_is_rejected():
    with pytest.raises(ValueError, match=r"form: expected one of .* got 'passive'"):
        write_sentence(Scene((Entity("man"),), "drink", Entity("tea")), First(0), "passive")


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    """Return every form of many generated and edited scenes."""
    rng = random.Random(11)
    said = []
    for _ in range(1_500):
        scene = edits.draw_scene(rng)
        edited = edits.apply_random_edit(edits.LESS, scene, rng) or scene
        said += [write_sentence(one, rng, form) for one in (scene, edited) for form in list_forms(one)]
    assert len(said) > 6_000
    return said


def test_scenes_use_every_form():
    rng = random.Random(5)
    scenes = [edits.draw_scene(rng) for _ in range(300)]
    scenes += [less for scene in scenes if (less := edits.apply_random_edit(edits.LESS, scene, rng))]
    assert {form for scene in scenes for form in list_forms(scene)} == set(FORMS)
    assert all(map(is_sound, scenes))


def test_sentences_have_capital_and_full_stop(sentences: list[str]):
    shape = re.compile(r"[A-Z][a-z]*,?( [a-z]+,?)+\.")
    assert [sentence for sentence in sentences if not shape.fullmatch(sentence)] == []


def test_articles_agree_with_next_word(sentences: list[str]):
    wrong = re.compile(r"\ba [aeiou]|\ban [^aeiou]", re.IGNORECASE)
    assert [sentence for sentence in sentences if wrong.search(sentence)] == []
    assert any(" an " in sentence for sentence in sentences)


def test_verbs_agree_with_subjects(sentences: list[str]):
    many = [one for one in sentences if re.match(r"(Two|Three|Four|Several|Some|There are) ", one)]
    single = [one for one in sentences if re.match(r"(An?|There is) ", one) and " and " not in one]
    assert len(many) > 500
    assert len(single) > 500
    assert [one for one in many if " is " in one or "There are a" in one] == []
    assert [one for one in single if " are " in one or "There is some" in one] == []


def test_nouns_agree_with_numbers(sentences: list[str]):
    adjectives = {word for adjective in ADJECTIVE.values() for word in adjective.words}
    singulars = {word for noun in NOUN.values() for word, _ in noun.words}
    plurals = {word for noun in NOUN.values() if not noun.mass for _, word in noun.words}
    seen: Counter[str] = Counter()
    articles = {"a", "an"}
    numbers = {"two", "three", "four", "several", "some"}
    for sentence in sentences:
        words = re.findall(r"\w+", re.sub(r"on a sunny day|a picture of|a nap", "", sentence.lower()))
        for i, word in enumerate(words):
            if word in articles | numbers:
                seen[word] += 1
                noun = next(other for other in words[i + 1 :] if other not in adjectives)
                assert noun in (singulars if word in articles else plurals), sentence
    assert set(seen) == articles | numbers


def test_articles_are_not_doubled_or_dangling(sentences: list[str]):
    article = r"(a|an|the|some|several)"
    wrong = re.compile(rf"\b{article} {article}\b|\b{article} (is|are|in|with|by|and)\b", re.IGNORECASE)
    assert [sentence for sentence in sentences if wrong.search(sentence)] == []
