"""Tests of config, repository and license names from other users, which must not leave their folder or match others."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.command import read_files_below, run_rejected, sample_inputs
from unbag.challenge_sets.request import SetRequest
from unbag.hub.dataset import build_dataset_upload
from unbag.hub.push import HubUpload
from unbag.utils.hub import validate_config_name, validate_repo, validate_repo_path

CONFIGS = (
    "t*",
    "*",
    "?",
    "[a-z]",
    "../../x",
    "/etc",
    "a/b",
    "a\nb",
    "a\x1b[31mb",
    "[red]x",
    "a:b",
    "",
    ".",
    "..",
    "a..b",
)
CONFIGS += ("-x", " x", "x ", "x" * 97, "a\\b", "a#b", "a%2fb", "a|b", "{a,b}", "\u202ex", "a\0b", "'", '"', "~", "$x")
REPOSITORIES = (
    "org",
    "../x",
    "org/..",
    "a/b/c",
    "org/na me",
    "org/x\n",
    "/x",
    "org/",
    "",
    "org/-x",
    "org/x--y",
    "org/x.git",
)
REPOSITORIES += (
    "org/" + "x" * 97,
    "org/[red]x",
    "örg/x",
    "org/x\x1b[1m",
    "https://host/org",
    "org\\x",
    "org/x?y",
    "org/x#y",
)


@pytest.fixture
def pairs(empty_working_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = tmp_path / "pairs.csv"
    path.write_text("premise,hypothesis,label\nA dog runs.,A cat runs.,neutral\n")
    return path


@pytest.mark.parametrize("config", sample_inputs(CONFIGS, 8))
def test_invalid_config_name_is_rejected(pairs, tmp_path, capsys, config):
    before = read_files_below(tmp_path)
    own = ("--data", pairs, "--license", "mit")
    command = ("publish", "dataset", "plain", "--repo-id", "org", *own, f"--config={config}")
    if config.strip() == config:  # commands strip spaces around names
        run_rejected(capsys, *command)
    if config:
        with pytest.raises(ValueError, match="config"):
            build_dataset_upload(
                [SetRequest("plain", config, {"data": str(pairs)})], "org/plain", tmp_path / "built", license="mit"
            )
    assert read_files_below(tmp_path) == before


@pytest.mark.parametrize("repo", sample_inputs(REPOSITORIES, 6))
def test_invalid_repo_name_is_rejected(pairs, tmp_path, capsys, repo):
    with pytest.raises(ValueError, match="expected a Hub repository"):
        HubUpload(repo, "dataset", {}, "Publish")
    if repo not in ("org", "org/", "/x"):  # organizations; --repo-id strips slashes at its ends
        run_rejected(capsys, "publish", "dataset", "plain", f"--repo-id={repo}", "--data", pairs, "--license", "mit")


@pytest.mark.parametrize("path", ["../x", "/x", "a/../b", "a//b", "", ".", "a/.git/b", "a\nb", "a\\b", "a\0b", "./a"])
def test_path_outside_repo_is_rejected(path):
    with pytest.raises(ValueError, match="expected a file path"):
        HubUpload("org/name", "dataset", {path: b""}, "Publish")


@given(st.text(max_size=20), st.text(alphabet="abt-*?[]!", max_size=8))
def test_configs_own_disjoint_files(name, other):
    for text in (name, other):
        try:
            validate_config_name(text)
        except ValueError:
            continue
        validate_repo_path(f"data/{text}/x")
        owns = f"data/{text}/*"
        assert fnmatchcase(f"data/{text}/x.parquet", owns)
        assert not fnmatchcase("data/train/x.parquet", owns) or text == "train"


@given(st.text(max_size=30))
def test_repo_names_contain_only_safe_characters(name):
    try:
        validate_repo(name)
    except ValueError:
        return
    assert name.isascii()
    assert name.isprintable()
    assert ".." not in name
