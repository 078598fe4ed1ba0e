"""Tests of creating and describing repositories, through `huggingface_hub`."""

from __future__ import annotations

import pytest

from tests.fake_hub.client_process import runs_in
from tests.test_fake_hub.callers import connect_as_alice, connect_as_bob


@runs_in("hub_client")
def test_whoami_returns_name_and_orgs() -> None:
    assert connect_as_alice().whoami()["name"] == "alice"
    assert [org["name"] for org in connect_as_alice().whoami()["orgs"]] == ["org"]


@runs_in("hub_client")
def test_invalid_token_is_rejected(repo_id: str) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as refusal:
        HfApi(token="hf_nobody_has_this").model_info(repo_id)
    assert refusal.value.response.status_code == 401


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
def test_model_and_dataset_can_share_name(repo_id: str) -> None:
    connect_as_alice().create_repo(repo_id, repo_type="dataset")
    assert not connect_as_alice().repo_exists(repo_id, repo_type="model")


@runs_in("hub_client")
def test_second_creation_requires_exist_ok(repo_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    connect_as_alice().create_repo(repo_id)
    with pytest.raises(HfHubHTTPError, match="already created") as refusal:
        connect_as_alice().create_repo(repo_id)
    assert refusal.value.response.status_code == 409
    assert connect_as_alice().create_repo(repo_id, exist_ok=True).repo_id == repo_id


@runs_in("hub_client")
def test_only_members_create_repos_in_org(repo_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    with pytest.raises(HfHubHTTPError, match="don't have the rights") as refusal:
        connect_as_bob().create_repo(repo_id)
    assert refusal.value.response.status_code == 403


@runs_in("hub_client")
def test_repo_name_outside_folder_is_rejected() -> None:
    from huggingface_hub.utils import get_session

    headers = {"Authorization": f"Bearer {connect_as_alice().token}"}
    answer = get_session().post(
        f"{connect_as_alice().endpoint}/api/repos/create", json={"organization": "org", "name": ".."}, headers=headers
    )
    assert answer.status_code == 400
