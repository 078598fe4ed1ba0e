"""Folders on this machine or at an address that fsspec reads (`s3://…`, `gs://…`, `hf://…`, `memory://…`).

A file appears in them whole or not at all: on a disk by a rename, in an object store because a put is one step. What
reads credentials and endpoints is fsspec: the environment and its configuration files say them (`AWS_ENDPOINT_URL`,
`FSSPEC_S3_ENDPOINT_URL`, …).
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

_LOCAL: Final = "file://"
_EXCLUSIVE: Final = frozenset({"s3", "s3a", "gs", "gcs", "memory"})
"""Where a put can be made to fail if the object is there; elsewhere fsspec looks first and puts then, which is two
steps."""


def is_address(place: str | Path) -> bool:
    """Tell whether a place is an address of fsspec's, and no path of this machine.

    >>> is_address("s3://bucket/run"), is_address("runs/mine"), is_address("file:///tmp/run")
    (True, False, False)
    """
    return "://" in str(place) and not str(place).startswith(_LOCAL)


class Folder:
    """A folder to write files to, by a path of this machine or an address.

    Args:
        place: the path or the address. Nothing is made there before something is written.

    Raises:
        ImportError: if the package that speaks to such addresses is not installed; fsspec names it.
        ValueError: if there is no such kind of address.
    """

    def __init__(self, place: "str | Path | Folder") -> None:
        self._place = str(place)
        self.is_local = not is_address(self._place)
        if not self.is_local:
            _ = self._remote

    def __str__(self) -> str:
        return self._place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folder) and self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    def __reduce__(self) -> Any:
        return Folder, (self._place,)  # in another process it connects for itself

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self.where(name))

    @property
    def path(self) -> Path:
        """Its path on this machine.

        Raises:
            ValueError: if it is not on this machine.
        """
        if not self.is_local:
            raise ValueError(f"expected a folder on this machine, found {self}")
        return Path(self._place.removeprefix(_LOCAL))

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        """The file system, and the folder's path in it."""
        # No listings are kept: other machines write here.
        system, path = fsspec.url_to_fs(self._place, use_listings_cache=False)
        return system, path.rstrip("/")

    def where(self, name: str) -> str:
        """Return the path or address of one of its files, for people and for `/`."""
        return str(self.path / name) if self.is_local else f"{self._place.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes:
        """Return what is in a file.

        Raises:
            FileNotFoundError: if there is none.
        """
        if self.is_local:
            return (self.path / name).read_bytes()
        system, path = self._remote
        content: bytes = system.cat_file(f"{path}/{name}")
        return content

    def open(self, name: str) -> IO[bytes]:
        """Return a file opened to be read where it is sought: at an address, no more than what is read of it travels.

        Raises:
            FileNotFoundError: if there is none.
        """
        if self.is_local:
            return (self.path / name).open("rb")
        system, path = self._remote
        file: IO[bytes] = system.open(f"{path}/{name}", "rb")
        return file

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all, in place of one that is there."""
        if self.is_local:
            with atomic_write(self.path / name) as tmp:
                tmp.write_bytes(content)
            return
        system, path = self._remote
        system.pipe_file(f"{path}/{name}", content)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file unless it is there, and tell whether it was not.

        Where `is_exclusive`, it is told to one of several who try at once; elsewhere it may be told to several.
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
        """Whether `create` makes a file for one of several who try at once; on an address it is tried out."""
        if self.is_local:
            return True
        if not _EXCLUSIVE.intersection([self._place.partition("://")[0]]):
            return False
        name = f"trial-{uuid4().hex}"
        try:
            return self.create(name, b"") and not self.create(name, b"")
        except (OSError, NotImplementedError):  # a server that does not know the condition may refuse it
            return False
        finally:
            self.remove(name)

    def names(self) -> list[str]:
        """Return the names of its files, sorted; none where there is no such folder."""
        try:
            if self.is_local:
                with os.scandir(self.path) as entries:
                    return sorted(each.name for each in entries if each.is_file())
            system, path = self._remote
            system.invalidate_cache()
            found = system.ls(path, detail=True)
        except FileNotFoundError:
            return []
        return sorted(each["name"].rstrip("/").rpartition("/")[2] for each in found if each["type"] == "file")

    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name."""
        if self.is_local:
            return (self.path / name).is_file()
        system, path = self._remote
        return bool(system.exists(f"{path}/{name}"))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            if self.is_local:
                (self.path / name).unlink()
            else:
                system, path = self._remote
                system.rm_file(f"{path}/{name}")

    def validate_writable(self) -> None:
        """Write and remove a file, so that what cannot be written is told before anything is computed.

        Raises:
            ValueError: if nothing can be written there.
        """
        name = f"trial-{uuid4().hex}"
        try:
            self.write(name, b"")
            self.remove(name)
        except Exception as error:  # of any file system's own kind
            raise ValueError(
                f"{self}: expected an address that can be written to ({type(error).__name__}: {error})"
            ) from error


def _create(path: Path, content: bytes) -> None:
    """Write a file of this machine, whole or not at all.

    Raises:
        FileExistsError: if it is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        tmp.write_bytes(content)
        try:
            os.link(tmp, path)  # unlike a rename it fails where there is a file
        except FileExistsError:
            raise
        except OSError:  # a file system without links, where a reader may find it empty for a moment
            with path.open("xb") as file:
                file.write(content)
    finally:
        tmp.unlink(missing_ok=True)


@contextmanager
def local_copy(place: str | Path, *, last: str = "") -> Iterator[Path]:
    """Give a folder of this machine to write to; what is in it at the end, and of an address only, goes there.

    Args:
        place: the path of a folder, which is given itself, or an address.
        last: the name of the file that goes last, so that where it is, all is.
    """
    if not is_address(place):
        yield Folder(place).path
        return
    tmp = Path(tempfile.mkdtemp(prefix="unbag-"))
    try:
        yield tmp
        send(tmp, place, last=last)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


def send(folder: Path, place: str | Path, *, last: str = "") -> None:
    """Write the files of a folder on this machine to an address; `last` is the name of the one that goes last."""
    system, root = fsspec.url_to_fs(str(place), use_listings_cache=False)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in sorted(files, key=lambda path: path.name == last):
        system.put_file(str(path), f"{root.rstrip('/')}/{path.relative_to(folder).as_posix()}")
