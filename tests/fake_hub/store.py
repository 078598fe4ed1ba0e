"""The repositories that clients created here, kept on disk.

    repos/datasets/org/name/meta.json             what `Meta` holds
    repos/datasets/org/name/commits/<sha>.json    a commit with its whole tree, so that no git is needed
    blobs/<oid>                                   the small files of all repositories, by git blob id

Every request loads the repository anew, and nothing is written between two `await`s of one handler: that is all the
locking which a server of one process and one event loop needs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.fake_hub.content import GITATTRIBUTES, Commit, File, small_file
from tests.fake_hub.edits import Edit, Put, edited
from tests.fake_hub.errors import HubError
from tests.fake_hub.keys import RepoKey
from tests.fake_hub.repository import MAIN, Repository


@dataclass
class Meta:
    """What is known of a repository beside its commits."""

    private: bool = False
    sdk: str | None = None
    created: str = ""
    pull_requests: int = 0
    refs: dict[str, str] = field(default_factory=dict)


class Store:
    """All repositories below one folder."""

    def __init__(self, root: Path) -> None:
        """Use `root`, which may hold what an earlier server left there."""
        self._repos = root / "repos"
        self._blobs = root / "blobs"
        self._blobs.mkdir(parents=True, exist_ok=True)

    def find(self, key: RepoKey) -> StoredRepository | None:
        """Load a repository, if there is one of that name."""
        folder = self._repos / key.folder
        return StoredRepository(self, key, folder) if (folder / "meta.json").exists() else None

    def create(self, key: RepoKey, author: str, *, private: bool = False, sdk: str | None = None) -> StoredRepository:
        """Make a repository with the first commit that the Hub makes too."""
        folder = self._repos / key.folder
        (folder / "commits").mkdir(parents=True)
        _write_json(folder / "meta.json", asdict(Meta(private=private, sdk=sdk, created=_now())))
        repo = StoredRepository(self, key, folder)
        repo.add_commit(MAIN, [Put(".gitattributes", self.keep_small(GITATTRIBUTES))], "initial commit", "", author)
        return repo

    def keep_small(self, data: bytes) -> File:
        """Keep the content of a small file."""
        file = small_file(data)
        self.blob(file).write_bytes(data)
        return file

    def blob(self, file: File) -> Path:
        """Return where the bytes of a small file lie."""
        return self._blobs / file.oid


class StoredRepository(Repository):
    """A repository that can be written to."""

    def __init__(self, store: Store, key: RepoKey, folder: Path) -> None:
        """Load what `folder` holds."""
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
        """Read a commit from its file."""
        path = self._folder / "commits" / f"{sha}.json"
        if not re.fullmatch("[0-9a-f]{40}", sha) or not path.exists():
            return None
        document = json.loads(path.read_text())
        tree = {name: File(**file) for name, file in document.pop("tree").items()}
        return Commit(sha=sha, tree=tree, **document)

    def small_content(self, path: str, file: File) -> Path:
        """Return where the bytes of a small file lie: by content, whatever its path."""
        return self._store.blob(file)

    def add_ref(self, ref: str, sha: str) -> None:
        """Point a new ref at a commit."""
        self._meta.refs[ref] = sha
        self._save()

    def open_pull_request(self) -> str:
        """Number a new pull request, start its ref at main, and give the ref's name."""
        self._meta.pull_requests += 1
        ref = f"refs/pr/{self._meta.pull_requests}"
        self.add_ref(ref, self._meta.refs[MAIN])
        return ref

    def check_head(self, ref: str, expected: str | None) -> None:
        """Refuse a commit that is based on another one than the ref points to."""
        head = self._meta.refs.get(ref)
        # A client may send the first digits only.
        if expected and head and not head.startswith(expected):
            raise HubError(412, "A commit has happened since. Please refresh and try again.")

    def add_commit(
        self, ref: str, edits: Iterable[Edit], title: str, message: str, author: str, parent: str | None = None
    ) -> str:
        """Commit to a ref and give the new sha; with `parent`, only if the ref still points there."""
        self.check_head(ref, parent)
        head = self._meta.refs.get(ref)
        before = self.commit(head) if head else None
        document = {
            "parent": head,
            "title": title,
            "message": message,
            "author": author,
            "date": _now(),
            "tree": {path: asdict(file) for path, file in edited(before.tree if before else {}, edits).items()},
        }
        sha = hashlib.sha1(json.dumps(document, sort_keys=True).encode()).hexdigest()
        _write_json(self._folder / "commits" / f"{sha}.json", document)
        self._meta.refs[ref] = sha
        self._save()
        return sha

    def _save(self) -> None:
        _write_json(self._folder / "meta.json", asdict(self._meta))


def _write_json(path: Path, document: object) -> None:
    # Written whole or not at all, so that a server killed in between leaves nothing half-written.
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document))
    os.replace(partial, path)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
