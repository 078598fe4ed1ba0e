"""Tests of cache locations and atomic writes."""

import os
import sys
from pathlib import Path

import pytest

from unbag.utils import files
from unbag.utils.files import atomic_write, get_cache_folder


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "/home/me/.cache/unbag/lexical"),
        ({"XDG_CACHE_HOME": "/big/cache"}, "/big/cache/unbag/lexical"),
        ({"XDG_CACHE_HOME": ""}, "/home/me/.cache/unbag/lexical"),
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


@pytest.fixture
def like_windows(monkeypatch):
    """Restrict syncing as on Windows: folders cannot be opened, and read-only handles cannot be synced."""
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


@pytest.mark.usefixtures("like_windows")
def test_files_and_folders_are_written_under_windows_rules(tmp_path):
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
