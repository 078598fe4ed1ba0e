"""Tests of sets that the command publishes and that `datasets` reads without unbag."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from huggingface_hub import HfApi

from tests.factories import write_table
from tests.fake_hub.faults import Fault
from tests.fake_hub.fixtures import SHARED_HUB
from tests.fork_server import PYTHON, wait_until
from tests.hub.conftest import run_without_unbag
from unbag import challenge_sets
from unbag.cli import app, run

_OPTIONS = {
    "cs_lambda": {"train_data": ["snli"], "pipeline": "all", "max_train_pairs": 200, "folds": 2},
    "permuted": {"q": 3, "min_words": 6},
}
_DAILY = ("permuted", "resnli", "swapped")  # the nightly tests publish all sets


def _format_flags(options):
    pairs = [(name, ",".join(value) if isinstance(value, list) else value) for name, value in options.items()]
    return [flag for name, value in pairs for flag in ("-o", f"{name}={value}")]


def _choose_config(name):
    return "snli" if name == "resnli" else "snli-validation"


@pytest.fixture(scope="session")
def published(commands, tmp_path_factory, request):
    """Publish the sets twice, and build their rows. Return both outputs, and descriptions of the built rows."""
    parsed = ("negation", "recombined", "soswap_addamod")  # sets that need a pipeline
    names = [name for name in challenge_sets.list_set_names() if name not in parsed or SHARED_HUB.is_dir()]
    if "not nightly" in request.config.option.markexpr:
        names = [name for name in names if name in _DAILY]
    vectors = tmp_path_factory.mktemp("vectors") / "words.txt"
    vectors.write_text("a 1 0\nman 0 1\nwoman 1 1\ndog -1 0\n")
    options = {name: _OPTIONS.get(name, {}) for name in names} | {"resnli": {"embeddings": str(vectors)}}
    to = ["--repo-id", "org", "--corpus", "snli", "--yes", "--json"]
    given = [["publish", "dataset", name, *to, *_format_flags(options[name])] for name in names]
    asked = [[name, _choose_config(name), options[name]] for name in names]
    lines = commands.call(("run_commands", given), ("run_commands", given), ("build_rows", asked))
    said = [entry for [entry] in lines[: 2 * len(names)]]
    first = dict(zip(names, said[: len(names)], strict=True))
    return SimpleNamespace(first=first, again=said[len(names) :], built=lines[2 * len(names) :])


def test_unchanged_set_makes_no_commit(published):
    assert all(said["commit"] for said in published.first.values())
    assert [said["commit"] for said in published.again] == [None] * len(published.first)


def test_published_rows_equal_built_rows(published, commands):
    asked = [[f"org/{name}", _choose_config(name)] for name in published.first] + [["org/swapped", None]]
    read = commands.call(("read_datasets", asked))
    by_set = {(said["repo"], said["config"], said["split"]): said for said in read}
    assert {split for repo, _, split in by_set if repo == "org/resnli"} == {"train", "validation", "test"}
    default, named = (by_set["org/swapped", config, "validation"] for config in (None, "snli-validation"))
    assert default["sha256"] == named["sha256"]
    assert len(published.built) == len(by_set) - 1
    for made in published.built:
        read_back = by_set[f"org/{made['set']}", made["config"], made["split"]]
        assert made["rows"] > 0
        assert (made["sha256"], made["labels"]) == (read_back["sha256"], read_back["labels"]), made["set"]


def test_card_describes_content_and_sources(published, commands, tmp_path):
    api = HfApi(commands.hub.endpoint, token=False)

    def read(path):
        return Path(api.hf_hub_download("org/permuted", path, repo_type="dataset", cache_dir=tmp_path)).read_text()

    card = read("README.md")
    metadata = yaml.safe_load(card.split("---\n")[1])
    assert metadata["license"] == "cc-by-sa-4.0"
    assert metadata["source_datasets"] == ["stanfordnlp/snli"]
    assert metadata["annotations_creators"] == ["crowdsourced"]
    assert metadata["language_creators"] == ["crowdsourced", "machine-generated"]
    assert {"arxiv:2101.00010", "arxiv:1508.05326"} <= set(metadata["tags"])
    assert metadata["configs"][0]["default"] is True
    [info] = metadata["dataset_info"]
    record = json.loads(card.split("Build record</summary>\n\n```json\n")[1].split("\n```")[0])
    counted = record["splits"]["validation"]
    assert counted["rows"] == sum(counted["labels"].values()) == info["splits"][0]["num_examples"] > 0
    assert (record["options"]["seed"], record["options"]["q"]) == (13, 3)
    assert record["data"]["excluded"]["unlabelled"] == 1
    assert record["data"]["revision"] == "cdb5c3d5eed6ead6e5a341c8e56e669bb666725b"
    assert "pip install" not in card, "not released: no project URL"
    assert "](../" not in card
    for part in (
        *("`unbag` is a Python package", "## Checked against the paper", "sinha-etal-2021", "bowman-etal-2015"),
        f'"source_id": "{record["data"]["name"]}-validation-',  # a row of it
    ):
        assert part in card
    tasks = yaml.safe_load(read("eval.yaml"))["tasks"]
    assert tasks == [{"id": "snli-validation", "config": "snli-validation", "split": "validation"}]


def test_user_data_requires_license_and_corpus_has_one(commands, tmp_path, capsys):
    row = {"premise": "A man sleeps.", "hypothesis": "A man rests.", "label": "entailment"}
    pairs = write_table(tmp_path / "mine.jsonl", [row])
    own = ["publish", "dataset", "swapped", "--repo-id", "org/own", "--data", pairs]
    assert run(app, list(map(str, own))) == 1  # in this process, since the license is checked before any data
    assert "pass the license with `unbag publish dataset --license`" in capsys.readouterr().err
    corpus = ["publish", "dataset", "swapped", "--repo-id", "org/own", "--corpus", "snli", "--license", "mit"]
    assert run(app, corpus) == 1
    assert "which drops attribution and share-alike" in capsys.readouterr().err
    shown = commands(*own, "--license", "cc-by-4.0", "--private")
    assert "+ data/mine/data-00000-of-00001.parquet" in shown
    assert "a new private repository" in shown
    assert "license: cc-by-4.0" in shown
    assert "Nothing was written" in shown
    assert str(tmp_path) not in shown


@pytest.mark.nightly
def test_killed_publication_is_atomic_and_can_be_repeated(published, commands):
    asked = ["publish", "dataset", "swapped", "--corpus", "snli", "--repo-id", "org/killed", "--yes", "--json"]
    with commands.hub.broken_by(Fault(method="POST", path="org/killed/commit", delay=2)):
        stopped = PYTHON.start("-m", "unbag", *asked, env=commands.env)
        wait_until(lambda: commands.hub.requests("org/killed/preupload"), stopped, every=0.05)
        stopped.kill()
        stopped.wait()

    def get_repo_state():
        api = HfApi(commands.hub.endpoint, token=False)
        titles = [commit.title for commit in api.list_repo_commits("org/killed", repo_type="dataset")]
        return len(titles) - 1, set(api.list_repo_files("org/killed", repo_type="dataset")) - {".gitattributes"}

    whole = {"README.md", "eval.yaml", "data/snli-validation/validation-00000-of-00001.parquet"}
    assert get_repo_state() in ((0, set()), (1, whole))
    [said] = json.loads(commands(*asked))
    assert get_repo_state() == (1, whole)
    assert said["repo"] == "org/killed"


@pytest.mark.nightly
def test_card_examples_run_without_unbag(published, commands, tmp_path):
    commands("publish", "metric", "--repo-id", "org", "--yes")
    asked = [("dataset", said["repo"], None) for said in published.first.values()]
    answers = run_without_unbag(asked, commands.hub, tmp_path)
    printed = {repo: answer["printed"] for repo, answer in answers.items()}
    in_cs, n, *_ = printed.pop("org/cs_lambda")
    assert in_cs == n, "the filter and the metric agree on CS_0.7"
    assert {number for numbers in printed.values() for number in numbers} == {"1.0"}, "gold labels are always right"
