"""External resources that sets and models need: corpora, pipelines, embeddings, WordNet."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from unbag.data.corpora import CORPORA


class MissingResourceError(ValueError):
    """Error for required resources that are not available on this machine. The message lists them."""


class UnsuitablePairsError(ValueError):
    """Error for pairs from which the requested set cannot be built."""


@dataclass(frozen=True)
class Requirement:
    """One external resource.

    Attributes:
        name: Display name of the resource.
        get: Function that downloads the resource or finds it in the cache. It raises if this fails.
    """

    name: str
    get: Callable[[], object]


def iter_train_split_requirements(names: Iterable[str]) -> Iterator[Requirement]:
    """Iterate over the train splits of the corpora among the names. Files need no download."""
    for name in names:
        if name in CORPORA:
            yield from iter_corpus_requirements(name, CORPORA[name].train)


def iter_corpus_requirements(name: str, splits: Iterable[str], revision: str | None = None) -> Iterator[Requirement]:
    """Iterate over splits of a corpus, one requirement per split."""
    from unbag.data.sources import open_corpus

    corpus = CORPORA[name]
    for split in splits:
        yield Requirement(
            f"the corpus {name}, split {split} ({corpus.hub_id})",
            lambda split=split: open_corpus(corpus, split, revision=revision),  # type: ignore[misc]
        )


def build_pipeline_requirement(name: str) -> Requirement:
    """Describe a spaCy pipeline. An empty name means the default English pipeline."""
    from unbag.data.text import tagging as pipelines

    name = name or pipelines.PIPELINE
    return Requirement(f"the spaCy pipeline {name}", lambda: pipelines.load_pipeline(name, ()))


def build_embeddings_requirement(name: str) -> Requirement:
    """Describe a table of word embeddings."""
    from unbag.baselines.lexical import embeddings as tables

    return Requirement(f"the embeddings {name}", lambda: tables.find_embeddings(name))


def build_wordnet_requirement() -> Requirement:
    """Describe WordNet. If WordNet is missing and the Hub is not offline, `get` installs it."""

    def get() -> object:
        from huggingface_hub import is_offline_mode

        from unbag.baselines.wordnet.database import is_wordnet_installed, open_wordnet
        from unbag.baselines.wordnet.install import install_wordnet

        if not is_wordnet_installed() and not is_offline_mode():
            install_wordnet()
        return open_wordnet()

    return Requirement("WordNet 3.0", get)
