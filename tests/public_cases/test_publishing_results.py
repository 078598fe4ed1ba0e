"""Publications that must end or follow their own advice."""

from types import SimpleNamespace

import pytest

from tests import factories
from unbag.challenge_sets import results
from unbag.cli.publish import read_results
from unbag.hub import push
from unbag.hub.push import HubError, HubUpload
from unbag.utils.storage import StorageFolder


def test_unreadable_new_repository_ends_publication(monkeypatch):
    created, waits = [], []
    monkeypatch.setattr(push, "_plan", lambda *_, **__: SimpleNamespace(base=None))
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", lambda *_, **__: created.append(1))
    monkeypatch.setattr(push.time, "sleep", waits.append)
    upload = HubUpload(repo="org/new", kind="dataset", files={}, message="m")
    with pytest.raises(HubError, match=r"dataset org/new: .* after 6 attempts .* check that the token can read it"):
        push.publish_files(upload, private=False, pull_request=False)
    assert len(created) == 6
    assert sum(waits) < 20


def test_results_at_url_are_read(tmp_path):
    results.write_results([factories.build_result("org/model")], tmp_path / results.FILE)
    url = f"memory://{tmp_path.name}/run"
    StorageFolder(url).write(results.FILE, (tmp_path / results.FILE).read_bytes())
    expected = [each.model["name"] for each in read_results([tmp_path])]
    assert [each.model["name"] for each in read_results([url, f"{url}/results.json"])] == expected * 2
