"""What the builders of all challenge sets share: where the pairs come from, the features, and the cache key."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from unbag.corpora import corpus
from unbag.examples import Source, open_corpus, open_data
from unbag.labels import LABELS

_PACKAGE = Path(__file__).parent
_MAKES_ROWS = ("labels.py", "corpora.py", "examples.py", "rows.py", "building.py", "text", "perturb", "scoring/bleu.py")
"""The code that decides what rows a set has; a change of it makes every cached set stale."""


@dataclass
class SourceConfig(datasets.BuilderConfig):
    """Which pairs a set is made from.

    Attributes:
        corpus: a base corpus (`unbag.corpora`), or nothing if `data` is given.
        source_split: the split of the corpus or Hub data set.
        revision: another revision than the pinned one.
        data: a file or Hub data set of the user's own; the fields below say how to read it (`unbag.examples`).
        columns: their names of our columns.
        labels: names of its label ids.
        language: `en` or `zh`.
        data_config: the Hub data set's config.
    """

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
            ValueError: if neither a corpus nor data is named, or both.
        """
        if bool(self.corpus) == bool(self.data):
            raise ValueError(f"expected either a corpus or data, found corpus={self.corpus!r} and data={self.data!r}")

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


def features(schema: pa.Schema) -> datasets.Features:
    """Return the features of a set with these columns; `label` is a `ClassLabel` of our label names."""
    kinds: dict[str, Any] = {field.name: datasets.Value(str(field.type)) for field in schema}
    return datasets.Features({**kinds, "label": datasets.ClassLabel(names=list(LABELS))})


def builder_hash(builder_file: str, data: str | None) -> str:
    """Return the part of the cache key that `datasets` leaves out: the code, the tokenizer, the user's file.

    Args:
        builder_file: the builder's module.
        data: the user's file or Hub data set, if any.
    """
    digest = hashlib.sha256(Path(builder_file).read_bytes())
    for name in _MAKES_ROWS:
        path = _PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    for package in ("spacy", "spacy-pkuseg"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"absent")
    if data and Path(data).is_file():
        digest.update(hashlib.sha256(Path(data).read_bytes()).digest())
    return digest.hexdigest()
