"""Tests of publishing all sets to one organization. If one set fails, the others are still published."""

import json
from types import SimpleNamespace

import pytest
import typer

from tests.fork_server import PYTHON
from unbag import challenge_sets, cli, scripts
from unbag.cli import publish
from unbag.data.corpora import PAPER_CORPORA
from unbag.hub import dataset
from unbag.hub.push import HubUpload


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


def _build_publications(monkeypatch, *options, absent=()):
    """Return the configs of each set that the command would publish, and the exit code. Configs in `absent` fail.

    Also returns whether each publication has an eval.yaml.
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
    return found, cli.run(cli.app, ["publish", "all", "--repo-id", "org", *options]), benchmarks


@pytest.mark.parametrize(("options", "expected"), [([], True), (["--no-benchmark"], False)])
def test_publish_all_without_benchmark_omits_eval_yaml(monkeypatch, options, expected):
    found, _, benchmarks = _build_publications(monkeypatch, "--corpus", "snli", *options)
    assert len(benchmarks) == len(found) > 1
    assert set(benchmarks) == {expected}


def test_publish_all_with_unreadable_corpus_publishes_others(monkeypatch, capsys):
    found, code, _ = _build_publications(monkeypatch, "--corpus", "snli,mnli", absent=["mnli-validation_matched"])
    assert code == 1
    assert found["org/permuted"] == ["snli-validation"]
    line = "permuted of mnli-validation_matched: not published: cannot make mnli-validation_matched"
    assert line in capsys.readouterr().err


def test_corpus_all_selects_corpora_of_papers(monkeypatch):
    found, *_ = _build_publications(monkeypatch, "--corpus", "all")
    assert [config.partition("-")[0] for config in found["org/permuted"]] == list(PAPER_CORPORA)


def test_single_repo_for_all_sets_is_rejected(capsys):
    assert cli.run(cli.app, ["publish", "all", "--repo-id", "org/name"]) != 0
    assert "--repo-id: expected an organization" in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_results_without_model_name_are_rejected(capsys, tmp_path):
    given = ["publish", "results", str(tmp_path), "--repo-id", "org", "--sets-org", "org"]
    assert cli.run(cli.app, given) != 0
    assert "expected the repository of the evaluated model" in capsys.readouterr().err


def test_averaged_model_is_not_published_with_code(monkeypatch, tmp_path):
    monkeypatch.setattr("unbag.hub.model.is_averaged_model", lambda folder: True)
    with pytest.raises(typer.BadParameter, match="got an averaged model; remove the option"):
        publish.build_model_upload(tmp_path, "org/model", with_code=True)
