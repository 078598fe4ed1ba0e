"""An environment that runs cells one after another, with separate caches, Hub and processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.running import RunningHub, running_hub
from tests.fork_server import Forked, ForkServer
from tests.hub.conftest import write_tiny_hub_files
from tests.robustness.malformed_inputs import valid_files
from tests.robustness.malformed_inputs.running import WARM

SECONDS = 150
"""A command that is not done by then hangs."""

_ODD = "def answer(premises, hypotheses):\n    labels = ('entailment', 'neutral', 'contradiction')\n"
_ODD += "    return [labels[sum(i * ord(c) for i, c in enumerate(p + h)) % 3] for p, h in zip(premises, hypotheses)]\n"


class CommandRunner:
    """Runs commands in one fixed folder, so that paths in the outputs are equal."""

    def __init__(self, folder: Path, hub: RunningHub, server: ForkServer | None = None) -> None:
        """Create valid inputs. With a server that tests share, create only pairs."""
        self.folder, self.hub = folder, hub
        self.home, self.place = folder / "home", folder / "place"
        folder.mkdir()
        base = hub.env(self.home / "hf", token=ALICE, xet=False)
        self.env = valid_files.environment(self.home, base)
        del self.env["HF_HUB_OFFLINE"]
        self.server = server or ForkServer(WARM)
        self.home.mkdir()
        if server is None:
            valid_files.create_files(folder / "valid_files", self.server, self.env)
            # otherwise the name would refer to the built-in model
            (folder / "valid_files" / "lexical").rename(folder / "valid_files" / "fitted")
        else:
            (folder / "valid_files").mkdir()
            valid_files.write_pairs(folder / "valid_files" / "pairs.csv")
        (folder / "valid_files" / "odd.py").write_text(_ODD)
        shutil.rmtree(self.home)
        self.home.mkdir()

    def reset(self, home: Path | None = None) -> None:
        """Reset the inputs, the output folder and the caches. The new caches are empty or copied from a folder."""
        for each in (self.place, self.home):
            shutil.rmtree(each, ignore_errors=True)
        shutil.copytree(self.folder / "valid_files", self.place)
        (self.place / "there").mkdir()
        if home is None:
            self.home.mkdir()
        else:
            shutil.copytree(home, self.home)
        (self.place / "home").symlink_to(self.home)

    def start(self, arguments: tuple[str, ...], faults: str = "impatient") -> Forked:
        """Start a command with faults in its process."""
        return self.server.start(
            "-m", "tests.robustness.fault_injection.child", faults, *arguments, env=self.env, cwd=self.place
        )

    def run(self, arguments: tuple[str, ...], faults: str = "impatient") -> tuple[int | None, str]:
        """Run a command. Return its exit code (None if it hung) and its error output."""
        return wait_for_exit(self.start(arguments, faults))

    def read_repo(self, kind: str, repo: str) -> dict[str, bytes]:
        """Return the files of a repository on the Hub. Return an empty dict if it does not exist."""
        folder = "datasets" if kind == "dataset" else "models"
        prefix = "datasets/" if kind == "dataset" else ""
        tree = self._get(f"/api/{folder}/{repo}/tree/main?recursive=true")
        listed = [] if tree is None else [each["path"] for each in json.loads(tree) if each["type"] == "file"]
        paths = [path for path in listed if path != ".gitattributes"]  # created by the Hub
        contents = {path: self._get(f"/{prefix}{repo}/resolve/main/{path}") or b"" for path in paths}
        # A card names its repository, which differs between cells.
        return {path: content.replace(repo.encode(), b"REPO") for path, content in contents.items()}

    def _get(self, path: str) -> bytes | None:
        request = Request(self.hub.endpoint + path, headers={"Authorization": f"Bearer {ALICE}"})
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=30) as answer:
                return bytes(answer.read())
        except OSError:
            return None


def wait_for_exit(process: Forked) -> tuple[int | None, str]:
    """Wait for a command. Return its exit code (None if it hung) and its error output."""
    deadline = time.monotonic() + SECONDS
    while (code := process.poll()) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if code is None:
        process.kill()
        process.wait()
    return code, process._err.read_text(errors="backslashreplace")


@contextlib.contextmanager
def create_runner() -> Iterator[CommandRunner]:
    """Create a runner with a separate tiny Hub."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        (folder / "mounted").mkdir()
        pins = write_tiny_hub_files(folder / "mounted")
        hub = stack.enter_context(running_hub(mount=folder / "mounted", pins=pins))
        yield CommandRunner(folder / "lane", hub)
        os.sync()
