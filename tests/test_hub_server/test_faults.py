"""Faults: that they break what they should, and what the client makes of it."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.hub_server.client_process import runs_in
from tests.hub_server.faults import Fault
from tests.hub_server.running import RunningHub

from .callers import alice, nobody, without_waiting
from .plain_http import get, request


@pytest.fixture(autouse=True)
def _nothing_stays_armed(hub: RunningHub) -> Iterator[None]:
    yield
    hub.disarm()


# Plain requests. Telemetry stands for any request that would succeed.


def _url(hub: RunningHub, repo_id: str) -> str:
    return f"{hub.endpoint}/api/telemetry/{repo_id}"


def test_a_status_is_given_as_often_as_asked_for(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=503, times=2))
    assert [get(_url(hub, repo_id)).status for _ in range(3)] == [503, 503, 200]


def test_an_answer_has_the_headers_and_the_message_asked_for(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=429, headers={"Retry-After": "7"}, body="slow down"))
    answer = get(_url(hub, repo_id))
    assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-error-message"] == "slow down"
    assert b"slow down" in answer.body


def test_only_the_method_and_the_path_asked_for_are_broken(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(method="PUT|HEAD", path=f"{repo_id}$", status=503, times=9))
    assert get(_url(hub, repo_id)).status == 200
    assert request("HEAD", _url(hub, repo_id) + "/more").status == 200
    assert request("HEAD", _url(hub, repo_id)).status == 503


def test_the_first_fault_that_fits_is_used(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=503), Fault(path=repo_id, status=429))
    assert [get(_url(hub, repo_id)).status for _ in range(3)] == [503, 429, 200]


def test_a_delay_comes_before_the_right_answer(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, delay=0.3))
    started = time.perf_counter()
    assert get(_url(hub, repo_id)).status == 200
    assert time.perf_counter() - started >= 0.3


def test_faults_are_cleared(hub: RunningHub, repo_id: str) -> None:
    hub.arm(Fault(path=repo_id, status=503, times=9))
    get(_url(hub, repo_id))
    assert [fault.times for fault in hub.armed()] == [8]
    hub.disarm()
    assert hub.armed() == []
    assert get(_url(hub, repo_id)).status == 200


def test_faults_last_as_long_as_their_block(hub: RunningHub, repo_id: str) -> None:
    with hub.broken_by(Fault(path=repo_id, status=503, times=9)):
        assert get(_url(hub, repo_id)).status == 503
    assert get(_url(hub, repo_id)).status == 200


@pytest.mark.parametrize(
    "fields", [{}, {"status": 503, "cut": 1}, {"status": 503, "path": "("}, {"status": 503, "pth": "x"}]
)
def test_a_fault_that_cannot_work_is_refused(hub: RunningHub, fields: dict[str, object]) -> None:
    assert request("POST", f"{hub.endpoint}/_test/faults", json.dumps([fields]).encode()).status == 400


def _put_url(hub: RunningHub, content: bytes) -> str:
    return f"{hub.endpoint}/_lfs/{hashlib.sha256(content).hexdigest()}"


def test_an_upload_is_cut_and_leaves_nothing(hub: RunningHub, repo_id: str) -> None:
    content = random.Random(repo_id).randbytes(3_000_000)
    url = _put_url(hub, content)
    hub.arm(Fault(method="PUT", path="/_lfs/", cut=1_000_000))
    with pytest.raises(ConnectionError):
        request("PUT", url, content)
    assert get(url).status == 404
    assert hub.requests(url.removeprefix(hub.endpoint))[0].status is None
    assert request("PUT", url, content).status == 200
    assert get(url).body == content


def test_a_download_is_cut_after_the_bytes_asked_for(hub: RunningHub, repo_id: str) -> None:
    content = random.Random(repo_id).randbytes(300_000)
    url = _put_url(hub, content)
    request("PUT", url, content)
    hub.arm(Fault(path="/_lfs/", cut=100_000))
    with pytest.raises(http.client.IncompleteRead) as cut:
        get(url)
    assert cut.value.partial == content[:100_000]
    assert get(url).body == content


def test_an_answer_is_lost_though_the_work_was_done(hub: RunningHub, repo_id: str) -> None:
    content = repo_id.encode()
    url = _put_url(hub, content)
    hub.arm(Fault(method="PUT", path="/_lfs/", cut=0, cut_in="response"))
    with pytest.raises(http.client.RemoteDisconnected):
        request("PUT", url, content)
    assert get(url).body == content


# What huggingface_hub does about them.


def _repo_with_a_file(repo_id: str) -> None:
    alice().create_repo(repo_id)
    alice().upload_file(path_or_fileobj=b"text", path_in_repo="a.txt", repo_id=repo_id)


@runs_in("hub_client")
def test_asking_for_a_repository_is_not_retried(repo_id: str, hub: RunningHub) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    alice().create_repo(repo_id)
    hub.arm(Fault(path=f"/api/models/{repo_id}", status=503))
    with pytest.raises(HfHubHTTPError, match="an armed fault"):
        alice().model_info(repo_id)
    assert alice().model_info(repo_id).id == repo_id


@runs_in("hub_client")
def test_the_question_how_to_upload_is_retried(repo_id: str, hub: RunningHub) -> None:
    alice().create_repo(repo_id)
    wait = {"Retry-After": "1", "RateLimit": '"api";r=0;t=1'}
    hub.arm(Fault(path=f"/{repo_id}/preupload/", status=429, times=2, headers=wait))
    with without_waiting():
        alice().upload_file(path_or_fileobj=b"text", path_in_repo="a.txt", repo_id=repo_id)
    assert [request.status for request in hub.requests(f"/{repo_id}/preupload/")] == [429, 429, 200]


@runs_in("hub_client")
def test_a_commit_is_not_retried(repo_id: str, hub: RunningHub) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    alice().create_repo(repo_id)
    hub.arm(Fault(path=f"/{repo_id}/commit/", status=503))
    with pytest.raises(HfHubHTTPError, match="503"):
        alice().upload_file(path_or_fileobj=b"text", path_in_repo="a.txt", repo_id=repo_id)
    assert alice().list_repo_files(repo_id) == [".gitattributes"]


@runs_in("hub_client")
def test_a_head_request_is_retried(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    _repo_with_a_file(repo_id)
    hub.arm(Fault(method="HEAD", path=f"/{repo_id}/resolve/", status=503, times=2))
    with without_waiting():
        assert Path(nobody().hf_hub_download(repo_id, "a.txt", cache_dir=tmp_path)).read_text() == "text"


@runs_in("hub_client")
def test_a_hub_that_stays_down_leaves_the_cache(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError

    _repo_with_a_file(repo_id)
    cached = nobody().hf_hub_download(repo_id, "a.txt", cache_dir=tmp_path / "full")
    hub.arm(Fault(method="HEAD", path=f"/{repo_id}/resolve/", status=503, times=99))
    with without_waiting():
        assert nobody().hf_hub_download(repo_id, "a.txt", cache_dir=tmp_path / "full") == cached
        with pytest.raises(LocalEntryNotFoundError):
            nobody().hf_hub_download(repo_id, "a.txt", cache_dir=tmp_path / "empty")


@runs_in("hub_client")
def test_a_download_is_retried_after_429_but_not_after_503(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    _repo_with_a_file(repo_id)
    hub.arm(Fault(method="GET", path=f"/{repo_id}/resolve/", status=503))
    with pytest.raises(HfHubHTTPError, match="503"):
        nobody().hf_hub_download(repo_id, "a.txt", cache_dir=tmp_path)
    hub.arm(Fault(method="GET", path=f"/{repo_id}/resolve/", status=429, headers={"RateLimit": '"resolvers";r=0;t=1'}))
    with without_waiting():
        assert nobody().hf_hub_download(repo_id, "a.txt", cache_dir=tmp_path)


@runs_in("hub_client_without_xet")
def test_an_upload_that_was_cut_is_sent_again(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(random.Random(repo_id).randbytes(2_000_000))
    sha256 = hashlib.sha256((tmp_path / "big.bin").read_bytes()).hexdigest()
    alice().create_repo(repo_id)
    hub.arm(Fault(method="PUT", path=f"/_lfs/{sha256}", cut=500_000))
    with without_waiting():
        alice().upload_file(path_or_fileobj=tmp_path / "big.bin", path_in_repo="big.bin", repo_id=repo_id)
    uploads = [request.status for request in hub.requests(f"/_lfs/{sha256}") if request.method == "PUT"]
    assert uploads == [None, 200]
    assert alice().file_exists(repo_id, "big.bin")


@runs_in("hub_client_without_xet")
def test_a_download_that_was_cut_is_resumed(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    content = random.Random(repo_id).randbytes(2_000_000)
    sha256 = hashlib.sha256(content).hexdigest()
    alice().create_repo(repo_id)
    alice().upload_file(path_or_fileobj=content, path_in_repo="big.bin", repo_id=repo_id)
    hub.arm(Fault(method="GET", path=f"/_lfs/{sha256}", cut=1_500_000))
    # The client keeps what it has only by whole chunks, of 10 MB unless told otherwise.
    with without_waiting(), mock.patch("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 200_000):
        got = nobody().hf_hub_download(repo_id, "big.bin", cache_dir=tmp_path)
    assert Path(got).read_bytes() == content
    ranges = [request.range for request in hub.requests(f"/_lfs/{sha256}") if request.method == "GET"]
    assert ranges == [None, "bytes=1400000-"]


@runs_in("hub_client")
def test_an_upload_through_xet_is_retried(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    pytest.importorskip("hf_xet")
    (tmp_path / "big.bin").write_bytes(random.Random(repo_id).randbytes(2_000_000))
    alice().create_repo(repo_id)
    hub.arm(Fault(path="/v1/xorbs/", status=503), Fault(path="/v1/xorbs/", cut=500_000))
    alice().upload_file(path_or_fileobj=tmp_path / "big.bin", path_in_repo="big.bin", repo_id=repo_id)
    assert hub.armed() == []
    assert alice().file_exists(repo_id, "big.bin")
