"""Tests with a local S3 server. They are skipped without `pip install 'moto[server]' s3fs`."""

import os

import pytest

pytest.importorskip("s3fs", reason="needs s3fs")
pytest.importorskip("moto.server", reason="needs moto[server]")

import unbag
from tests.cli.test_options import run_unbag as command
from tests.evaluation.test_evaluator import predict_from_order, set_request  # noqa: F401  a few pairs of ours
from unbag.utils.storage import StorageFolder

KEYS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def bucket():
    """Return the address of a bucket. The environment contains the address of the server, as for a user."""
    import s3fs
    from moto import server

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
def test_evaluation_build_and_score_use_object_store(bucket, tmp_path, set_request, monkeypatch):  # noqa: F811
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    runs = [(tmp_path / "one", None), (f"{bucket}/run", None), (f"{bucket}/shards", "0/2"), (f"{bucket}/shards", None)]
    for out, shard in runs:
        unbag.evaluate(
            predict_from_order, [set_request], output_dir=out, shard=shard, lexical_baseline=False, progress=False
        )
    expected = (tmp_path / "one" / "results.json").read_bytes()
    assert StorageFolder(f"{bucket}/run").read("results.json") == expected
    assert StorageFolder(f"{bucket}/shards").read("results.json") == expected
    done = command(
        "build", "permuted", "--data", set_request.options["data"], "--output", f"{bucket}/sets/permuted.parquet"
    )
    assert done.exit_code == 0, done.output
    assert StorageFolder(f"{bucket}/sets").list_names() == ["permuted.parquet"]


def test_missing_bucket_is_reported_before_computation(bucket):
    done = command("evaluate", "majority", "--output-dir", "s3://nosuchbucket/run")
    assert done.exit_code == 2
    assert "expected a writable folder" in " ".join(done.output.replace("│", " ").split())
