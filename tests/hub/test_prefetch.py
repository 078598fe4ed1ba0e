"""Tests of prefetching, offline errors and failed downloads."""

import shutil

import pytest
from huggingface_hub import HfApi

from tests.fake_hub.accounts import ALICE
from tests.inference.fixtures import save_model_with_code

_PLAIN = ["--sets", "plain", "--corpus", "snli"]
_LIMIT = 4_000  # maximum file size in bytes, smaller than the tiny corpus


@pytest.mark.nightly
def test_offline_run_names_missing_files_and_prefetch_downloads_them(fresh_commands, tmp_path):
    unbag = fresh_commands
    n = len(unbag.hub.requests())
    asked = ["majority", "--sets", "plain", "--sets", "swapped", "--corpus", "snli", "--train-data", "snli"]
    error = unbag("evaluate", *asked, "--offline", "--output-dir", tmp_path / "a", code=1)
    assert "expected all files to be available offline, got 3 missing" in error
    for name in ("split validation", "split train", "the spaCy pipeline"):
        assert name in error
    assert len(unbag.hub.requests()) == n, "a request was made offline"
    assert "the corpus snli, split validation (stanfordnlp/snli): available" in unbag("prefetch", *_PLAIN)
    n = len(unbag.hub.requests())
    assert "89 examples" in unbag(
        "build", "plain", "--corpus", "snli", "--offline", "--output", tmp_path / "plain.parquet"
    )
    assert len(unbag.hub.requests()) == n, "a request was made offline"


@pytest.mark.nightly
def test_damaged_cached_file_is_replaced(commands, tmp_path):
    """Damage the download, the corpus built from it, or the set built from the corpus."""
    build = ["build", "plain", "--corpus", "snli", "--split", "test", "--output", tmp_path / "plain.parquet"]
    whole = commands(*build)
    made = (tmp_path / "plain.parquet").read_bytes()
    home = commands.home / "hf"

    def damage(pattern):
        found = [path for path in home.glob(pattern) if path.is_file() and path.stat().st_size > _LIMIT]
        assert found
        for path in found:
            path.write_bytes(path.read_bytes()[:1000])

    corpus, sets = home / "datasets" / "stanfordnlp___snli", home / "datasets" / "unbag_plain"
    for pattern, unread in (
        ("datasets/unbag_plain/**/*test*.arrow", []),
        ("datasets/stanfordnlp___snli/**/*test*.arrow", [sets]),
        ("hub/datasets--stanfordnlp--snli/blobs/*", [sets, corpus]),
    ):
        damage(pattern)
        for folder in unread:  # remove what was built from the damaged file
            shutil.rmtree(folder)
        assert commands(*build) == whole
        assert (tmp_path / "plain.parquet").read_bytes() == made


@pytest.mark.nightly
def test_model_code_is_prefetched_but_runs_only_if_trusted(fresh_commands, tiny_bert, tmp_path):
    unbag = fresh_commands
    folder, ran = save_model_with_code(tmp_path / "own", tiny_bert, ran=tmp_path / "ran"), tmp_path / "ran"
    api = HfApi(unbag.hub.endpoint, token=ALICE)
    api.create_repo("alice/own", exist_ok=True)
    commit = api.upload_folder(repo_id="alice/own", folder_path=folder).oid
    (tmp_path / "pairs.csv").write_text("premise,hypothesis,label\nA dog runs.,An animal moves.,entailment\n")
    asked = ["alice/own", "--revision", commit, "--sets", "plain", "--data", tmp_path / "pairs.csv"]
    asked.append("--no-lexical-baseline")
    assert ": available" in unbag("prefetch", *asked)
    assert not ran.exists()
    trusting = ["--offline", "--trust-remote-code", "--trust-labels", "--output-dir", tmp_path / "a"]
    unbag("evaluate", *asked, *trusting)
    assert ran.exists()
