"""A rule-based parser for simple sentences, such as "A man is riding a horse.", so that tests need no pipeline."""

from collections.abc import Iterable, Iterator

from unbag.data.text.parses import Parse

PLURALS = {"men": "man", "women": "woman", "girls": "girl", "boys": "boy", "dogs": "dog", "people": "person"}
NUMBERS = {"two", "three", "four", "five"}
DETERMINERS = {"a", "an", "the", "several"}


def parse_simple(sentence: str) -> Parse:
    """Parse a sentence: noun phrase, "is" or "are", verb in -ing, noun phrase (possibly after a preposition), full
    stop.
    """
    ends = sentence.endswith(".")
    words = sentence.removesuffix(".").split()
    verb = next(i for i, word in enumerate(words) if word.endswith("ing"))
    rows = [*_phrase(words[: verb - 1], 0, verb, "nsubj")]
    plural = words[verb - 1] == "are"
    rows.append((words[verb - 1], "be", "AUX", "VBP" if plural else "VBZ", verb, "aux"))
    rows.append((words[verb], words[verb].removesuffix("ing"), "VERB", "VBG", verb, "ROOT"))
    rest = words[verb + 1 :]
    if rest and rest[0] in ("on", "with", "near"):
        rows.append((rest[0], rest[0], "ADP", "IN", verb, "prep"))
        rows += _phrase(rest[1:], verb + 2, verb + 1, "pobj")
    elif rest:
        rows += _phrase(rest, verb + 1, verb, "dobj")
    if ends:
        rows.append((".", ".", "PUNCT", ".", verb, "punct"))
    texts, lemmas, pos, tags, heads, deps = zip(*rows, strict=True)
    spaces = [True] * len(texts)
    spaces[-1] = False
    if ends:
        spaces[-2] = False
    return Parse(texts, tuple(spaces), lemmas, pos, tags, heads, deps)


def _phrase(words: list[str], start: int, above: int, dep: str) -> list[tuple[str, str, str, str, int, str]]:
    head = start + len(words) - 1
    rows = []
    for word in words[:-1]:
        lower = word.lower()
        if lower in DETERMINERS:
            rows.append((word, lower, "DET", "DT", head, "det"))
        elif lower in NUMBERS:
            rows.append((word, lower, "NUM", "CD", head, "nummod"))
        else:
            rows.append((word, lower, "ADJ", "JJ", head, "amod"))
    noun = words[-1].lower()
    is_plural = noun in PLURALS or (noun.endswith("s") and noun not in ("glass", "dress"))
    lemma = PLURALS.get(noun, noun.removesuffix("s") if is_plural else noun)
    rows.append((words[-1], lemma, "NOUN", "NNS" if is_plural else "NN", above, dep))
    return rows


class SimpleParser:
    """A parser of simple sentences that replaces `unbag.data.text.parses.Parser`."""

    def parse(self, sentences: Iterable[str]) -> Iterator[Parse]:
        """Yield the parse of each sentence, in order."""
        return map(parse_simple, sentences)
