"""The names, contents and changes of repositories, described as in git and git-lfs."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from tests.fake_hub.accounts import HubError, build_entry_not_found_error

_PLURALS = {"model": "models", "dataset": "datasets", "space": "spaces"}

_TYPES = {plural: repo_type for repo_type, plural in _PLURALS.items()}

# The first character is a letter, digit or underscore, so that no part can be `.` or `..` and leave the folder.
_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


class RepoKey(NamedTuple):
    """The type ("model", "dataset" or "space") and the id ("org/name") of a repository.

    The type is needed because a model and a dataset can have the same id.
    """

    type: str
    id: str

    @property
    def namespace(self) -> str:
        """The user or organisation that owns the repository."""
        return self.id.split("/")[0]

    @property
    def folder(self) -> str:
        """The folder of the repository below a root: `datasets/org/name`."""
        return f"{_PLURALS[self.type]}/{self.id}"

    @property
    def web_path(self) -> str:
        """The path of the repository's page. Models have no prefix."""
        return self.id if self.type == "model" else self.folder

    @property
    def is_valid(self) -> bool:
        """Whether the id consists of two valid names."""
        return _ID.fullmatch(self.id) is not None


def type_of(plural: str) -> str:
    """Return "dataset" for "datasets"."""
    return _TYPES[plural]


def parse_key(text: str) -> RepoKey:
    """Parse a key such as `datasets/org/name`.

    >>> parse_key("datasets/stanfordnlp/snli")
    RepoKey(type='dataset', id='stanfordnlp/snli')
    """
    plural, _, repo_id = text.partition("/")
    if plural not in _TYPES or not RepoKey(_TYPES[plural], repo_id).is_valid:
        raise ValueError(f"expected {'|'.join(_TYPES)}/<org>/<name>, got {text!r}")
    return RepoKey(_TYPES[plural], repo_id)


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


def belongs_in_lfs(path: str, size: int, sample: bytes = b"") -> bool:
    """Check whether a file is large, by size, name, or a NUL byte at its start (git's test for binary files)."""
    name = PurePosixPath(path).name
    return size > LFS_THRESHOLD or any(fnmatch.fnmatch(name, pattern) for pattern in LFS_PATTERNS) or b"\0" in sample


@dataclass(frozen=True)
class Put:
    """Addition or replacement of a file."""

    path: str
    file: File


@dataclass(frozen=True)
class Delete:
    """Deletion of a file."""

    path: str


Edit = Put | Delete


def apply_edits(tree: Tree, edits: Iterable[Edit]) -> dict[str, File]:
    """Return the tree after the edits, applied in order. Raise an error if one of them cannot be applied."""
    files = dict(tree)
    for edit in edits:
        _check_path(edit.path)
        if isinstance(edit, Put):
            _check_no_clash(files, edit.path)
            files[edit.path] = edit.file
        elif files.pop(edit.path, None) is None:
            raise build_entry_not_found_error(f"A file with this name doesn't exist: {edit.path}")
    return files


def _check_path(path: str) -> None:
    parts = path.rstrip("/").split("/")
    if parts[0] == ".git" or any(part in ("", ".", "..") for part in parts):
        raise HubError(400, f"invalid path in repo: {path!r}")


def _check_no_clash(files: Tree, path: str) -> None:
    parts = path.split("/")
    folders_above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    if folders_above & files.keys() or any(other.startswith(path + "/") for other in files):
        raise HubError(400, f"path is both a file and a folder: {path!r}")
