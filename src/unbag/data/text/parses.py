"""Dependency parses, cached on disk, and verb forms that agree with a subject."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final

from unbag.data.text.dependencies import compute_dependents
from unbag.data.text.tagging import BATCH, PIPELINE, Annotator


class GrammaticalPerson(Enum):
    """Person and number of a subject, as far as English verb forms distinguish them."""

    I = "I"  # noqa: E741 - the name is the pronoun
    SINGULAR = "singular"
    PLURAL = "plural"  # also `you`, which takes plural verb forms


_BE_PRESENT: Final = {GrammaticalPerson.I: "am", GrammaticalPerson.SINGULAR: "is", GrammaticalPerson.PLURAL: "are"}
_BE_PAST: Final = {GrammaticalPerson.I: "was", GrammaticalPerson.SINGULAR: "was", GrammaticalPerson.PLURAL: "were"}
BE: Final = frozenset("is are was were".split())
"""Forms of *be* in the third person."""
_BE: Final = {form: forms for forms in (_BE_PRESENT, _BE_PAST) for form in forms.values()}

OBJECTIVE: Final = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it", "you": "you"}
"""Subject forms of personal pronouns, mapped to their object forms."""
SUBJECTIVE: Final = {objective: subjective for subjective, objective in OBJECTIVE.items()}


def conjugate_verb(verb: str, lemma: str, person: GrammaticalPerson, *, is_third_person: bool) -> str:
    """Conjugate a finite present-tense verb, or was or were, to agree with a new subject of the given person.

    `lemma` distinguishes `lies` (lie) from `flies` (fly). `is_third_person` says whether `verb` is a third person
    singular form, which distinguishes `passes` from `pass`.

    >>> conjugate_verb("is", "be", GrammaticalPerson.PLURAL, is_third_person=True)
    'are'
    >>> conjugate_verb("carry", "carry", GrammaticalPerson.SINGULAR, is_third_person=False)
    'carries'
    >>> plural = GrammaticalPerson.PLURAL
    >>> verbs = ("lies", "lie"), ("rides", "rid")
    >>> [conjugate_verb(verb, lemma, plural, is_third_person=True) for verb, lemma in verbs]
    ['lie', 'ride']
    >>> conjugate_verb("quizzes", "quizz", plural, is_third_person=True)
    'quiz'
    """
    lower = verb.lower()
    if lower in _BE:
        form = _BE[lower][person]
    else:
        candidates = _bases(lower, lemma) if is_third_person else ()
        base = next((base for base in candidates if inflect(base, "VBZ") == lower), lower)
        form = inflect(base, "VBZ") if person is GrammaticalPerson.SINGULAR else base
    return form.capitalize() if verb[:1].isupper() else form


def _bases(singular: str, lemma: str) -> list[str]:
    """List the possible base forms of a third person singular, most likely first."""
    from lemminflect import getLemma

    # The tagger's lemma of a rare verb may not exist, such as "quizz".
    known = getLemma(singular, "VERB", lemmatize_oov=False)
    listed = sorted(known, key=lambda base: base != lemma) if known else [lemma, *getLemma(singular, "VERB")]
    return [base for base in listed if base]  # a lemma may be unknown, i.e. empty


@lru_cache(maxsize=1 << 14)  # a corpus has few verbs
def inflect(word: str, tag: str) -> str:
    """Inflect a base form with lemminflect, which knows irregular words and applies rules to unknown ones.

    The word is in lower case. The tag of the result is `NNS` or `VBZ` (Penn Treebank).

    >>> [inflect(noun, "NNS") for noun in ("quiz", "thief", "crisis", "radio")], inflect("redo", "VBZ")
    (['quizzes', 'thieves', 'crises', 'radios'], 'redoes')
    >>> [inflect(base, "VBZ") for base in ("pull", "watch", "carry", "play", "go", "have", "fix", "undo", "stomach")]
    ['pulls', 'watches', 'carries', 'plays', 'goes', 'has', 'fixes', 'undoes', 'stomachs']
    """
    from lemminflect import getInflection

    # The first form is the most frequent one, but may be an uncommon spelling such as "re-does".
    forms: tuple[str, ...] = getInflection(word, tag)
    return next((form for form in forms if form.isalpha()), forms[0])


_NOT_FOR_PARSES: Final = ("ner", "senter")

Columns = tuple[tuple[Any, ...], ...]
"""Columns of a `Parse`, or only its column of tags for a sentence that was tagged but not parsed."""


@dataclass(frozen=True)
class Parse:
    """Parsed sentence, stored as columns with one value per token."""

    words: tuple[str, ...]
    spaces: tuple[bool, ...]  # whether a space follows the token
    lemmas: tuple[str, ...]
    pos: tuple[str, ...]  # universal POS tags
    tags: tuple[str, ...]  # fine-grained tags of the pipeline; Penn Treebank tags for English
    heads: tuple[int, ...]  # position of the token's head; the root is its own head
    deps: tuple[str, ...]  # relation to the head; ClearNLP relations for English (`nsubj`, `dobj`, `ROOT`)

    def __str__(self) -> str:
        return self.text(0, len(self.words))

    def text(self, start: int, stop: int) -> str:
        """Join the tokens from `start` to `stop` to text, without a trailing space."""
        pieces = [
            word + " " * space for word, space in zip(self.words[start:stop], self.spaces[start:stop], strict=True)
        ]
        return "".join(pieces[:-1]) + "".join(self.words[stop - 1 : stop])

    @property
    def first_word(self) -> int:
        """Position of the first token that is not punctuation; 0 if there is none."""
        return next((i for i, pos in enumerate(self.pos) if pos != "PUNCT"), 0)

    @cached_property
    def lower_words(self) -> tuple[str, ...]:
        """Lower-case tokens."""
        return tuple([word.lower() for word in self.words])

    def children(self, head: int) -> list[int]:
        """List the positions of a token's children in order."""
        return self._children[head]

    def child(self, head: int, *deps: str) -> int | None:
        """Find the first child of a token that has one of the given relations. Return None if there is none."""
        return next((i for i in self._children[head] if self.deps[i] in deps), None)

    def has_child(self, head: int, *deps: str) -> bool:
        """Check whether a token has a child with one of the given relations."""
        return any(self.deps[i] in deps for i in self._children[head])

    def subtree(self, head: int) -> list[int]:
        """List the positions of a token and all its descendants in order."""
        tokens = [head]
        for above in tokens:  # the list grows during the loop
            tokens += self._children[above]
        return sorted(tokens) if len(tokens) > 1 else tokens

    def join(self, tokens: Iterable[int], words: Mapping[int, str] | None = None) -> str:
        """Join tokens in the given order, each with the space after it, and with some words replaced.

        An empty replacement also removes the space.
        """
        words = words or {}
        return "".join(word + " " * self.spaces[i] for i in tokens if (word := words.get(i, self.words[i])))

    def splice(self, start: int, stop: int, *new: tuple[str, bool, str, str, str, int, str]) -> "Parse":
        """Build the parse with the tokens from `start` to `stop` replaced by new ones, given as values of all columns.

        The heads of the new tokens are positions in this parse. No remaining token may depend on a removed one.
        """
        columns = (self.words, self.spaces, self.lemmas, self.pos, self.tags, self.heads, self.deps)
        old: list[tuple[Any, ...]] = list(zip(*columns, strict=True))
        words, spaces, lemmas, pos, tags, heads, deps = zip(*old[:start], *new, *old[stop:], strict=True)
        shift = len(new) - (stop - start)
        return Parse(words, spaces, lemmas, pos, tags, tuple(head + shift * (head >= stop) for head in heads), deps)

    @cached_property
    def _children(self) -> list[list[int]]:
        return compute_dependents(self.heads)


class Parser(Annotator):
    """spaCy parser with a disk cache of parsed sentences."""

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline that parses, tags and lemmatizes: an installed package, a folder, or a Hub repository.

        The parses are cached in `unbag/parses` in the user's cache folder, unless `cache` names another folder.
        """
        super().__init__(pipeline, _NOT_FOR_PARSES, "parses", cache)
        doc = self._nlp("A dog runs.")
        missing = [name for name in ("DEP", "POS", "TAG", "LEMMA") if not doc.has_annotation(name)]
        if missing:
            raise ValueError(
                f"--pipeline: expected a spaCy pipeline that parses, tags and lemmatizes, got {str(pipeline)!r} "
                f"without {', '.join(missing)} (components: {', '.join(self._nlp.pipe_names) or 'none'}); use another "
                "pipeline"
            )

    def parse(self, sentences: Iterable[str], *, tag: str | None = None) -> Iterator[Parse]:
        """Parse sentences and yield the parses in order. At most a few thousand sentences are in memory.

        With `tag`, only sentences that contain a word with this fine-grained tag are parsed. Other sentences are only
        tagged, at about two fifths of the cost.
        """

        def is_complete(columns: Columns) -> bool:
            # Columns of tags alone suffice if they show that the sentence does not contain the tag.
            return len(columns) > 1 or (tag is not None and tag not in columns[0])

        for chunk, found in self._annotate(sentences, partial(self._parse, tag=tag), is_complete):
            parses = {sentence: Parse(*columns) for sentence, columns in found.items() if len(columns) > 1}
            for sentence in chunk:
                if tag is None or (sentence in parses and tag in parses[sentence].tags):
                    yield parses[sentence]

    def _parse(self, sentences: list[str], tag: str | None) -> Iterator[Columns]:
        """Iterate over the columns of each sentence, or only its tags if it does not contain the given tag."""
        if tag is None:
            yield from map(_columns, self._nlp.pipe(sentences, batch_size=BATCH))
            return
        names = self._nlp.pipe_names
        end = names.index("tagger") + 1 if "tagger" in names else len(names)
        # Run the components up to the tagger first. Only documents with the tag pass through the others.
        docs = list(self._nlp.pipe(sentences, batch_size=BATCH, disable=names[end:]))
        tags = [tuple([token.tag_ for token in doc]) for doc in docs]
        with_tag = (doc for doc, doc_tags in zip(docs, tags, strict=True) if tag in doc_tags)
        parsed = self._nlp.pipe(with_tag, batch_size=BATCH, disable=names[:end])
        for doc_tags in tags:
            yield _columns(next(parsed)) if tag in doc_tags else (doc_tags,)


def _columns(doc: Any) -> Columns:
    tokens = [
        (token.text, bool(token.whitespace_), token.lemma_, token.pos_, token.tag_, token.head.i, token.dep_)
        for token in doc
    ]
    return tuple(zip(*tokens, strict=True)) if tokens else ((),) * 7
