"""Named entities of sentences, recognized by a spaCy pipeline and cached on disk.

The positions count the tokens of `parses.Parse`, since both run the same tokenizer. Entities have a cache of their own,
so that sets which need none do not pay for them.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from unbag.data.text.tagging import BATCH, PIPELINE, Annotator

_NOT_FOR_ENTITIES: Final = ("parser", "tagger", "attribute_ruler", "lemmatizer", "senter")


class Entity(NamedTuple):
    """A named entity."""

    start: int  # position of the first token
    end: int  # position after the last token
    label: str  # type in the pipeline's terms; for English those of OntoNotes (`PERSON`, `ORG`, `GPE`)


class EntityRecognizer(Annotator):
    """spaCy entity recognizer with a disk cache of annotated sentences."""

    def __init__(self, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> None:
        """Load a pipeline with the component `ner`: an installed package, a folder, or a Hub repository.

        The entities are cached in `unbag/entities` in the user's cache folder, unless `cache` names another folder.
        """
        super().__init__(pipeline, _NOT_FOR_ENTITIES, "entities", cache)
        if "ner" not in self._nlp.pipe_names:
            raise ValueError(
                f"entities: expected a spaCy pipeline with the component ner, got {str(pipeline)!r} (components: "
                f"{', '.join(self._nlp.pipe_names) or 'none'}); install another pipeline"
            )

    def recognize(self, sentences: Iterable[str]) -> Iterator[tuple[Entity, ...]]:
        """Recognize the entities of each sentence, in order. At most a few thousand sentences are in memory."""
        for chunk, found in self._annotate(sentences, self._recognize):
            for sentence in chunk:
                yield tuple(Entity(*each) for each in found[sentence])

    def _recognize(self, sentences: list[str]) -> Iterator[list[tuple[int, int, str]]]:
        for doc in self._nlp.pipe(sentences, batch_size=BATCH):
            yield [(each.start, each.end, each.label_) for each in doc.ents]
