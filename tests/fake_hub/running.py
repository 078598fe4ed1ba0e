"""Start the test Hub in a separate process, and control it.

    with running_hub() as hub:
        subprocess.run([sys.executable, "push.py"], env=hub.env(home=tmp_path, token=ALICE))
        assert not [request for request in hub.requests() if request.token_in_url]

The server stops at the end of the block, or when this process is killed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from tests.fake_hub.accounts import SAMPLE_TOKENS, Account, write_tokens
from tests.fake_hub.content import RepoKey
from tests.fake_hub.faults import Fault
from tests.fake_hub.requests_log import LoggedRequest, parse_log

_REPO_ROOT = Path(__file__).parents[2]
_SECONDS_TO_STOP = 10
# The developer's settings for the real Hub or for a proxy.
_FOREIGN = re.compile(r"HF_.*|HUGGING.*|TRANSFORMERS_.*|.*_PROXY", re.IGNORECASE)

# A repository is identified by a `RepoKey` or by a plain pair, ("dataset", "org/name").
PairOrKey = tuple[str, str]


@dataclass(frozen=True)
class RunningHub:
    """A running Hub. Contains only the address, so it can be sent to other processes."""

    endpoint: str

    def env(self, home: Path, *, token: str | None = None) -> dict[str, str]:
        """Return the environment for a client process, to be set before it imports any client library.

        Args:
            home: the folder for the caches.
            token: the default token of the client libraries, or None for anonymous requests.
        """
        environment = {name: value for name, value in os.environ.items() if not _FOREIGN.fullmatch(name)}
        environment |= {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_XET": "1",  # large files are transferred through LFS
            # Requests to other servers arrive here too, and are logged and rejected.
            "HTTP_PROXY": self.endpoint,
            "HTTPS_PROXY": self.endpoint,
            "NO_PROXY": "127.0.0.1,localhost",
        }
        if token is not None:
            environment["HF_TOKEN"] = token
        return environment

    def requests(self, path: str = "") -> list[LoggedRequest]:
        """Return the requests so far whose path matches a regular expression."""
        text = self._talk("GET", "/_test/requests")
        return [request for request in parse_log(text) if re.search(path, request.path)]

    def arm(self, *faults: Fault) -> None:
        """Replace the armed faults."""
        self._talk("POST", "/_test/faults", [asdict(fault) for fault in faults])

    def armed(self) -> list[Fault]:
        """Return the faults that are still armed."""
        return [Fault(**document) for document in json.loads(self._talk("GET", "/_test/faults"))]

    def disarm(self) -> None:
        """Clear all faults."""
        self._talk("DELETE", "/_test/faults")

    @contextmanager
    def broken_by(self, *faults: Fault) -> Iterator[None]:
        """Arm faults until the end of a block."""
        self.arm(*faults)
        try:
            yield
        finally:
            self.disarm()

    def _talk(self, method: str, path: str, body: Any = None) -> str:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.endpoint + path, data=data, method=method)
        # Ignore proxies in the environment, since the server runs on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10) as response:
            return str(response.read().decode())


@contextmanager
def running_hub(
    *,
    mount: Path | None = None,
    pins: Mapping[PairOrKey, str] | None = None,
    refs: Mapping[PairOrKey, Sequence[str]] | None = None,
    tokens: Mapping[str, Account] = SAMPLE_TOKENS,
) -> Iterator[RunningHub]:
    """Run a Hub on a free port, with its data in a temporary folder, until the block ends.

    Args:
        mount: a folder of repositories to serve read-only; see `mounts.py`.
        pins: the sha of the commit, by mounted repository.
        refs: additional refs of mounted repositories.
        tokens: the accounts, by token.
    """
    with tempfile.TemporaryDirectory(prefix="hub-") as folder:
        data = Path(folder)
        write_tokens(data / "tokens.json", tokens)
        arguments = [f"--data={data}", f"--tokens={data / 'tokens.json'}", "--port=0", "--until-stdin-closes"]
        arguments += [f"--mount={mount.resolve()}"] if mount else []
        arguments += [f"--pin={RepoKey(*key).folder}={sha}" for key, sha in (pins or {}).items()]
        arguments += [f"--ref={RepoKey(*key).folder}={ref}" for key, names in (refs or {}).items() for ref in names]
        errors = data / "errors.txt"
        with errors.open("w") as errors_file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.fake_hub", *arguments],
                cwd=_REPO_ROOT,
                env={name: value for name, value in os.environ.items() if not _FOREIGN.fullmatch(name)},
                stdin=subprocess.PIPE,  # closes when this process ends for any reason, which stops the server
                stdout=subprocess.PIPE,
                stderr=errors_file,
                text=True,
            )
        try:
            assert process.stdout is not None
            yield RunningHub(_announced_endpoint(process.stdout, errors))
        finally:
            _stop(process)
            # Show errors of the server in the output of the test that caused them.
            sys.stderr.write(errors.read_text())


def _announced_endpoint(stdout: IO[str], errors: Path) -> str:
    """Wait until the server prints its address. From then on, the server accepts connections."""
    for line in stdout:
        if found := re.search(r"HF_ENDPOINT=(\S+)", line):
            return found[1]
    raise RuntimeError(f"the test hub did not start:\n{errors.read_text()}")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=_SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
