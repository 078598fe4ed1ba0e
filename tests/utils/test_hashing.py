"""Tests that an unchanged file is hashed once, and a possibly changed file again."""

import hashlib
import os
import time
from pathlib import Path

import pytest

from unbag.challenge_sets.request import SetRequest, build_requested_set, create_validated_builder
from unbag.utils.hashing import hash_file


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
    later(monkeypatch)
    assert {hash_file(file), hash_file(file), hash_file(link)} == {hashlib.sha256(b"one").hexdigest()}
    assert read == ["pairs.csv"]
    # Same size, same path and same modification time.
    times = file.stat()
    file.write_text("two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert hash_file(file) == hashlib.sha256(b"two").hexdigest()
    file.with_suffix(".new").write_text("six")
    file.with_suffix(".new").replace(file)
    assert hash_file(file) == hashlib.sha256(b"six").hexdigest()


def test_recently_written_file_is_hashed_each_time(tmp_path, read):
    file = tmp_path / "pairs.csv"
    file.write_text("one")
    assert hash_file(file) == hash_file(file)
    assert read == ["pairs.csv"] * 2


def test_user_file_is_hashed_once_per_set(tmp_path, monkeypatch, read):
    file = tmp_path / "pairs.csv"
    file.write_text("premise,hypothesis,label\nA man sees dogs.,A man sees a dog.,neutral\n")
    later(monkeypatch)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    request = SetRequest("plain", options={"data": str(file)})
    create_validated_builder(request)
    assert len(build_requested_set(request).rows) == 1
    assert read.count("pairs.csv") == 1
