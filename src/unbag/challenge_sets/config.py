"""Base class of all builder configs: options for the source pairs of a challenge set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

import datasets

from unbag.data.corpora import CORPORA, OFFICIAL, get_corpus, validate_language_code
from unbag.data.sources import PairSource, open_corpus, open_data
from unbag.data.text.tagging import PIPELINE
from unbag.data.user_text import LANGUAGE, build_text_file_names, open_text

OFFICIAL_FILE: Final = "file"
"""Option of the sets with authors' published pairs."""


@dataclass
class SourceConfig(datasets.BuilderConfig):
    """Options that select the source pairs of a set and describe their format."""

    # Options that may name a file or folder of the user, whose content changes the rows.
    FILES: ClassVar[tuple[str, ...]] = ("data", "text")
    challenge_set: ClassVar[Any]  # set of the config (`base.ChallengeSet`)

    corpus: str = ""  # base corpus (`unbag.data.corpora`); empty if `data` or `text` is given
    source_split: str | None = None  # split of the corpus or Hub data set
    revision: str | None = None  # revision to use instead of the pinned one
    # File, folder or Hub data set with your own pairs. The fields below describe its format (`unbag.data.sources`).
    data: str | None = None
    # Files or folders of your own text, or one Hub data set with a text column (`unbag.data.user_text`).
    text: Sequence[str] | None = None
    columns: Mapping[str, str] | None = None  # names of the columns in `data`, by unbag's names of the columns
    # Names of the label ids in `data`, or the meaning of each label (`E=entailment`).
    labels: Sequence[str] | None = None
    language: str = "en"  # language of the sentences in `data`, a code such as `de`
    data_config: str | None = None  # config of the Hub data set
    encoding: str | None = None  # encoding of a text file in `data` without a byte-order mark (default: UTF-8)
    join_passages: bool = False  # whether to join a premise that is a list of passages by blank lines

    def validate(self) -> None:
        """Validate the options."""
        given = {"corpus": self.corpus, "data": self.data, "text": self.text}
        if sum(map(bool, given.values())) != 1:
            values = ", ".join(f"{name}={value!r}" for name, value in given.items())
            raise ValueError(f"expected one of corpus, data and text, got {values}; pass exactly one")
        validate_language_code(self.language)
        if self.text and self.language != LANGUAGE:
            raise ValueError(
                f"text: expected English text, got the language {self.language!r}, which is not supported; "
                "omit the language"
            )

    @property
    def is_official(self) -> bool:
        """Whether the config selects the authors' published pairs."""
        return bool(self.name.split("-")[0] == OFFICIAL)

    @property
    def sentence_language(self) -> str:
        """Language of the pairs, given by the corpus or by the option `language`."""
        return CORPORA[self.corpus].language if self.corpus in CORPORA else self.language

    @property
    def parser_name(self) -> str:
        """Name of the spaCy pipeline that parses text: the option `pipeline` if the set has one, else the default."""
        # Only sets that parse or tag have the option, but a text is always split into sentences by a pipeline.
        return str(getattr(self, "pipeline", PIPELINE))

    def get_set_options(self) -> dict[str, Any]:
        """Collect the options that are specific to the set. Options that select the pairs are omitted."""
        names = {field.name for field in fields(self.challenge_set.Options)}
        if self.challenge_set.official:
            names.discard(OFFICIAL_FILE)  # the checksum guarantees that all copies of the authors' file are equal
        given = {name: getattr(self, name) for name in sorted(names)}
        unrecorded = self.challenge_set.unrecorded_defaults
        return {
            name: value for name, value in given.items() if name not in unrecorded or value != getattr(type(self), name)
        }

    def load_options(self) -> dict[str, Any]:
        """Collect the data loading options to store in the results: those with non-default values, except paths."""
        if self.data:
            # Paths are omitted: they differ between machines, and the hash of the rows identifies the data.
            names: tuple[str, ...] = ("columns", "labels", "language", "data_config", "encoding", "join_passages")
        else:
            names = ("columns", "data_config") if self.text else ("revision",)
        default = type(self)
        given = {name: value for name in names if (value := getattr(self, name)) != getattr(default, name)}
        return {"text": build_text_file_names(self.text), **given} if self.text else given

    def open_pairs(self) -> PairSource:
        """Open the source of the pairs: the corpus, the text or the user's data."""
        if self.corpus:
            return open_corpus(get_corpus(self.corpus), self.source_split, revision=self.revision)
        how: dict[str, Any] = {
            "split": self.source_split,
            "columns": self.columns,
            "config": self.data_config,
            "revision": self.revision,
        }
        if self.text:
            return open_text(self.text, pipeline=self.parser_name, **how)
        return open_data(
            str(self.data),
            labels=self.labels,
            language=self.language,
            encoding=self.encoding,
            join_passages=self.join_passages,
            **how,
        )
