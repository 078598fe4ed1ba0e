"""Tests of permissions, through `huggingface_hub`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_hub.client_process import runs_in
from tests.test_fake_hub.callers import (
    connect_anonymously,
    connect_as_alice,
    connect_as_alice_read_only,
    connect_as_bob,
)


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
def test_private_repo_is_readable_for_members(repo_id: str, tmp_path: Path) -> None:
    _private_repo(repo_id)
    assert (
        Path(connect_as_alice_read_only().hf_hub_download(repo_id, "s.txt", cache_dir=tmp_path)).read_text() == "secret"
    )


@runs_in("hub_client")
def test_read_token_cannot_write(repo_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    connect_as_alice().create_repo(repo_id)
    with pytest.raises(HfHubHTTPError, match="must use a write token") as refusal:
        connect_as_alice_read_only().upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=repo_id)
    assert refusal.value.response.status_code == 403


@runs_in("hub_client")
def test_missing_repo_raises_repository_not_found(repo_id: str) -> None:
    from huggingface_hub.errors import RepositoryNotFoundError

    for api in (connect_as_alice(), connect_anonymously()):
        with pytest.raises(RepositoryNotFoundError):
            api.model_info(repo_id)
