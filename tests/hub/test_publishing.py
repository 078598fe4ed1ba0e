"""Tests of publishing files and collections: one commit, none without changes, and errors of the Hub and the network.

`hub_client` has the token of Alice.
"""

import io
import json
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from huggingface_hub import HfApi
from huggingface_hub.utils import get_session

from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB
from tests.fake_hub.client_process import runs_in
from tests.fake_hub.faults import Fault
from unbag.hub import push
from unbag.hub.push import HubError, HubUpload, publish_files, update_collection

_BIG = 300_000  # size in bytes of a file that is uploaded before the commit


def _authenticate(token: str):
    return mock.patch.dict("os.environ", {"HF_TOKEN": token})


def _shorten_delays():
    """Shorten the retry delays of unbag and of the client."""
    sleep = time.sleep
    return mock.patch("time.sleep", lambda seconds: sleep(min(seconds, 0.01)))


def _publication(repo, tmp_path=None, **files):
    files = {path.replace("__", "/"): content for path, content in files.items()}
    if tmp_path is not None:
        (tmp_path / "big.bin").write_bytes(random.Random(repo).randbytes(_BIG))
        files["data/big.bin"] = tmp_path / "big.bin"
    return HubUpload(repo, "dataset", files, "Publish", owned_patterns=("data/*",))


def _commits(repo):
    return [commit.title for commit in HfApi().list_repo_commits(repo, repo_type="dataset")]


def _files(repo):
    return set(HfApi().list_repo_files(repo, repo_type="dataset")) - {".gitattributes"}


@runs_in("hub_client")
def test_files_and_card_are_published_in_one_commit(repo_id, tmp_path):
    upload = _publication(repo_id, tmp_path, README=b"a card")
    planned = publish_files(upload, dry_run=True)
    assert planned.base is None
    assert planned.added == {"README": 6, "data/big.bin": _BIG}
    assert not HfApi().repo_exists(repo_id, repo_type="dataset"), "looking made it"
    first, again = publish_files(upload), publish_files(upload)
    assert _commits(repo_id) == ["Publish", "initial commit"]
    assert (first.commit is not None, again.commit) == (True, None)
    assert (again.added, again.changed, again.deleted) == ({}, {}, ())


@runs_in("hub_client")
def test_publish_files_deletes_only_own_old_files(repo_id):
    publish_files(_publication(repo_id, data__old=b"1", data__kept=b"2"))
    HfApi().upload_file(path_or_fileobj=b"mine", path_in_repo="LICENSE", repo_id=repo_id, repo_type="dataset")
    done = publish_files(_publication(repo_id, data__new=b"3", data__kept=b"2"))
    assert _files(repo_id) == {"LICENSE", "data/new", "data/kept"}
    assert (done.added, done.changed, done.deleted) == ({"data/new": 1}, {}, ("data/old",))


@pytest.mark.nightly
@runs_in("hub_client")
def test_concurrent_publishers_lose_nothing(repo_id, tmp_path):
    """Publish twenty configs of one dataset, two at a time. All configs and their files must be present."""
    from unbag.hub.cards import split_card
    from unbag.hub.dataset_card import ConfigCard, merge_card

    def add(config):
        said = {"licences": ["mit"], "languages": ["en"], "sources": [], "splits": {}}
        card = ConfigCard(config, {"test": f"data/{config}/*"}, {"features": [], "splits": []}, said, "")
        merge = partial(merge_card, repo=repo_id, set_name="swapped", configs=[card], citation="")
        files = {f"data/{config}/rows": config.encode(), "README.md": merge}
        return publish_files(HubUpload(repo_id, "dataset", files, f"Publish {config}", (f"data/{config}/*",)))

    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            assert all(done.commit for done in pool.map(add, [f"{number}a", f"{number}b"]))
    wanted = [f"{number}{who}" for number in range(10) for who in "ab"]
    assert _files(repo_id) == {"README.md", *(f"data/{config}/rows" for config in wanted)}
    card = HfApi().hf_hub_download(repo_id, "README.md", repo_type="dataset", cache_dir=tmp_path)
    configs = split_card(Path(card).read_bytes())[0]["configs"]
    assert sorted(entry["config_name"] for entry in configs) == wanted
    assert [entry["config_name"] for entry in configs if entry.get("default")] == [configs[0]["config_name"]]


_REQUESTS = [
    ("GET", "/api/datasets/{repo}/revision/"),
    ("GET", "/api/datasets/{repo}/tree/"),
    ("POST", "/api/repos/create"),
    ("POST", "/api/validate-yaml"),
    ("POST", "/{repo}/preupload/"),
    ("POST", "/{repo}.git/info/lfs/"),
    ("PUT", "/_lfs/"),
    ("POST", "/_lfs/verify"),
    ("POST", "/{repo}/commit/"),
    ("HEAD", "/{repo}/resolve/"),
    ("GET", "/{repo}/resolve/"),
]
_FAULTS = [
    {"status": 503, "times": 3},
    {"status": 429, "times": 2, "headers": {"Retry-After": "1"}},
    {"cut": 0},
    {"cut": 0, "cut_in": "response"},
]


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, len(_FAULTS)))])
@runs_in("hub_client")
def test_temporary_errors_at_each_request_are_retried(repo_id, hub, tmp_path, first):
    """Each request fails in one way. The nightly tests combine all requests and faults."""
    card = b"---\nlicense: mit\n---\n"
    for number, (method, path) in enumerate(_REQUESTS):
        repo = f"{repo_id}_{number}"
        fault = Fault(method=method, path=path.format(repo=repo), **_FAULTS[(first + number) % len(_FAULTS)])
        with hub.broken_by(fault), _shorten_delays():
            assert publish_files(_publication(repo, tmp_path, **{"README.md": card})).commit
            assert publish_files(_publication(repo, tmp_path, **{"README.md": lambda old: old + b"merged\n"})).commit
            assert hub.armed() == [], "a request was never made, so this shows nothing of it"
        assert _commits(repo) == ["Publish", "Publish", "initial commit"]
        assert _files(repo) == {"README.md", "data/big.bin"}
        [file] = HfApi().get_paths_info(repo, ["README.md"], repo_type="dataset")
        assert file.size == len(card + b"merged\n")


def test_xet_storage_errors_are_transient():
    from unbag.utils.retries import is_transient

    assert is_transient(RuntimeError("Data processing error: CAS Client Error: Request error: 503"))
    assert not is_transient(RuntimeError("another error"))


_REJECTED = "expected a valid token, got a rejected one (401"
_READ_ONLY = "write access to org, got one without (403"


@pytest.mark.parametrize(
    ("token", "fault", "complaint"),
    [
        ("", {}, "expected a token, got none"),
        ("hf_nobodys", {}, _REJECTED),
        (ALICE_READS, {}, _READ_ONLY),
        (BOB, {}, _READ_ONLY),
        (ALICE, {"status": 401, "times": 99}, _REJECTED),
        (ALICE, {"status": 409, "times": 99}, "conflicts with other commits at every attempt (409"),
        (ALICE, {"status": 503, "times": 99}, "responded with 503 (an armed fault); rerun the command"),
        (ALICE, {"status": 400}, "the Hub rejected the request (400: an armed fault"),
        (ALICE, {"status": 400, "body": "Invalid evaluation_framework"}, "omit eval.yaml with `unbag publish … --no-b"),
        (ALICE, {"status": 429, "headers": {"Retry-After": "4000"}}, "rerun the command in 4000 s"),
    ],
)
@runs_in("hub_client")
def test_rejection_is_one_line_and_retry_completes(repo_id, hub, tmp_path, token, fault, complaint):
    upload, faults = _publication(repo_id, tmp_path), [Fault(path="/commit/", **fault)] if fault else []
    with hub.broken_by(*faults), _authenticate(token), _shorten_delays(), pytest.raises(HubError) as error:
        publish_files(upload)
    assert complaint in str(error.value)
    assert repo_id in str(error.value)
    assert "\n" not in str(error.value)
    assert not token or token not in str(error.value)
    if fault:
        assert _files(repo_id) == set(), "something is half published"
    publish_files(upload)
    assert _files(repo_id) == {"data/big.bin"}


@runs_in("hub_client")
def test_unreachable_network_is_one_line(repo_id, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with (
            _shorten_delays(),
            mock.patch("huggingface_hub.constants.ENDPOINT", dead),
            pytest.raises(HubError, match=f"{dead} cannot be reached"),
        ):
            publish_files(_publication(repo_id, tmp_path))


@runs_in("hub_client")
def test_private_option_rejects_public_repo(repo_id):
    publish_files(_publication(repo_id, a=b"1"), private=True)
    assert HfApi().dataset_info(repo_id).private
    publish_files(_publication(repo_id, a=b"2"), private=True)
    publish_files(_publication(f"{repo_id}_public", a=b"1"))
    with pytest.raises(HubError, match="expected a private repository, got a public one"):
        publish_files(_publication(f"{repo_id}_public", a=b"2"), private=True)


@runs_in("hub_client")
def test_publish_files_updates_open_pull_request(repo_id, hub):
    with pytest.raises(HubError, match="got none; check --repo-id"):
        publish_files(_publication(repo_id, a=b"1"), pull_request=True)
    publish_files(_publication(repo_id, a=b"1"))
    with _authenticate(BOB), _shorten_delays():
        # the pull request is opened, but the response is lost
        with hub.broken_by(Fault(path="/commit/", cut=0, cut_in="response")):
            first = publish_files(_publication(repo_id, a=b"2"), pull_request=True)
        again = publish_files(_publication(repo_id, a=b"2"), pull_request=True)
        planned = publish_files(_publication(repo_id, a=b"3"), pull_request=True, dry_run=True)
        assert planned.pull_request == "refs/pr/1"
        other = publish_files(_publication(repo_id, a=b"3"), pull_request=True)
    assert first.url == again.url == other.url
    assert other.url.endswith(f"/datasets/{repo_id}/discussions/1")
    assert again.commit is None
    assert [each.num for each in HfApi().get_repo_discussions(repo_id, repo_type="dataset")] == [1]
    [file] = HfApi().get_paths_info(repo_id, ["a"], repo_type="dataset", revision="refs/pr/1")
    assert file.blob_id == "e440e5c842586965a7fb77deda2eca68612b1f53"  # printf 3 | git hash-object --stdin
    assert _commits(repo_id) == ["Publish", "initial commit"], "main is untouched"


@runs_in("hub_client")
def test_conflicts_do_not_use_up_retries(repo_id, hub):
    conflicts = Fault(path="/commit/", status=409, times=push.TRIES + 1)
    with hub.broken_by(conflicts, Fault(path="/commit/", status=503)), _shorten_delays():
        assert publish_files(_publication(repo_id, a=b"1")).commit
        assert hub.armed() == []


def _rename_collection(repo_id: str):
    """Give the collection a unique title, since all tests share an organization."""
    return mock.patch("unbag.hub.push.COLLECTION_TITLE", f"unbag {repo_id}")


def _publications(repo_id: str, n: int):
    kinds = ["dataset", "space"] * n
    return [HubUpload(f"{repo_id}_{i}", kinds[i], {"README.md": b"text"}, "Publish") for i in range(n)]


def _publish(uploads, *, yes=True, as_json=True, private=False) -> str:
    from unbag.cli.publish import PublishingOptions, publish_all

    out = io.StringIO()
    with redirect_stdout(out):
        publish_all(uploads, PublishingOptions("org", private=private, yes=yes, as_json=as_json), "org")
    return out.getvalue()


def _find_collections(repo_id: str):
    found = [each for each in HfApi().list_collections(owner="org") if each.title == f"unbag {repo_id}"]
    return [HfApi().get_collection(each.slug) for each in found]


@runs_in("hub_client")
def test_publish_all_lists_every_repo_in_one_collection(repo_id):
    with _rename_collection(repo_id):
        uploads = _publications(repo_id, 6)  # more than a list of collections includes
        for added in ([each.repo for each in uploads], []):
            done = json.loads(_publish(uploads, private=True))[-1]
            assert (done["kind"], done["done"], done["added"]) == ("collection", True, added)
            [collection] = _find_collections(repo_id)
            assert collection.private
            assert [(item.item_type, item.item_id) for item in collection.items] == [
                (each.kind, each.repo) for each in uploads
            ]
            assert done["url"].endswith(collection.slug)


@runs_in("hub_client")
def test_preview_lists_collection_and_writes_nothing(repo_id):
    with _rename_collection(repo_id):
        uploads = _publications(repo_id, 2)
        shown = _publish(uploads, yes=False, as_json=False)
        assert "collection org (a new collection)" in shown
        for each in uploads:
            assert f"  + {each.kind} {each.repo}" in shown
        assert _find_collections(repo_id) == []
        _publish(uploads[:1])
        shown = _publish(uploads, yes=False, as_json=False)
        assert "collection org (1 items are already listed)" in shown
        assert f"  + {uploads[0].kind} {uploads[0].repo}" not in shown


@runs_in("hub_client")
def test_collection_is_completed_after_interruption(hub, repo_id):
    with _rename_collection(repo_id), _shorten_delays():
        uploads = _publications(repo_id, 2)
        _publish(uploads[:1])
        HfApi().create_repo(uploads[1].repo, repo_type="space", space_sdk="gradio")
        # The Hub adds the item but the response is lost, so the retry finds the item.
        with hub.broken_by(Fault(path="/api/collections/.*/items", method="POST", cut=0, cut_in="response")):
            update_collection("org", uploads, write=True)
        [collection] = _find_collections(repo_id)
        assert [item.item_id for item in collection.items] == [each.repo for each in uploads]
        with _authenticate(BOB), pytest.raises(HubError, match=r"org: expected a token with write access"):
            update_collection("org", _publications(repo_id, 3), write=True)


def test_requests_stay_on_endpoint_without_token_in_url(hub):
    requests = hub.requests()
    assert requests, "run after the others"
    assert not [request for request in requests if request.is_for_external_host or request.token_in_url]


@runs_in("hub_client")
def test_test_hub_finds_tokens_in_urls_and_requests_to_other_servers(hub, repo_id):
    for token in (ALICE, "hf_unknown"):
        get_session().get(f"{hub.endpoint}/telemetry/{repo_id}/{token}?token={token}&b=2")
        *_, entry = hub.requests(repo_id)
        assert (entry.method, entry.status, entry.token_in_url) == ("GET", 404, True)
        assert (entry.path, entry.query) == (f"/telemetry/{repo_id}/***", "token=***&b=2")
    with pytest.raises(Exception, match="403"):  # the CONNECT tunnel for https is rejected
        get_session().get("https://elsewhere.invalid/x")
    assert get_session().get("http://elsewhere.invalid/y").status_code == 403
    asked = [(entry.method, entry.path, entry.status) for entry in hub.requests() if entry.is_for_external_host]
    assert ("CONNECT", "elsewhere.invalid:443", 403) in asked
    assert ("GET", "http://elsewhere.invalid/y", 403) in asked
