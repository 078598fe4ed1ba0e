"""Storage of large files by sha256, as in git-lfs."""

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
        """Open `folder`, which may contain files of an earlier server."""
        self._complete = folder / "complete"
        self._arriving = folder / "arriving"
        for each in (self._complete, self._arriving):
            each.mkdir(parents=True, exist_ok=True)

    def find(self, sha256: str) -> Path | None:
        """Return the path of a file, or None if its content is not complete."""
        path = self._complete / sha256
        return path if path.exists() else None

    async def receive(self, sha256: str, chunks: AsyncIterator[bytes]) -> None:
        """Store a file that arrives in one upload. An interrupted upload leaves no file."""
        arriving = self.arrival_path()
        try:
            with arriving.open("wb") as file:
                async for chunk in chunks:
                    file.write(chunk)
            self.adopt(arriving, sha256)
        finally:
            arriving.unlink(missing_ok=True)

    def arrival_path(self) -> Path:
        """Return a new temporary path in the same file system as the complete files."""
        return self._arriving / uuid4().hex

    def adopt(self, arrived: Path, sha256: str) -> None:
        """Move a complete file into the storage. Raise an error if its sha256 differs."""
        found = sha256_of(arrived)
        if found != sha256:
            arrived.unlink()
            raise HubError(400, f"the content announced as {sha256} has sha256 {found}")
        os.replace(arrived, self._complete / sha256)


def sha256_of(path: Path) -> str:
    """Hash a file in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
