"""Tests of the commands that publish, push after a run, and prefetch: errors come before the run."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
import typer
from huggingface_hub import HfApi

from tests.factories import run_unbag
from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB
from tests.fork_server import PYTHON
from tests.hub.conftest import Commands
from tests.inference.fixtures import save_model_with_code

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.training.conftest import pairs_path  # noqa: F401
from unbag import challenge_sets, scripts
from unbag.cli import publish
from unbag.cli.push import validate_push
from unbag.data.corpora import PAPER_CORPORA
from unbag.hub import dataset
from unbag.hub.push import HubUpload

MAJORITY = "evaluate majority --train-data snli --sets plain,swapped --corpus snli --no-lexical-baseline".split()


def join_lines(done):
    return " ".join(f"{done.output} {done.exception}".replace("│", " ").split())


@pytest.mark.nightly
def test_publish_all_publishes_available_sets_and_names_others(commands, tmp_path):
    vectors = tmp_path / "words.txt"
    vectors.write_text("a 1 0\nman 0 1\nwoman 1 1\ndog -1 0\n")
    given = ["--corpus", "snli", *"-o train_data=snli -o q=2 -o min_words=6 -o".split(), f"embeddings={vectors}"]
    # A pipeline for cs_lambda that cannot parse, so other sets fail.
    given += ["-o", "pipeline=all", "-o", "max_train_pairs=200", "-o", "folds=2"]
    asked = ["-m", "unbag", "publish", "all", "--repo-id", "alice", *given, "--yes", "--json"]
    done = PYTHON.run(*asked, env=commands.env)
    assert done.returncode == 1
    for name in ("negation", "recombined", "soswap_addamod"):
        assert f"{name}: not published: " in done.stderr
    *records, collection = json.loads(done.stdout)
    assert collection["added"] == [each["repo"] for each in records]
    published = {each["repo"].removeprefix("alice/"): each["commit"] for each in records}
    assert set(published) | {"plain", "negation", "recombined", "soswap_addamod", "sicck"} == {
        *challenge_sets.list_set_names(),
        *scripts.list_script_folders("metrics"),
        "sicck",
    }
    assert all(published.values())


def _publish_all(monkeypatch, *options, absent=()):
    """Call the command with a function that builds no files, and fails for the configs in `absent`.

    Returns the configs of each set that the command would publish, whether each has an eval.yaml, and the result.
    """
    found, benchmarks = {}, []

    def build(request, config, folder, license):
        if config in absent:
            raise ValueError(f"cannot make {config}")
        return SimpleNamespace(name=config, record={"evaluated": "test"}), {f"data/{config}/a": b""}, ""

    def record(uploads, *_):
        for upload in uploads:
            if upload.kind == "dataset":
                found[upload.repo] = upload.message.partition(": ")[2].split(", ")
                benchmarks.append("eval.yaml" in upload.files)

    monkeypatch.setattr(dataset, "_build_config", build)
    monkeypatch.setattr("unbag.hub.spaces.build_metric_space", lambda name, repo: HubUpload(repo, "space", {}, ""))
    monkeypatch.setattr(publish, "publish_all", record)
    return found, benchmarks, run_unbag("publish", "all", "--repo-id", "org", *options)


@pytest.mark.parametrize(("options", "expected"), [([], True), (["--no-benchmark"], False)])
def test_publish_all_without_benchmark_omits_eval_yaml(monkeypatch, options, expected):
    found, benchmarks, _ = _publish_all(monkeypatch, "--corpus", "all", *options)
    assert [config.partition("-")[0] for config in found["org/permuted"]] == list(PAPER_CORPORA)
    assert len(benchmarks) == len(found) > 1
    assert set(benchmarks) == {expected}


def test_publish_all_with_unreadable_corpus_publishes_others(monkeypatch):
    found, _, done = _publish_all(monkeypatch, "--corpus", "snli,mnli", absent=["mnli-validation_matched"])
    assert done.exit_code == 1
    assert found["org/permuted"] == ["snli-validation"]
    assert "permuted of mnli-validation_matched: not published: cannot make mnli-val" in join_lines(done)


def test_averaged_model_is_not_published_with_code(monkeypatch, tmp_path):
    monkeypatch.setattr("unbag.hub.model.is_averaged_model", lambda folder: True)
    with pytest.raises(typer.BadParameter, match="got an averaged model; remove the option"):
        publish.build_model_upload(tmp_path, "org/model", with_code=True)


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


_TO_ORG = ("--push-results", "org")
_OF_TRAINING = ("train", "finetune", "--model", "m", "--output-dir", "o", *_TO_ORG)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("publish", "all", "--repo-id", "org/name"), "--repo-id: expected an organization"),
        (
            ("publish", "results", "runs", "--repo-id", "org", "--sets-org", "org"),
            "expected the repository of the evaluated model",
        ),
        (("evaluate", "majority", "--push-results", "a/b/c"), "expected a Hub repository"),
        (("evaluate", "majority", *_TO_ORG, "--data", "pairs.csv"), "got --data pairs.csv"),
        (("evaluate", "majority", *_TO_ORG, "--offline"), "expected network access, got --offline"),
        ((*_OF_TRAINING, "--seeds", "1,2"), "one model"),
    ],
)
def test_impossible_publication_fails_before_run(arguments, told, monkeypatch):
    monkeypatch.setattr("unbag.utils.offline.enable_offline_mode", lambda: None)  # would affect all later tests
    done = run_unbag(*arguments)
    assert done.exit_code == 2
    assert told in join_lines(done)


def test_missing_token_fails_before_run(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    done = run_unbag(*MAJORITY, "--output-dir", tmp_path / "run", "--push-results", "org")
    assert "expected a token, " in join_lines(done)
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
    assert "the corpus snli, split validation (stanfordnlp/snli): available" in unbag(
        "prefetch", "--sets", "plain", "--corpus", "snli"
    )
    n = len(unbag.hub.requests())
    build = ["build", "plain", "--corpus", "snli", "--offline", "--output", tmp_path / "plain.parquet"]
    assert "89 examples" in unbag(*build)
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
