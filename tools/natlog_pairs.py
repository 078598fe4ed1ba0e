"""Synthetic monotonicity pairs: sentence templates in which a phrase becomes more general or more specific.

A template is a sentence with a slot, whose monotonicity determines the label. A third of the templates and some of the
phrase types are held out. All pairs were written before the rules of the labeler were tuned, and no rule was added for
held-out pairs.

To measure the coverage and the accuracy of the labeler on these pairs:

    python -m tools.natlog_pairs [--pipeline FOLDER] [--wrong]
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from unbag.baselines.natlog.labeler import NatlogLabeler
from unbag.data.labels import ENTAILMENT, NEUTRAL
from unbag.data.text.grammar import adapt_article
from unbag.data.text.tagging import PIPELINE

Polarity = Literal["up", "down", "neither"]


class ContextTemplate(NamedTuple):
    """Sentence template with a slot, and the monotonicity of the slot.

    The slot is `{n}` (plural noun), `{s}` (singular) or `{v}`, `{z}`, `{g}`, `{d}` (sing, sings, singing, sang).
    """

    text: str
    polarity: Polarity
    held_out: bool = False


class PhrasePair(NamedTuple):
    """General and specific phrase for slots with the given letters. Verbs have four forms, in slot order."""

    places: str
    general: tuple[str, ...]
    specific: tuple[str, ...]
    way: str
    held_out: bool = False


class MonotonicityPair(NamedTuple):
    """Pair with a label, a template and a phrase type."""

    premise: str
    hypothesis: str
    label: str  # `entailment` or `neutral`, which means "not entailed" here
    context: str  # text of the template
    way: str  # type of the difference between the specific and the general phrase
    polarity: Polarity
    held_out: bool  # whether the template or the phrase type is held out


CONTEXTS: Final = (
    # Determiners, with the slot inside or outside the noun phrase.
    ContextTemplate("Some {n} arrived at noon.", "up"),
    ContextTemplate("The farmer bought some {n} yesterday.", "up"),
    ContextTemplate("Several {n} were waiting at the station.", "up", True),
    ContextTemplate("Many {n} came to the party.", "up"),
    ContextTemplate("A few {n} were left in the room.", "up", True),
    ContextTemplate("Two {n} crossed the road.", "up"),
    ContextTemplate("At least five {n} took part.", "up"),
    ContextTemplate("More than three {n} were found near the lake.", "up", True),
    ContextTemplate("Tom has seen {n} in the garden.", "up"),
    ContextTemplate("There are {n} behind the house.", "up"),
    ContextTemplate("A {s} was standing near the gate.", "up"),
    ContextTemplate("My uncle works for a {s} in Boston.", "up", True),
    ContextTemplate("The letter was written by a {s}.", "up"),
    ContextTemplate("Every {s} needs some rest.", "down"),
    ContextTemplate("All {n} need water.", "down"),
    ContextTemplate("Each {s} in the village got a letter.", "down", True),
    ContextTemplate("No {s} has ever reached the island.", "down"),
    ContextTemplate("No {n} were allowed inside.", "down"),
    ContextTemplate("None of the {n} answered the question.", "down"),
    ContextTemplate("Few {n} can stay awake all night.", "down"),
    ContextTemplate("At most ten {n} survived the winter.", "down"),
    ContextTemplate("Fewer than six {n} were invited.", "down", True),
    ContextTemplate("Not every {s} is welcome here.", "up"),
    ContextTemplate("Not all {n} like the rain.", "up", True),
    ContextTemplate("Most {n} sleep at night.", "neither"),
    ContextTemplate("Exactly four {n} were sold.", "neither"),
    ContextTemplate("All but two {n} went home.", "neither", True),
    ContextTemplate("Half of the {n} were lost.", "neither", True),
    ContextTemplate("Everyone who saw a {s} was afraid.", "down"),
    ContextTemplate("Every child who owns {n} is proud of them.", "down", True),
    ContextTemplate("Some guests {v}.", "up"),
    ContextTemplate("Every guest {z}.", "up"),
    ContextTemplate("No guests {v}.", "down"),
    ContextTemplate("None of the guests {d}.", "down", True),
    ContextTemplate("Nobody {d} that evening.", "down"),
    ContextTemplate("Few guests {d}.", "down"),
    ContextTemplate("At most seven guests {d}.", "down"),
    ContextTemplate("Less than five guests {d}.", "down", True),
    ContextTemplate("Most of the guests {d}.", "up"),
    ContextTemplate("Many of the guests {v}.", "up", True),
    ContextTemplate("Exactly three guests {d}.", "neither"),
    ContextTemplate("Between four and nine guests {d}.", "neither", True),
    ContextTemplate("Not every guest {d}.", "down"),
    ContextTemplate("Each of the guests {d}.", "up"),
    ContextTemplate("Only Mary {d}.", "down"),
    ContextTemplate("Neither of the guests {d}.", "down", True),
    # Negations and similar words.
    ContextTemplate("The old man does not {v}.", "down"),
    ContextTemplate("My sister didn't {v} last week.", "down"),
    ContextTemplate("They have never met a {s} before.", "down"),
    ContextTemplate("She is not looking for {n}.", "down"),
    ContextTemplate("There isn't a {s} in this town.", "down"),
    ContextTemplate("It is not true that a {s} stole the money.", "down", True),
    ContextTemplate("The boy isn't {g}.", "down"),
    ContextTemplate("He rarely {z}.", "down"),
    ContextTemplate("She hardly ever talks to {n}.", "down", True),
    ContextTemplate("I don't think that he {z}.", "down"),
    ContextTemplate("Ann refused to {v}.", "down"),
    ContextTemplate("The king forbade his servants to {v}.", "down", True),
    ContextTemplate("He failed to {v}.", "down"),
    ContextTemplate("They avoided {g}.", "down"),
    ContextTemplate("I doubt that she {z}.", "down"),
    ContextTemplate("The police denied that a {s} had escaped.", "down", True),
    ContextTemplate("He lives without {n}.", "down"),
    ContextTemplate("She left the room without {g}.", "down", True),
    ContextTemplate("It is impossible to {v} here.", "down"),
    ContextTemplate("Grandpa is too tired to {v}.", "down"),
    ContextTemplate("The prisoners are unable to {v}.", "down", True),
    # Clauses.
    ContextTemplate("If you {v}, the neighbours will wake up.", "down"),
    ContextTemplate("If a {s} comes in, call me at once.", "down"),
    ContextTemplate("If it rains, we will {v}.", "up"),
    ContextTemplate("Whenever a {s} passes, the dog barks.", "down", True),
    ContextTemplate("He said that a {s} was at the door.", "up"),
    ContextTemplate("I know that they {v}.", "up", True),
    ContextTemplate("She smiled because the children {d}.", "up"),
    ContextTemplate("The woman who is {g} is my aunt.", "up"),
    ContextTemplate("Peter wants to {v}.", "up"),
    ContextTemplate("They managed to {v} in time.", "up", True),
    ContextTemplate("It was raining and the guests {d}.", "up"),
    ContextTemplate("He went to bed before the guests {d}.", "down"),
    ContextTemplate("You can {v} in the hall.", "up"),
    ContextTemplate("The tallest {s} in the class won the race.", "neither"),
    ContextTemplate("The first {s} to arrive got a prize.", "neither", True),
    ContextTemplate("No one believes that a {s} lives here.", "down"),
    ContextTemplate("Nobody who has a {s} complained.", "down"),
    ContextTemplate("She didn't refuse to {v}.", "up", True),
    ContextTemplate("Every house without a {s} was sold.", "up", True),
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


def _verb(general: str, specific: str, way: str, held_out: bool = False) -> PhrasePair:
    forms = []
    for phrase in (general, specific):
        words = phrase.split()
        forms.append(tuple(" ".join(_VERBS[word][i] if word in _VERBS else word for word in words) for i in range(4)))
    return PhrasePair("vzgd", forms[0], forms[1], way, held_out)


PHRASES: Final = (
    PhrasePair("n", ("dogs",), ("poodles",), "hyponym"),
    PhrasePair("n", ("birds",), ("young eagles",), "hyponym and adjective"),
    PhrasePair("n", ("women",), ("tall women",), "adjective"),
    PhrasePair("n", ("people",), ("people from Spain",), "preposition"),
    PhrasePair("n", ("children",), ("children who speak French",), "relative clause"),
    PhrasePair("n", ("students",), ("students carrying bags",), "participle", True),
    PhrasePair("n", ("animals",), ("horses",), "hyponym"),
    PhrasePair("n", ("workers",), ("factory workers",), "compound", True),
    PhrasePair("s", ("dog",), ("poodle",), "hyponym"),
    PhrasePair("s", ("woman",), ("tall woman",), "adjective"),
    PhrasePair("s", ("doctor",), ("doctor from Spain",), "preposition"),
    PhrasePair("s", ("soldier",), ("soldier who speaks French",), "relative clause"),
    PhrasePair("s", ("boy",), ("boy wearing a red hat",), "participle", True),
    PhrasePair("s", ("musician",), ("violinist",), "hyponym"),
    PhrasePair("s", ("person",), ("very old sailor",), "hyponym and adjective", True),
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


def iter_pairs() -> Iterator[MonotonicityPair]:
    """Iterate over the pairs of all templates with all matching phrases, in both directions."""
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
                yield MonotonicityPair(premise, hypothesis, label, context.text, phrase.way, context.polarity, held_out)


def _with_article(sentence: str) -> str:
    words = sentence.split(" ")
    return " ".join(adapt_article(word, following) for word, following in zip(words, [*words[1:], ""], strict=True))


def main() -> None:
    """Print a table; with `--wrong` also the development pairs with a wrong label or without a label."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pipeline", default=PIPELINE)
    options.add_argument("--wrong", action="store_true")
    arguments = options.parse_args()
    labeler = NatlogLabeler.load(arguments.pipeline)
    pairs = list(iter_pairs())
    verdicts = labeler.iter_verdicts([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
    counts: Counter[tuple[str, str, str]] = Counter()
    for pair, verdict in zip(pairs, verdicts, strict=True):
        # In these pairs, neutral means "not entailed".
        said = verdict.label and (ENTAILMENT if verdict.label == ENTAILMENT else NEUTRAL)
        outcome = "no label" if said is None else "right" if said == pair.label else "wrong"
        part = "held out" if pair.held_out else "development"
        counts[part, pair.polarity, outcome] += 1
        counts[part, "all", outcome] += 1
        if arguments.wrong and outcome != "right" and not pair.held_out:
            sys.stdout.write(f"{outcome}: {pair.label}: {pair.premise} => {pair.hypothesis} {verdict.unsupported}\n")
    for part in ("development", "held out"):
        for polarity in ("up", "down", "neither", "all"):
            right, wrong, unsupported = (counts[part, polarity, name] for name in ("right", "wrong", "no label"))
            read = right + wrong
            shares = f"coverage {read / (read + unsupported):6.1%}, accuracy {right / max(read, 1):6.1%}"
            sys.stdout.write(f"{part:12} {polarity:8} {read + unsupported:5} pairs, {shares}\n")


if __name__ == "__main__":
    main()
