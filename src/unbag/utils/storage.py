"""Local folders and folders at fsspec URLs (`s3://…`, `gs://…`, `hf://…`, `memory://…`).

Writes are atomic: on disk by renaming, in object stores because uploads are atomic. fsspec reads credentials and
endpoints from the environment and its configuration files (`AWS_ENDPOINT_URL`, `FSSPEC_S3_ENDPOINT_URL`, …).
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final
from uuid import uuid4

import fsspec

from unbag.utils.files import atomic_write
from unbag.utils.redaction import extract_first_line

_LOCAL: Final = "file://"
_EXCLUSIVE: Final = frozenset({"s3", "s3a", "gs", "gcs", "memory"})
"""Schemes with conditional uploads, which fail if the object exists. For other schemes, fsspec checks and then writes,
which is not atomic."""


def is_url(location: str | Path) -> bool:
    """Check whether a location is an fsspec URL instead of a local path.

    >>> is_url("s3://bucket/run"), is_url("runs/mine"), is_url("file:///tmp/run")
    (True, False, False)
    """
    return "://" in str(location) and not str(location).startswith(_LOCAL)


class StorageFolder:
    """Folder of files at a local path or a URL.

    Args:
        place: Path or URL. Nothing is created before the first write.

    Raises:
        ImportError: If the package for this URL scheme is not installed; the message of fsspec names it.
        ValueError: If the URL scheme is unknown.
    """

    def __init__(self, place: "str | Path | StorageFolder") -> None:
        self._place = str(place)
        self.is_local = not is_url(self._place)
        if not self.is_local:
            _ = self._remote

    def __str__(self) -> str:
        return self._place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageFolder) and self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    def __reduce__(self) -> Any:
        return StorageFolder, (self._place,)  # connections cannot be pickled, so each process opens a new one

    def __truediv__(self, name: str) -> "StorageFolder":
        return StorageFolder(self.get_location(name))

    @property
    def path(self) -> Path:
        """Local path of the folder.

        Raises:
            ValueError: If the folder is at a URL.
        """
        if not self.is_local:
            raise ValueError(f"expected a local folder, got {self}; pass a local path")
        return Path(self._place.removeprefix(_LOCAL))

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        """File system of the URL, and the folder's path in it."""
        # Cached listings would hide files written by other machines.
        system, path = fsspec.url_to_fs(self._place, use_listings_cache=False)
        return system, path.rstrip("/")

    def get_location(self, name: str) -> str:
        """Build the path or URL of a file in the folder."""
        return str(self.path / name) if self.is_local else f"{self._place.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes:
        """Read the content of a file.

        Raises:
            FileNotFoundError: If there is no such file.
        """
        if self.is_local:
            return (self.path / name).read_bytes()
        with self._describe_errors():
            system, path = self._remote
            content: bytes = system.cat_file(f"{path}/{name}")
        return content

    def open(self, name: str) -> IO[bytes]:
        """Open a file for random access. Files at a URL are not downloaded completely.

        Raises:
            FileNotFoundError: If there is no such file.
        """
        if self.is_local:
            return (self.path / name).open("rb")
        with self._describe_errors():
            system, path = self._remote
            file: IO[bytes] = system.open(f"{path}/{name}", "rb")
        return file

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically. Replaces an existing file."""
        if self.is_local:
            with atomic_write(self.path / name) as tmp:
                tmp.write_bytes(content)
            return
        system, path = self._remote
        system.pipe_file(f"{path}/{name}", content)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file, unless it exists.

        Returns:
            Whether the file was written. If several processes create it at the same time, exactly one gets True if
            `is_exclusive`; otherwise several may get True.
        """
        try:
            if self.is_local:
                _create(self.path / name, content)
            else:
                system, path = self._remote
                system.pipe_file(f"{path}/{name}", content, mode="create")
        except FileExistsError:
            return False
        return True

    @cached_property
    def is_exclusive(self) -> bool:
        """Whether `create` is atomic. If several processes create the same file, exactly one of them succeeds."""
        if self.is_local:
            return True
        if not _EXCLUSIVE.intersection([self._place.partition("://")[0]]):
            return False
        name = f"trial-{uuid4().hex}"
        try:
            return self.create(name, b"") and not self.create(name, b"")
        except (OSError, NotImplementedError):  # some S3-compatible servers reject conditional uploads
            return False
        finally:
            self.remove(name)

    def list_names(self) -> list[str]:
        """List the sorted names of the files. Empty if the folder does not exist."""
        try:
            if self.is_local:
                with os.scandir(self.path) as files:
                    return sorted(each.name for each in files if each.is_file())
            with self._describe_errors():
                system, path = self._remote
                system.invalidate_cache()  # in case a file system ignores the option and caches listings
                entries = system.ls(path, detail=True)
        except FileNotFoundError:
            return []
        return sorted(each["name"].rstrip("/").rpartition("/")[2] for each in entries if each["type"] == "file")

    def exists(self, name: str) -> bool:
        """Check whether a file exists."""
        if self.is_local:
            return (self.path / name).is_file()
        with self._describe_errors():
            system, path = self._remote
            return bool(system.exists(f"{path}/{name}"))

    def remove(self, name: str) -> None:
        """Remove a file. Does nothing if the file does not exist."""
        with suppress(FileNotFoundError):
            if self.is_local:
                (self.path / name).unlink()
            else:
                system, path = self._remote
                system.rm_file(f"{path}/{name}")

    @contextmanager
    def _describe_errors(self) -> Iterator[None]:
        """Convert errors of a client, such as missing credentials, to `ValueError`. Each client has its own classes."""
        try:
            yield
        except (OSError, ValueError):
            raise
        except Exception as error:
            raise ValueError(
                f"{self}: expected a readable folder, got {type(error).__name__} ({extract_first_line(error)}); check "
                "the address and the credentials"
            ) from error

    def validate_writable(self) -> None:
        """Validate that the folder is writable, by writing and removing a test file.

        Raises:
            ValueError: If the folder is not writable.
        """
        name = f"trial-{uuid4().hex}"
        try:
            self.write(name, b"")
            self.remove(name)
        except Exception as error:  # each file system raises different errors
            raise ValueError(
                f"{self}: expected a writable folder, got {type(error).__name__} ({error}); check the permissions"
            ) from error


def _create(path: Path, content: bytes) -> None:
    """Write a new local file atomically.

    Raises:
        FileExistsError: If the file exists.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        tmp.write_bytes(content)
        try:
            os.link(tmp, path)  # unlike a rename, a hard link fails if the target exists
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links; readers may briefly see an empty file
            with path.open("xb") as file:
                file.write(content)
    finally:
        tmp.unlink(missing_ok=True)


@contextmanager
def open_local_copy(location: str | Path, *, last_file: str = "") -> Iterator[Path]:
    """Yield a local folder to write to. If `location` is a URL, the files are uploaded at the end.

    Args:
        location: Path of a folder, which is yielded unchanged, or a URL.
        last_file: Name of the file to upload last, which marks the upload as complete.
    """
    if not is_url(location):
        yield StorageFolder(location).path
        return
    tmp = Path(tempfile.mkdtemp(prefix="unbag-"))
    try:
        yield tmp
        upload_files(tmp, location, last_file=last_file)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def upload_files(folder: Path, location: str | Path, *, last_file: str = "") -> None:
    """Upload the files of a local folder to a URL. The file with the name `last_file` is uploaded last."""
    system, root = fsspec.url_to_fs(str(location), use_listings_cache=False)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in sorted(files, key=lambda path: path.name == last_file):
        system.put_file(str(path), f"{root.rstrip('/')}/{path.relative_to(folder).as_posix()}")
