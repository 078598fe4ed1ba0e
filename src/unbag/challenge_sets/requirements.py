"""What something is made from that is elsewhere: corpora, pipelines, embeddings, WordNet."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from unbag.data.corpora import CORPORA


class MissingError(ValueError):
    """Things that a run needs are not on this machine; the message names each of them."""


class UnfitError(ValueError):
    """A set that cannot be made from the pairs of the request."""


@dataclass(frozen=True)
class Requirement:
    """One thing that is read from elsewhere.

    Attributes:
        name: what a user calls it.
        get: fetches it, or finds it where it was fetched to; raises what says why it cannot.
    """

    name: str
    get: Callable[[], object]


def of_corpora(names: Iterable[str]) -> Iterator[Requirement]:
    """Yield the train splits of those names that are corpora; files are there or not."""
    for name in names:
        if name in CORPORA:
            yield from of_corpus(name, CORPORA[name].train)


def of_corpus(name: str, splits: Iterable[str], revision: str | None = None) -> Iterator[Requirement]:
    """Yield splits of a corpus."""
    from unbag.data.sources import open_corpus

    corpus = CORPORA[name]
    for split in splits:
        yield Requirement(
            f"the corpus {name}, split {split} ({corpus.hub_id})",
            lambda split=split: open_corpus(corpus, split, revision=revision),  # type: ignore[misc]
        )


def pipeline(name: str) -> Requirement:
    """Return a spaCy pipeline; without a name, the one for English."""
    from unbag.data.text import tagging as pipelines

    name = name or pipelines.PIPELINE
    return Requirement(f"the spaCy pipeline {name}", lambda: pipelines.load(name, ()))


def embeddings(name: str) -> Requirement:
    """Return a table of word embeddings."""
    from unbag.baselines.lexical import embeddings as tables

    return Requirement(f"the embeddings {name}", lambda: tables.find(name))


def wordnet() -> Requirement:
    """Return WordNet, which online is installed where it is missing."""

    def get() -> object:
        from huggingface_hub import is_offline_mode

        from unbag.baselines.wordnet.database import is_installed, open_wordnet
        from unbag.baselines.wordnet.install import install

        if not is_installed() and not is_offline_mode():
            install()
        return open_wordnet()

    return Requirement("WordNet 3.0", get)
