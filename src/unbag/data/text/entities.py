"""Named entities of sentences, recognized by a spaCy pipeline and cached on disk.

The positions count the tokens of `parses.Parse`, since both run the same tokenizer. Entities have a cache of their own,
so that sets which need none do not pay for them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from unbag.data.text.tagging import (
    PIPELINE,
    Reader,
    build_pipeline_identity,
    load_pipeline,
    open_annotation_cache,
    precompute_annotations,
)

_NOT_FOR_ENTITIES: Final = ("parser", "tagger", "attribute_ruler", "lemmatizer", "senter")
_BATCH: Final = 256
_COMMIT_SIZE: Final = 2_000  # sentences in memory, and per commit to disk
_VOCABULARY_SENTENCES: Final = 10_000  # sentences whose words the pipeline may remember, as in `parses.Parser`
_FORMAT: Final = 1


class Entity(NamedTuple):
    """A named entity."""

    start: int  # position of the first token
    end: int  # position after the last token
    label: str  # type in the pipeline's terms; for English those of OntoNotes (`PERSON`, `ORG`, `GPE`)


class EntityRecognizer:
    """spaCy entity recognizer with a disk cache of annotated sentences.

    The attribute `identity` contains name, version and spaCy version of the pipeline. Each identity has a separate
    cache.
    """

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline: an installed package, a folder, or a Hub repository.

        The entities are cached in `unbag/entities` in the user's cache folder, unless `cache` names another folder. A
        pipeline without entity recognition raises a `ValueError`.
        """
        self._nlp = load_pipeline(pipeline, _NOT_FOR_ENTITIES)
        if "ner" not in self._nlp.pipe_names:
            raise ValueError(
                f"entities: expected a spaCy pipeline with the component ner, got {str(pipeline)!r} (components: "
                f"{', '.join(self._nlp.pipe_names) or 'none'}); install another pipeline"
            )
        self._n_processed = 0
        self.identity = build_pipeline_identity(self._nlp)
        self._store = open_annotation_cache("entities", f"{self.identity}, format {_FORMAT}", cache)

    def recognize(self, sentences: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        """Recognize the entities of each sentence, in order. At most a few thousand sentences are in memory."""
        stream = iter(sentences)
        while chunk := list(islice(stream, _COMMIT_SIZE)):
            found = self._recognize(list(dict.fromkeys(chunk)))
            yield from map(found.__getitem__, chunk)

    def _recognize(self, distinct: list[str]) -> dict[str, tuple[Entity, ...]]:
        stored = self._store.get(distinct)
        found = {sentence: tuple(Entity(*each) for each in json.loads(text)) for sentence, text in stored.items()}
        new = [sentence for sentence in distinct if sentence not in found]
        # As in `parses.Parser`: outside a memory zone, the vocabulary grows without limit.
        with nullcontext() if self._n_processed < _VOCABULARY_SENTENCES else self._nlp.memory_zone():
            computed = {
                sentence: tuple(Entity(each.start, each.end, each.label_) for each in doc.ents)
                for sentence, doc in zip(new, self._nlp.pipe(new, batch_size=_BATCH), strict=True)
            }
        self._n_processed += len(new)
        self._store.put((sentence, json.dumps(entities)) for sentence, entities in computed.items())
        return found | computed


def precompute_entities(pipeline: str | Path, sentences: Iterable[str], *, cache: Path | None = None) -> None:
    """Recognize the entities of sentences in several processes, and store the entities on disk for `EntityRecognizer`.

    With one process (`utils.parallel.get_num_proc`), the function does nothing.
    """
    precompute_annotations(partial(_reader, pipeline, cache), sentences)


def _reader(pipeline: str | Path, cache: Path | None) -> Reader:
    recognizer = EntityRecognizer(pipeline, cache=cache)

    def read(sentences: Sequence[str]) -> None:
        for _ in recognizer.recognize(sentences):
            pass  # the entities are stored

    return read
