"""Storage on disk for the repositories that clients create.

    repos/datasets/org/name/meta.json             the fields of `Meta`
    repos/datasets/org/name/commits/<sha>.json    a commit with its whole tree, so that no git is needed
    blobs/<oid>                                   the small files of all repositories, by git blob id

Every request reloads the repository, and handlers write only between two `await`s. A server with one process and
one event loop needs no further locks.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from tests.fake_hub.accounts import HubError, build_revision_not_found_error
from tests.fake_hub.content import GITATTRIBUTES, Commit, Edit, File, Put, RepoKey, apply_edits, small_file

MAIN = "refs/heads/main"


class Repository(ABC):
    """A repository.

    Attributes:
        key: its type and id.
        private: whether only members of its namespace can see it.
        sdk: the SDK of a Space.
        created: the date of creation, in the format of the Hub.
    """

    key: RepoKey
    private: bool
    sdk: str | None
    created: str

    @abstractmethod
    def refs(self) -> Mapping[str, str]:
        """Return the commit of each ref, by full name (`refs/heads/main`)."""

    @abstractmethod
    def commit(self, sha: str) -> Commit | None:
        """Return a commit of this repository."""

    @abstractmethod
    def small_content(self, path: str, file: File) -> Path:
        """Return the path of a small file on disk."""

    def at(self, revision: str) -> Commit:
        """Find the commit of a revision: a full ref, a branch, a tag or a sha, in this order."""
        refs = self.refs()
        for ref in (revision, f"refs/heads/{revision}", f"refs/tags/{revision}"):
            if ref in refs:
                revision = refs[ref]
                break
        commit = self.commit(revision)
        if commit is None:
            raise build_revision_not_found_error(revision)
        return commit

    def text(self, commit: Commit, path: str) -> str | None:
        """Read a small text file. Return None if the commit does not contain it."""
        file = commit.tree.get(path)
        if file is None or file.sha256 is not None:
            return None
        return self.small_content(path, file).read_text(encoding="utf-8", errors="replace")


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
        arriving = self._arriving / uuid4().hex
        try:
            with arriving.open("wb") as file:
                async for chunk in chunks:
                    file.write(chunk)
            if (found := sha256_of(arriving)) != sha256:
                raise HubError(400, f"the content announced as {sha256} has sha256 {found}")
            os.replace(arriving, self._complete / sha256)
        finally:
            arriving.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Hash a file in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass
class Meta:
    """The metadata of a repository."""

    private: bool = False
    sdk: str | None = None
    created: str = ""
    pull_requests: int = 0
    refs: dict[str, str] = field(default_factory=dict)


class Store:
    """All repositories in a folder."""

    def __init__(self, root: Path) -> None:
        """Open `root`, which may contain files of an earlier server."""
        self._repos = root / "repos"
        self._blobs = root / "blobs"
        self._blobs.mkdir(parents=True, exist_ok=True)

    def find(self, key: RepoKey) -> StoredRepository | None:
        """Load a repository. Return None if it does not exist."""
        folder = self._repos / key.folder
        return StoredRepository(self, key, folder) if (folder / "meta.json").exists() else None

    def create(self, key: RepoKey, author: str, *, private: bool = False, sdk: str | None = None) -> StoredRepository:
        """Create a repository with the same initial commit as on the Hub."""
        folder = self._repos / key.folder
        (folder / "commits").mkdir(parents=True)
        _write_json(folder / "meta.json", asdict(Meta(private=private, sdk=sdk, created=_now())))
        repo = StoredRepository(self, key, folder)
        repo.add_commit(MAIN, [Put(".gitattributes", self.keep_small(GITATTRIBUTES))], "initial commit", "", author)
        return repo

    def keep_small(self, data: bytes) -> File:
        """Store the content of a small file."""
        file = small_file(data)
        self.blob(file).write_bytes(data)
        return file

    def blob(self, file: File) -> Path:
        """Return the path of the content of a small file."""
        return self._blobs / file.oid


class StoredRepository(Repository):
    """A writable repository."""

    def __init__(self, store: Store, key: RepoKey, folder: Path) -> None:
        """Load the repository in `folder`."""
        self.key = key
        self._store = store
        self._folder = folder
        self._meta = Meta(**json.loads((folder / "meta.json").read_text()))
        self.private = self._meta.private
        self.sdk = self._meta.sdk
        self.created = self._meta.created

    def refs(self) -> Mapping[str, str]:
        """Return the commit of each ref."""
        return self._meta.refs

    def commit(self, sha: str) -> Commit | None:
        """Load a commit from its file."""
        path = self._folder / "commits" / f"{sha}.json"
        if not re.fullmatch("[0-9a-f]{40}", sha) or not path.exists():
            return None
        document = json.loads(path.read_text())
        tree = {name: File(**file) for name, file in document.pop("tree").items()}
        return Commit(sha=sha, tree=tree, **document)

    def small_content(self, path: str, file: File) -> Path:
        """Return the path of the content of a small file, which does not depend on its name."""
        return self._store.blob(file)

    def add_ref(self, ref: str, sha: str) -> None:
        """Point a new ref at a commit."""
        self._meta.refs[ref] = sha
        self._save()

    def open_pull_request(self) -> str:
        """Create a pull request whose ref starts at main. Return the ref."""
        self._meta.pull_requests += 1
        ref = f"refs/pr/{self._meta.pull_requests}"
        self.add_ref(ref, self._meta.refs[MAIN])
        return ref

    def check_head(self, ref: str, expected: str | None) -> None:
        """Raise an error if a commit has a parent other than the head of the ref."""
        head = self._meta.refs.get(ref)
        # Clients can send an abbreviated sha.
        if expected and head and not head.startswith(expected):
            raise HubError(412, "A commit has happened since. Please refresh and try again.")

    def add_commit(
        self, ref: str, edits: Iterable[Edit], title: str, message: str, author: str, parent: str | None = None
    ) -> str:
        """Commit to a ref and return the new sha. With `parent`, raise an error if the ref has moved."""
        self.check_head(ref, parent)
        head = self._meta.refs.get(ref)
        before = self.commit(head) if head else None
        document = {
            "parent": head,
            "title": title,
            "message": message,
            "author": author,
            "date": _now(),
            "tree": {path: asdict(file) for path, file in apply_edits(before.tree if before else {}, edits).items()},
        }
        sha = hashlib.sha1(json.dumps(document, sort_keys=True).encode()).hexdigest()
        _write_json(self._folder / "commits" / f"{sha}.json", document)
        self._meta.refs[ref] = sha
        self._save()
        return sha

    def _save(self) -> None:
        _write_json(self._folder / "meta.json", asdict(self._meta))


def _write_json(path: Path, document: object) -> None:
    # Rename a complete file, so that a killed server leaves no incomplete commit.
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document))
    os.replace(partial, path)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
