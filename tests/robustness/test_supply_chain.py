"""Tests that downloaded files have hashes, and that Hub reads with an effect on results have a commit.

Known vulnerabilities of dependencies are checked by `pip-audit`, which needs a server: docs/studies/robustness.md.
"""

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from unbag.challenge_sets.perturbations import sicck
from unbag.data.corpora import CORPORA

ROOT = Path(__file__).parents[2]
SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for name in ("src", "dataset_scripts", "metrics", "trainers")
    for path in (ROOT / name).rglob("*.py")
}
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
    ("src/unbag/data/text/tagging.py", "snapshot_download"): "records and caches contain the version of a pipeline",
    ("src/unbag/training/output.py", "snapshot_download"): "a checkpoint has checksums and the config of its run",
    ("src/unbag/training/initialization.py", "from_pretrained"): "the weights of the encoder become those of the model",
    ("src/unbag/hub/leaderboard_page.py", "load_dataset"): "a leaderboard shows the newest rows",
    ("src/unbag/hub/pair_page.py", "list_repo_tree"): "lists the files of the model that it loads, for their size",
    ("src/unbag/models/vendored_trees.py", "snapshot_download"): "the parser, as in `data/text/tagging.py`",
}
READS = {"snapshot_download", "hf_hub_download", "from_pretrained", "load_dataset", "dataset_info", "model_info"}
READS |= {"repo_info", "list_repo_files", "list_repo_tree"}


def test_no_other_module_uses_network():
    assert {path for path, text in SOURCES.items() if NETWORK.search(text)} == set(READERS)


def test_downloads_have_hash_and_corpora_have_commit():
    breaking_nli = import_module("unbag.scripts.dataset_scripts.breaking_nli.breaking_nli")
    files = [sicck.FILE, breaking_nli.PINNED]
    assert sum(text.count("= PinnedFile(") for text in SOURCES.values()) == len(files)
    for file in files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert re.search("[0-9a-f]{40}", file.url), f"{file.url} names no commit"
    install = SOURCES["src/unbag/baselines/wordnet/install.py"]
    assert re.search(r'_SHA256: Final = "[0-9a-f]{64}"', install)
    assert "--hash=sha256:" in install
    for corpus in CORPORA.values():
        assert re.fullmatch("[0-9a-f]{40}", corpus.revision) or corpus.row_hashes, corpus.name


def test_every_hub_read_has_revision():
    missing = set()
    for path, text in SOURCES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and not any(each.arg in ("revision", None) for each in node.keywords):
                missing.add((path, getattr(node.func, "attr", getattr(node.func, "id", ""))))
    missing = {(path, name) for path, name in missing if name in READS}
    assert missing == set(UNPINNED)


def test_dependencies_come_from_registry_and_are_pinned():
    groups = {**PROJECT["project"]["optional-dependencies"], **PROJECT["dependency-groups"]}
    listed = [*PROJECT["project"]["dependencies"], *(each for group in groups.values() for each in group)]
    direct = [Requirement(each) for each in listed if isinstance(each, str) and not each.startswith("unbag[")]
    lines = [line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    pins = {canonicalize_name(Requirement(line).name): Requirement(line) for line in lines if line}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines if line)
    for each in [*direct, *pins.values(), *map(Requirement, PROJECT["build-system"]["requires"])]:
        assert each.url is None, f"{each} is not from a registry"
    optional = {"trackio", "unbag"}
    assert {canonicalize_name(each.name) for each in direct} - set(pins) <= optional
