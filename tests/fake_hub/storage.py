"""Repositories: names, files and commits, described as in git and git-lfs.

Handlers run in one thread and write only between two `await`s, so the state needs no locks. Only the contents of files
are on disk.
"""

import fnmatch
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from uuid import uuid4

from tests.fake_hub.accounts import HubError
from unbag.data.corpora import CORPORA

MAIN = "refs/heads/main"
TYPES = {"models": "model", "datasets": "dataset", "spaces": "space"}
# The first character is a letter, digit or underscore, so that no part can be `.` or `..` and leave the folder.
_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_LFS_THRESHOLD = 10_000_000  # the limit of the Hub: larger files go to LFS, whatever their name
# A subset of the patterns in the .gitattributes of a new repository.
_LFS_PATTERNS = ("*.parquet", "*.bin", "*.safetensors", "*.arrow", "*.pt", "*.gz", "*.zip", "*.npz", "*.model")
_GITATTRIBUTES = "".join(f"{pattern} filter=lfs diff=lfs merge=lfs -text\n" for pattern in _LFS_PATTERNS).encode()
_REVISIONS = {("dataset", corpus.hub_id): corpus.revision for corpus in CORPORA.values()}
# The commits of the mounted corpora, and their other revisions, which are refs.
PINS = {key: revision for key, revision in _REVISIONS.items() if re.fullmatch("[0-9a-f]{40}", revision)}
_REFS = {key: revision for key, revision in _REVISIONS.items() if key not in PINS}


class RepoKey(NamedTuple):
    """The type ("model", "dataset" or "space") and the id ("org/name") of a repository."""

    type: str
    id: str

    @property
    def namespace(self) -> str:
        """The user or organization that owns the repository."""
        return self.id.partition("/")[0]

    @property
    def folder(self) -> str:
        """The folder of the repository below a root: `datasets/org/name`."""
        return f"{self.type}s/{self.id}"

    @property
    def web_path(self) -> str:
        """The path of the repository's page. Models have no prefix."""
        return self.id if self.type == "model" else self.folder


class File(NamedTuple):
    """One file of a tree."""

    oid: str  # git blob id; for a large file, that of its LFS pointer
    size: int
    content: Path
    sha256: str | None = None  # identifies the content in LFS; set for large files only

    @property
    def etag(self) -> str:
        """The ETag, which clients use as the name of the cached file."""
        return f'"{self.sha256 or self.oid}"'


def belongs_in_lfs(path: str, size: int, sample: bytes = b"") -> bool:
    """Check whether a file is large, by size, name, or a NUL byte at its start (git's test for binary files)."""
    name = PurePosixPath(path).name
    return size > _LFS_THRESHOLD or any(fnmatch.fnmatch(name, each) for each in _LFS_PATTERNS) or b"\0" in sample


def _git_oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def lfs_pointer(sha256: str, size: int) -> bytes:
    """Build the LFS pointer that git stores in place of a large file."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


class Commit(NamedTuple):
    """A commit with its whole tree, so that parents need not be read."""

    sha: str
    tree: Mapping[str, File]
    title: str
    author: str
    date: str
    parent: str | None = None


@dataclass
class Repository:
    """A repository. Mounted repositories are read-only."""

    key: RepoKey
    private: bool = False
    is_mounted: bool = False
    refs: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)

    def at(self, revision: str) -> Commit:
        """Find the commit of a revision: a full ref, a branch or a sha, in this order."""
        sha = self.refs.get(revision, self.refs.get(f"refs/heads/{revision}", revision))
        if sha not in self.commits:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[sha]

    def list_history(self, revision: str) -> list[Commit]:
        """List the commits from a revision back to the first."""
        commits = [self.at(revision)]
        while commits[-1].parent is not None:
            commits.append(self.commits[commits[-1].parent])
        return commits

    def find_opening_commit(self, ref: str) -> Commit:
        """Find the first commit of a pull request, which has its title and author."""
        main = {commit.sha for commit in self.list_history(MAIN)}
        *_, first = [commit for commit in self.list_history(ref) if commit.sha not in main] or [self.at(ref)]
        return first

    def open_pull_request(self) -> str:
        """Create a pull request whose ref starts at main. Return the ref."""
        ref = f"refs/pr/{1 + sum(each.startswith('refs/pr/') for each in self.refs)}"
        self.refs[ref] = self.refs[MAIN]
        return ref

    def check_head(self, ref: str, expected: str | None) -> None:
        """Raise an error if a commit has a parent other than the head of the ref."""
        if expected and self.refs.get(ref) != expected:
            raise HubError(412, "A commit has happened since. Please refresh and try again.")

    def add_commit(self, ref: str, tree: Mapping[str, File], title: str, author: str, sha: str | None = None) -> str:
        """Commit a tree to a ref. Return the sha, which is a hash of the content unless it is given."""
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        listing = "".join(f"{file.oid} {name}\n" for name, file in sorted(tree.items()))
        about = f"{self.refs.get(ref)} {title} {author} {'' if self.is_mounted else date}\n"
        sha = sha or hashlib.sha1((about + listing).encode()).hexdigest()
        self.commits[sha] = Commit(sha, tree, title, author, date, self.refs.get(ref))
        self.refs[ref] = sha
        return sha


@dataclass
class Storage:
    """All repositories: those that clients create, and those in a mounted folder, which take precedence."""

    folder: Path  # of the contents of files that clients send
    mount: Path | None = None
    pins: Mapping[tuple[str, str], str] = field(default_factory=dict)  # the sha of the commit, by mounted repository
    large: dict[str, Path] = field(default_factory=dict)  # by sha256, since clients request them without a repository
    _repositories: dict[RepoKey, Repository] = field(default_factory=dict)

    def find(self, key: RepoKey) -> Repository | None:
        """Find a repository. A mounted one is read on first use."""
        if key not in self._repositories and self.mount is not None and _ID.fullmatch(key.id):
            folder = self.mount / key.folder
            if folder.is_dir():
                self._repositories[key] = self._read_mounted(key, folder)
        return self._repositories.get(key)

    def _read_mounted(self, key: RepoKey, folder: Path) -> Repository:
        tree = {}
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and not {".git", "__pycache__"} & set(name.parts):
                tree[name.as_posix()] = self._describe_mounted(path)
        repo = Repository(key, is_mounted=True)
        sha = repo.add_commit(MAIN, tree, "Mounted from a folder", key.namespace, self.pins.get(key))
        repo.refs[_REFS.get(key, MAIN)] = sha
        return repo

    def _describe_mounted(self, path: Path) -> File:
        if not belongs_in_lfs(path.name, path.stat().st_size):
            return File(_git_oid(path.read_bytes()), path.stat().st_size, path)
        sha256 = _compute_sha256(path)
        self.large[sha256] = path
        return self.describe_large(sha256)

    def create(self, key: RepoKey, author: str, *, private: bool = False) -> None:
        """Create a repository with the same initial commit as on the Hub."""
        if not _ID.fullmatch(key.id):
            raise HubError(400, f"invalid repository name: {key.id}")
        self._repositories[key] = repo = Repository(key, private)
        repo.add_commit(MAIN, {".gitattributes": self.keep_small(_GITATTRIBUTES)}, "initial commit", author)

    def keep_small(self, data: bytes) -> File:
        """Store the content of a small file."""
        oid = _git_oid(data)
        (self.folder / oid).write_bytes(data)
        return File(oid, len(data), self.folder / oid)

    def describe_large(self, sha256: str) -> File:
        """Describe a large file whose content is stored."""
        size = self.large[sha256].stat().st_size
        return File(_git_oid(lfs_pointer(sha256, size)), size, self.large[sha256], sha256)

    async def receive_large(self, sha256: str, chunks: AsyncIterator[bytes]) -> None:
        """Store a large file that arrives in one upload. An interrupted upload leaves no file."""
        arriving = self.folder / uuid4().hex
        with arriving.open("wb") as file:
            async for chunk in chunks:
                file.write(chunk)
        if (found := _compute_sha256(arriving)) != sha256:
            raise HubError(400, f"the content announced as {sha256} has sha256 {found}")
        self.large[sha256] = arriving


def _compute_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
