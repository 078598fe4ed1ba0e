"""A writable Hub with a tiny SNLI of invented sentences at the revision that unbag reads, and running Spaces."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.factories import write_corpus
from tests.fake_hub.accounts import ALICE
from tests.fake_hub.fixtures import SHARED_HUB
from tests.fake_hub.running import RunningHub, running_hub
from tests.fork_server import PYTHON
from unbag.data import demo
from unbag.data.corpora import CORPORA


def write_tiny_hub_files(root: Path) -> None:
    """Write the content of the Hub to a folder to mount."""
    train, validation = (list(demo.iter_demo_pairs(split)) for split in ("train", "validation"))
    splits = {"train": train[:400], "validation": validation[:90], "test": validation[200:260]}
    rows = {
        split: [(pair.premise, pair.hypothesis, "-" if n == 7 else pair.label) for n, pair in enumerate(pairs)]
        for split, pairs in splits.items()
    }
    write_corpus(root, CORPORA["snli"], rows)
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


_START = """
import runpy, sys
sys.modules["unbag"] = None  # not installed
sys.path.insert(0, ".")
runpy.run_path("app.py", run_name="__main__")
"""


@contextmanager
def running_app(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Run a Space as on the Hub, in its folder and without unbag, until the block ends. Yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", _START],
        cwd=folder,
        env={**environment, "GRADIO_ANALYTICS_ENABLED": "False", "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        found, said = None, []
        while found is None:
            said.append(line := process.stdout.readline())
            assert line, "the app did not start:\n" + "".join(said)
            found = re.search(r"Running on local URL:\s+(\S+)", line)
        yield found[1]
    finally:
        process.terminate()
        process.communicate(timeout=10)


def call_app(address: str, name: str, *arguments: object) -> Any:
    """Call a function of a running app by its API name. Return its result, a tuple if there are several."""
    from gradio_client import Client

    client = Client(address, verbose=False, analytics_enabled=False, httpx_kwargs={"trust_env": False})
    return client.predict(*arguments, api_name=f"/{name}")
