"""Tests of local and remote folders, also with a local S3 server, which needs `pip install 'moto[server]' s3fs`."""

import os
import pickle
from functools import partial

import pytest

import unbag
from tests.evaluation.test_evaluator import predict_from_order, set_request  # noqa: F401  a few pairs of ours
from tests.factories import run_unbag
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


KEYS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def bucket():
    """Return the address of a bucket. The environment contains the address of the server, as for a user."""
    s3fs = pytest.importorskip("s3fs", reason="needs s3fs")
    server = pytest.importorskip("moto.server", reason="needs moto[server]")

    running = server.ThreadedMotoServer(port=0, verbose=False)
    running.start()
    _, port = running.get_host_and_port()
    before = dict(os.environ)
    os.environ.update(KEYS, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("bucket")
    yield "s3://bucket"
    os.environ.clear()
    os.environ.update(before)
    s3fs.S3FileSystem.clear_instance_cache()
    running.stop()


@pytest.mark.nightly
def test_evaluation_build_and_score_use_object_store(bucket, tmp_path, set_request):  # noqa: F811
    runs = [(tmp_path / "one", None), (f"{bucket}/run", None), (f"{bucket}/shards", "0/2"), (f"{bucket}/shards", None)]
    for out, shard in runs:
        unbag.evaluate(
            predict_from_order, [set_request], output_dir=out, shard=shard, lexical_baseline=False, progress=False
        )
    expected = (tmp_path / "one" / "results.json").read_bytes()
    assert StorageFolder(f"{bucket}/run").read("results.json") == expected
    assert StorageFolder(f"{bucket}/shards").read("results.json") == expected
    done = run_unbag(
        "build", "permuted", "--data", set_request.options["data"], "--output", f"{bucket}/sets/permuted.parquet"
    )
    assert done.exit_code == 0, done.output
    assert StorageFolder(f"{bucket}/sets").list_names() == ["permuted.parquet"]


def test_missing_bucket_is_reported_before_computation(bucket):
    done = run_unbag("evaluate", "majority", "--output-dir", "s3://nosuchbucket/run")
    assert done.exit_code == 2
    assert "expected a writable folder" in " ".join(done.output.replace("│", " ").split())
