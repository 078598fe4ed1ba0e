"""Tests of commits, branches, tags and pull requests, through `huggingface_hub`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fake_hub.client_process import runs_in
from tests.test_fake_hub.callers import connect_anonymously, connect_as_alice
from tests.test_fake_hub.plain_http import request


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
def test_history_is_newest_first_and_old_files_are_readable(repo_id: str, tmp_path: Path) -> None:
    _repo_with(repo_id, "a.txt")
    before = connect_as_alice().model_info(repo_id).sha
    connect_as_alice().delete_file("a.txt", repo_id=repo_id, commit_message="remove it")
    titles = [commit.title for commit in connect_as_alice().list_repo_commits(repo_id)]
    assert titles == ["remove it", "first files", "initial commit"]
    assert _read(repo_id, "a.txt", tmp_path, revision=before) == "in a.txt"


@runs_in("hub_client")
def test_missing_file_and_revision_raise_different_errors(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub.errors import RemoteEntryNotFoundError, RevisionNotFoundError

    _repo_with(repo_id, "a.txt")
    with pytest.raises(RemoteEntryNotFoundError):
        _read(repo_id, "none.txt", tmp_path)
    with pytest.raises(RevisionNotFoundError):
        _read(repo_id, "a.txt", tmp_path, revision="none")


@runs_in("hub_client")
def test_missing_file_is_cached(repo_id: str, tmp_path: Path) -> None:
    from huggingface_hub import _CACHED_NO_EXIST, try_to_load_from_cache
    from huggingface_hub.errors import RemoteEntryNotFoundError

    _repo_with(repo_id, "a.txt")
    with pytest.raises(RemoteEntryNotFoundError):
        _read(repo_id, "none.txt", tmp_path)
    assert try_to_load_from_cache(repo_id, "none.txt", cache_dir=tmp_path) is _CACHED_NO_EXIST


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


@pytest.mark.parametrize("path", ["a.txt/b.txt", "folder"])
@runs_in("hub_client")
def test_path_cannot_be_file_and_folder(path: str, repo_id: str) -> None:
    from huggingface_hub.errors import BadRequestError

    _repo_with(repo_id, "a.txt", "folder/b.txt")
    with pytest.raises(BadRequestError, match="both a file and a folder"):
        _add(repo_id, path, "text")


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


@runs_in("hub_client")
def test_pull_request_accepts_further_commits(repo_id: str) -> None:
    _repo_with(repo_id, "a.txt")
    _add(repo_id, "p.txt", "proposed", create_pr=True)
    _add(repo_id, "q.bin", "and a large one", revision="refs/pr/1")
    assert {"p.txt", "q.bin"} <= set(connect_as_alice().list_repo_files(repo_id, revision="refs/pr/1"))
    assert _add(repo_id, "r.txt", "another", create_pr=True).pr_num == 2
    requests = connect_as_alice().list_repo_refs(repo_id, include_pull_requests=True).pull_requests
    assert [request.ref for request in requests] == ["refs/pr/1", "refs/pr/2"]


@runs_in("hub_client")
def test_paths_info_includes_folders(repo_id: str) -> None:
    from huggingface_hub import RepoFile, RepoFolder

    _repo_with(repo_id, "a.txt", "sub/deep/b.txt")
    top = connect_as_alice().list_repo_tree(repo_id)
    assert {(type(entry), entry.path) for entry in top} == {
        (RepoFile, ".gitattributes"),
        (RepoFile, "a.txt"),
        (RepoFolder, "sub"),
    }
    below = connect_as_alice().list_repo_tree(repo_id, "sub", recursive=True, expand=True)
    assert [entry.path for entry in below] == ["sub/deep", "sub/deep/b.txt"]
    asked = connect_as_alice().get_paths_info(repo_id, ["a.txt", "sub", "none"])
    assert [entry.path for entry in asked] == ["a.txt", "sub"]
