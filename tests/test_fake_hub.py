"""Tests that the test Hub works with the real client libraries."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.callers import (
    connect_anonymously,
    connect_as_alice,
    connect_as_alice_read_only,
    connect_as_bob,
    get,
    request,
)
from tests.fake_hub.client_process import ClientProcess, runs_in
from tests.fake_hub.content import RepoKey
from tests.fake_hub.faults import Fault
from tests.fake_hub.mounts import Mounts
from tests.fake_hub.running import RunningHub, running_hub


@pytest.mark.parametrize("repo_type", ["model", "dataset", "space"])
@runs_in("hub_client")
def test_created_repo_exists(repo_type: str, repo_id: str) -> None:
    sdk = "gradio" if repo_type == "space" else None
    assert not connect_as_alice().repo_exists(repo_id, repo_type=repo_type)
    url = connect_as_alice().create_repo(repo_id, repo_type=repo_type, space_sdk=sdk)
    assert (url.repo_type, url.repo_id) == (repo_type, repo_id)
    assert connect_as_alice().repo_exists(repo_id, repo_type=repo_type)
    assert connect_as_alice().list_repo_files(repo_id, repo_type=repo_type) == [".gitattributes"]


@runs_in("hub_client")
def test_only_members_create_repos_in_org(repo_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    with pytest.raises(HfHubHTTPError, match="don't have the rights") as refusal:
        connect_as_bob().create_repo(repo_id)
    assert refusal.value.response.status_code == 403


def _private_repo(repo_id: str) -> None:
    connect_as_alice().create_repo(repo_id, private=True)
    connect_as_alice().upload_file(path_or_fileobj=b"secret", path_in_repo="s.txt", repo_id=repo_id)


@runs_in("hub_client")
def test_private_repo_is_not_found_for_others(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub.errors import RepositoryNotFoundError

    _private_repo(repo_id)
    for api, status in ((connect_anonymously(), 401), (connect_as_bob(), 404)):
        with pytest.raises(RepositoryNotFoundError) as refusal:
            api.model_info(repo_id)
        assert refusal.value.response.status_code == status
        with pytest.raises(RepositoryNotFoundError):
            api.hf_hub_download(repo_id, "s.txt", cache_dir=tmp_path)


@runs_in("hub_client")
def test_read_token_cannot_write(repo_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    connect_as_alice().create_repo(repo_id)
    with pytest.raises(HfHubHTTPError, match="must use a write token") as refusal:
        connect_as_alice_read_only().upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=repo_id)
    assert refusal.value.response.status_code == 403


def noise(size: int, seed: int | str = 0) -> bytes:
    """Return incompressible bytes. With a repository id as seed, they are new to the storage."""
    return random.Random(seed).randbytes(size)


@runs_in("hub_client")
def test_upload_folder_replaces_files(repo_id: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "x" / "y").mkdir(parents=True)
    for number in range(4):
        (folder / f"x/y/{number}.bin").write_bytes(noise(200_000, seed=number))
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    (folder / "run.log").write_text("not for others")
    connect_as_alice().create_repo(repo_id)
    connect_as_alice().upload_file(path_or_fileobj=b"old", path_in_repo="old/a.txt", repo_id=repo_id)
    connect_as_alice().upload_folder(
        folder_path=folder, repo_id=repo_id, ignore_patterns="*.log", delete_patterns="old/*"
    )
    expected = {".gitattributes", "README.md", *(f"x/y/{number}.bin" for number in range(4))}
    assert set(connect_as_alice().list_repo_files(repo_id)) == expected
    snapshot = Path(connect_anonymously().snapshot_download(repo_id, cache_dir=tmp_path / "cache"))
    for number in range(4):
        assert (snapshot / f"x/y/{number}.bin").read_bytes() == noise(200_000, seed=number)


def _repo_with(repo_id: str, *paths: str) -> None:
    from huggingface_hub import CommitOperationAdd

    connect_as_alice().create_repo(repo_id)
    files = [CommitOperationAdd(path, f"in {path}".encode()) for path in paths]
    connect_as_alice().create_commit(repo_id, operations=files, commit_message="first files")


def _add(repo_id: str, path: str, content: str, **where: Any) -> Any:
    return connect_as_alice().upload_file(path_or_fileobj=content.encode(), path_in_repo=path, repo_id=repo_id, **where)


def _read(repo_id: str, path: str, cache: Path, revision: str | None = None) -> str:
    return Path(connect_anonymously().hf_hub_download(repo_id, path, revision=revision, cache_dir=cache)).read_text()


@runs_in("hub_client")
def test_commit_adds_copies_and_deletes_files(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete

    _repo_with(repo_id, "a.txt", "b.txt", "sub/weights.bin", "sub/c.txt")
    connect_as_alice().create_commit(
        repo_id,
        operations=[
            CommitOperationAdd("new.txt", b"new"),
            CommitOperationDelete("a.txt"),
            CommitOperationCopy("b.txt", "b2.txt"),
            CommitOperationCopy("sub/weights.bin", "weights.bin"),
            CommitOperationDelete("sub/weights.bin"),
            CommitOperationDelete("sub/c.txt"),
        ],
        commit_message="all at once",
    )
    assert set(connect_as_alice().list_repo_files(repo_id)) == {
        ".gitattributes",
        "b.txt",
        "b2.txt",
        "new.txt",
        "weights.bin",
    }
    assert _read(repo_id, "weights.bin", tmp_path) == "in sub/weights.bin"


@runs_in("hub_client")
def test_missing_file_and_revision_raise_different_errors(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub.errors import RemoteEntryNotFoundError, RevisionNotFoundError

    _repo_with(repo_id, "a.txt")
    with pytest.raises(RemoteEntryNotFoundError):
        _read(repo_id, "none.txt", tmp_path)
    with pytest.raises(RevisionNotFoundError):
        _read(repo_id, "a.txt", tmp_path, revision="none")


@runs_in("hub_client")
def test_commit_on_outdated_parent_is_rejected(repo_id: str) -> None:
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import HfHubHTTPError

    _repo_with(repo_id, "a.txt")
    parent = connect_as_alice().model_info(repo_id).sha
    _add(repo_id, "a.txt", "changed")
    edit = [CommitOperationAdd("a.txt", b"mine")]
    with pytest.raises(HfHubHTTPError, match="A commit has happened since") as refusal:
        connect_as_alice().create_commit(repo_id, operations=edit, commit_message="late", parent_commit=parent)
    assert refusal.value.response.status_code == 412


@runs_in("hub_client")
def test_unchanged_files_make_no_commit(repo_id: str) -> None:
    _repo_with(repo_id, "a.txt")
    before = connect_as_alice().model_info(repo_id).sha
    assert _add(repo_id, "a.txt", "in a.txt").oid == before
    assert connect_as_alice().model_info(repo_id).sha == before


@pytest.mark.parametrize("path", ["../a.txt", "/a.txt", ".git/config", "a//b.txt"])
@runs_in("hub_client")
def test_path_outside_repo_is_rejected(path: str, repo_id: str) -> None:
    # A plain request, since the client rejects such a path.
    connect_as_alice().create_repo(repo_id)
    operation = {"key": "file", "value": {"path": path, "content": "text"}}
    headers = {"Authorization": f"Bearer {connect_as_alice().token}"}
    url = f"{connect_as_alice().endpoint}/api/models/{repo_id}/commit/main"
    answer = request("POST", url, json.dumps(operation).encode(), headers)
    assert answer.status == 400
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


PAIRS = RepoKey("dataset", "org/pairs")


WORDS = RepoKey("model", "org/words")


PIN = "0123456789abcdef0123456789abcdef01234567"


CARD = "---\nconfigs:\n- config_name: plain\n  data_files:\n  - split: test\n    path: plain/test-*\n---\n"


def _write_tiny_hub(root: Path) -> Path:
    """Write a dataset of five rows in a Parquet file, and a "model" of two text files."""
    import pyarrow
    import pyarrow.parquet

    pairs, words = root / PAIRS.folder, root / WORDS.folder
    (pairs / "plain").mkdir(parents=True)
    (pairs / "README.md").write_text(CARD)
    table = pyarrow.table({"id": list(range(5)), "text": list("abcde")})
    pyarrow.parquet.write_table(table, pairs / "plain/test-00000-of-00001.parquet")
    (words / "deep/er").mkdir(parents=True)
    (words / "README.md").write_text("---\nlicense: mit\n---\n")
    (words / "deep/er/words.txt").write_text("one\ntwo\n")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return _write_tiny_hub(tmp_path / "mounted")


def test_changed_file_changes_sha(root: Path) -> None:
    mounts = Mounts(root)
    shas = []
    for text in ("one\ntwo\n", "one\nTWO\n"):
        (root / WORDS.folder / "deep/er/words.txt").write_text(text)
        os.utime(root / WORDS.folder / "deep/er/words.txt", ns=(0, len(shas)))  # also with a coarse clock
        repo = mounts.find(WORDS)
        assert repo is not None
        shas.append(repo.at("main").sha)
    assert shas[0] != shas[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pins": {RepoKey("dataset", "org/none"): PIN}}, "datasets/org/none is pinned or has refs, but it is no"),
        ({"pins": {PAIRS: "main"}}, "40 hexadecimal digits, got 'main'"),
        ({"refs": {PAIRS: ["parquet"]}}, "got 'parquet'"),
    ],
)
def test_invalid_pins_and_refs_raise_error(root: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Mounts(root, **arguments)


@pytest.fixture(scope="module")
def tiny_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    root = _write_tiny_hub(tmp_path_factory.mktemp("mounted"))
    with running_hub(mount=root, pins={PAIRS: PIN}, refs={PAIRS: ["refs/convert/parquet"]}) as running:
        yield running


@pytest.fixture(scope="module")
def tiny_client(tiny_hub: RunningHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientProcess]:
    with ClientProcess(tiny_hub.env(tmp_path_factory.mktemp("home"))) as client:
        yield client


@pytest.mark.parametrize("revision", [None, PIN, "refs/convert/parquet"])
@runs_in("tiny_client")
def test_mounted_dataset_loads_at_each_revision(revision: str | None, tmp_path: Path) -> None:
    from datasets import load_dataset

    rows = load_dataset(PAIRS.id, "plain", split="test", revision=revision, cache_dir=tmp_path)
    assert rows.to_dict() == {"id": list(range(5)), "text": list("abcde")}


@runs_in("tiny_client")
def test_large_mounted_file_redirects(tiny_hub: RunningHub, tmp_path: Path) -> None:
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    name = "plain/test-00000-of-00001.parquet"
    metadata = get_hf_file_metadata(hf_hub_url(PAIRS.id, name, repo_type="dataset"))
    assert metadata.commit_hash == PIN
    assert metadata.location.startswith("http://localhost:")
    got = Path(hf_hub_download(PAIRS.id, name, repo_type="dataset", cache_dir=tmp_path))
    assert hashlib.sha256(got.read_bytes()).hexdigest() == metadata.etag
    assert got.stat().st_size == metadata.size
    fetched = tiny_hub.requests(f"/_lfs/{metadata.etag}")
    assert fetched
    assert all(request.host.startswith("localhost:") for request in fetched)


@runs_in("tiny_client")
def test_mounted_repo_is_read_only() -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(token=ALICE)
    assert api.create_repo(WORDS.id, exist_ok=True).repo_id == WORDS.id
    with pytest.raises(HfHubHTTPError, match="models/org/words is mounted from a folder") as refusal:
        api.upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=WORDS.id)
    assert refusal.value.response.status_code == 403


@pytest.fixture(autouse=True)
def _disarm_faults(hub: RunningHub) -> Iterator[None]:
    yield
    hub.disarm()


def _url(hub: RunningHub, repo_id: str) -> str:
    return f"{hub.endpoint}/api/telemetry/{repo_id}"


def test_status_fault_repeats_given_times(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=503, times=2))
    assert [get(_url(hub, repo_id)).status for _ in range(3)] == [503, 503, 200]


def test_fault_matches_method_and_path(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(method="PUT|HEAD", path=f"{repo_id}$", status=503, times=9))
    assert get(_url(hub, repo_id)).status == 200
    assert request("HEAD", _url(hub, repo_id) + "/more").status == 200
    assert request("HEAD", _url(hub, repo_id)).status == 503


def test_faults_end_with_their_block(hub: RunningHub, repo_id: str) -> None:
    with hub.broken_by(Fault(path=repo_id, status=503, times=9)):
        assert get(_url(hub, repo_id)).status == 503
    assert get(_url(hub, repo_id)).status == 200


def _put_url(hub: RunningHub, content: bytes) -> str:
    return f"{hub.endpoint}/_lfs/{hashlib.sha256(content).hexdigest()}"


def test_cut_upload_leaves_no_file(hub: RunningHub, repo_id: str) -> None:
    content = random.Random(repo_id).randbytes(3_000_000)
    url = _put_url(hub, content)
    hub.arm(Fault(method="PUT", path="/_lfs/", cut=1_000_000))
    with pytest.raises(ConnectionError):
        request("PUT", url, content)
    assert get(url).status == 404
    assert hub.requests(url.removeprefix(hub.endpoint))[0].status is None
    assert request("PUT", url, content).status == 200
    assert get(url).body == content


def test_lost_response_keeps_completed_work(hub: RunningHub, repo_id: str) -> None:
    content = repo_id.encode()
    url = _put_url(hub, content)
    hub.arm(Fault(method="PUT", path="/_lfs/", cut=0, cut_in="response"))
    with pytest.raises(http.client.RemoteDisconnected):
        request("PUT", url, content)
    assert get(url).body == content


def test_request_is_logged(hub: RunningHub, repo_id: str) -> None:
    get(_url(hub, repo_id) + "?a=1", headers={"User-Agent": "a test", "Range": "bytes=0-9"})
    [entry] = hub.requests(repo_id)
    assert (entry.method, entry.path, entry.query, entry.status) == ("GET", f"/api/telemetry/{repo_id}", "a=1", 200)
    assert (entry.user_agent, entry.range) == ("a test", "bytes=0-9")
    assert hub.endpoint.endswith(entry.host)
    assert entry.ms >= 0


@pytest.mark.parametrize("token", [ALICE, "hf_unknown"])
def test_token_in_url_and_query_is_detected_and_redacted(hub: RunningHub, repo_id: str, token: str) -> None:
    get(f"{_url(hub, repo_id)}/{token}?token={token}&b=2")
    [entry] = hub.requests(repo_id)
    assert entry.token_in_url
    assert not entry.authorized
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


REPO_ROOT = Path(__file__).parents[1]


def _answers(hub: RunningHub) -> bool:
    try:
        return get(f"{hub.endpoint}/api/telemetry/a").status == 200
    except ConnectionError:
        return False


def test_hub_stops_when_parent_is_killed(tmp_path: Path) -> None:
    program = """
import os
from tests.fake_hub.running import running_hub
with running_hub() as hub:
    print(hub.endpoint, flush=True)
    os.kill(os.getpid(), 9)
"""
    environment = os.environ | {"TMPDIR": str(tmp_path)}  # the killed process cannot remove the temporary folder
    parent = subprocess.run(
        [sys.executable, "-c", program], cwd=REPO_ROOT, env=environment, capture_output=True, text=True
    )
    hub = RunningHub(parent.stdout.strip())
    assert hub.endpoint.startswith("http://127.0.0.1:")
    for _ in range(50):
        if not _answers(hub):
            break
        time.sleep(0.1)
    assert not _answers(hub)


def test_failed_start_reports_reason(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="models/org/none is pinned or has refs, but it is no folder"),
        running_hub(mount=tmp_path, pins={("model", "org/none"): "0" * 40}),
    ):
        pass


def test_client_environment_ignores_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "https_proxy", "UNRELATED"):
        monkeypatch.setenv(name, "the user's")
    environment = RunningHub("http://127.0.0.1:1").env(tmp_path)
    assert [name for name, value in environment.items() if value == "the user's"] == ["UNRELATED"]
    assert environment["HF_ENDPOINT"] == "http://127.0.0.1:1"
