"""Missing downloads: the same word and exit code, whatever is missing."""

import pytest

from unbag.baselines.lexical import embeddings
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.data import corpora, downloads, sources
from unbag.data.text import tagging


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    """No network, and empty caches."""
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for name in ("datasets.config.HF_DATASETS_CACHE", "huggingface_hub.constants.HF_HUB_CACHE"):
        monkeypatch.setattr(name, tmp_path)
    monkeypatch.setenv("UNBAG_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    "download",
    [
        lambda: sources.open_corpus(corpora.get_corpus("snli"), "validation"),
        lambda: tagging.load_pipeline("org/no-such-pipeline", ()),
        lambda: embeddings.load_embeddings(embeddings.DEFAULT),
        lambda: downloads.fetch_pinned_file(downloads.PinnedFile("https://localhost:1/file.zip", "0" * 64, "file.zip")),
    ],
    ids=["corpus", "pipeline", "embeddings", "file"],
)
def test_missing_download_skips_set_of_suite_and_fails_named_set(download):
    with pytest.raises(Exception) as raised:  # noqa: PT011  (its classification follows)
        download()
    failure = EvaluationFailure("plain", raised.value)
    assert failure.is_skipped, failure.reason
    assert (failure.is_fatal(is_named=False), failure.is_fatal(is_named=True)) == (False, True)
