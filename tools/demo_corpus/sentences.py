"""Generation of English sentences from scenes. A scene has several fluent sentences.

Each sentence begins with a capital letter and ends with a period. Single spaces separate the words. There are no
contractions or hyphens, so that all tokenizers find the same words.
"""

import random
import re
from collections.abc import Sequence

from tools.demo_corpus.lexicon import ADJECTIVE, COUNTS, NOUN, PLACE, TIME, VERB, WORN, nouns_under
from tools.demo_corpus.scenes import Caption, Entity, Gear, Scene, has_passive

FORMS = ("active", "fronted", "passive", "there", "relative", "with", "located")
"""Surface forms: "A boy is feeding a dog in the park." "In the park, a boy …" "A dog is being fed by a boy …"
"There is a boy feeding a dog …" "The boy who is feeding a dog … is wearing a red coat." "A boy is running with a dog …"
"A boy in a red coat is in the park." (the last where no action is said)."""

_COMMON = ("active", "active", "fronted", "passive", "passive", "there", "relative", "with", "located")  # weights
_FRAMES = {
    True: ("It is not true that", "It is false that", "It is not the case that"),
    False: ("It is true that", "It is the case that"),
}  # beginnings of negated and of other captions
_NO = 0.5  # share of "no dog is" among the negated captions that permit it; the others contain "not"
_ONE_SENTENCE = 0.3  # share of texts of two captions that are one sentence
_JOINED = ("Although {}, {}.", "{}, and {}.", "{}, but {}.")
_ANIMATE = frozenset(nouns_under(("person", "animal")))


def list_forms(scene: Scene) -> tuple[str, ...]:
    """List the possible surface forms of a scene, in the order of `FORMS`. A sound scene has at least one."""
    if scene.verb is None:
        return ("there",) if scene.place is None else ("there", "located")
    if not scene.agents:
        return ("passive",)
    forms = ["active"]
    if scene.place is not None or scene.time is not None:
        forms.append("fronted")
    if has_passive(scene):
        forms.append("passive")
    if len(scene.agents) == 1:
        forms.append("there")
        gear = scene.agents[0].gear
        if gear is not None and gear.noun in WORN:
            forms.append("relative")
    elif scene.patient is None and VERB[scene.verb].joined:
        forms.append("with")
    return tuple(forms)


def write_sentence(scene: Scene, rng: random.Random, form: str | None = None, definite: bool | None = None) -> str:
    """Generate a sentence for a sound scene. By default, the form and the article are random.

    Args:
        scene: Scene.
        rng: Random generator for the form, the synonyms and the article.
        form: One of `list_forms(scene)`.
        definite: Whether to use "the dog" instead of "a dog", except after "there is".
    """
    possible = list_forms(scene)
    if form is None:
        form = rng.choice([one for one in _COMMON if one in possible])
    elif form not in possible:
        raise ValueError(f"form: expected one of {list(possible)} for this scene, got {form!r}; use one of these")
    if definite is None:
        definite = rng.random() < 0.25
    words = _arrange(scene, form, definite and form != "there", rng)
    return f"{words[0].upper()}{words[1:]}."


def write_text(
    captions: Sequence[Caption], rng: random.Random, definite: bool | None = None, *, framed: float = 0.0
) -> str:
    """Generate a text of one sentence per caption, or of one sentence for two captions.

    `framed` is the share of sentences that begin with "It is not true that", "It is true that" or the like. For the
    other arguments, see `write_sentence`.
    """
    # A frame would also apply to the second clause of its sentence.
    joined = len(captions) == 2 and rng.random() < _ONE_SENTENCE
    sentences = [_write_caption(caption, rng, definite, 0.0 if joined else framed) for caption in captions]
    if not joined:
        return " ".join(sentences)
    clauses = (_decapitalize(sentence.removesuffix(".")) for sentence in sentences)
    text = rng.choice(_JOINED).format(*clauses)
    return text[0].upper() + text[1:]


def _write_caption(caption: Caption, rng: random.Random, definite: bool | None, framed: float) -> str:
    if framed and rng.random() < framed:
        sentence = write_sentence(caption.scene, rng, definite=definite)
        return f"{rng.choice(_FRAMES[caption.is_negated])} {_decapitalize(sentence)}"
    if not caption.is_negated:
        return write_sentence(caption.scene, rng, definite=definite)
    # In "the boy who is feeding a dog is wearing a coat", a negation would apply to only one of the verbs.
    form = rng.choice([form for form in _COMMON if form in list_forms(caption.scene) and form != "relative"])
    has_no = rng.random() < _NO and (form == "passive" or len(caption.scene.agents) == 1)
    sentence = write_sentence(caption.scene, rng, form, False if has_no else definite)
    if has_no and (article := re.match(r"(There is )?an? ", sentence, re.IGNORECASE)):
        return f"{article[1]}no {sentence[article.end() :]}" if article[1] else f"No {sentence[article.end() :]}"
    return re.sub(r"\b(is|are)\b", r"\1 not", sentence, count=1)


def _decapitalize(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _arrange(scene: Scene, form: str, definite: bool, rng: random.Random) -> str:
    place = "" if scene.place is None else " " + rng.choice(PLACE[scene.place].words)
    time = "" if scene.time is None else " " + rng.choice(TIME[scene.time].words)
    adjuncts = place + time
    if scene.verb is None:
        who = scene.agents[0]
        be = _be(who)
        if form == "located":
            return f"{_phrase(who, definite, rng)} {be}{adjuncts}"
        return f"there {be} {_phrase(who, False, rng)}{adjuncts}"
    words = VERB[scene.verb].words
    if form == "passive":
        past = rng.choice([past for _, past in words if past])
        assert scene.patient is not None
        whom = _phrase(scene.patient, definite, rng, subject=True)
        by = " by " + _together(scene, definite, rng) if scene.agents else ""
        return f"{whom} {_be(scene.patient)} being {past}{by}{adjuncts}"
    doing = rng.choice(words)[0]
    if scene.patient is not None:
        doing += " " + _phrase(scene.patient, definite, rng)
    first = scene.agents[0]
    be = _be(first) if len(scene.agents) == 1 else "are"
    if form == "there":
        return f"there {be} {_phrase(first, False, rng, participle=False)} {doing}{adjuncts}"
    if form == "relative":
        assert first.gear is not None
        bare = _phrase(first._replace(gear=None), definite, rng, subject=True)
        return f"{bare} who {be} {doing}{adjuncts} {be} wearing {_gear(first.gear, first.number)}"
    if form == "with":
        second = _phrase(scene.agents[1], definite, rng)
        return f"{_phrase(first, definite, rng, subject=True)} is {doing} with {second}{adjuncts}"
    who_does = _together(scene, definite, rng, subject=True)
    if form == "fronted":
        front, rest = (time, place) if time and (not place or rng.random() < 0.5) else (place, time)
        return f"{front.strip()}, {who_does} {be} {doing}{rest}"
    return f"{who_does} {be} {doing}{adjuncts}"


def _be(entity: Entity) -> str:
    return "is" if entity.number == "one" else "are"


def _together(scene: Scene, definite: bool, rng: random.Random, subject: bool = False) -> str:
    return " and ".join(_phrase(entity, definite, rng, subject=subject) for entity in scene.agents)


def _phrase(entity: Entity, definite: bool, rng: random.Random, subject: bool = False, participle: bool = True) -> str:
    """Generate the noun phrase of an entity. Things and "several" are always indefinite."""
    noun = NOUN[entity.noun]
    singular, plural = rng.choice(noun.words)
    many = entity.number != "one"
    parts = [rng.choice(ADJECTIVE[word].words) for word in entity.adjectives]
    parts.append(plural if many else singular)
    thing = entity.noun not in _ANIMATE
    if definite and not thing and entity.number != "several":
        if entity.number in ("two", "three", "four"):
            parts.insert(0, COUNTS[entity.number].word)
        parts.insert(0, "the")
    elif many:
        # As a subject, a bare plural ("books are") would sound generic, so "some" stays.
        if not (entity.number == "some" and thing and not subject):
            parts.insert(0, COUNTS[entity.number].word)
    elif not noun.mass:
        parts.insert(0, _article(parts[0]))
    if entity.gear is not None:
        parts.append(_how_had(entity.gear, participle, rng))
        parts.append(_gear(entity.gear, entity.number))
    return " ".join(parts)


def _how_had(gear: Gear, participle: bool, rng: random.Random) -> str:
    if gear.noun not in WORN:
        return "with"
    return rng.choice(("in", "in", "wearing")) if participle else "in"


def _gear(gear: Gear, count: str) -> str:
    """Generate the noun phrase of worn or carried objects; a bare plural for groups, whose members have one each."""
    singular, plural = NOUN[gear.noun].words[0]
    many = count != "one"
    words = [plural if many else singular]
    if gear.colour is not None:
        words.insert(0, gear.colour)
    return " ".join(words if many else [_article(words[0]), *words])


def _article(word: str) -> str:
    # By spelling, because the lexicon has no words such as "hour" or "unicorn".
    return "an" if word[0] in "aeiou" else "a"
