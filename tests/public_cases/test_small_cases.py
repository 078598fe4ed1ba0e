"""Ignored options, missing downloads and published results."""

import httpx
import pytest
from huggingface_hub.errors import HfHubHTTPError

from tests.factories import build_result, run_unbag
from unbag.baselines.lexical import embeddings
from unbag.challenge_sets import results
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.cli import evaluate
from unbag.cli.publish import read_results
from unbag.data import corpora, downloads, sources
from unbag.data.text import tagging
from unbag.hub import push
from unbag.hub.push import HubError, HubUpload
from unbag.utils.storage import StorageFolder


@pytest.mark.parametrize(
    "option",
    [("--data", "a.csv"), ("--text", "a.txt"), ("--split", "test"), ("--language", "zh"), ("-o", "q=2")],
)
def test_cross_domain_refuses_options_of_other_pairs_by_name(option):
    done = run_unbag("evaluate", "majority", "--cross-domain", *option)
    assert done.exit_code == 2
    assert f"got {'--set-option (-o)' if option[0] == '-o' else option[0]}; remove the option" in done.output


def test_cross_domain_applies_sample_options(monkeypatch):
    asked = []

    def run_models(models, requests, *_, **__):
        asked.extend(requests)
        raise ValueError("planned")

    monkeypatch.setattr(evaluate, "run_models", run_models)
    arguments = "evaluate majority --cross-domain --corpus snli-test --max-examples 7 --seed 5".split()
    assert str(run_unbag(*arguments).exception) == "planned"
    [request] = asked
    assert (request.config, request.max_examples, request.seed) == ("snli-test", 7, 5)


@pytest.fixture(autouse=True)
def offline(empty_caches, tmp_path, monkeypatch):
    """No network, and empty caches."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", tmp_path)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


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


def test_unreadable_new_repository_ends_publication(monkeypatch):
    created = []
    monkeypatch.setattr(push, "fetch_remote_repository", lambda *_: None)
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", lambda *_, **__: created.append(1))
    request = httpx.Request("POST", "https://hub.example/api/datasets/org/new/commit/main")

    def commit(*_, **__):
        raise HfHubHTTPError("none", response=httpx.Response(404, request=request))

    monkeypatch.setattr(push, "_commit", commit)
    upload = HubUpload(repo="org/new", kind="dataset", files={"a": b"1"}, message="m")
    with pytest.raises(HubError, match=r"dataset org/new: expected a repository that the token can access, got none"):
        push.publish_files(upload)
    assert created == [1]


def test_results_at_url_are_read(tmp_path):
    results.write_results([build_result("org/model")], tmp_path / results.FILE)
    url = f"memory://{tmp_path.name}/run"
    StorageFolder(url).write(results.FILE, (tmp_path / results.FILE).read_bytes())
    expected = [each.model["name"] for each in read_results([tmp_path])]
    assert [each.model["name"] for each in read_results([url, f"{url}/results.json"])] == expected * 2
