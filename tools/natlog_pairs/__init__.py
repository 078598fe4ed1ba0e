"""Monotonicity pairs of our own making: contexts of many shapes, and in each a phrase made more general or specific.

A context is a sentence with a place in it, and what its place does to inclusions; its label follows. A third of the
contexts and some of the ways to make a phrase specific are held out: they were written before the labeller's rules
were tuned, and no rule was made for them.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from unbag.data.labels import ENTAILMENT, NEUTRAL
from unbag.data.text.grammar import adapt_article

Polarity = Literal["up", "down", "neither"]


class Context(NamedTuple):
    """A sentence with a place, and what it does to inclusions.

    The place is `{n}` (plural noun), `{s}` (singular) or `{v}`, `{z}`, `{g}`, `{d}` (sing, sings, singing, sang).
    """

    text: str
    polarity: Polarity
    held_out: bool = False


class Phrase(NamedTuple):
    """A general phrase and a specific one, for places of some letters; verbs in the order of their four forms."""

    places: str
    general: tuple[str, ...]
    specific: tuple[str, ...]
    way: str
    held_out: bool = False


class Made(NamedTuple):
    """A pair with its label.

    Attributes:
        premise: the sentence.
        hypothesis: the sentence.
        label: entailment or neutral, which is "not entailed" here.
        context: the context's text.
        way: how the specific phrase differs from the general one.
        polarity: that of the context.
        held_out: whether the context or the way was held out.
    """

    premise: str
    hypothesis: str
    label: str
    context: str
    way: str
    polarity: Polarity
    held_out: bool


CONTEXTS: Final = (
    # Determiners, inside the noun phrase and outside.
    Context("Some {n} arrived at noon.", "up"),
    Context("The farmer bought some {n} yesterday.", "up"),
    Context("Several {n} were waiting at the station.", "up", True),
    Context("Many {n} came to the party.", "up"),
    Context("A few {n} were left in the room.", "up", True),
    Context("Two {n} crossed the road.", "up"),
    Context("At least five {n} took part.", "up"),
    Context("More than three {n} were found near the lake.", "up", True),
    Context("Tom has seen {n} in the garden.", "up"),
    Context("There are {n} behind the house.", "up"),
    Context("A {s} was standing near the gate.", "up"),
    Context("My uncle works for a {s} in Boston.", "up", True),
    Context("The letter was written by a {s}.", "up"),
    Context("Every {s} needs some rest.", "down"),
    Context("All {n} need water.", "down"),
    Context("Each {s} in the village got a letter.", "down", True),
    Context("No {s} has ever reached the island.", "down"),
    Context("No {n} were allowed inside.", "down"),
    Context("None of the {n} answered the question.", "down"),
    Context("Few {n} can stay awake all night.", "down"),
    Context("At most ten {n} survived the winter.", "down"),
    Context("Fewer than six {n} were invited.", "down", True),
    Context("Not every {s} is welcome here.", "up"),
    Context("Not all {n} like the rain.", "up", True),
    Context("Most {n} sleep at night.", "neither"),
    Context("Exactly four {n} were sold.", "neither"),
    Context("All but two {n} went home.", "neither", True),
    Context("Half of the {n} were lost.", "neither", True),
    Context("Everyone who saw a {s} was afraid.", "down"),
    Context("Every child who owns {n} is proud of them.", "down", True),
    Context("Some guests {v}.", "up"),
    Context("Every guest {z}.", "up"),
    Context("No guests {v}.", "down"),
    Context("None of the guests {d}.", "down", True),
    Context("Nobody {d} that evening.", "down"),
    Context("Few guests {d}.", "down"),
    Context("At most seven guests {d}.", "down"),
    Context("Less than five guests {d}.", "down", True),
    Context("Most of the guests {d}.", "up"),
    Context("Many of the guests {v}.", "up", True),
    Context("Exactly three guests {d}.", "neither"),
    Context("Between four and nine guests {d}.", "neither", True),
    Context("Not every guest {d}.", "down"),
    Context("Each of the guests {d}.", "up"),
    Context("Only Mary {d}.", "down"),
    Context("Neither of the guests {d}.", "down", True),
    # Negations, and words like them.
    Context("The old man does not {v}.", "down"),
    Context("My sister didn't {v} last week.", "down"),
    Context("They have never met a {s} before.", "down"),
    Context("She is not looking for {n}.", "down"),
    Context("There isn't a {s} in this town.", "down"),
    Context("It is not true that a {s} stole the money.", "down", True),
    Context("The boy isn't {g}.", "down"),
    Context("He rarely {z}.", "down"),
    Context("She hardly ever talks to {n}.", "down", True),
    Context("I don't think that he {z}.", "down"),
    Context("Ann refused to {v}.", "down"),
    Context("The king forbade his servants to {v}.", "down", True),
    Context("He failed to {v}.", "down"),
    Context("They avoided {g}.", "down"),
    Context("I doubt that she {z}.", "down"),
    Context("The police denied that a {s} had escaped.", "down", True),
    Context("He lives without {n}.", "down"),
    Context("She left the room without {g}.", "down", True),
    Context("It is impossible to {v} here.", "down"),
    Context("Grandpa is too tired to {v}.", "down"),
    Context("The prisoners are unable to {v}.", "down", True),
    # Clauses.
    Context("If you {v}, the neighbours will wake up.", "down"),
    Context("If a {s} comes in, call me at once.", "down"),
    Context("If it rains, we will {v}.", "up"),
    Context("Whenever a {s} passes, the dog barks.", "down", True),
    Context("He said that a {s} was at the door.", "up"),
    Context("I know that they {v}.", "up", True),
    Context("She smiled because the children {d}.", "up"),
    Context("The woman who is {g} is my aunt.", "up"),
    Context("Peter wants to {v}.", "up"),
    Context("They managed to {v} in time.", "up", True),
    Context("It was raining and the guests {d}.", "up"),
    Context("He went to bed before the guests {d}.", "down"),
    Context("You can {v} in the hall.", "up"),
    Context("The tallest {s} in the class won the race.", "neither"),
    Context("The first {s} to arrive got a prize.", "neither", True),
    Context("No one believes that a {s} lives here.", "down"),
    Context("Nobody who has a {s} complained.", "down"),
    Context("She didn't refuse to {v}.", "up", True),
    Context("Every house without a {s} was sold.", "up", True),
)

_VERBS: Final = {
    "sing": ("sing", "sings", "singing", "sang"),
    "dance": ("dance", "dances", "dancing", "danced"),
    "walk": ("walk", "walks", "walking", "walked"),
    "stroll": ("stroll", "strolls", "strolling", "strolled"),
    "talk": ("talk", "talks", "talking", "talked"),
    "whisper": ("whisper", "whispers", "whispering", "whispered"),
    "eat": ("eat", "eats", "eating", "ate"),
    "cook": ("cook", "cooks", "cooking", "cooked"),
    "run": ("run", "runs", "running", "ran"),
    "write": ("write", "writes", "writing", "wrote"),
}


def _verb(general: str, specific: str, way: str, held_out: bool = False) -> Phrase:
    forms = []
    for phrase in (general, specific):
        words = phrase.split()
        forms.append(tuple(" ".join(_VERBS[word][i] if word in _VERBS else word for word in words) for i in range(4)))
    return Phrase("vzgd", forms[0], forms[1], way, held_out)


PHRASES: Final = (
    Phrase("n", ("dogs",), ("poodles",), "hyponym"),
    Phrase("n", ("birds",), ("young eagles",), "hyponym and adjective"),
    Phrase("n", ("women",), ("tall women",), "adjective"),
    Phrase("n", ("people",), ("people from Spain",), "preposition"),
    Phrase("n", ("children",), ("children who speak French",), "relative clause"),
    Phrase("n", ("students",), ("students carrying bags",), "participle", True),
    Phrase("n", ("animals",), ("horses",), "hyponym"),
    Phrase("n", ("workers",), ("factory workers",), "compound", True),
    Phrase("s", ("dog",), ("poodle",), "hyponym"),
    Phrase("s", ("woman",), ("tall woman",), "adjective"),
    Phrase("s", ("doctor",), ("doctor from Spain",), "preposition"),
    Phrase("s", ("soldier",), ("soldier who speaks French",), "relative clause"),
    Phrase("s", ("boy",), ("boy wearing a red hat",), "participle", True),
    Phrase("s", ("musician",), ("violinist",), "hyponym"),
    Phrase("s", ("person",), ("very old sailor",), "hyponym and adjective", True),
    _verb("walk", "stroll", "hyponym"),
    _verb("talk", "whisper", "hyponym"),
    _verb("sing", "sing loudly", "adverb"),
    _verb("walk", "walk in the park", "preposition"),
    _verb("eat fruit", "eat apples", "hyponym of the object"),
    _verb("sing", "sing and dance", "and"),
    _verb("sing or dance", "sing", "or", True),
    _verb("cook", "cook while others rest", "adverbial clause", True),
    _verb("eat", "eat a sandwich", "object"),
    _verb("write letters", "write long letters", "adjective"),
    _verb("run", "run every morning", "time", True),
)


def made() -> Iterator[Made]:
    """Yield the pairs of all contexts with all phrases that fit, in both directions."""
    for context in CONTEXTS:
        place = context.text[context.text.index("{") + 1]
        for phrase in PHRASES:
            if place not in phrase.places:
                continue
            form = phrase.places.index(place)
            general, specific = (
                _with_article(context.text.format(**{place: each[form]})) for each in (phrase.general, phrase.specific)
            )
            held_out = context.held_out or phrase.held_out
            for up, (premise, hypothesis) in ((True, (specific, general)), (False, (general, specific))):
                entailed = context.polarity == ("up" if up else "down")
                label = ENTAILMENT if entailed else NEUTRAL
                yield Made(premise, hypothesis, label, context.text, phrase.way, context.polarity, held_out)


def _with_article(sentence: str) -> str:
    words = sentence.split(" ")
    return " ".join(adapt_article(word, following) for word, following in zip(words, [*words[1:], ""], strict=True))
