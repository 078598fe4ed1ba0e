"""Tests of the request log."""

from __future__ import annotations

import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import runs_in
from tests.fake_hub.running import RunningHub
from tests.test_fake_hub.plain_http import get, request


def _url(hub: RunningHub, repo_id: str) -> str:
    return f"{hub.endpoint}/api/telemetry/{repo_id}"


def test_request_is_logged(hub: RunningHub, repo_id: str) -> None:
    get(_url(hub, repo_id) + "?a=1", headers={"User-Agent": "a test", "Range": "bytes=0-9"})
    [entry] = hub.requests(repo_id)
    assert (entry.method, entry.path, entry.query, entry.status) == ("GET", f"/api/telemetry/{repo_id}", "a=1", 200)
    assert (entry.user_agent, entry.range) == ("a test", "bytes=0-9")
    assert hub.endpoint.endswith(entry.host)
    assert entry.ms >= 0


def test_rejected_request_is_logged(hub: RunningHub, repo_id: str) -> None:
    request("DELETE", _url(hub, repo_id))
    assert [(entry.method, entry.status) for entry in hub.requests(repo_id)] == [("DELETE", 404)]


def test_token_in_header_is_detected_and_redacted(hub: RunningHub, repo_id: str) -> None:
    get(_url(hub, repo_id), headers={"Authorization": f"Bearer {ALICE}"})
    [entry] = hub.requests(repo_id)
    assert entry.authorized
    assert not entry.token_in_url
    assert ALICE not in get(f"{hub.endpoint}/_test/requests").body.decode()


@pytest.mark.parametrize("token", [ALICE, "hf_unknown"])
def test_token_in_url_and_query_is_detected_and_redacted(hub: RunningHub, repo_id: str, token: str) -> None:
    get(f"{_url(hub, repo_id)}/{token}?token={token}&b=2")
    [entry] = hub.requests(repo_id)
    assert entry.token_in_url
    assert not entry.authorized
    assert (entry.path, entry.query) == (f"/api/telemetry/{repo_id}/***", "token=***&b=2")


def test_requests_of_tests_are_not_logged(hub: RunningHub) -> None:
    hub.armed()
    assert hub.requests("^/_test/") == []


@runs_in("hub_client")
def test_requests_to_other_servers_are_logged_and_rejected(hub: RunningHub) -> None:
    from huggingface_hub.utils import get_session

    with pytest.raises(Exception, match="403"):  # the CONNECT tunnel for https is rejected
        get_session().get("https://elsewhere.invalid/x")
    assert get_session().get("http://elsewhere.invalid/y").status_code == 403
    asked = [(entry.method, entry.path, entry.status) for entry in hub.requests() if entry.is_for_external_host]
    assert ("CONNECT", "elsewhere.invalid:443", 403) in asked
    assert ("GET", "http://elsewhere.invalid/y", 403) in asked
