"""Publications that must end or follow their own advice."""

import httpx
import pytest
from huggingface_hub.errors import HfHubHTTPError

from tests import factories
from unbag.challenge_sets import results
from unbag.cli.publish import read_results
from unbag.hub import push
from unbag.hub.push import HubError, HubUpload
from unbag.utils.storage import StorageFolder


def test_unreadable_new_repository_ends_publication(monkeypatch):
    created = []
    monkeypatch.setattr(push, "fetch_remote_repository", lambda *_: None)
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", lambda *_, **__: created.append(1))
    response = httpx.Response(
        404, request=httpx.Request("POST", "https://hub.example/api/datasets/org/new/commit/main")
    )
    monkeypatch.setattr(
        push, "_commit", lambda *_, **__: (_ for _ in ()).throw(HfHubHTTPError("none", response=response))
    )
    upload = HubUpload(repo="org/new", kind="dataset", files={"a": b"1"}, message="m")
    with pytest.raises(HubError, match=r"dataset org/new: expected a repository that the token can access, got none"):
        push.publish_files(upload)
    assert created == [1]


def test_results_at_url_are_read(tmp_path):
    results.write_results([factories.build_result("org/model")], tmp_path / results.FILE)
    url = f"memory://{tmp_path.name}/run"
    StorageFolder(url).write(results.FILE, (tmp_path / results.FILE).read_bytes())
    expected = [each.model["name"] for each in read_results([tmp_path])]
    assert [each.model["name"] for each in read_results([url, f"{url}/results.json"])] == expected * 2
