"""Tests of injected faults and of the client's reaction."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import time
from collections.abc import Iterator

import pytest

from tests.fake_hub.faults import Fault
from tests.fake_hub.running import RunningHub
from tests.test_fake_hub.plain_http import get, request


@pytest.fixture(autouse=True)
def _disarm_faults(hub: RunningHub) -> Iterator[None]:
    yield
    hub.disarm()


# Plain requests to the telemetry route, which always succeeds.


def _url(hub: RunningHub, repo_id: str) -> str:
    return f"{hub.endpoint}/api/telemetry/{repo_id}"


def test_status_fault_repeats_given_times(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=503, times=2))
    assert [get(_url(hub, repo_id)).status for _ in range(3)] == [503, 503, 200]


def test_status_fault_sends_headers_and_message(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=429, headers={"Retry-After": "7"}, body="slow down"))
    answer = get(_url(hub, repo_id))
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-error-message"] == "slow down"
    assert b"slow down" in answer.body


def test_fault_matches_method_and_path(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(method="PUT|HEAD", path=f"{repo_id}$", status=503, times=9))
    assert get(_url(hub, repo_id)).status == 200
    assert request("HEAD", _url(hub, repo_id) + "/more").status == 200
    assert request("HEAD", _url(hub, repo_id)).status == 503


def test_first_matching_fault_is_used(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=503), Fault(path=repo_id, status=429))
    assert [get(_url(hub, repo_id)).status for _ in range(3)] == [503, 429, 200]


def test_delay_precedes_normal_response(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, delay=0.3))
    started = time.perf_counter()
    assert get(_url(hub, repo_id)).status == 200
    assert time.perf_counter() - started >= 0.3


def test_disarm_clears_faults(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=503, times=9))
    get(_url(hub, repo_id))
    assert [fault.times for fault in hub.armed()] == [8]
    hub.disarm()
    assert hub.armed() == []
    assert get(_url(hub, repo_id)).status == 200


def test_faults_end_with_their_block(hub: RunningHub, repo_id: str) -> None:
    with hub.broken_by(Fault(path=repo_id, status=503, times=9)):
        assert get(_url(hub, repo_id)).status == 503
    assert get(_url(hub, repo_id)).status == 200


@pytest.mark.parametrize(
    "fields", [{}, {"status": 503, "cut": 1}, {"status": 503, "path": "("}, {"status": 503, "pth": "x"}]
)
def test_invalid_fault_is_rejected(hub: RunningHub, fields: dict[str, object]) -> None:
    assert request("POST", f"{hub.endpoint}/_test/faults", json.dumps([fields]).encode()).status == 400


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


def test_download_is_cut_after_given_bytes(hub: RunningHub, repo_id: str) -> None:
    content = random.Random(repo_id).randbytes(300_000)
    url = _put_url(hub, content)
    request("PUT", url, content)
    hub.arm(Fault(path="/_lfs/", cut=100_000))
    with pytest.raises(http.client.IncompleteRead) as cut:
        get(url)
    assert cut.value.partial == content[:100_000]
    assert get(url).body == content


def test_lost_response_keeps_completed_work(hub: RunningHub, repo_id: str) -> None:
    content = repo_id.encode()
    url = _put_url(hub, content)
    hub.arm(Fault(method="PUT", path="/_lfs/", cut=0, cut_in="response"))
    with pytest.raises(http.client.RemoteDisconnected):
        request("PUT", url, content)
    assert get(url).body == content
