"""Folders served as repositories, on a tiny folder of our own."""

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
    """A data set of five rows in a Parquet file, and a "model" that is two text files."""
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


# The mount itself, without a server.


def test_files_are_described_as_git_and_lfs_do(root: Path) -> None:
    repo = Mounts(root).find(PAIRS)
    assert repo is not None
    tree = repo.at("main").tree
    assert set(tree) == {"README.md", "plain/test-00000-of-00001.parquet"}
    assert tree["README.md"].oid == git_oid(CARD.encode())
    parquet = (root / PAIRS.folder / "plain/test-00000-of-00001.parquet").read_bytes()
    assert tree["plain/test-00000-of-00001.parquet"].sha256 == hashlib.sha256(parquet).hexdigest()


def test_a_file_above_the_threshold_is_a_large_one(root: Path) -> None:
    below, above = Mounts(root, lfs_threshold=8).find(WORDS), Mounts(root, lfs_threshold=7).find(WORDS)
    assert below is not None
    assert above is not None
    assert below.at("main").tree["deep/er/words.txt"].sha256 is None
    assert above.at("main").tree["deep/er/words.txt"].sha256 == hashlib.sha256(b"one\ntwo\n").hexdigest()


def test_the_sha_comes_from_the_content_alone(tmp_path: Path) -> None:
    first, second = (Mounts(_write_tiny_hub(tmp_path / name)).find(WORDS) for name in ("a", "b"))
    assert first is not None
    assert second is not None
    assert first.at("main").sha == second.at("main").sha


def test_a_changed_file_changes_the_sha(root: Path) -> None:
    mounts = Mounts(root)
    shas = []
    for text in ("one\ntwo\n", "one\nTWO\n"):
        (root / WORDS.folder / "deep/er/words.txt").write_text(text)
        os.utime(root / WORDS.folder / "deep/er/words.txt", ns=(0, len(shas)))  # however coarse the clock is
        repo = mounts.find(WORDS)
        assert repo is not None
        shas.append(repo.at("main").sha)
    assert shas[0] != shas[1]


def test_unchanged_files_are_hashed_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_pin_replaces_the_sha(root: Path) -> None:
    repo = Mounts(root, pins={PAIRS: PIN}).find(PAIRS)
    assert repo is not None
    assert repo.at("main").sha == repo.at(PIN).sha == PIN


def test_a_ref_points_to_the_one_commit(root: Path) -> None:
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
def test_pins_and_refs_that_cannot_work_are_refused(root: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Mounts(root, **arguments)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder to mount"):
        Mounts(tmp_path / "none")


@pytest.mark.parametrize("repo_id", ["../models/org", "org/..", "org", "org/none"])
def test_only_folders_below_the_root_are_found(root: Path, repo_id: str) -> None:
    assert Mounts(root).find(RepoKey("dataset", repo_id)) is None


# The mount behind a server.


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
def test_a_mounted_set_loads_at_each_of_its_revisions(revision: str | None, tmp_path: Path) -> None:
    from datasets import load_dataset

    rows = load_dataset(PAIRS.id, "plain", split="test", revision=revision, cache_dir=tmp_path)
    assert rows.to_dict() == {"id": list(range(5)), "text": list("abcde")}


@runs_in("tiny_client")
def test_another_revision_of_a_mounted_set_is_not_found() -> None:
    from datasets import load_dataset
    from datasets.exceptions import DatasetNotFoundError

    with pytest.raises(DatasetNotFoundError, match="Revision"):
        load_dataset(PAIRS.id, revision="f" * 40)


@runs_in("tiny_client")
def test_a_mounted_model_can_be_downloaded_whole(tmp_path: Path) -> None:
    from huggingface_hub import snapshot_download

    snapshot = Path(snapshot_download(WORDS.id, cache_dir=tmp_path))
    assert (snapshot / "deep/er/words.txt").read_text() == "one\ntwo\n"


@runs_in("tiny_client")
def test_a_large_mounted_file_comes_from_the_other_origin_without_xet(tiny_hub: RunningHub, tmp_path: Path) -> None:
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
def test_a_mounted_repository_cannot_be_changed() -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(token=ALICE)
    assert api.create_repo(WORDS.id, exist_ok=True).repo_id == WORDS.id
    with pytest.raises(HfHubHTTPError, match="models/org/words is mounted from a folder") as refusal:
        api.upload_file(path_or_fileobj=b"x", path_in_repo="x.txt", repo_id=WORDS.id)
    assert refusal.value.response.status_code == 403


@runs_in("tiny_client")
def test_beside_mounted_repositories_others_can_be_made(repo_id: str) -> None:
    from huggingface_hub import HfApi

    HfApi(token=ALICE).create_repo(repo_id)
    assert all(HfApi().repo_exists(each) for each in (repo_id, WORDS.id))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("bytes=0-2", b"one"), ("bytes=4-", b"two\n"), ("bytes=-4", b"two\n"), ("bytes=4-99", b"two\n")],
)
def test_a_range_of_a_file_can_be_had(tiny_hub: RunningHub, asked: str, expected: bytes) -> None:
    answer = get(f"{tiny_hub.endpoint}/{WORDS.id}/resolve/main/deep/er/words.txt", {"Range": asked})
    assert (answer.status, answer.body) == (206, expected)


def test_a_range_past_the_end_is_refused(tiny_hub: RunningHub) -> None:
    answer = get(f"{tiny_hub.endpoint}/{WORDS.id}/resolve/main/deep/er/words.txt", {"Range": "bytes=8-"})
    assert (answer.status, answer.headers["content-range"]) == (416, "bytes */8")
