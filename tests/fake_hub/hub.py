"""The parts of a Hub, together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.fake_hub.accounts import Accounts
from tests.fake_hub.faults import FaultList
from tests.fake_hub.keys import RepoKey
from tests.fake_hub.large_files import LargeFiles
from tests.fake_hub.mounts import Mounts
from tests.fake_hub.repository import Repository
from tests.fake_hub.requests_log import RequestsLog
from tests.fake_hub.store import Store
from tests.fake_hub.xet_store import XetStore


@dataclass(frozen=True)
class Settings:
    """What can be chosen when a server starts.

    Attributes:
        data: the folder for everything that is written.
        endpoint: the origin of the API, as clients have it in HF_ENDPOINT.
        xet: whether large files may come and go through Xet.
    """

    data: Path
    endpoint: str
    xet: bool = True

    @property
    def other_origin(self) -> str:
        """Another origin of this same server, for the bytes of large files.

        Large files are answered with a redirect, as on the Hub, and it has to leave the origin: a client follows a
        redirect within the origin by itself, and then misses the headers of the first answer (X-Repo-Commit).
        """
        return self.endpoint.replace("127.0.0.1", "localhost")


class Hub:
    """What the handlers of all requests share."""

    def __init__(self, settings: Settings, accounts: Accounts, mounts: Mounts) -> None:
        self.settings = settings
        self.accounts = accounts
        self.mounts = mounts
        self.store = Store(settings.data)
        self.large_files = LargeFiles(settings.data / "large_files")
        self.xet = XetStore(settings.data / "xet")
        self.faults = FaultList()
        self.log = RequestsLog(settings.data / "requests.jsonl", accounts.by_token)

    def repository(self, key: RepoKey) -> Repository | None:
        """Find a repository; where a mounted and a stored one have the same name, the mounted one counts."""
        if not key.is_valid:
            return None
        return self.mounts.find(key) or self.store.find(key)

    def large_content(self, sha256: str) -> Path | None:
        """Return where the bytes of a large file lie, wherever it came from."""
        return self.large_files.find(sha256) or self.mounts.large_file(sha256)
