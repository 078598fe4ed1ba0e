"""What a repository holds: files, trees and commits, described the way git and git-lfs do."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

# The Hub's own limit: larger files go to LFS (or Xet) whatever they are called.
LFS_THRESHOLD = 10_000_000

# Some of the patterns that the Hub writes into the .gitattributes of every new repository.
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
        oid: the git blob id; for a large file, that of the LFS pointer which git holds in its place.
        size: of the content, in bytes.
        sha256: of the content; set for large files only, and names their bytes in LFS.
        xet_hash: names the bytes in Xet, if they came in that way.
    """

    oid: str
    size: int
    sha256: str | None = None
    xet_hash: str | None = None

    @property
    def etag(self) -> str:
        """What clients name their cached copy by."""
        return f'"{self.sha256 or self.oid}"'

    @property
    def pointer_size(self) -> int:
        """The size of the LFS pointer; clients expect it beside every `sha256`."""
        return len(lfs_pointer(self.sha256, self.size)) if self.sha256 else 0


Tree = Mapping[str, File]  # by path


@dataclass(frozen=True)
class Commit:
    """A whole tree at one moment. Trees are small here, so no commit needs its parent to be read."""

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
    """Write the small text that git holds in place of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def small_file(data: bytes) -> File:
    """Describe a file that git itself holds."""
    return File(oid=git_oid(data), size=len(data))


def large_file(sha256: str, size: int, xet_hash: str | None = None) -> File:
    """Describe a file that git holds only a pointer to."""
    return File(oid=git_oid(lfs_pointer(sha256, size)), size=size, sha256=sha256, xet_hash=xet_hash)


def belongs_in_lfs(path: str, size: int, threshold: int, sample: bytes = b"") -> bool:
    """Decide whether a file is large: by its size, its name, or a NUL byte in its beginning (git's test for binary)."""
    name = PurePosixPath(path).name
    return size > threshold or any(fnmatch.fnmatch(name, pattern) for pattern in LFS_PATTERNS) or b"\0" in sample
