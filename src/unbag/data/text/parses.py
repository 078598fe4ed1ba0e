"""Dependency parses, cached on disk, and verb forms that agree with a subject."""

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
from unbag.data.text.dependencies import compute_dependents
from unbag.data.text.tagging import PIPELINE, Reader, open_annotation_cache, precompute_annotations


class GrammaticalPerson(Enum):
    """Person and number of a subject, as far as English verb forms distinguish them."""

    I = "I"  # noqa: E741 - the name is the pronoun
    SINGULAR = "singular"
    PLURAL = "plural"  # also `you`, which takes plural verb forms


_BE_PRESENT: Final = {GrammaticalPerson.I: "am", GrammaticalPerson.SINGULAR: "is", GrammaticalPerson.PLURAL: "are"}
_BE_PAST: Final = {GrammaticalPerson.I: "was", GrammaticalPerson.SINGULAR: "was", GrammaticalPerson.PLURAL: "were"}
_BE: Final = {form: forms for forms in (_BE_PRESENT, _BE_PAST) for form in forms.values()}
_IRREGULAR: Final = {"have": "has", "do": "does", "go": "goes"}  # `be` is in `_BE`
_BASES: Final = {singular: base for base, singular in _IRREGULAR.items()}

OBJECTIVE: Final = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it", "you": "you"}
"""Subject forms of personal pronouns, mapped to their object forms."""
SUBJECTIVE: Final = {objective: subjective for subjective, objective in OBJECTIVE.items()}


def conjugate_verb(verb: str, lemma: str, person: GrammaticalPerson, *, is_third_person: bool) -> str:
    """Conjugate a finite verb to agree with a new subject.

    Args:
        verb: Present-tense form, or was or were. Other past forms agree with all subjects and are not valid input.
        lemma: Dictionary form, which distinguishes `lies` (lie) from `flies` (fly). Ignored if its third person
            singular is not `verb`.
        person: Person of the new subject.
        is_third_person: Whether `verb` is a third person singular form, which distinguishes `passes` from `pass`.

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
        base = next((base for base in candidates if build_third_person_singular(base) == lower), lower)
        form = build_third_person_singular(base) if person is GrammaticalPerson.SINGULAR else base
    return form.capitalize() if verb[:1].isupper() else form


def _bases(singular: str, lemma: str) -> list[str]:
    """List the possible base forms of a third person singular, most likely first."""
    from lemminflect import getLemma

    # The tagger's lemma of a rare verb may not exist, such as "quizz".
    known = getLemma(singular, "VERB", lemmatize_oov=False)
    listed = sorted(known, key=lambda base: base != lemma) if known else [lemma, *getLemma(singular, "VERB")]
    return [*_BASES.get(singular, "").split(), *listed]


def inflect(word: str, tag: str) -> str:
    """Inflect a base form with lemminflect, which knows irregular words and applies rules to unknown ones.

    The word is in lower case. The tag of the result is `NNS` or `VBZ` (Penn Treebank).

    >>> [inflect(noun, "NNS") for noun in ("quiz", "thief", "crisis", "radio")], inflect("redo", "VBZ")
    (['quizzes', 'thieves', 'crises', 'radios'], 'redoes')
    """
    from lemminflect import getInflection

    # The first form is the most frequent one, but may be an uncommon spelling such as "re-does".
    forms: tuple[str, ...] = getInflection(word, tag)
    return next((form for form in forms if form.isalpha()), forms[0])


def build_third_person_singular(base_form: str) -> str:
    """Build the third person singular present form of a verb.

    >>> [build_third_person_singular(base) for base in ("pull", "watch", "carry", "play", "go", "have", "fix", "undo")]
    ['pulls', 'watches', 'carries', 'plays', 'goes', 'has', 'fixes', 'undoes']
    >>> [build_third_person_singular(base) for base in ("quiz", "video", "stomach", "focus")]
    ['quizzes', 'videos', 'stomachs', 'focuses']
    """
    if base_form in _IRREGULAR:
        return _IRREGULAR[base_form]
    if base_form.endswith("y") and base_form[-2:-1] not in "aeiou":
        return base_form[:-1] + "ies"
    if base_form.endswith(("s", "z", "ch", "o")):  # no rule decides "goes" and "videos", "watches" and "stomachs"
        return inflect(base_form, "VBZ")
    return base_form + ("es" if base_form.endswith(("x", "sh")) else "s")


_NOT_FOR_PARSES: Final = ("ner", "senter")
_BATCH: Final = 256
_COMMIT_SIZE: Final = 2_000  # sentences in memory, and per commit to disk: a few MB, one or two seconds of work
_VOCABULARY_SENTENCES: Final = 10_000  # sentences whose words stay in the pipeline's vocabulary: some MB
_FORMAT: Final = 2  # MessagePack of the columns; zlib would save a third of the space, but is far slower

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

    def child(self, head: int, dep: str) -> int | None:
        """Find the first child of a token that has a given dependency relation. Return None if there is none."""
        return next((i for i in self._children[head] if self.deps[i] == dep), None)

    def subtree(self, head: int) -> list[int]:
        """List the positions of a token and all its descendants in order."""
        tokens = [head]
        for above in tokens:  # the list grows during the loop
            tokens += self._children[above]
        return sorted(tokens) if len(tokens) > 1 else tokens

    def insert(self, position: int, *, word: str, space: bool, pos: str, tag: str, head: int, dep: str) -> "Parse":
        """Build the parse of the sentence with a token inserted at a position. Its lemma is the word in lower case.

        `head` is the position of the token's head in this parse, before the insertion.
        """
        heads = [each + (each >= position) for each in self.heads]
        new: tuple[Any, ...] = (word, space, word.lower(), pos, tag, head + (head >= position), dep)
        columns: tuple[Any, ...] = (self.words, self.spaces, self.lemmas, self.pos, self.tags, heads, self.deps)
        return Parse(
            *((*column[:position], value, *column[position:]) for column, value in zip(columns, new, strict=True))
        )

    def select(self, kept: Sequence[int]) -> "Parse":
        """Build the parse of some tokens, in order. The head of each token must be one of them."""
        place = {old: new for new, old in enumerate(kept)}
        heads = {old: place[self.heads[old]] for old in kept}
        columns: tuple[Any, ...] = (self.words, self.spaces, self.lemmas, self.pos, self.tags, heads, self.deps)
        return Parse(*(tuple([column[i] for i in kept]) for column in columns))

    @cached_property
    def _children(self) -> list[list[int]]:
        return compute_dependents(self.heads)


class Parser:
    """spaCy parser with a disk cache of parsed sentences.

    The attribute `identity` contains name, version and spaCy version of the pipeline. Each identity has a separate
    cache.
    """

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline: an installed package, a folder, or a Hub repository.

        The parses are cached in `unbag/parses` in the user's cache folder, unless `cache` names another folder. A
        pipeline that does not parse, tag and lemmatize raises a `ValueError`.
        """
        self._nlp = pipelines.load_pipeline(pipeline, _NOT_FOR_PARSES)
        doc = self._nlp("A dog runs.")
        missing = [name for name in ("DEP", "POS", "TAG", "LEMMA") if not doc.has_annotation(name)]
        if missing:
            raise ValueError(
                f"--pipeline: expected a spaCy pipeline that parses, tags and lemmatizes, got {str(pipeline)!r} "
                f"without {', '.join(missing)} (components: {', '.join(self._nlp.pipe_names) or 'none'}); use another "
                "pipeline"
            )
        self._n_processed = 0  # sentences that the pipeline has processed
        self.identity = pipelines.build_pipeline_identity(self._nlp)
        self._store = open_annotation_cache("parses", f"{self.identity}, format {_FORMAT}", cache)

    def parse(self, sentences: Iterable[str]) -> Iterator[Parse]:
        """Parse sentences and yield the parses in order. At most a few thousand sentences are in memory."""
        for chunk, parses in self._chunks(sentences, None):
            yield from map(parses.__getitem__, chunk)

    def parse_with_tag(self, tag: str, sentences: Iterable[str]) -> Iterator[Parse]:
        """Parse the sentences that contain a word with the given fine-grained tag, and yield their parses in order.

        Other sentences are only tagged, at about two fifths of the cost. In spaCy's pipelines, the components after the
        tagger change only the tags of whitespace.
        """
        for chunk, parses in self._chunks(sentences, tag):
            yield from (parses[sentence] for sentence in chunk if sentence in parses and tag in parses[sentence].tags)

    def _chunks(self, sentences: Iterable[str], tag: str | None) -> Iterator[tuple[list[str], dict[str, Parse]]]:
        """Iterate over chunks of sentences, with the parses of all sentences or of those that contain a tag."""
        import msgpack

        stream = iter(sentences)
        while chunk := list(islice(stream, _COMMIT_SIZE)):
            distinct = list(dict.fromkeys(chunk))
            columns_of = {
                sentence: msgpack.unpackb(packed, use_list=False)
                for sentence, packed in self._store.get(distinct).items()
            }
            new = [sentence for sentence in distinct if not _suffices(columns_of.get(sentence), tag)]
            # Outside a memory zone, the pipeline's vocabulary keeps all new words and grows without limit. Inside a
            # memory zone, new words are dropped at its end and computed again in the next zone. As a compromise, the
            # words of the first sentences are kept, which include the frequent ones.
            with nullcontext() if self._n_processed < _VOCABULARY_SENTENCES else self._nlp.memory_zone():
                computed = dict(zip(new, self._parse(new, tag), strict=True))
            self._n_processed += len(new)
            self._store.put((sentence, msgpack.packb(columns)) for sentence, columns in computed.items())
            columns_of |= computed
            yield chunk, {sentence: Parse(*columns) for sentence, columns in columns_of.items() if len(columns) > 1}

    def _parse(self, sentences: list[str], tag: str | None) -> Iterator[Columns]:
        """Iterate over the columns of each sentence, or only its tags if it does not contain the given tag."""
        if tag is None:
            yield from map(_columns, self._nlp.pipe(sentences, batch_size=_BATCH))
            return
        names = self._nlp.pipe_names
        end = names.index("tagger") + 1 if "tagger" in names else len(names)
        # Run the components up to the tagger first. Only documents with the tag pass through the others.
        docs = list(self._nlp.pipe(sentences, batch_size=_BATCH, disable=names[end:]))
        tags = [tuple([token.tag_ for token in doc]) for doc in docs]
        with_tag = (doc for doc, doc_tags in zip(docs, tags, strict=True) if tag in doc_tags)
        parsed = self._nlp.pipe(with_tag, batch_size=_BATCH, disable=names[:end])
        for doc_tags in tags:
            yield _columns(next(parsed)) if tag in doc_tags else (doc_tags,)


def precompute_parses(
    pipeline: str | Path, sentences: Iterable[str], *, tag: str | None = None, cache: Path | None = None
) -> None:
    """Parse sentences in several processes, and store the parses on disk for a `Parser` with the same arguments.

    Does nothing with one process (`utils.parallel.get_num_proc`). With `tag`, only sentences with this fine-grained tag
    are parsed, as in `Parser.parse_with_tag`.
    """
    precompute_annotations(partial(_reader, pipeline, tag, cache), sentences)


def _reader(pipeline: str | Path, tag: str | None, cache: Path | None) -> Reader:
    parser = Parser(pipeline, cache=cache)

    def read(sentences: Sequence[str]) -> None:
        deque(parser.parse(sentences) if tag is None else parser.parse_with_tag(tag, sentences), maxlen=0)

    return read


def _suffices(columns: Columns | None, tag: str | None) -> bool:
    """Check whether cached columns contain a full parse, or show that the sentence does not contain the tag."""
    return columns is not None and (len(columns) > 1 or (tag is not None and tag not in columns[0]))


def _columns(doc: Any) -> Columns:
    tokens = [
        (token.text, bool(token.whitespace_), token.lemma_, token.pos_, token.tag_, token.head.i, token.dep_)
        for token in doc
    ]
    return tuple(zip(*tokens, strict=True)) if tokens else ((),) * len(fields(Parse))
