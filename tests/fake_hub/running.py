"""Run a small Hugging Face Hub for tests, served over HTTP to unmodified client libraries.

On the command line: `python -m tests.fake_hub --help`. In a test, in any process: the fixtures of `fixtures.py`, or

with running_hub(mount=folder) as hub:
    subprocess.run([sys.executable, "push.py"], env=hub.env(home=tmp_path, token=ALICE))
    assert not [request for request in hub.requests() if request.token_in_url]
"""

import json
import os
import re
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.fake_hub.accounts import SAMPLE_TOKENS, Account
from tests.fake_hub.app import HubApp, LoggedRequest
from tests.fake_hub.faults import Fault
from tests.fake_hub.routing import Hub
from tests.fake_hub.serving import listen, serve
from tests.fake_hub.storage import PINS, Storage

# The developer's settings for the real Hub or for a proxy.
_FOREIGN = re.compile(r"HF_.*|HUGGING.*|TRANSFORMERS_.*|.*_PROXY", re.IGNORECASE)


@dataclass(frozen=True)
class RunningHub:
    """A running Hub. Contains only the address, so it can be sent to other processes."""

    endpoint: str

    def env(self, home: Path, *, token: str | None = None) -> dict[str, str]:
        """Return the environment for a client process, to be set before it imports any client library.

        `home` is the folder for the caches, and `token` the default token of the client libraries.
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
        return environment | ({} if token is None else {"HF_TOKEN": token})

    def requests(self, path: str = "") -> list[LoggedRequest]:
        """Return the requests so far whose path matches a regular expression."""
        logged = [LoggedRequest(**entry) for entry in self._talk("requests")]
        return [request for request in logged if re.search(path, request.path)]

    def armed(self) -> list[Fault]:
        """Return the faults that are still armed."""
        return [Fault(**document) for document in self._talk("faults")]

    @contextmanager
    def broken_by(self, *faults: Fault) -> Iterator[None]:
        """Arm faults, which replace all others, until the end of a block."""
        self._talk("faults", [asdict(fault) for fault in faults])
        try:
            yield
        finally:
            self._talk("faults", [])

    def _talk(self, name: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        # Ignore proxies in the environment, since the server runs on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(f"{self.endpoint}/_test/{name}", data), timeout=10) as response:
            return json.load(response)


@contextmanager
def running_hub(
    *,
    mount: Path | None = None,
    pins: Mapping[tuple[str, str], str] = PINS,
    tokens: Mapping[str, Account] = SAMPLE_TOKENS,
    port: int = 0,
) -> Iterator[RunningHub]:
    """Run a Hub in a thread, with its data in a temporary folder, until the block ends.

    The folder `mount` is served read-only: datasets/<org>/<name>/…, models/<org>/<name>/…. `pins` are the shas of the
    commits of these repositories, by keys such as ("dataset", "org/name"); by default, those that unbag reads.
    """
    with tempfile.TemporaryDirectory(prefix="hub-") as folder:
        listener = listen(port)
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with serve(HubApp(Hub(endpoint, tokens, Storage(Path(folder), mount, pins))), listener):
            yield RunningHub(endpoint)
