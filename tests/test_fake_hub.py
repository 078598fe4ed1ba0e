"""Tests that the test Hub works with the real client libraries."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB
from tests.fake_hub.client_process import ClientProcess, connect_as_alice, runs_in
from tests.fake_hub.faults import Fault
from tests.fake_hub.running import RunningHub, running_hub


def _request(method: str, url: str, body: bytes | None = None, token: str | None = None) -> tuple[int, bytes]:
    """Send one request without a client library. Raises an exception of `http.client` if the connection is cut."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("repo_type", ["model", "dataset", "space"])
@runs_in("hub_client")
def test_created_repo_exists(repo_type: str, repo_id: str) -> None:
    api = connect_as_alice()
    assert not api.repo_exists(repo_id, repo_type=repo_type)
    url = api.create_repo(repo_id, repo_type=repo_type, space_sdk="gradio" if repo_type == "space" else None)
    assert (url.repo_type, url.repo_id) == (repo_type, repo_id)
    assert api.list_repo_files(repo_id, repo_type=repo_type) == [".gitattributes"]


@runs_in("hub_client")
def test_accounts_read_and_write_only_where_permitted(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    with pytest.raises(HfHubHTTPError, match="don't have the rights") as refusal:
        HfApi(token=BOB).create_repo(repo_id)
    assert refusal.value.response.status_code == 403
    connect_as_alice().create_repo(repo_id, private=True)
    _add(repo_id, "s.txt", "secret")
    for token, status in ((False, 401), (BOB, 404)):
        with pytest.raises(RepositoryNotFoundError) as refusal:
            HfApi(token=token).model_info(repo_id)
        assert refusal.value.response.status_code == status
        with pytest.raises(RepositoryNotFoundError):
            HfApi(token=token).hf_hub_download(repo_id, "s.txt", cache_dir=tmp_path)
    with pytest.raises(HfHubHTTPError, match="must use a write token") as refusal:
        HfApi(token=ALICE_READS).upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=repo_id)
    assert refusal.value.response.status_code == 403


def _repo_with(repo_id: str, *paths: str) -> None:
    from huggingface_hub import CommitOperationAdd

    connect_as_alice().create_repo(repo_id)
    files = [CommitOperationAdd(path, f"in {path}".encode()) for path in paths]
    connect_as_alice().create_commit(repo_id, operations=files, commit_message="first files")


def _add(repo_id: str, path: str, content: str, **where: Any) -> Any:
    return connect_as_alice().upload_file(path_or_fileobj=content.encode(), path_in_repo=path, repo_id=repo_id, **where)


def _read(repo_id: str, path: str, cache: Path, revision: str | None = None) -> str:
    from huggingface_hub import HfApi

    return Path(HfApi().hf_hub_download(repo_id, path, revision=revision, cache_dir=cache)).read_text()


@runs_in("hub_client")
def test_commit_adds_copies_and_deletes_files(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete
    from huggingface_hub.errors import RemoteEntryNotFoundError, RevisionNotFoundError

    _repo_with(repo_id, "a.txt", "b.txt", "sub/weights.bin", "sub/c.txt")
    operations = [
        CommitOperationAdd("new.txt", b"new"),
        CommitOperationDelete("a.txt"),
        CommitOperationCopy("b.txt", "b2.txt"),
        CommitOperationCopy("sub/weights.bin", "weights.bin"),
        CommitOperationDelete("sub/weights.bin"),
        CommitOperationDelete("sub/c.txt"),
    ]
    connect_as_alice().create_commit(repo_id, operations=operations, commit_message="all at once")
    expected = {".gitattributes", "b.txt", "b2.txt", "new.txt", "weights.bin"}
    assert set(connect_as_alice().list_repo_files(repo_id)) == expected
    assert _read(repo_id, "weights.bin", tmp_path) == "in sub/weights.bin"
    with pytest.raises(RemoteEntryNotFoundError):
        _read(repo_id, "none.txt", tmp_path)
    with pytest.raises(RevisionNotFoundError):
        _read(repo_id, "b.txt", tmp_path, revision="none")


@runs_in("hub_client")
def test_commit_without_change_or_on_outdated_parent_is_not_made(repo_id: str) -> None:
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import HfHubHTTPError

    _repo_with(repo_id, "a.txt")
    parent = connect_as_alice().model_info(repo_id).sha
    assert _add(repo_id, "a.txt", "in a.txt").oid == parent == connect_as_alice().model_info(repo_id).sha
    _add(repo_id, "a.txt", "changed")
    edit = [CommitOperationAdd("a.txt", b"mine")]
    with pytest.raises(HfHubHTTPError, match="A commit has happened since") as refusal:
        connect_as_alice().create_commit(repo_id, operations=edit, commit_message="late", parent_commit=parent)
    assert refusal.value.response.status_code == 412


@pytest.mark.parametrize("path", ["../a.txt", "/a.txt", ".git/config", "a//b.txt"])
@runs_in("hub_client")
def test_path_outside_repo_is_rejected(path: str, repo_id: str, hub: RunningHub) -> None:
    # A plain request, since the client rejects such a path.
    connect_as_alice().create_repo(repo_id)
    operation = json.dumps({"key": "file", "value": {"path": path, "content": "text"}}).encode()
    assert _request("POST", f"{hub.endpoint}/api/models/{repo_id}/commit/main", operation, ALICE)[0] == 400
    assert connect_as_alice().list_repo_files(repo_id) == [".gitattributes"]


@runs_in("hub_client")
def test_pull_request_leaves_main_unchanged(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub.errors import RemoteEntryNotFoundError

    _repo_with(repo_id, "a.txt")
    first = _add(repo_id, "p.txt", "proposed", create_pr=True)
    assert (first.pr_num, first.pr_revision) == (1, "refs/pr/1")
    assert _read(repo_id, "p.txt", tmp_path, revision="refs/pr/1") == "proposed"
    with pytest.raises(RemoteEntryNotFoundError):
        _read(repo_id, "p.txt", tmp_path)


PAIRS, WORDS, PIN = "org/pairs", "org/words", "0123456789abcdef0123456789abcdef01234567"
CARD = "---\nconfigs:\n- config_name: plain\n  data_files:\n  - split: test\n    path: plain/test-*\n---\n"


@pytest.fixture(scope="module")
def tiny_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    """Mount a dataset of five rows in a Parquet file, and a "model" of a text file."""
    import pyarrow
    import pyarrow.parquet

    root = tmp_path_factory.mktemp("mounted")
    pairs, words = root / "datasets" / PAIRS, root / "models" / WORDS
    (pairs / "plain").mkdir(parents=True)
    words.mkdir(parents=True)
    (pairs / "README.md").write_text(CARD)
    table = pyarrow.table({"id": list(range(5)), "text": list("abcde")})
    pyarrow.parquet.write_table(table, pairs / "plain/test-00000-of-00001.parquet")
    (words / "README.md").write_text("---\nlicense: mit\n---\n")
    key = ("dataset", PAIRS)
    with running_hub(mount=root, pins={key: PIN}, refs={key: ["refs/convert/parquet"]}) as running:
        yield running


@pytest.fixture(scope="module")
def tiny_client(tiny_hub: RunningHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientProcess]:
    with ClientProcess(tiny_hub.env(tmp_path_factory.mktemp("home"))) as client:
        yield client


@pytest.mark.parametrize("revision", [None, PIN, "refs/convert/parquet"])
@runs_in("tiny_client")
def test_mounted_dataset_loads_at_each_revision(revision: str | None, tmp_path: Path) -> None:
    from datasets import load_dataset

    rows = load_dataset(PAIRS, "plain", split="test", revision=revision, cache_dir=tmp_path)
    assert rows.to_dict() == {"id": list(range(5)), "text": list("abcde")}


@runs_in("tiny_client")
def test_large_mounted_file_redirects(tiny_hub: RunningHub, tmp_path: Path) -> None:
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    name = "plain/test-00000-of-00001.parquet"
    metadata = get_hf_file_metadata(hf_hub_url(PAIRS, name, repo_type="dataset"))
    assert metadata.commit_hash == PIN
    assert metadata.location.startswith("http://localhost:")
    got = Path(hf_hub_download(PAIRS, name, repo_type="dataset", cache_dir=tmp_path))
    assert hashlib.sha256(got.read_bytes()).hexdigest() == metadata.etag
    assert got.stat().st_size == metadata.size
    fetched = tiny_hub.requests(f"/_lfs/{metadata.etag}")
    assert fetched
    assert all(request.host.startswith("localhost:") for request in fetched)


@runs_in("tiny_client")
def test_mounted_repo_is_read_only() -> None:
    from huggingface_hub.errors import HfHubHTTPError

    assert connect_as_alice().create_repo(WORDS, exist_ok=True).repo_id == WORDS
    with pytest.raises(HfHubHTTPError, match="models/org/words is mounted from a folder") as refusal:
        connect_as_alice().upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=WORDS)
    assert refusal.value.response.status_code == 403


def _ask_status(hub: RunningHub, name: str, method: str = "GET") -> int:
    return _request(method, f"{hub.endpoint}/api/telemetry/{name}")[0]


def test_fault_breaks_given_number_of_matching_requests_in_its_block(hub: RunningHub, repo_id: str) -> None:
    with hub.broken_by(Fault(method="PUT|HEAD", path=f"{repo_id}$", status=503, times=2, after=1)):
        assert _ask_status(hub, repo_id) == 200
        assert _ask_status(hub, f"{repo_id}/more", "HEAD") == 200
        assert [_ask_status(hub, repo_id, "HEAD") for _ in range(4)] == [200, 503, 503, 200]
        hub.arm(Fault(path=repo_id, status=503, times=9))
        assert _ask_status(hub, repo_id) == 503
    assert _ask_status(hub, repo_id) == 200


def test_cut_upload_leaves_no_file_and_lost_response_keeps_it(hub: RunningHub, repo_id: str) -> None:
    content = random.Random(repo_id).randbytes(3_000_000)
    url = f"{hub.endpoint}/_lfs/{hashlib.sha256(content).hexdigest()}"
    with hub.broken_by(Fault(method="PUT", path="/_lfs/", cut=1_000_000)), pytest.raises(ConnectionError):
        _request("PUT", url, content)
    assert hub.requests(url.removeprefix(hub.endpoint))[0].status is None
    assert _request("GET", url)[0] == 404
    lost = Fault(method="PUT", path="/_lfs/", cut=0, cut_in="response")
    with hub.broken_by(lost), pytest.raises(http.client.RemoteDisconnected):
        _request("PUT", url, content)
    assert _request("GET", url) == (200, content)


@pytest.mark.parametrize("token", [ALICE, "hf_unknown"])
def test_request_is_logged_and_token_in_url_redacted(hub: RunningHub, repo_id: str, token: str) -> None:
    _ask_status(hub, f"{repo_id}/{token}?token={token}&b=2")
    [entry] = hub.requests(repo_id)
    assert entry.token_in_url
    assert (entry.method, entry.status) == ("GET", 200)
    assert (entry.path, entry.query) == (f"/api/telemetry/{repo_id}/***", "token=***&b=2")


@runs_in("hub_client")
def test_requests_to_other_servers_are_logged_and_rejected(hub: RunningHub) -> None:
    from huggingface_hub.utils import get_session

    with pytest.raises(Exception, match="403"):  # the CONNECT tunnel for https is rejected
        get_session().get("https://elsewhere.invalid/x")
    assert get_session().get("http://elsewhere.invalid/y").status_code == 403
    asked = [(entry.method, entry.path, entry.status) for entry in hub.requests() if entry.is_for_external_host]
    assert ("CONNECT", "elsewhere.invalid:443", 403) in asked
    assert ("GET", "http://elsewhere.invalid/y", 403) in asked


def test_client_environment_ignores_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "https_proxy", "UNRELATED"):
        monkeypatch.setenv(name, "the user's")
    environment = RunningHub("http://127.0.0.1:1").env(tmp_path)
    assert [name for name, value in environment.items() if value == "the user's"] == ["UNRELATED"]
    assert environment["HF_ENDPOINT"] == "http://127.0.0.1:1"
