"""Repositories served in place from a folder, to be read only.

    <root>/datasets/<org>/<name>/…
    <root>/models/<org>/<name>/…

The folder is neither copied nor changed. Each repository has one commit, its files as they are now. The commit's sha
comes from the content, so it changes when a file does; a pin replaces it by the sha that the real repository has, so
that code which asks for `revision="<that sha>"` finds it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.fake_hub.content import LFS_THRESHOLD, Commit, File, belongs_in_lfs, large_file, small_file
from tests.fake_hub.keys import RepoKey
from tests.fake_hub.large_files import sha256_of
from tests.fake_hub.repository import MAIN, Repository


@dataclass(frozen=True)
class _State:
    """By what a file on disk is known not to have changed."""

    path: Path
    size: int
    modified: int


class Mounts:
    """All repositories below one folder."""

    def __init__(
        self,
        root: Path | None = None,
        pins: Mapping[RepoKey, str] | None = None,
        refs: Mapping[RepoKey, Sequence[str]] | None = None,
        lfs_threshold: int = LFS_THRESHOLD,
    ) -> None:
        """Mount a folder, or nothing.

        Args:
            root: the folder. Nothing in it is hashed before a client asks.
            pins: the sha that a repository's commit shall have.
            refs: more refs that shall point to it, by full name (`refs/convert/parquet`).
            lfs_threshold: the size above which a file is served as a large one.
        """
        self._root = root
        self._pins = dict(pins or {})
        self._refs = {key: tuple(names) for key, names in (refs or {}).items()}
        self._lfs_threshold = lfs_threshold
        self._files: dict[_State, File] = {}
        self._large: dict[str, Path] = {}  # by sha256; clients ask for large files without naming a repository
        self._check()

    def find(self, key: RepoKey) -> MountedRepository | None:
        """Return a mounted repository, if the folder has it."""
        if self._root is None or not key.is_valid:
            return None
        folder = self._root / key.folder
        return MountedRepository(self, key, folder) if folder.is_dir() else None

    def large_file(self, sha256: str) -> Path | None:
        """Return where the bytes of a large file lie, if it was seen in a tree."""
        return self._large.get(sha256)

    def describe(self, path: Path, name: str) -> File:
        """Describe a file of a repository, hashing it only if it is new or has changed."""
        status = path.stat()
        state = _State(path, status.st_size, status.st_mtime_ns)
        if state not in self._files:
            if belongs_in_lfs(name, state.size, self._lfs_threshold):
                file = large_file(sha256_of(path), state.size)
                self._large[str(file.sha256)] = path
            else:
                file = small_file(path.read_bytes())
            self._files[state] = file
        return self._files[state]

    def pin(self, key: RepoKey) -> str | None:
        """Return the sha that a repository's commit shall have."""
        return self._pins.get(key)

    def more_refs(self, key: RepoKey) -> Sequence[str]:
        """Return the refs that a repository has beside main."""
        return self._refs.get(key, ())

    def _check(self) -> None:
        """Refuse pins and refs that could not work: a test that relies on them would fail far from the reason."""
        if self._root is not None and not self._root.is_dir():
            raise ValueError(f"there is no folder to mount at {self._root}")
        for key in (*self._pins, *self._refs):
            if self.find(key) is None:
                raise ValueError(f"{key.folder} is pinned or has refs, but it is no folder below {self._root}")
        for sha in self._pins.values():
            if not re.fullmatch("[0-9a-f]{40}", sha):
                raise ValueError(f"a pin is a commit's sha, 40 hexadecimal digits, got {sha!r}")
        for ref in (ref for refs in self._refs.values() for ref in refs):
            if not ref.startswith("refs/"):
                raise ValueError(f"a ref has its full name, such as refs/convert/parquet, got {ref!r}")


class MountedRepository(Repository):
    """One folder below the root."""

    private = False
    sdk = None

    def __init__(self, mounts: Mounts, key: RepoKey, folder: Path) -> None:
        """Look at the folder as it is now."""
        self.key = key
        self._mounts = mounts
        self._folder = folder
        self._paths = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not {".git", "__pycache__"} & set(path.relative_to(folder).parts)
        }
        newest = max((path.stat().st_mtime for path in self._paths.values()), default=0.0)
        self.created = datetime.fromtimestamp(newest, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def refs(self) -> Mapping[str, str]:
        """Point main and the refs asked for at the one commit."""
        sha = self._only_commit().sha
        return {ref: sha for ref in (MAIN, *self._mounts.more_refs(self.key))}

    def commit(self, sha: str) -> Commit | None:
        """Return the one commit, if that is the one asked for."""
        only = self._only_commit()
        return only if sha == only.sha else None

    def small_content(self, path: str, file: File) -> Path:
        """Return where the file lies in the mounted folder."""
        return self._paths[path]

    def _only_commit(self) -> Commit:
        tree = {name: self._mounts.describe(path, name) for name, path in self._paths.items()}
        listing = "".join(f"{file.oid} {name}\n" for name, file in sorted(tree.items()))
        return Commit(
            sha=self._mounts.pin(self.key) or hashlib.sha1(listing.encode()).hexdigest(),
            tree=tree,
            title="Mounted from a folder",
            message="",
            author=self.key.namespace,
            date=self.created,
        )
