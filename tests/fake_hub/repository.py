"""The interface of stored and mounted repositories."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from tests.fake_hub.content import Commit, File
from tests.fake_hub.errors import build_revision_not_found_error
from tests.fake_hub.keys import RepoKey

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
