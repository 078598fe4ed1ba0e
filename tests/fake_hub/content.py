"""The content of repositories: files, trees and commits, described as in git and git-lfs."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

# The limit of the Hub: larger files go to LFS, whatever their name.
LFS_THRESHOLD = 10_000_000

# A subset of the patterns in the .gitattributes of a new repository.
LFS_PATTERNS = (
    "*.parquet",
    "*.bin",
    "*.safetensors",
    "*.arrow",
    "*.pt",
    "*.gz",
    "*.zip",
    "*.tar",
    "*.npz",
    "*.model",
    "*.h5",
    "*.pkl",
    "*.onnx",
)
GITATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in LFS_PATTERNS).encode()


@dataclass(frozen=True)
class File:
    """One file of a tree.

    Attributes:
        oid: the git blob id. For a large file, the id of its LFS pointer.
        size: the size of the content in bytes.
        sha256: the hash of the content, which identifies it in LFS. Set for large files only.
    """

    oid: str
    size: int
    sha256: str | None = None

    @property
    def etag(self) -> str:
        """The ETag, which clients use as the name of the cached file."""
        return f'"{self.sha256 or self.oid}"'

    @property
    def pointer_size(self) -> int:
        """The size of the LFS pointer, which clients expect next to every `sha256`."""
        return len(lfs_pointer(self.sha256, self.size)) if self.sha256 else 0


Tree = Mapping[str, File]  # by path


@dataclass(frozen=True)
class Commit:
    """A commit with its whole tree. Trees are small here, so parents need not be read."""

    sha: str
    tree: Tree
    title: str
    message: str
    author: str
    date: str
    parent: str | None = None


def git_oid(data: bytes) -> str:
    """Hash content as `git hash-object` does."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def lfs_pointer(sha256: str, size: int) -> bytes:
    """Build the LFS pointer that git stores in place of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def small_file(data: bytes) -> File:
    """Describe a file that git stores directly."""
    return File(oid=git_oid(data), size=len(data))


def large_file(sha256: str, size: int) -> File:
    """Describe a file that git stores as a pointer."""
    return File(oid=git_oid(lfs_pointer(sha256, size)), size=size, sha256=sha256)


def belongs_in_lfs(path: str, size: int, threshold: int, sample: bytes = b"") -> bool:
    """Check whether a file is large, by size, name, or a NUL byte at its start (git's test for binary files)."""
    name = PurePosixPath(path).name
    return size > threshold or any(fnmatch.fnmatch(name, pattern) for pattern in LFS_PATTERNS) or b"\0" in sample
