"""Tests of the collection of an organization over HTTP: created once, completed, and unchanged by a second run."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from unittest import mock

import pytest

from tests.fake_hub.accounts import ALICE, BOB
from tests.fake_hub.client_process import connect_as_alice, runs_in
from tests.fake_hub.faults import Fault
from tests.fake_hub.running import RunningHub

_MANY = 6  # more items than a list of collections includes


@pytest.fixture(autouse=True)
def _disarm_faults(hub: RunningHub) -> Iterator[None]:
    yield
    hub.arm()


def _authenticate(token: str):
    return mock.patch.dict("os.environ", {"HF_TOKEN": token})


def _build_repo_title(repo_id: str):
    """Give the collection a unique title, since all tests share an organization."""
    return mock.patch("unbag.hub.push.COLLECTION_TITLE", f"unbag {repo_id}")


def _publications(repo_id: str, n: int = _MANY):
    from unbag.hub.push import HubUpload

    kinds = ["dataset", "space"] * n
    return [HubUpload(f"{repo_id}_{i}", kinds[i], {"README.md": b"text"}, "Publish") for i in range(n)]


def _publish(uploads, *, yes=True, as_json=True, private=False) -> str:
    from unbag.cli.publish import PublishingOptions, publish_all

    out = io.StringIO()
    with redirect_stdout(out):
        publish_all(uploads, PublishingOptions("org", private=private, yes=yes, as_json=as_json), "org")
    return out.getvalue()


def _collection(repo_id: str):
    slugs = [each.slug for each in connect_as_alice().list_collections(owner="org") if each.title == f"unbag {repo_id}"]
    assert len(slugs) == 1
    return connect_as_alice().get_collection(slugs[0])


@runs_in("hub_client")
def test_publish_all_lists_every_repo_in_one_collection(repo_id):
    with _authenticate(ALICE), _build_repo_title(repo_id):
        uploads = _publications(repo_id)
        first = json.loads(_publish(uploads, private=True))[-1]
        assert (first["kind"], first["done"]) == ("collection", True)
        assert _collection(repo_id).private
        assert first["added"] == [each.repo for each in uploads]
        items = [(item.item_type, item.item_id) for item in _collection(repo_id).items]
        assert items == [(each.kind, each.repo) for each in uploads]
        assert first["url"].endswith(_collection(repo_id).slug)

        again = json.loads(_publish(uploads, private=True))[-1]
        assert (again["added"], again["url"]) == ([], first["url"])
        assert [(item.item_type, item.item_id) for item in _collection(repo_id).items] == items


@runs_in("hub_client")
def test_preview_lists_collection_and_writes_nothing(repo_id):
    with _authenticate(ALICE), _build_repo_title(repo_id):
        uploads = _publications(repo_id, 2)
        shown = _publish(uploads, yes=False, as_json=False)
        assert "collection org (a new collection)" in shown
        for each in uploads:
            assert f"  + {each.kind} {each.repo}" in shown
        assert f"unbag {repo_id}" not in [each.title for each in connect_as_alice().list_collections(owner="org")]
        _publish(uploads[:1])
        shown = _publish(uploads, yes=False, as_json=False)
        assert "collection org (1 items are already listed)" in shown
        assert f"  + {uploads[0].kind} {uploads[0].repo}" not in shown


@runs_in("hub_client")
def test_collection_is_completed_after_interruption(hub: RunningHub, repo_id):
    from unbag.hub.push import update_collection

    with (
        _authenticate(ALICE),
        _build_repo_title(repo_id),
        mock.patch("time.sleep", lambda _, sleep=time.sleep: sleep(0.01)),
    ):
        uploads = _publications(repo_id, 2)
        _publish(uploads[:1])
        connect_as_alice().create_repo(uploads[1].repo, repo_type="space", space_sdk="gradio")
        # The Hub adds the item but the response is lost, so the retry finds the item.
        hub.arm(Fault(path="/api/collections/.*/items", method="POST", cut=0, cut_in="response"))
        update_collection("org", uploads, write=True)
        assert [item.item_id for item in _collection(repo_id).items] == [each.repo for each in uploads]


@runs_in("hub_client")
def test_collection_of_other_owner_is_rejected(repo_id):
    from unbag.hub.push import HubError, update_collection

    with (
        _authenticate(BOB),
        _build_repo_title(repo_id),
        pytest.raises(HubError, match=r"org: expected a token with write access"),
    ):
        update_collection("org", _publications(repo_id, 1), write=True)
