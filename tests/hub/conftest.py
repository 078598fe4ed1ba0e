"""A writable Hub with a tiny SNLI of invented sentences at the revision that unbag reads."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.fixtures import SHARED_HUB
from tests.fake_hub.running import RunningHub, running_hub
from tests.fake_hub.storage import PINS
from tests.fork_server import PYTHON
from unbag.data import demo
from unbag.data.labels import LABELS

_SIZES = {"train": 400, "validation": 90, "test": 60}
_CARD = "\n".join(
    [
        "---",
        "configs:",
        "- config_name: plain_text",
        "  data_files:",
        *(f"  - split: {split}\n    path: plain_text/{split}-*" for split in _SIZES),
        "---",
        "",
    ]
)


def write_tiny_hub_files(root: Path) -> dict[tuple[str, str], str]:
    """Write the content of the Hub to a folder to mount. Return the pinned commits."""
    snli = root / "datasets" / "stanfordnlp" / "snli"
    (snli / "plain_text").mkdir(parents=True)
    (snli / "README.md").write_text(_CARD)
    pairs = {split: list(demo.iter_demo_pairs(split)) for split in demo.SPLITS}
    pairs["test"] = pairs["validation"][200:]
    for split, n in _SIZES.items():
        table = pa.table(
            {
                "premise": [pair.premise for pair in pairs[split][:n]],
                "hypothesis": [pair.hypothesis for pair in pairs[split][:n]],
                "label": [-1 if i == 7 else LABELS.index(pair.label) for i, pair in enumerate(pairs[split][:n])],
            }
        )
        pq.write_table(table, snli / "plain_text" / f"{split}-00000-of-00001.parquet")
    if (SHARED_HUB / "models" / "spacy").is_dir():
        (root / "models").mkdir()
        (root / "models" / "spacy").symlink_to(SHARED_HUB / "models" / "spacy")
    return {key: sha for key, sha in PINS.items() if key[1] == "stanfordnlp/snli"}


@pytest.fixture(scope="session")
def tiny_hub(tmp_path_factory):
    """Run the Hub. It includes the spaCy pipeline if it is available in ../shared."""
    root = tmp_path_factory.mktemp("tiny_hub")
    pins = write_tiny_hub_files(root)
    with running_hub(mount=root, pins=pins) as running:
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
        return (
            done.stdout if code == 0 else [line for line in done.stderr.splitlines() if line.startswith("unbag:")][-1]
        )

    def run_sequence(self, *commands: list[object]) -> list[object]:
        """Run several commands in one process. Return the JSON values that they print."""
        stdin = json.dumps([[str(argument) for argument in command] for command in commands])
        return self.run("tests.hub.command_sequence", stdin)

    def run(self, module: str, stdin: str) -> list[object]:
        """Run a module in a process and parse the JSON lines that it prints."""
        done = PYTHON.run("-m", module, stdin=stdin, env=self.env, cwd=Path(__file__).parents[2], check=True)
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
