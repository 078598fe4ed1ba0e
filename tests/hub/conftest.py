"""A writable Hub with a tiny SNLI of invented sentences at the revision that unbag reads."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.fixtures import SHARED_HUB
from tests.fake_hub.running import RunningHub, running_hub
from tests.fork_server import PYTHON
from unbag.data import demo
from unbag.data.labels import LABELS

_SIZES = {"train": 400, "validation": 90, "test": 60}
_FILES = "".join(f"\n  - split: {split}\n    path: plain_text/{split}-*" for split in _SIZES)
_CARD = f"---\nconfigs:\n- config_name: plain_text\n  data_files:{_FILES}\n---\n"


def write_tiny_hub_files(root: Path) -> None:
    """Write the content of the Hub to a folder to mount."""
    snli = root / "datasets" / "stanfordnlp" / "snli"
    (snli / "plain_text").mkdir(parents=True)
    (snli / "README.md").write_text(_CARD)
    pairs = {split: list(demo.iter_demo_pairs(split)) for split in demo.SPLITS}
    pairs["test"] = pairs["validation"][200:]
    for split, n in _SIZES.items():
        rows = [
            {
                "premise": pair.premise,
                "hypothesis": pair.hypothesis,
                "label": -1 if i == 7 else LABELS.index(pair.label),
            }
            for i, pair in enumerate(pairs[split][:n])
        ]
        pq.write_table(pa.Table.from_pylist(rows), snli / "plain_text" / f"{split}-00000-of-00001.parquet")
    if (SHARED_HUB / "models" / "spacy").is_dir():
        (root / "models").mkdir()
        (root / "models" / "spacy").symlink_to(SHARED_HUB / "models" / "spacy")


@pytest.fixture(scope="session")
def tiny_hub(tmp_path_factory):
    """Run the Hub. It includes the spaCy pipeline if it is available in ../shared."""
    root = tmp_path_factory.mktemp("tiny_hub")
    write_tiny_hub_files(root)
    with running_hub(mount=root) as running:
        yield running


class Commands:
    """Runs commands of `unbag` against a Hub, in separate processes with separate caches."""

    def __init__(self, hub: RunningHub, home: Path) -> None:
        self.hub = hub
        self.home = home
        self.env = hub.env(home / "hf", token=ALICE) | {"XDG_CACHE_HOME": str(home / "cache"), "COLUMNS": "200"}

    def __call__(self, *arguments: object, code: int = 0) -> str:
        """Run one command. Return its output, or its error message if `code` is not 0."""
        done = PYTHON.run("-m", "unbag", *arguments, env=self.env)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert ALICE not in done.stdout + done.stderr
        if code == 0:
            return done.stdout
        return [line for line in done.stderr.splitlines() if line.startswith("unbag:")][-1]

    def call(self, *calls: tuple[str, object]) -> list[Any]:
        """Call functions of `child` in one process. Return the JSON values that they print, one per line."""
        stdin, cwd = json.dumps(calls, default=str), Path(__file__).parents[2]
        done = PYTHON.run("-m", "tests.hub.child", stdin=stdin, env=self.env, cwd=cwd, check=True)
        assert ALICE not in done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="session")
def commands(tiny_hub, tmp_path_factory):
    """Return a command runner whose caches are shared by all tests."""
    return Commands(tiny_hub, tmp_path_factory.mktemp("commands"))


@pytest.fixture
def fresh_commands(tiny_hub, tmp_path):
    """Return a command runner with empty caches."""
    return Commands(tiny_hub, tmp_path / "fresh")


def run_without_unbag(requests: list[tuple[object, ...]], hub: RunningHub, home: Path) -> dict[str, dict[str, Any]]:
    """Run the script of this name in an environment without unbag. Return the answers by repository."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("run_without_unbag.py")],
        input=json.dumps(requests),
        capture_output=True,
        text=True,
        env=hub.env(home),
        cwd=home,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert answers.keys() == {repo for _, repo, _ in requests}
    return answers
