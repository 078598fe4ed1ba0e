"""What a run reads from elsewhere: fetched beforehand, or, offline, listed at once where it is not there."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from unbag.corpora import CORPORA
from unbag.hub.patience import patiently

if TYPE_CHECKING:
    from unbag.built import Request

_MODEL_FILES: Final = ("*.json", "*.txt", "*.model", "*.safetensors", "*.tiktoken", "*.jinja")
_OLD_WEIGHTS: Final = "*.bin"  # where there are no others
_OFFLINE: Final = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Where the clients keep what they read of the environment when they were imported."""


@dataclass(frozen=True)
class Need:
    """One thing that is read from elsewhere.

    Attributes:
        name: what a user calls it.
        get: fetches it, or finds it where it was fetched to; raises what says why it cannot.
    """

    name: str
    get: Callable[[], object]


class MissingError(ValueError):
    """Things that a run needs are not on this machine; the message names each of them."""


def go_offline() -> None:
    """Keep the Hub's clients from the network, as `HF_HUB_OFFLINE=1` does, in this process and its children."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    for module, name in _OFFLINE:
        if module in sys.modules:
            setattr(sys.modules[module], name, True)


def of_run(
    requests: "Iterable[Request]",
    models: Sequence[str] = (),
    *,
    revision: str | None = None,
    training: Sequence[str] | None = None,
) -> list[Need]:
    """Return what evaluating models on challenge sets reads, each thing once.

    Args:
        requests: the sets.
        models: Hub ids, or whatever else names a model.
        revision: of the models.
        training: what built-in models are fitted to; None for the default.
    """
    from unbag import sets

    found: list[Need] = []
    for request in requests:
        found += sets.builder(request.name, request.config, **request.options).needed()
    for model in models:
        found += of_model(model, revision=revision, training=training)
    return list({need.name: need for need in found}.values())


def of_model(model: str, *, revision: str | None = None, training: Sequence[str] | None = None) -> Iterator[Need]:
    """Yield what a model reads: its files, or for a built-in model what it is fitted to."""
    from unbag.lexical.predictors import BASELINES
    from unbag.lexical.training import DEFAULT_TRAINING
    from unbag.rows import is_hub_id

    if model == "wordnet":
        yield wordnet()
    elif model in BASELINES:
        yield from of_corpora(training or DEFAULT_TRAINING["en"])
        yield pipeline("")
    elif is_hub_id(repository := model.removeprefix("causal:")):  # no function or endpoint: those have a colon still
        at = f" at {revision}" if revision else ""
        yield Need(f"the model {repository}{at}", lambda: _model_files(repository, revision))


def of_training(model: str, corpora: Sequence[str], *, revision: str | None = None) -> list[Need]:
    """Return what training a model reads: its files, and the train and validation splits of corpora."""
    return [
        *of_model(model, revision=revision),
        *of_corpora(corpora),
        *(need for name in corpora if name in CORPORA for need in of_corpus(name, CORPORA[name].validation)),
    ]


def of_corpora(names: Iterable[str]) -> Iterator[Need]:
    """Yield the train splits of those names that are corpora; files are there or not."""
    for name in names:
        if name in CORPORA:
            yield from of_corpus(name, CORPORA[name].train)


def of_corpus(name: str, splits: Iterable[str], revision: str | None = None) -> Iterator[Need]:
    """Yield splits of a corpus."""
    from unbag.examples import open_corpus

    corpus = CORPORA[name]
    for split in splits:
        yield Need(
            f"the corpus {name}, split {split} ({corpus.hub_id})",
            lambda split=split: open_corpus(corpus, split, revision=revision),  # type: ignore[misc]
        )


def pipeline(name: str) -> Need:
    """Return a spaCy pipeline; without a name, the one for English."""
    from unbag.text import pipeline as pipelines

    name = name or pipelines.PIPELINE
    return Need(f"the spaCy pipeline {name}", lambda: pipelines.load(name, ()))


def embeddings(name: str) -> Need:
    """Return a table of word embeddings."""
    from unbag.lexical import embeddings as tables

    return Need(f"the embeddings {name}", lambda: tables.find(name))


def wordnet() -> Need:
    """Return WordNet, which online is installed where it is missing."""

    def get() -> object:
        from huggingface_hub import is_offline_mode

        from unbag.lexical.install_wordnet import install
        from unbag.lexical.wordnet import is_installed, open_wordnet

        if not is_installed() and not is_offline_mode():
            install()
        return open_wordnet()

    return Need("WordNet 3.0", get)


def missing(needs: Iterable[Need]) -> dict[str, str]:
    """Get things, and return for each that cannot be had why not, by name."""
    found = {}
    for need in needs:
        try:
            _quietly(lambda get=need.get: patiently(get, unreachable=False))  # type: ignore[misc]
        except (ValueError, ImportError, OSError) as error:
            found[need.name] = " ".join(str(error).split()) or type(error).__name__
    return found


def require(needs: Iterable[Need]) -> None:
    """Refuse to begin, offline, without something that is needed.

    Raises:
        MissingError: naming everything that is missing.
    """
    if lacking := missing(needs):
        raise MissingError(
            f"offline, and {len(lacking)} of the things this needs {'is' if len(lacking) == 1 else 'are'} not on this "
            f"machine: {'; '.join(lacking)}. Fetch them while there is a network: the same command with `unbag "
            "prefetch` in place of `unbag evaluate`"
        )


def _model_files(model: str, revision: str | None) -> Path:
    """Return the folder of a model's files: all that loading it may read, and no weights twice."""
    from huggingface_hub import HfApi, is_offline_mode, snapshot_download

    from unbag.lexical.hub import is_lexical_model, open_lexical_model

    if is_lexical_model(model, revision=revision):
        return open_lexical_model(model, revision=revision)
    patterns = [*_MODEL_FILES, _OLD_WEIGHTS]
    if not is_offline_mode():
        listed = patiently(lambda: HfApi().list_repo_files(model, revision=revision))
        if any(path.endswith(".safetensors") for path in listed):
            patterns.remove(_OLD_WEIGHTS)
    folder = Path(patiently(lambda: snapshot_download(model, revision=revision, allow_patterns=patterns)))
    if not any(folder.glob("*.safetensors")) and not any(folder.glob(_OLD_WEIGHTS)):
        raise ValueError(f"{model}: found no weights in {folder}")
    return folder


def _quietly(get: Callable[[], object]) -> None:
    """Get something without the progress bars of `datasets`: there is one line for each thing."""
    import datasets

    shown = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        get()
    finally:
        if shown:
            datasets.enable_progress_bars()
