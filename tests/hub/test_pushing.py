"""Tests of `--push-results`: results are on the Hub after a run, and an impossible push fails before the run."""

import json
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from huggingface_hub import HfApi

from tests.cli.test_options import run_unbag
from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB
from tests.hub.conftest import Commands

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.training.conftest import pairs_path  # noqa: F401
from unbag.cli import push, train
from unbag.cli.push import validate_push

MAJORITY = "evaluate majority --train-data snli --sets plain,swapped --corpus snli --no-lexical-baseline".split()


def files(hub, repo, kind):
    api = HfApi(hub.endpoint, token=ALICE)
    commits = [commit.title for commit in api.list_repo_commits(repo, repo_type=kind)]
    return api, set(api.list_repo_files(repo, repo_type=kind)), commits


@pytest.mark.nightly
def test_evaluation_pushes_results_in_one_commit(commands, tiny_hub, repo_id, tmp_path):
    commands(*MAJORITY, "--output-dir", tmp_path / "run", "--push-results", repo_id)
    api, there, commits = files(tiny_hub, repo_id, "dataset")
    assert "data/train-00000-of-00001.parquet" in there
    assert commits.count("Add results") == 1
    assert api.repo_info(repo_id, repo_type="dataset").private
    [path] = [path for path in there if path.endswith(".parquet")]
    rows = pq.read_table(api.hf_hub_download(repo_id, path, repo_type="dataset", cache_dir=tmp_path / "cache"))
    assert {(row["model"], row["set"]) for row in rows.to_pylist()} == {("majority", "plain"), ("majority", "swapped")}
    out = commands(*MAJORITY, "--output-dir", tmp_path / "run", "--push-results", repo_id, "--json")
    assert json.loads(out)["results"], "what was pushed is said on standard error"
    assert files(tiny_hub, repo_id, "dataset")[2] == commits, "the same again makes no commit"


@pytest.mark.nightly
def test_mended_model_in_job_is_published_with_both_evaluations(commands, repo_id, tmp_path, tiny_bert, pairs_path):  # noqa: F811
    job = {"JOB_ID": "1", "ACCELERATOR": "none", "CPU_CORES": "2", "MEMORY": "16Gi"}
    mend = ("train", "mend", "--model", tiny_bert, "--corpus", pairs_path, "--validation", pairs_path)
    short = ("--max-steps", "2", "--batch-size", "24", "--augment", "", "--sets", "swapped")
    in_job = Commands(commands.hub, commands.home)
    in_job.env = commands.env | job
    assert "add --push-results ORG/NAME" in in_job(*mend, *short, "--output-dir", tmp_path / "m", code=1)
    assert not (tmp_path / "m").exists()
    in_job(*mend, *short, "--output-dir", tmp_path / "m", "--push-results", repo_id)
    api, there, commits = files(commands.hub, repo_id, "model")
    expected = {"model.safetensors", "training.json", "README.md", "evaluation/results.json", "before/results.json"}
    assert expected <= there
    assert sum("recipe mend" in title for title in commits) == 1
    card = Path(api.hf_hub_download(repo_id, "README.md", cache_dir=tmp_path / "cache")).read_text()
    assert "unbag train mend" in card
    assert str(tmp_path) not in card


_OF_TRAINING = ("train", "finetune", "--model", "m", "--output-dir", "o")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("evaluate", "majority", "--push-results", "a/b/c"), "expected a Hub repository"),
        (("evaluate", "majority", "--push-results", "org", "--data", "pairs.csv"), "got --data pairs.csv"),
        (("evaluate", "majority", "--push-results", "org", "--offline"), "expected network access, got --offline"),
        ((*_OF_TRAINING, "--push-results", "a/b/c"), "expected a Hub repository"),
        ((*_OF_TRAINING, "--push-results", "org", "--seeds", "1,2"), "one model"),
    ],
)
def test_impossible_push_fails_before_run(arguments, told, monkeypatch):
    monkeypatch.setattr("unbag.utils.offline.enable_offline_mode", lambda: None)  # would affect all later tests
    done = run_unbag(*arguments)
    assert done.exit_code == 2
    assert told in " ".join(done.output.replace("│", " ").split())


def test_missing_token_fails_before_run(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    done = run_unbag(*MAJORITY, "--output-dir", tmp_path / "run", "--push-results", "org")
    assert "expected a token, " in f"{done.output} {done.exception}"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("token", "to", "reason"),
    [
        (ALICE, "org", None),
        (ALICE, "alice/model", None),
        (ALICE_READS, "org", "expected a token with write access, got a read-only token of alice"),
        (BOB, "org", r"expected a namespace of bob \(bob\), got org"),
    ],
)
def test_token_without_write_permission_is_rejected(hub, monkeypatch, token, to, reason):
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: HfApi(hub.endpoint, token=token))
    monkeypatch.setattr("huggingface_hub.get_token", lambda: token)
    expected = pytest.raises(ValueError, match=f"--push-checkpoints {to}: {reason}") if reason else nullcontext()
    with expected:
        validate_push(to, offline=False, option="--push-checkpoints")


def test_train_checks_both_repositories_before_run(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(
        push, "validate_push", lambda to, *, offline, option="--push-results": asked.append((option, to))
    )
    monkeypatch.setattr(train, "_run", lambda *_, **__: asked.append("training") or [])
    monkeypatch.setattr(push, "push_model", lambda *_, **__: None)
    folder = ["--output-dir", str(tmp_path / "o")]
    options = ["--model", "m", *folder, "--push-results", "org", "--push-checkpoints", "org/c"]
    train.app(["finetune", *options], standalone_mode=False)
    assert asked == [("--push-results", "org"), ("--push-checkpoints", "org/c"), "training"]
