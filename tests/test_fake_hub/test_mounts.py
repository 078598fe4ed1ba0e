"""Tests of mounted folders, with a tiny folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import ClientProcess, runs_in
from tests.fake_hub.content import git_oid
from tests.fake_hub.keys import RepoKey
from tests.fake_hub.mounts import Mounts
from tests.fake_hub.running import RunningHub, running_hub
from tests.test_fake_hub.plain_http import get

PAIRS = RepoKey("dataset", "org/pairs")
WORDS = RepoKey("model", "org/words")
PIN = "0123456789abcdef0123456789abcdef01234567"
CARD = "---\nconfigs:\n- config_name: plain\n  data_files:\n  - split: test\n    path: plain/test-*\n---\n"


def _write_tiny_hub(root: Path) -> Path:
    """Write a dataset of five rows in a Parquet file, and a "model" of two text files."""
    import pyarrow
    import pyarrow.parquet

    pairs, words = root / PAIRS.folder, root / WORDS.folder
    (pairs / "plain").mkdir(parents=True)
    (pairs / "README.md").write_text(CARD)
    table = pyarrow.table({"id": list(range(5)), "text": list("abcde")})
    pyarrow.parquet.write_table(table, pairs / "plain/test-00000-of-00001.parquet")
    (words / "deep/er").mkdir(parents=True)
    (words / "README.md").write_text("---\nlicense: mit\n---\n")
    (words / "deep/er/words.txt").write_text("one\ntwo\n")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return _write_tiny_hub(tmp_path / "mounted")


# Mounts without a server.


def test_files_have_git_and_lfs_hashes(root: Path) -> None:
    repo = Mounts(root).find(PAIRS)
    assert repo is not None
    tree = repo.at("main").tree
    assert set(tree) == {"README.md", "plain/test-00000-of-00001.parquet"}
    assert tree["README.md"].oid == git_oid(CARD.encode())
    parquet = (root / PAIRS.folder / "plain/test-00000-of-00001.parquet").read_bytes()
    assert tree["plain/test-00000-of-00001.parquet"].sha256 == hashlib.sha256(parquet).hexdigest()


def test_file_above_threshold_is_large(root: Path) -> None:
    below, above = Mounts(root, lfs_threshold=8).find(WORDS), Mounts(root, lfs_threshold=7).find(WORDS)
    assert below is not None
    assert above is not None
    assert below.at("main").tree["deep/er/words.txt"].sha256 is None
    assert above.at("main").tree["deep/er/words.txt"].sha256 == hashlib.sha256(b"one\ntwo\n").hexdigest()


def test_sha_depends_only_on_content(tmp_path: Path) -> None:
    first, second = (Mounts(_write_tiny_hub(tmp_path / name)).find(WORDS) for name in ("a", "b"))
    assert first is not None
    assert second is not None
    assert first.at("main").sha == second.at("main").sha


def test_changed_file_changes_sha(root: Path) -> None:
    mounts = Mounts(root)
    shas = []
    for text in ("one\ntwo\n", "one\nTWO\n"):
        (root / WORDS.folder / "deep/er/words.txt").write_text(text)
        os.utime(root / WORDS.folder / "deep/er/words.txt", ns=(0, len(shas)))  # also with a coarse clock
        repo = mounts.find(WORDS)
        assert repo is not None
        shas.append(repo.at("main").sha)
    assert shas[0] != shas[1]


def test_unchanged_file_is_hashed_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []

    def note(path: Path) -> str:
        hashed.append(path.name)
        return "0" * 64

    monkeypatch.setattr("tests.fake_hub.mounts.sha256_of", note)
    mounts = Mounts(root)
    assert hashed == [], "hashing waits for the first client"
    for _ in range(2):
        repo = mounts.find(PAIRS)
        assert repo is not None
        repo.at("main")
    assert hashed == ["test-00000-of-00001.parquet"]


def test_pin_replaces_sha(root: Path) -> None:
    repo = Mounts(root, pins={PAIRS: PIN}).find(PAIRS)
    assert repo is not None
    assert repo.at("main").sha == repo.at(PIN).sha == PIN


def test_ref_points_to_only_commit(root: Path) -> None:
    repo = Mounts(root, refs={PAIRS: ["refs/convert/parquet"]}).find(PAIRS)
    assert repo is not None
    assert repo.at("refs/convert/parquet") == repo.at("main")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pins": {RepoKey("dataset", "org/none"): PIN}}, "datasets/org/none is pinned or has refs, but it is no"),
        ({"pins": {PAIRS: "main"}}, "40 hexadecimal digits, got 'main'"),
        ({"refs": {PAIRS: ["parquet"]}}, "got 'parquet'"),
    ],
)
def test_invalid_pins_and_refs_raise_error(root: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Mounts(root, **arguments)


def test_missing_folder_raises_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder to mount"):
        Mounts(tmp_path / "none")


@pytest.mark.parametrize("repo_id", ["../models/org", "org/..", "org", "org/none"])
def test_repos_outside_root_are_not_found(root: Path, repo_id: str) -> None:
    assert Mounts(root).find(RepoKey("dataset", repo_id)) is None


# Mounts behind a server.


@pytest.fixture(scope="module")
def tiny_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    root = _write_tiny_hub(tmp_path_factory.mktemp("mounted"))
    with running_hub(mount=root, pins={PAIRS: PIN}, refs={PAIRS: ["refs/convert/parquet"]}) as running:
        yield running


@pytest.fixture(scope="module")
def tiny_client(tiny_hub: RunningHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientProcess]:
    with ClientProcess(tiny_hub.env(tmp_path_factory.mktemp("home"))) as client:
        yield client


@pytest.mark.parametrize("revision", [None, PIN, "refs/convert/parquet"])
@runs_in("tiny_client")
def test_mounted_dataset_loads_at_each_revision(revision: str | None, tmp_path: Path) -> None:
    from datasets import load_dataset

    rows = load_dataset(PAIRS.id, "plain", split="test", revision=revision, cache_dir=tmp_path)
    assert rows.to_dict() == {"id": list(range(5)), "text": list("abcde")}


@runs_in("tiny_client")
def test_other_revision_of_mounted_dataset_is_not_found() -> None:
    from datasets import load_dataset
    from datasets.exceptions import DatasetNotFoundError

    with pytest.raises(DatasetNotFoundError, match="Revision"):
        load_dataset(PAIRS.id, revision="f" * 40)


@runs_in("tiny_client")
def test_mounted_model_snapshot_downloads(tmp_path: Path) -> None:
    from huggingface_hub import snapshot_download

    snapshot = Path(snapshot_download(WORDS.id, cache_dir=tmp_path))
    assert (snapshot / "deep/er/words.txt").read_text() == "one\ntwo\n"


@runs_in("tiny_client")
def test_large_mounted_file_redirects_without_xet(tiny_hub: RunningHub, tmp_path: Path) -> None:
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    name = "plain/test-00000-of-00001.parquet"
    metadata = get_hf_file_metadata(hf_hub_url(PAIRS.id, name, repo_type="dataset"))
    assert metadata.commit_hash == PIN
    assert metadata.xet_file_data is None
    assert metadata.location.startswith("http://localhost:")
    got = Path(hf_hub_download(PAIRS.id, name, repo_type="dataset", cache_dir=tmp_path))
    assert hashlib.sha256(got.read_bytes()).hexdigest() == metadata.etag
    assert got.stat().st_size == metadata.size
    fetched = tiny_hub.requests(f"/_lfs/{metadata.etag}")
    assert fetched
    assert all(request.host.startswith("localhost:") for request in fetched)


@runs_in("tiny_client")
def test_mounted_repo_is_read_only() -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(token=ALICE)
    assert api.create_repo(WORDS.id, exist_ok=True).repo_id == WORDS.id
    with pytest.raises(HfHubHTTPError, match="models/org/words is mounted from a folder") as refusal:
        api.upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=WORDS.id)
    assert refusal.value.response.status_code == 403


@runs_in("tiny_client")
def test_new_repo_coexists_with_mounted_repos(repo_id: str) -> None:
    from huggingface_hub import HfApi

    HfApi(token=ALICE).create_repo(repo_id)
    assert all(HfApi().repo_exists(each) for each in (repo_id, WORDS.id))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("bytes=0-2", b"one"), ("bytes=4-", b"two\n"), ("bytes=-4", b"two\n"), ("bytes=4-99", b"two\n")],
)
def test_range_request_returns_part_of_file(tiny_hub: RunningHub, asked: str, expected: bytes) -> None:
    answer = get(f"{tiny_hub.endpoint}/{WORDS.id}/resolve/main/deep/er/words.txt", {"Range": asked})
    assert (answer.status, answer.body) == (206, expected)


def test_range_past_end_is_rejected(tiny_hub: RunningHub) -> None:
    answer = get(f"{tiny_hub.endpoint}/{WORDS.id}/resolve/main/deep/er/words.txt", {"Range": "bytes=8-"})
    assert (answer.status, answer.headers["content-range"]) == (416, "bytes */8")
