"""External resources that sets and models need: corpora, pipelines, embeddings, WordNet."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from unbag.data.corpora import CORPORA


class MissingResourceError(ValueError):
    """Raised when required resources are missing on this machine. The message lists them."""


class UnsuitablePairsError(ValueError):
    """Raised when a set cannot be built from the requested pairs."""


@dataclass(frozen=True)
class Requirement:
    """An external resource that a set or model needs, and the function that downloads it."""

    name: str
    get: Callable[[], object]  # downloads the resource or finds it in the cache; raises if this fails


def iter_train_split_requirements(names: Iterable[str]) -> Iterator[Requirement]:
    """Iterate over the downloads that the train splits of corpora require. Names that are not corpora are ignored."""
    for name in names:
        if name in CORPORA:
            yield from iter_corpus_requirements(name, CORPORA[name].train)


def iter_corpus_requirements(name: str, splits: Iterable[str], revision: str | None = None) -> Iterator[Requirement]:
    """Iterate over the downloads that the given splits of a corpus require, one per split."""
    from unbag.data.sources import open_corpus

    corpus = CORPORA[name]
    for split in splits:
        yield Requirement(
            f"the corpus {name}, split {split} ({corpus.hub_id})",
            lambda split=split: open_corpus(corpus, split, revision=revision),  # type: ignore[misc]
        )


def build_pipeline_requirement(name: str) -> Requirement:
    """Build a `Requirement` for a spaCy pipeline. An empty name means the default English pipeline."""
    from unbag.data.text import tagging

    name = name or tagging.PIPELINE
    return Requirement(f"the spaCy pipeline {name}", lambda: tagging.load_pipeline(name, ()))


def build_embeddings_requirement(name: str) -> Requirement:
    """Build a `Requirement` for a table of word embeddings."""
    from unbag.baselines.lexical import embeddings

    return Requirement(f"the embeddings {name}", lambda: embeddings.find_embeddings(name))


def build_wordnet_requirement() -> Requirement:
    """Build a `Requirement` for WordNet. Its function installs WordNet if it is missing and the Hub is not offline."""

    def get() -> object:
        from huggingface_hub import is_offline_mode

        from unbag.baselines.wordnet.database import is_wordnet_installed, open_wordnet
        from unbag.baselines.wordnet.install import install_wordnet

        if not is_wordnet_installed() and not is_offline_mode():
            install_wordnet()
        return open_wordnet()

    return Requirement("WordNet 3.0", get)
