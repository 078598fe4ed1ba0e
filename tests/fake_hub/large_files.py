"""The bytes of large files, kept by their sha256 as git-lfs keeps them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

from tests.fake_hub.errors import HubError


class LargeFiles:
    """A folder of files, each named by the sha256 of its content."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which may hold what an earlier server left there."""
        self._complete = folder / "complete"
        self._arriving = folder / "arriving"
        for each in (self._complete, self._arriving):
            each.mkdir(parents=True, exist_ok=True)

    def find(self, sha256: str) -> Path | None:
        """Return where a file's bytes lie, if all of them have come."""
        path = self._complete / sha256
        return path if path.exists() else None

    async def receive(self, sha256: str, chunks: AsyncIterator[bytes]) -> None:
        """Keep a file that arrives in one upload. One that is cut short leaves nothing behind."""
        arriving = self.arrival_path()
        try:
            with arriving.open("wb") as file:
                async for chunk in chunks:
                    file.write(chunk)
            self.adopt(arriving, sha256)
        finally:
            arriving.unlink(missing_ok=True)

    def arrival_path(self) -> Path:
        """Return a new path to write to, in the file system of the complete files."""
        return self._arriving / uuid4().hex

    def adopt(self, arrived: Path, sha256: str) -> None:
        """Take over a file whose every byte is there; refuse it if the bytes are not those announced."""
        found = sha256_of(arrived)
        if found != sha256:
            arrived.unlink()
            raise HubError(400, f"the content announced as {sha256} has sha256 {found}")
        os.replace(arrived, self._complete / sha256)


def sha256_of(path: Path) -> str:
    """Hash a file without holding it in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
