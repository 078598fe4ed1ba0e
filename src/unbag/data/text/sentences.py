"""Sentence splitting for English text, and filters for declarative prose with a reliable parse.

No function runs a model; `find_parse_exclusion_reason` takes a parse.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Final, cast

from unbag.data.text.parses import Parse

WORDS: Final = range(5, 41)
"""Accepted numbers of words in a sentence."""

SHORT: Final = f"shorter than {WORDS.start} words"
LONG: Final = f"longer than {WORDS.stop - 1} words"
NOT_PROSE: Final = "with code, an address, a list mark or unbalanced quotes"
NOT_DECLARATIVE: Final = "not declarative (a question, an order, a fragment)"
UNCERTAIN: Final = "with an uncertain parse"
REPEATED: Final = "repeated"
NOT_ENGLISH: Final = "not in English"
REASONS: Final = (SHORT, LONG, NOT_PROSE, NOT_DECLARATIVE, UNCERTAIN, REPEATED, NOT_ENGLISH)
"""Reasons to exclude a sentence of a text, as phrases that follow a number."""

_END: Final = re.compile(r"(?:[.!?]|…)+[\"'”’)\]]*(?=\s+[\"'“‘(\[]?[A-Z0-9])")
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(\[\"“])(?:Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Col|Lt|Sgt|Capt|Sen|Rep|Gov|St|Mt|Ft|Jr|Sr|vs|cf|al|ca|approx|No|no"
    r"|Nos|Fig|fig|Eq|eq|Sec|sec|Ch|ch|Vol|vol|pp?|ed|eds|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov"
    r"|Dec|e\.g|i\.e|[A-Z]|(?:[A-Z]\.)+[A-Z])\.$"
)
_TERMINAL: Final = re.compile(r"[.!][\"'”’)\]]*$")
_FIRST: Final = re.compile(r"[\"'“‘(]?[A-Z0-9$£€]")
_NOT_PROSE: Final = re.compile(
    r"https?:|www\.|\w@\w|[`{}<>|\\=^~#*_•]|\.\.\.|…|\w/\w+/|\w\(\)|--\w|\[|\]|\b\w+\.(?:py|md|txt|json|csv|html?|com|org)\b"
)
_PAIRED: Final = (("(", ")"), ("“", "”"))

_FUNCTION_WORDS: Final = frozenset(
    "the of and to is that for it with as on are be this by at from or not have but they you which its their has had "
    "been would there when he she his her we".split()
)
_LEAST_SHARE: Final = 0.12
"""Minimum share of English function words in an English text. In English prose about a third of all words are function
words in this list; in German, French or Spanish at most one in twenty."""
_LEAST_WORDS: Final = 40  # fewer words do not indicate the language
_LATIN_LANGUAGES: Final = (
    "af ca cs da de es et eu fi fr ga hr hu id is it lb lt lv nb nl pl pt ro sk sl sq sv tl tr vi".split()
)
_LEAST_FOREIGN: Final = 2  # stop words of another language in a pair; one may be an English word, as "die" in German
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")

_FINITE: Final = frozenset({"VBD", "VBZ", "VBP", "MD"})
_SUBJECTS: Final = frozenset({"nsubj", "nsubjpass", "expl", "csubj", "csubjpass"})
_UNSURE_DEPS: Final = frozenset({"dep", "", "meta"})
_UNSURE_TAGS: Final = frozenset({"XX", "ADD", "FW", "LS", "NFP", "AFX"})
_NO_CLAUSE: Final = frozenset({"intj", "parataxis"})


def split_english_sentences(paragraph: str) -> list[str]:
    """Split a paragraph into sentences at final punctuation followed by a capital letter or a number.

    >>> split_english_sentences('Dr. Smith of the U.S. Navy paid $3.50. "It rains." He left!')
    ['Dr. Smith of the U.S. Navy paid $3.50.', '"It rains."', 'He left!']
    """
    sentences, start = [], 0
    for match in _END.finditer(paragraph):
        # Only the last words before the mark are inspected, regardless of the length of the text.
        if _ABBREVIATION.search(paragraph[max(start, match.end() - 12) : match.end()]):
            continue
        sentences.append(paragraph[start : match.end()].strip())
        start = match.end()
    sentences.append(paragraph[start:].strip())
    return [sentence for sentence in sentences if sentence]


def find_character_exclusion_reason(sentence: str) -> str | None:
    """Find a reason to exclude a sentence based on its text. Return None if the sentence can be a premise.

    >>> find_character_exclusion_reason("The old dog sleeps.")
    'shorter than 5 words'
    >>> find_character_exclusion_reason("Does the old dog sleep in the garden?")
    'not declarative (a question, an order, a fragment)'
    """
    words = sentence.split()
    if len(words) < WORDS.start:
        return SHORT
    if len(words) >= WORDS.stop:
        return LONG
    if not _TERMINAL.search(sentence) or not _FIRST.match(sentence):
        return NOT_DECLARATIVE
    if _NOT_PROSE.search(sentence) or any(sentence.count(a) != sentence.count(b) for a, b in _PAIRED):
        return NOT_PROSE
    # Straight quotation marks are the same on both sides, so only their number shows an open one.
    if sentence.count('"') % 2 or sum(word.isupper() and len(word) > 1 for word in words) > len(words) / 2:
        return NOT_PROSE
    return None


def find_parse_exclusion_reason(parse: Parse) -> str | None:
    """Find a reason to exclude a sentence based on its parse. Return None if the sentence is declarative.

    The parser outputs no confidence. A parse counts as certain if it is consistent: one root, a finite verb with a
    preceding subject that agrees with it in number, and an English relation and tag for every token.
    """
    roots = [i for i, head in enumerate(parse.heads) if i == head]
    if len(roots) != 1 or not _UNSURE_DEPS.isdisjoint(parse.deps) or not _UNSURE_TAGS.isdisjoint(parse.tags):
        return UNCERTAIN
    [root] = roots
    if parse.pos[root] not in ("VERB", "AUX"):
        return NOT_DECLARATIVE
    children = parse.children(root)
    verbs = [root, *(i for i in children if parse.deps[i] in ("aux", "auxpass"))]
    subjects = [i for i in children if parse.deps[i] in _SUBJECTS]
    finite = [i for i in verbs if parse.tags[i] in _FINITE]
    if not subjects or not finite:
        return NOT_DECLARATIVE
    if any(parse.deps[i] in _NO_CLAUSE for i in children) or parse.tags[subjects[0]] in ("WP", "WDT", "WRB"):
        return UNCERTAIN
    is_expletive = parse.deps[subjects[0]] == "expl"
    # A verb before its subject indicates a question or an inversion.
    if min(finite) < subjects[0] or (parse.words[root][0].isupper() and root > parse.first_word):
        return UNCERTAIN
    return None if is_expletive or _agrees(parse, subjects[0], min(finite)) else UNCERTAIN


def _agrees(parse: Parse, subject: int, verb: int) -> bool:
    """Check whether a noun and its verb agree in number. Disagreement indicates an incorrect tag or attachment."""
    tag, verb_tag = parse.tags[subject], parse.tags[verb]
    if parse.child(subject, "conj") is not None:
        return True
    # Names may end in a plural s: "Reuters says".
    if tag in ("NNS", "NNPS") and verb_tag == "VBZ":
        return parse.lower_words[subject].endswith("s") and parse.pos[subject] == "PROPN"
    return not (tag == "NN" and verb_tag == "VBP")


def is_english(sentences: Iterable[str]) -> bool:
    """Check whether a text is English, based on its function words. Short texts count as English.

    >>> is_english(["Der Hund schläft in dem Garten, und die Katze sitzt auf dem Dach."] * 10)
    False
    """
    n, hits = 0, 0
    for sentence in sentences:
        words = sentence.lower().split()
        n += len(words)
        hits += sum(word in _FUNCTION_WORDS for word in words)
    return n < _LEAST_WORDS or hits >= _LEAST_SHARE * n


def find_pair_language(text: str) -> bool | None:
    """Find out whether a short text is English, from spaCy's stop words of some 30 languages, and from its letters.

    Returns None if the text has too few stop words to decide. Of 12,000 pairs of SNLI, MNLI and SICK, 3 count as
    another language.

    >>> find_pair_language("A man sleeps in the garden."), find_pair_language("Ein Mann schläft in dem Garten.")
    (True, False)
    >>> find_pair_language("犬が走る。"), find_pair_language("Dogs run.")
    (False, None)
    """
    # The stop words cover only languages in Latin script, so another script decides first.
    letters = "" if text.isascii() else [character for character in text if character.isalpha()]
    if 2 * sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters) < len(letters):
        return False
    languages = _load_stop_words()
    words = [word.lower() for word in _WORD.findall(text)]
    counts = Counter(language for word in words for language in languages.get(word, ()))
    of_english = counts.pop("en", 0)
    of_other = max(counts.values(), default=0)
    if of_other >= _LEAST_FOREIGN and of_other > of_english:
        return False
    return True if of_english > of_other and of_english >= _LEAST_SHARE * len(words) else None


@cache
def _load_stop_words() -> dict[str, list[str]]:
    """Load the languages of each stop word. English words and single letters count for no other language."""
    languages: dict[str, list[str]] = {}
    # The modules of the words are run alone: importing the languages with their tokenizers would take three seconds.
    folder = Path(str(cast("ModuleSpec", find_spec("spacy")).origin)).with_name("lang")
    for language in ("en", *_LATIN_LANGUAGES):
        for word in run_path(str(folder / language / "stop_words.py"))["STOP_WORDS"]:
            if language == "en" or (len(word) > 1 and languages.get(word) != ["en"]):
                languages.setdefault(word, []).append(language)
    return languages


def build_language_error(location: str) -> str:
    """Build the error message for a text that is not English."""
    return (
        f"{location}: expected English text, got text with few English words; sets can only be built from English, "
        "since they depend on its grammar"
    )
