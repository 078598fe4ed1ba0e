"""Tests of local and remote folders: atomic files."""

import pickle
from functools import partial

import pytest

from unbag.utils.storage import StorageFolder, upload_files


@pytest.mark.parametrize("is_remote", [False, True])
def test_files_are_written_read_listed_and_removed(tmp_path, is_remote):
    folder = StorageFolder(f"memory://{tmp_path.name}/a" if is_remote else tmp_path / "a")
    assert folder.list_names() == []
    folder.write("b.json", b"1")
    folder.write("a.json", b"2")
    (folder / "within").write("c.json", b"3")
    assert folder.list_names() == ["a.json", "b.json"]
    folder.write("a.json", b"4")
    assert folder.read("a.json") == b"4"
    assert (folder / "within").read("c.json") == b"3"
    folder.remove("a.json")
    folder.remove("a.json")
    assert folder.list_names() == ["b.json"]
    with pytest.raises(FileNotFoundError):
        folder.read("a.json")
    assert pickle.loads(pickle.dumps(folder)) == folder


def test_folder_is_uploaded_with_subfolders(tmp_path):
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "00.parquet").write_bytes(b"1")
    (tmp_path / "results.json").write_bytes(b"2")
    place = f"memory://{tmp_path.name}/run"
    upload_files(tmp_path, place, last_file="results.json")
    assert StorageFolder(place).read("results.json") == b"2"
    assert StorageFolder(f"{place}/samples").read("00.parquet") == b"1"


def test_unsupported_address_is_rejected():
    with pytest.raises(ValueError, match="nosuch"):
        StorageFolder("nosuch://bucket/run")
    with pytest.raises(ValueError, match="expected a local folder"):
        _ = StorageFolder("memory://run").path


def test_error_of_remote_client_is_described(monkeypatch):
    class NoCredentialsError(Exception):
        pass

    def fail(*_, **__):
        raise NoCredentialsError("Unable to locate credentials")

    folder = StorageFolder("memory://described")
    folder.write("a", b"1")
    system, _ = folder._remote
    expected = (
        r"memory://described: expected a readable folder, got NoCredentialsError \(Unable to locate credentials\)"
    )
    for name, use in (
        ("cat_file", partial(folder.read, "a")),
        ("ls", folder.list_names),
        ("exists", partial(folder.exists, "a")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(system, name, fail)
            with pytest.raises(ValueError, match=expected):
                use()
