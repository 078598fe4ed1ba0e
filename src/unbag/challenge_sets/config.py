"""Which pairs a challenge set is made from: what the configs of all builders share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

import datasets

from unbag.data.corpora import CORPORA, LANGUAGES, corpus
from unbag.data.sources import Source, open_corpus, open_data


@dataclass
class SourceConfig(datasets.BuilderConfig):
    """Which pairs a set is made from.

    Attributes:
        corpus: a base corpus (`unbag.data.corpora`), or nothing if `data` is given.
        source_split: the split of the corpus or Hub data set.
        revision: another revision than the pinned one.
        data: a file or Hub data set of the user's own; the fields below say how to read it (`unbag.data.sources`).
        columns: their names of our columns.
        labels: names of its label ids, or what each label means (`E=entailment`).
        language: one of `data.corpora.LANGUAGES`.
        data_config: the Hub data set's config.
        FILES: the options that may name a file or folder of the user's, whose content decides the rows.
    """

    FILES: ClassVar[tuple[str, ...]] = ("data",)

    corpus: str = ""
    source_split: str | None = None
    revision: str | None = None
    data: str | None = None
    columns: Mapping[str, str] | None = None
    labels: Sequence[str] | None = None
    language: str = "en"
    data_config: str | None = None

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if neither a corpus nor data is named, or both, or there is no such language.
        """
        if bool(self.corpus) == bool(self.data):
            raise ValueError(f"expected either a corpus or data, found corpus={self.corpus!r} and data={self.data!r}")
        if self.language not in LANGUAGES:
            raise ValueError(f"expected a language of {', '.join(LANGUAGES)}, found {self.language!r}")

    @property
    def sentences_in(self) -> str:
        """The language of the pairs, whether a corpus's or a user's own."""
        return CORPORA[self.corpus].language if self.corpus in CORPORA else self.language

    def own_options(self) -> dict[str, Any]:
        """Return the set's own options, those that decide its rows beside the pairs they are made from."""
        return {name: getattr(self, name) for name in sorted(own_option_names(type(self)))}

    def load_options(self) -> dict[str, Any]:
        """Return how the pairs are read where it is not as by default, for the record; not where a file is."""
        names = ("columns", "labels", "language", "data_config") if self.data else ("revision",)
        default = type(self)
        return {name: value for name in names if (value := getattr(self, name)) != getattr(default, name)}

    def open(self, *, streaming: bool = False) -> Source:
        """Open the pairs."""
        if self.corpus:
            return open_corpus(corpus(self.corpus), self.source_split, revision=self.revision, streaming=streaming)
        return open_data(
            str(self.data),
            split=self.source_split,
            columns=self.columns,
            labels=self.labels,
            language=self.language,
            config=self.data_config,
            revision=self.revision,
        )


def own_option_names(config: type[SourceConfig]) -> frozenset[str]:
    """Return the names of the options that a set's config class adds."""
    return frozenset(field.name for field in fields(config)) - {field.name for field in fields(SourceConfig)}


ConfigT = TypeVar("ConfigT", bound=SourceConfig)


def source_configs(
    config: type[ConfigT], version: datasets.Version, *, language: str | None = None, two_way: bool = True
) -> list[ConfigT]:
    """Return a config `<corpus>-<split>` for each split of each base corpus.

    Args:
        config: the class of the configs.
        version: of the set.
        language: only of corpora in this language.
        two_way: also of corpora that tell entailment from the rest alone.
    """
    return [
        config(name=f"{corpus.name}-{split}", version=version, corpus=corpus.name, source_split=split)
        for corpus in CORPORA.values()
        if language in (None, corpus.language) and (two_way or not corpus.is_two_way)
        for split in corpus.splits
    ]
