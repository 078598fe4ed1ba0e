"""Tests of files and hashes."""

import hashlib
import os
import sys
import time
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from unbag.challenge_sets.request import SetRequest, build_requested_set, create_validated_builder
from unbag.data.columns import count_distinct
from unbag.utils import files
from unbag.utils.files import atomic_write, get_cache_folder
from unbag.utils.hashing import hash_columns, hash_file, hash_texts
from unbag.utils.safe_io import validate_writable


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "/home/me/.cache/unbag/lexical"),
        ({"XDG_CACHE_HOME": "/big/cache"}, "/big/cache/unbag/lexical"),
        ({"XDG_CACHE_HOME": "/big/cache", "UNBAG_CACHE": "/ours"}, "/ours/lexical"),
        ({"UNBAG_CACHE": "~/ours"}, "/home/me/ours/lexical"),
        ({"UNBAG_CACHE": ""}, "/home/me/.cache/unbag/lexical"),
    ],
)
def test_cache_folder_follows_environment(environment, folder, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    for name in ("XDG_CACHE_HOME", "UNBAG_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert get_cache_folder("lexical") == Path(folder)


def test_files_and_folders_are_written_under_windows_rules(tmp_path, monkeypatch):
    """Windows cannot open folders, and cannot sync files that are opened for reading only."""
    fcntl = pytest.importorskip("fcntl")
    open_file, sync = os.open, os.fsync

    def opened(path, flags, *rest, **options):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return open_file(path, flags, *rest, **options)

    def synced(handle):
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(9, "Bad file descriptor")
        sync(handle)

    monkeypatch.setattr(files, "_WINDOWS", True)
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "fsync", synced)
    with files.atomic_write(tmp_path / "made" / "a.txt") as tmp:
        tmp.write_text("all of it")
    (tmp_path / "unfinished" / "within").mkdir(parents=True)
    files.atomic_rename(tmp_path / "unfinished", tmp_path / "whole")
    assert (tmp_path / "made" / "a.txt").read_text() == "all of it"
    assert (tmp_path / "whole" / "within").is_dir()


def test_folder_or_device_is_not_replaced_by_file(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(ValueError, match="got a folder or a device"), atomic_write(tmp_path / name):
            pytest.fail("there was something to write to")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("is_folder", [False, True])
def test_output_below_broken_link_is_rejected(tmp_path, is_folder):
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    for path in (link, link / "out"):
        with pytest.raises(ValueError, match=r"got a broken symbolic link at .*link; pass another path"):
            validate_writable(path, folder=is_folder)


@pytest.fixture
def read(monkeypatch):
    """Record the names of hashed files."""
    seen, digest = [], hashlib.file_digest
    monkeypatch.setattr(
        hashlib, "file_digest", lambda file, kind: seen.append(Path(file.name).name) or digest(file, kind)
    )
    return seen


def later(monkeypatch):
    now = time.time() + 60
    monkeypatch.setattr("unbag.utils.hashing.time.time", lambda: now)


def test_unchanged_file_is_hashed_once(tmp_path, monkeypatch, read):
    file, link = tmp_path / "pairs.csv", tmp_path / "link.csv"
    file.write_text("one")
    link.symlink_to(file)
    assert hash_file(file) == hash_file(file)
    assert read == ["pairs.csv"] * 2, "a recently written file is hashed each time"
    later(monkeypatch)
    assert {hash_file(file), hash_file(file), hash_file(link)} == {hashlib.sha256(b"one").hexdigest()}
    assert read == ["pairs.csv"] * 3
    # Same size, same path and same modification time.
    times = file.stat()
    file.write_text("two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert hash_file(file) == hashlib.sha256(b"two").hexdigest()
    file.with_suffix(".new").write_text("six")
    file.with_suffix(".new").replace(file)
    assert hash_file(file) == hashlib.sha256(b"six").hexdigest()


def test_user_file_is_hashed_once_per_set(tmp_path, empty_caches, monkeypatch, read):
    file = tmp_path / "pairs.csv"
    file.write_text("premise,hypothesis,label\nA man sees dogs.,A man sees a dog.,neutral\n")
    later(monkeypatch)
    request = SetRequest("plain", options={"data": str(file)})
    create_validated_builder(request)
    assert len(build_requested_set(request).rows) == 1
    assert read.count("pairs.csv") == 1


@pytest.mark.parametrize("apart", [False, True])
def test_distinct_values_are_counted_in_any_order(monkeypatch, apart):
    monkeypatch.setattr("unbag.data.columns.ROWS_PER_TABLE", 4)
    for n in (1, 3, 4, 5, 23):
        texts = [f"x{i // 3}" for i in range(n)] + (["x0"] if apart else [])
        assert count_distinct(Dataset.from_dict({"a": texts}), "a") == len(set(texts))


def test_count_of_distinct_values_needs_little_memory():
    rows = Dataset.from_dict({"a": [f"train-{i // 2}" for i in range(200_000)]})
    count_distinct(rows.select(range(10)), "a")  # imports
    tracemalloc.start()
    try:
        assert count_distinct(rows, "a") == 100_000
        assert tracemalloc.get_traced_memory()[1] < 5e6, "the texts alone are 6 MB"
    finally:
        tracemalloc.stop()


TEXTS = st.none() | st.text(alphabet="ab-:;012\x1e\x1f\0\u00e9\U0001f600", max_size=4)
ROWS = st.lists(st.tuples(TEXTS, TEXTS), max_size=4)


def of(rows, columns=("premise", "hypothesis")):
    cells = [[row[n] for row in rows] for n in range(2)]
    return hash_columns([pa.table(dict(zip(columns, map(pa.array, cells, [pa.string()] * 2), strict=True)))], columns)


@settings(max_examples=300)
@given(ROWS, ROWS)
def test_different_rows_have_different_hashes(one, other):
    assert (of(one) == of(other)) == (one == other)


@given(ROWS, st.integers(0, 4))
def test_batch_boundaries_do_not_change_hash(rows, where):
    table = pa.table({"a": pa.array([row[0] for row in rows], pa.string())})
    assert hash_columns([table], ["a"]) == hash_columns([table[:where], table[where:]], ["a"])


@settings(max_examples=300)
@given(*[st.lists(st.lists(st.text(alphabet="a1:;\x1f", max_size=3), max_size=3), max_size=3)] * 2)
def test_different_texts_have_different_hashes(one, other):
    assert (hash_texts(one) == hash_texts(other)) == (one == other)
