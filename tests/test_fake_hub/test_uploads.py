"""Tests of uploads and downloads through `huggingface_hub`: small files, and large ones through Xet or LFS."""

from __future__ import annotations

import importlib.util
import io
import random
from pathlib import Path

import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import ClientProcess, runs_in
from tests.fake_hub.running import RunningHub, running_hub
from tests.test_fake_hub.callers import connect_anonymously, connect_as_alice
from tests.test_fake_hub.plain_http import get

WAYS = {"xet": "hub_client", "lfs": "hub_client_without_xet"}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    if request.param == "xet" and importlib.util.find_spec("hf_xet") is None:
        pytest.skip("needs hf_xet")
    return request.param


@pytest.fixture
def client(way: str, request: pytest.FixtureRequest) -> ClientProcess:
    return request.getfixturevalue(WAYS[way])


def noise(size: int, seed: int | str = 0) -> bytes:
    """Return incompressible bytes. With a repository id as seed, they are new to the storage."""
    return random.Random(seed).randbytes(size)


@runs_in("client")
def test_small_file_round_trips(repo_id: str, tmp_path: Path) -> None:
    connect_as_alice().create_repo(repo_id)
    commit = connect_as_alice().upload_file(path_or_fileobj=b"hello", path_in_repo="a/b.txt", repo_id=repo_id)
    assert connect_as_alice().model_info(repo_id).sha == commit.oid
    assert Path(connect_anonymously().hf_hub_download(repo_id, "a/b.txt", cache_dir=tmp_path)).read_bytes() == b"hello"


@runs_in("client")
def test_large_file_round_trips_through_xet_or_lfs(way: str, repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    # Half random, half repeated, for both kinds of compression.
    content = noise(3_000_000, seed=repo_id) + b"z" * 1_000_000
    (tmp_path / "big.bin").write_bytes(content)
    connect_as_alice().create_repo(repo_id)
    connect_as_alice().upload_file(path_or_fileobj=tmp_path / "big.bin", path_in_repo="sub/big.bin", repo_id=repo_id)
    [entry] = connect_as_alice().get_paths_info(repo_id, ["sub/big.bin"])
    assert entry.size == entry.lfs.size == len(content)
    assert (entry.xet_hash is not None) == (way == "xet")
    got = connect_anonymously().hf_hub_download(repo_id, "sub/big.bin", cache_dir=tmp_path / "cache")
    assert Path(got).read_bytes() == content
    assert bool(hub.requests(f"/{repo_id}/xet-write-token")) == (way == "xet")
    assert bool(hub.requests(f"/{repo_id}.git/info/lfs")) == (way == "lfs")


@runs_in("hub_client_without_xet")
def test_xet_upload_is_readable_without_xet(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    import subprocess
    import sys

    content = noise(300_000, seed=repo_id)
    (tmp_path / "big.bin").write_bytes(content)
    connect_as_alice().create_repo(repo_id)
    program = f"""
from huggingface_hub import upload_file
upload_file(path_or_fileobj="big.bin", path_in_repo="b.bin", repo_id={repo_id!r})
"""
    subprocess.run(
        [sys.executable, "-c", program], env=hub.env(tmp_path / "home", token=ALICE), cwd=tmp_path, check=True
    )
    assert hub.requests(f"/{repo_id}/xet-write-token")
    assert Path(connect_anonymously().hf_hub_download(repo_id, "b.bin", cache_dir=tmp_path)).read_bytes() == content


@runs_in("client")
def test_binary_buffer_round_trips(repo_id: str, tmp_path: Path) -> None:
    content = b"\0buffer" * 1000
    connect_as_alice().create_repo(repo_id)
    connect_as_alice().upload_file(path_or_fileobj=io.BytesIO(content), path_in_repo="b.dat", repo_id=repo_id)
    assert Path(connect_anonymously().hf_hub_download(repo_id, "b.dat", cache_dir=tmp_path)).read_bytes() == content


@runs_in("client")
def test_upload_folder_replaces_files(repo_id: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "x" / "y").mkdir(parents=True)
    for number in range(4):
        (folder / f"x/y/{number}.bin").write_bytes(noise(200_000, seed=number))
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    (folder / "run.log").write_text("not for others")
    connect_as_alice().create_repo(repo_id)
    connect_as_alice().upload_file(path_or_fileobj=b"old", path_in_repo="old/a.txt", repo_id=repo_id)
    connect_as_alice().upload_folder(
        folder_path=folder, repo_id=repo_id, ignore_patterns="*.log", delete_patterns="old/*"
    )
    expected = {".gitattributes", "README.md", *(f"x/y/{number}.bin" for number in range(4))}
    assert set(connect_as_alice().list_repo_files(repo_id)) == expected
    snapshot = Path(connect_anonymously().snapshot_download(repo_id, cache_dir=tmp_path / "cache"))
    for number in range(4):
        assert (snapshot / f"x/y/{number}.bin").read_bytes() == noise(200_000, seed=number)


@runs_in("hub_client")
def test_snapshot_contains_only_allowed_patterns(repo_id: str, tmp_path: Path) -> None:
    connect_as_alice().create_repo(repo_id)
    for path in ("README.md", "a.txt"):
        connect_as_alice().upload_file(path_or_fileobj=b"text", path_in_repo=path, repo_id=repo_id)
    folder = Path(connect_anonymously().snapshot_download(repo_id, local_dir=tmp_path, allow_patterns=["*.md"]))
    assert sorted(path.name for path in folder.glob("*")) == [".cache", "README.md"]


@runs_in("hub_client")
def test_gitignore_excludes_files(repo_id: str, tmp_path: Path) -> None:
    connect_as_alice().create_repo(repo_id)
    connect_as_alice().upload_file(path_or_fileobj=b"# caches\n*.cache\n", path_in_repo=".gitignore", repo_id=repo_id)
    for name in ("a.txt", "b.cache"):
        (tmp_path / name).write_text("text")
    connect_as_alice().upload_folder(folder_path=tmp_path, repo_id=repo_id)
    assert set(connect_as_alice().list_repo_files(repo_id)) == {".gitattributes", ".gitignore", "a.txt"}


def test_hub_without_xet_uses_lfs(hub_client_without_xet: ClientProcess, repo_id: str, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(noise(250_000))
    with running_hub(xet=False) as hub:
        hub_client_without_xet.run(_upload_to_and_download_from, hub=hub, repo_id=repo_id, folder=tmp_path)
        assert get(f"{hub.endpoint}/api/models/{repo_id}/xet-read-token/main").status == 404


def _upload_to_and_download_from(hub: RunningHub, repo_id: str, folder: Path) -> None:
    from huggingface_hub import HfApi

    api = HfApi(endpoint=hub.endpoint, token=ALICE)
    api.create_repo(repo_id)
    api.upload_file(path_or_fileobj=folder / "big.bin", path_in_repo="big.bin", repo_id=repo_id)
    got = api.hf_hub_download(repo_id, "big.bin", cache_dir=folder / "cache")
    assert Path(got).read_bytes() == (folder / "big.bin").read_bytes()
