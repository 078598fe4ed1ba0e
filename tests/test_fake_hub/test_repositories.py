"""Repositories as a whole, through `huggingface_hub`."""

from __future__ import annotations

import pytest

from tests.fake_hub.client_process import runs_in
from tests.test_fake_hub.callers import alice, bob


@runs_in("hub_client")
def test_a_token_tells_who_calls() -> None:
    assert alice().whoami()["name"] == "alice"
    assert [org["name"] for org in alice().whoami()["orgs"]] == ["org"]


@runs_in("hub_client")
def test_a_bad_token_is_refused(repo_id: str) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    with pytest.raises(HfHubHTTPError, match="Invalid credentials") as refusal:
        HfApi(token="hf_nobody_has_this").model_info(repo_id)
    assert refusal.value.response.status_code == 401


@pytest.mark.parametrize("repo_type", ["model", "dataset", "space"])
@runs_in("hub_client")
def test_a_repository_exists_once_created(repo_type: str, repo_id: str) -> None:
    sdk = "gradio" if repo_type == "space" else None
    assert not alice().repo_exists(repo_id, repo_type=repo_type)
    url = alice().create_repo(repo_id, repo_type=repo_type, space_sdk=sdk)
    assert (url.repo_type, url.repo_id) == (repo_type, repo_id)
    assert alice().repo_exists(repo_id, repo_type=repo_type)
    assert alice().list_repo_files(repo_id, repo_type=repo_type) == [".gitattributes"]


@runs_in("hub_client")
def test_types_do_not_share_names(repo_id: str) -> None:
    alice().create_repo(repo_id, repo_type="dataset")
    assert not alice().repo_exists(repo_id, repo_type="model")


@runs_in("hub_client")
def test_a_second_creation_must_be_allowed_for(repo_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    alice().create_repo(repo_id)
    with pytest.raises(HfHubHTTPError, match="already created") as refusal:
        alice().create_repo(repo_id)
    assert refusal.value.response.status_code == 409
    assert alice().create_repo(repo_id, exist_ok=True).repo_id == repo_id


@runs_in("hub_client")
def test_only_members_create_in_an_organisation(repo_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    with pytest.raises(HfHubHTTPError, match="don't have the rights") as refusal:
        bob().create_repo(repo_id)
    assert refusal.value.response.status_code == 403


@runs_in("hub_client")
def test_a_name_that_leads_out_of_the_folder_is_refused() -> None:
    from huggingface_hub.utils import get_session

    headers = {"Authorization": f"Bearer {alice().token}"}
    answer = get_session().post(
        f"{alice().endpoint}/api/repos/create", json={"organization": "org", "name": ".."}, headers=headers
    )
    assert answer.status_code == 400
