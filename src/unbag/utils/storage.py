"""Local folders and folders at fsspec URLs (`s3://…`, `gs://…`, `hf://…`, `memory://…`).

Writes are atomic: on disk by renaming, in object stores because uploads are atomic. fsspec reads credentials and
endpoints from the environment and its configuration files (`AWS_ENDPOINT_URL`, `FSSPEC_S3_ENDPOINT_URL`, …).
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

from unbag.utils.files import atomic_write
from unbag.utils.redaction import extract_first_line

_LOCAL: Final = "file://"


def is_url(location: str | Path) -> bool:
    """Check whether a location is an fsspec URL instead of a local path.

    >>> is_url("s3://bucket/run"), is_url("runs/mine"), is_url("file:///tmp/run")
    (True, False, False)
    """
    return "://" in str(location) and not str(location).startswith(_LOCAL)


@dataclass(frozen=True)
class StorageFolder:
    """Folder of files at a local path or a URL. Nothing is created before the first write."""

    place: "str | Path | StorageFolder"

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", str(self.place))
        _ = self._remote  # an unknown scheme, or one whose package is missing, raises now

    def __str__(self) -> str:
        return str(self.place)

    def __truediv__(self, name: str) -> "StorageFolder":
        return StorageFolder(self.get_location(name))

    @property
    def name(self) -> str:
        """Last component of the path or URL."""
        return str(self).rstrip("/").rpartition("/")[2]

    @property
    def path(self) -> Path:
        """Local path of the folder. A folder at a URL has none and raises a `ValueError`."""
        if not self.is_local:
            raise ValueError(f"expected a local folder, got {self}; pass a local path")
        return Path(str(self).removeprefix(_LOCAL))

    @property
    def is_local(self) -> bool:
        """Whether the folder is at a local path."""
        return not is_url(str(self))

    @property
    def _remote(self) -> tuple[Any, str]:
        """File system, and the folder's path in it."""
        if self.is_local:
            return LocalFileSystem(), str(self.path.absolute())
        # fsspec keeps the connections. Cached listings would hide files written by other machines.
        system, path = fsspec.url_to_fs(str(self), use_listings_cache=False)
        return system, path.rstrip("/")

    @contextmanager
    def _open_system(self) -> Iterator[tuple[Any, str]]:
        """Yield the file system and the folder's path in it. Errors of a client become `ValueError`."""
        try:
            # Each client has its own classes for errors such as missing credentials, so all of them are caught.
            yield self._remote
        except (OSError, ValueError):
            raise
        except Exception as error:
            raise ValueError(
                f"{self}: expected a readable folder, got {type(error).__name__} ({extract_first_line(error)}); check "
                "the address and the credentials"
            ) from error

    def get_location(self, name: str) -> str:
        """Build the path or URL of a file in the folder."""
        return str(self.path / name) if self.is_local else f"{str(self).rstrip('/')}/{name}"

    def read(self, name: str) -> bytes:
        """Read the content of a file."""
        with self._open_system() as (system, path):
            content: bytes = system.cat_file(f"{path}/{name}")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically. Replaces an existing file."""
        if self.is_local:
            with atomic_write(self.path / name) as tmp:
                tmp.write_bytes(content)
            return
        system, path = self._remote
        system.pipe_file(f"{path}/{name}", content)

    def list_names(self) -> list[str]:
        """List the sorted names of the files. Empty if the folder does not exist."""
        try:
            with self._open_system() as (system, path):
                system.invalidate_cache()  # in case a file system ignores the option and caches listings
                entries = system.ls(path, detail=True)
        except FileNotFoundError:
            return []
        return sorted(each["name"].rstrip("/").rpartition("/")[2] for each in entries if each["type"] == "file")

    def exists(self, name: str) -> bool:
        """Check whether a file exists."""
        with self._open_system() as (system, path):
            return bool(system.exists(f"{path}/{name}"))

    def remove(self, name: str) -> None:
        """Remove a file. Does nothing if the file does not exist."""
        with suppress(FileNotFoundError):
            system, path = self._remote
            system.rm_file(f"{path}/{name}")

    def validate_writable(self) -> None:
        """Validate that the folder is writable, by writing and removing a test file."""
        name = f"trial-{uuid4().hex}"
        try:
            self.write(name, b"")
            self.remove(name)
        except Exception as error:  # each file system raises different errors
            raise ValueError(
                f"{self}: expected a writable folder, got {type(error).__name__} ({error}); check the permissions"
            ) from error


def upload_files(folder: Path, location: str | Path, *, last_file: str = "") -> None:
    """Upload the files of a local folder to a URL. The file with the name `last_file` is uploaded last."""
    system, root = fsspec.url_to_fs(str(location), use_listings_cache=False)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in sorted(files, key=lambda path: path.name == last_file):
        system.put_file(str(path), f"{root.rstrip('/')}/{path.relative_to(folder).as_posix()}")
