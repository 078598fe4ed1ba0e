"""Tests that downloaded files have hashes, and that Hub reads with an effect on results have a commit.

Known vulnerabilities of dependencies are checked by `pip-audit`, which needs a server: docs/studies/robustness.md.
"""

import ast
import re
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from unbag.data.corpora import CORPORA

ROOT = Path(__file__).parents[2]
SOURCES = [path for name in ("src", "dataset_scripts", "metrics", "trainers") for path in (ROOT / name).rglob("*.py")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# The modules that use the network besides the Hub clients, with the reason why they have no hash.
READERS = {
    "src/unbag/data/downloads.py": "checks the sha256 of what it fetches",
    "src/unbag/inference/llm/client.py": "asks an endpoint that the user names",
    "src/unbag/baselines/wordnet/install.py": "lets pip check the sha256",
}
NETWORK = re.compile(
    r"\burlopen\b|\burlretrieve\b|\bget_session\b|\bhttpx2?\.(Client|get|stream)\b|\brequests\.get\b|\bOpenAI\(|\"pip\""
)

# Hub reads without a revision, with the reason why they have no unrecorded effect on results.
UNPINNED = {
    (
        "src/unbag/data/text/tagging.py",
        "snapshot_download",
    ): "a pipeline's version stands in the record, and parts caches",
    ("src/unbag/training/output.py", "snapshot_download"): "a checkpoint has checksums and its run's config",
    (
        "src/unbag/training/initialization.py",
        "from_pretrained",
    ): "an encoder that the user names: its weights become the model's",
    ("src/unbag/hub/leaderboard_page.py", "load_dataset"): "a leaderboard shows the newest rows",
    ("src/unbag/models/network.py", "from_pretrained"): "passes on what it is given",
    ("src/unbag/hub/push.py", "repo_info"): "what is to be changed",
    ("src/unbag/hub/pair_page.py", "list_repo_tree"): "which files that model has, to see its size",
    ("src/unbag/models/vendored_trees.py", "snapshot_download"): "the parser, as `text/pipeline.py` has it",
}
READS = {"snapshot_download", "hf_hub_download", "from_pretrained", "load_dataset", "dataset_info", "model_info"}
READS |= {"repo_info", "list_repo_files", "list_repo_tree"}


@cache
def calls(path):
    """Return the names of called functions, and the calls."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [
        (getattr(node.func, "attr", getattr(node.func, "id", "")), node) for node in nodes if isinstance(node, ast.Call)
    ]


def _name(path):
    return path.relative_to(ROOT).as_posix()


def test_no_other_module_uses_network():
    found = {_name(path) for path in SOURCES if NETWORK.search(path.read_text())}
    assert found == set(READERS)


def test_downloaded_files_have_hash_and_fixed_address():
    pinned = {}
    for path in SOURCES:
        for name, call in calls(path):
            if name == "PinnedFile":
                pinned[path, call.lineno] = {each.arg for each in call.keywords}
    assert pinned, "no file is fetched"
    assert all({"url", "sha256", "name"} <= given for given in pinned.values())
    from unbag.challenge_sets.perturbations import sicck
    from unbag.data.downloads import PinnedFile

    breaking_nli = import_module("unbag.scripts.dataset_scripts.breaking_nli.breaking_nli")
    files = [
        each
        for place in (sicck, breaking_nli)
        for value in vars(place).values()
        for each in (
            value if isinstance(value, tuple | list) else value.values() if isinstance(value, dict) else [value]
        )
        if isinstance(each, PinnedFile)
    ]
    assert len(files) >= len({path for path, _ in pinned})
    for each in files:
        assert re.fullmatch("[0-9a-f]{64}", each.sha256)
        assert re.search("[0-9a-f]{40}", each.url), f"{each.url} names no commit"


def test_pip_downloads_have_hash():
    text = (ROOT / "src/unbag/baselines/wordnet/install.py").read_text()
    assert re.search(r'_SHA256: Final = "[0-9a-f]{64}"', text)
    assert "--require-hashes" in text or "--hash=sha256:" in text


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_has_commit_or_content_hash(name):
    corpus = CORPORA[name]
    assert re.fullmatch("[0-9a-f]{40}", corpus.revision) or corpus.row_hashes


def test_every_hub_read_has_revision():
    missing = set()
    for path in SOURCES:
        for name, call in calls(path):
            if name in READS and not any(each.arg in ("revision", None) for each in call.keywords):
                missing.add((_name(path), name))
    assert missing <= set(UNPINNED), f"these read whatever is newest: {sorted(missing - set(UNPINNED))}"


def _direct():
    groups = {**PROJECT["project"]["optional-dependencies"], **PROJECT["dependency-groups"]}
    listed = [*PROJECT["project"]["dependencies"], *(each for group in groups.values() for each in group)]
    return [Requirement(each) for each in listed if isinstance(each, str) and not each.startswith("unbag[")]


def test_dependencies_come_from_registry_and_are_pinned():
    lines = [line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    pins = {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines if line}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines if line)
    for each in [*_direct(), *pins.values(), *map(Requirement, PROJECT["build-system"]["requires"])]:
        assert each.url is None, f"{each} is not from a registry"
    optional = {"trackio", "unbag"}
    assert {canonicalize_name(each.name) for each in _direct()} - set(pins) <= optional
