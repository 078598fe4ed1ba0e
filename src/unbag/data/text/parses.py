"""Dependency parses of sentences, stored on disk: subjects of finite verbs, dependents of tokens."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from unbag.data.text import tagging as pipelines
from unbag.data.text.tagging import PIPELINE, Reader, findings, read_ahead


class Person(Enum):
    """What a finite verb can tell of its subject."""

    I = "I"  # noqa: E741 - the word it stands for
    SINGULAR = "singular"
    PLURAL = "plural"  # and `you`, whose verbs are the plural's


_BE_PRESENT: Final = {Person.I: "am", Person.SINGULAR: "is", Person.PLURAL: "are"}
_BE_PAST: Final = {Person.I: "was", Person.SINGULAR: "was", Person.PLURAL: "were"}
_BE: Final = {form: forms for forms in (_BE_PRESENT, _BE_PAST) for form in forms.values()}
_IRREGULAR: Final = {"have": "has", "do": "does", "go": "goes"}  # and their kin, `undergo`; `be` has forms of its own
_BASES: Final = {singular: base for base, singular in _IRREGULAR.items()}

OBJECTIVE: Final = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it", "you": "you"}
"""Personal pronouns as subjects, and what they are as objects."""
SUBJECTIVE: Final = {objective: subjective for subjective, objective in OBJECTIVE.items()}


def agreeing(verb: str, lemma: str, person: Person, *, third: bool) -> str:
    """Return a finite verb as it agrees with another subject.

    Args:
        verb: the verb as it stands: a form of the present, or was or were. Other forms of the past agree with any
            subject and are none of this function's.
        lemma: its dictionary form, which tells `lies` (lie) from `flies` (fly); one that cannot be it is not believed.
        person: of the new subject.
        third: whether it is a third person singular as it stands, which tells `passes` from `pass`.

    >>> agreeing("is", "be", Person.PLURAL, third=True), agreeing("carry", "carry", Person.SINGULAR, third=False)
    ('are', 'carries')
    >>> [agreeing(verb, lemma, Person.PLURAL, third=True) for verb, lemma in (("lies", "lie"), ("rides", "rid"))]
    ['lie', 'ride']
    """
    lower = verb.lower()
    if lower in _BE:
        form = _BE[lower][person]
    else:
        candidates = (lemma, *_bases(lower)) if third else ()
        base = next((base for base in candidates if third_singular(base) == lower), lower)
        form = third_singular(base) if person is Person.SINGULAR else base
    return form.capitalize() if verb[:1].isupper() else form


def _bases(singular: str) -> list[str]:
    """Return what may be the base form of a third person singular, the likelier first."""
    shorter = [singular[:-1], singular[:-2]]
    if singular.endswith(("sses", "shes", "ches", "xes", "zzes")):
        shorter.reverse()
    return [*_BASES.get(singular, "").split(), singular[:-3] + "y", *shorter]


def third_singular(base: str) -> str:
    """Return the third person singular of the present.

    >>> [third_singular(base) for base in ("pull", "watch", "carry", "play", "go", "have", "fix", "undo")]
    ['pulls', 'watches', 'carries', 'plays', 'goes', 'has', 'fixes', 'undoes']
    """
    if base in _IRREGULAR:
        return _IRREGULAR[base]
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    return base + "s"


def dependents(heads: Sequence[int]) -> list[list[int]]:
    """Return the tokens that depend on each, in order, from the token that each depends on."""
    children: list[list[int]] = [[] for _ in heads]
    for i, head in enumerate(heads):
        if i != head:
            children[head].append(i)
    return children


_NOT_FOR_PARSES: Final = ("ner", "senter")
_BATCH: Final = 256
_AT_ONCE: Final = 2_000  # sentences held at a time, and between two savings: a few MB, a second or two of work
_KEPT: Final = 10_000  # sentences whose words are kept: some MB
_FORMAT: Final = 2  # of what is kept: MessagePack of the columns, which zlib would make a third shorter and far slower

Columns = tuple[tuple[Any, ...], ...]
"""The columns of a `Parse`, or of its tags alone where nobody has asked for more yet."""


@dataclass(frozen=True)
class Parse:
    """One parsed sentence, as columns of one value a token.

    Attributes:
        words: the tokens as they stand.
        spaces: whether a space follows.
        lemmas: dictionary forms.
        pos: universal POS tags.
        tags: the pipeline's own fine tags; for English those of the Penn Treebank.
        heads: the position of the token it depends on; its own for the root.
        deps: the name of that dependency; for English those of ClearNLP (`nsubj`, `dobj`, `ROOT`).
    """

    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    lemmas: tuple[str, ...]
    pos: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    deps: tuple[str, ...]

    def __str__(self) -> str:
        return self.text(0, len(self.words))

    def text(self, start: int, stop: int) -> str:
        """Return the text of a run of tokens, without the space after it."""
        pieces = [
            word + " " * space for word, space in zip(self.words[start:stop], self.spaces[start:stop], strict=True)
        ]
        return "".join(pieces[:-1]) + "".join(self.words[stop - 1 : stop])

    @property
    def first_word(self) -> int:
        """The first token that is no punctuation; 0 if there is none."""
        return next((i for i, pos in enumerate(self.pos) if pos != "PUNCT"), 0)

    @cached_property
    def lower_words(self) -> tuple[str, ...]:
        """The tokens in lower case."""
        return tuple([word.lower() for word in self.words])

    def children(self, head: int) -> list[int]:
        """Return the tokens that depend on a token, in order."""
        return self._children[head]

    def child(self, head: int, dep: str) -> int | None:
        """Return the first token that depends on a token in some way; None if none does."""
        return next((i for i in self._children[head] if self.deps[i] == dep), None)

    def subtree(self, head: int) -> list[int]:
        """Return a token and all that depends on it, in order."""
        tokens = [head]
        for above in tokens:  # which grows
            tokens += self._children[above]
        return sorted(tokens) if len(tokens) > 1 else tokens

    @cached_property
    def _children(self) -> list[list[int]]:
        return dependents(self.heads)


class Parser:
    """A spaCy pipeline's parser, and the sentences it has parsed before.

    Attributes:
        identity: name, version and spaCy version of the pipeline; parses of another identity are never mixed in.
    """

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline.

        Args:
            pipeline: an installed package, a folder, or a Hub repository.
            cache: the folder for parsed sentences; by default `unbag/parses` in the user's cache folder.

        Raises:
            ValueError: if there is no such pipeline, or it does not parse, tag and lemmatize.
        """
        self._nlp = pipelines.load(pipeline, _NOT_FOR_PARSES)
        doc = self._nlp("A dog runs.")
        missing = [name for name in ("DEP", "POS", "TAG", "LEMMA") if not doc.has_annotation(name)]
        if missing:
            raise ValueError(
                f"expected a pipeline that parses, tags and lemmatizes; {str(pipeline)!r} gives no "
                f"{', '.join(missing)} (it has {self._nlp.pipe_names})"
            )
        self._read = 0  # sentences that the pipeline has seen
        self.identity = pipelines.identity(self._nlp)
        self._store = findings("parses", f"{self.identity}, format {_FORMAT}", cache)

    def parses(self, sentences: Iterable[str]) -> Iterator[Parse]:
        """Yield the parse of each sentence, in order; some thousand sentences are held at a time."""
        for some, parses in self._batches(sentences, None):
            yield from map(parses.__getitem__, some)

    def parses_with(self, tag: str, sentences: Iterable[str]) -> Iterator[Parse]:
        """Yield the parses of those sentences in which the tagger finds some fine tag, in order.

        The others are tagged and not parsed, at some two fifths of the cost. (What comes after the tagger in spaCy's
        own pipelines changes no tag but that of white space.)
        """
        for some, parses in self._batches(sentences, tag):
            yield from (parses[sentence] for sentence in some if sentence in parses and tag in parses[sentence].tags)

    def _batches(self, sentences: Iterable[str], tag: str | None) -> Iterator[tuple[list[str], dict[str, Parse]]]:
        """Yield some sentences at a time, with the parses of all that have a tag, or of all."""
        import msgpack

        stream = iter(sentences)
        while some := list(islice(stream, _AT_ONCE)):
            wanted = list(dict.fromkeys(some))
            known = {
                sentence: msgpack.unpackb(packed, use_list=False)
                for sentence, packed in self._store.get(wanted).items()
            }
            new = [sentence for sentence in wanted if not _suffices(known.get(sentence), tag)]
            # Outside a memory zone the pipeline keeps every word that it meets; in each zone it learns them anew. So it
            # keeps those of the first sentences, the common ones.
            with nullcontext() if self._read < _KEPT else self._nlp.memory_zone():
                computed = dict(zip(new, self._parse(new, tag), strict=True))
            self._read += len(new)
            self._store.put((sentence, msgpack.packb(columns)) for sentence, columns in computed.items())
            known |= computed
            yield some, {sentence: Parse(*columns) for sentence, columns in known.items() if len(columns) > 1}

    def _parse(self, sentences: list[str], tag: str | None) -> Iterator[Columns]:
        """Yield the columns of each sentence; with a tag, those without it have that of their tags alone."""
        if tag is None:
            yield from map(_columns, self._nlp.pipe(sentences, batch_size=_BATCH))
            return
        names = self._nlp.pipe_names
        end = names.index("tagger") + 1 if "tagger" in names else len(names)
        tagged = list(self._nlp.pipe(sentences, batch_size=_BATCH, disable=names[end:]))
        tags = [tuple([token.tag_ for token in doc]) for doc in tagged]
        with_tag = (doc for doc, its in zip(tagged, tags, strict=True) if tag in its)
        parsed = self._nlp.pipe(with_tag, batch_size=_BATCH, disable=names[:end])
        for its in tags:
            yield _columns(next(parsed)) if tag in its else (its,)


def parse_ahead(
    pipeline: str | Path, sentences: Iterable[str], *, tag: str | None = None, cache: Path | None = None
) -> None:
    """Parse sentences by several processes, where they may work, for a `Parser` to find their parses on disk.

    Args:
        pipeline: as `Parser` takes it, like `cache`.
        sentences: any.
        tag: parse only those that have it, as `parses_with` does.
        cache: the folder for parsed sentences.
    """
    read_ahead(partial(_reader, pipeline, tag, cache), sentences)


def _reader(pipeline: str | Path, tag: str | None, cache: Path | None) -> Reader:
    parser = Parser(pipeline, cache=cache)

    def read(sentences: Sequence[str]) -> None:
        deque(parser.parses(sentences) if tag is None else parser.parses_with(tag, sentences), maxlen=0)

    return read


def _suffices(columns: Columns | None, tag: str | None) -> bool:
    """Tell whether what is known of a sentence tells its parse, or that it has no such tag."""
    return columns is not None and (len(columns) > 1 or (tag is not None and tag not in columns[0]))


def _columns(doc: Any) -> Columns:
    tokens = [
        (token.text, bool(token.whitespace_), token.lemma_, token.pos_, token.tag_, token.head.i, token.dep_)
        for token in doc
    ]
    return tuple(zip(*tokens, strict=True)) if tokens else ((),) * len(fields(Parse))
