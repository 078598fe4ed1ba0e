"""The state of a Hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.fake_hub.accounts import Accounts
from tests.fake_hub.content import RepoKey
from tests.fake_hub.faults import FaultList
from tests.fake_hub.mounts import Mounts
from tests.fake_hub.requests_log import RequestsLog
from tests.fake_hub.store import LargeFiles, Repository, Store


@dataclass(frozen=True)
class Settings:
    """The settings of a server.

    Attributes:
        data: the folder for all files that the server writes.
        endpoint: the origin of the API, as in HF_ENDPOINT.
    """

    data: Path
    endpoint: str

    @property
    def other_origin(self) -> str:
        """A second origin of this server, for the content of large files.

        As on the Hub, downloads of large files redirect to a different origin. A client follows a redirect within the
        same origin automatically, and then misses the headers of the first response (X-Repo-Commit).
        """
        return self.endpoint.replace("127.0.0.1", "localhost")


class Hub:
    """The state that all handlers share."""

    def __init__(self, settings: Settings, accounts: Accounts, mounts: Mounts) -> None:
        self.settings = settings
        self.accounts = accounts
        self.mounts = mounts
        self.store = Store(settings.data)
        self.large_files = LargeFiles(settings.data / "large_files")
        self.faults = FaultList()
        self.log = RequestsLog(settings.data / "requests.jsonl", accounts.by_token)

    def repository(self, key: RepoKey) -> Repository | None:
        """Find a repository. A mounted repository takes precedence over a stored one of the same name."""
        if not key.is_valid:
            return None
        return self.mounts.find(key) or self.store.find(key)

    def large_content(self, sha256: str) -> Path | None:
        """Return the path of the content of a large file, mounted or stored."""
        return self.large_files.find(sha256) or self.mounts.large_file(sha256)
