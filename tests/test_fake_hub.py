"""Tests that the test Hub works with the real client libraries."""

import hashlib
import http.client
import random
from urllib.parse import urlsplit

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
from huggingface_hub.utils import get_session

from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB
from tests.fake_hub.client_process import runs_in
from tests.fake_hub.faults import Fault
from tests.fake_hub.running import RunningHub


def _request(method: str, url: str, body: bytes | None = None) -> tuple[int, bytes]:
    """Send one request without a client library. Raises an exception of `http.client` if the connection is cut."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@runs_in("hub_client")
def test_accounts_read_and_write_only_where_permitted(repo_id, tmp_path):
    with pytest.raises(HfHubHTTPError, match="don't have the rights") as refusal:
        HfApi(token=BOB).create_repo(repo_id)
    assert refusal.value.response.status_code == 403
    HfApi(token=ALICE).create_repo(repo_id, private=True)
    HfApi(token=ALICE).upload_file(path_or_fileobj=b"secret", path_in_repo="s.txt", repo_id=repo_id)
    for token, status in ((False, 401), (BOB, 404)):
        with pytest.raises(RepositoryNotFoundError) as refusal:
            HfApi(token=token).model_info(repo_id)
        assert refusal.value.response.status_code == status
        with pytest.raises(RepositoryNotFoundError):
            HfApi(token=token).hf_hub_download(repo_id, "s.txt", cache_dir=tmp_path)
    with pytest.raises(HfHubHTTPError, match="must use a write token") as refusal:
        HfApi(token=ALICE_READS).upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=repo_id)
    assert refusal.value.response.status_code == 403


def test_fault_breaks_given_number_of_matching_requests_in_its_block(hub: RunningHub, repo_id):
    def ask(name, method="HEAD"):
        return _request(method, f"{hub.endpoint}/telemetry/{name}")[0]

    with hub.broken_by(Fault(method="PUT|HEAD", path=f"{repo_id}$", status=503, times=2, after=1)):
        assert (ask(repo_id, "GET"), ask(f"{repo_id}/more")) == (404, 404)
        assert [ask(repo_id) for _ in range(4)] == [404, 503, 503, 404]
    with hub.broken_by(Fault(path=repo_id, status=503, times=9)):
        assert ask(repo_id) == 503
    assert ask(repo_id) == 404


def test_cut_upload_leaves_no_file_and_lost_response_keeps_it(hub: RunningHub, repo_id):
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
def test_request_is_logged_and_token_in_url_redacted(hub: RunningHub, repo_id, token):
    _request("GET", f"{hub.endpoint}/telemetry/{repo_id}/{token}?token={token}&b=2")
    [entry] = hub.requests(repo_id)
    assert entry.token_in_url
    assert (entry.method, entry.status) == ("GET", 404)
    assert (entry.path, entry.query) == (f"/telemetry/{repo_id}/***", "token=***&b=2")


@runs_in("hub_client")
def test_requests_to_other_servers_are_logged_and_rejected(hub: RunningHub):
    with pytest.raises(Exception, match="403"):  # the CONNECT tunnel for https is rejected
        get_session().get("https://elsewhere.invalid/x")
    assert get_session().get("http://elsewhere.invalid/y").status_code == 403
    asked = [(entry.method, entry.path, entry.status) for entry in hub.requests() if entry.is_for_external_host]
    assert ("CONNECT", "elsewhere.invalid:443", 403) in asked
    assert ("GET", "http://elsewhere.invalid/y", 403) in asked
