"""Read-only repositories in a folder, and the revisions at which unbag loads a mirror of its corpora."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.fake_hub.content import Commit, File, RepoKey, belongs_in_lfs, large_file, small_file
from tests.fake_hub.store import MAIN, Repository, sha256_of
from unbag.data.corpora import CORPORA


@dataclass(frozen=True)
class _State:
    """The file attributes that show whether a file has changed."""

    path: Path
    size: int
    modified: int


class Mounts:
    """All repositories in a folder."""

    def __init__(
        self,
        root: Path | None = None,
        pins: Mapping[RepoKey, str] | None = None,
        refs: Mapping[RepoKey, Sequence[str]] | None = None,
    ) -> None:
        """Mount a folder, or nothing if `root` is None.

        Args:
            root: the folder. Files are hashed on demand.
            pins: the sha of the commit, by repository.
            refs: additional refs to that commit, by full name (`refs/convert/parquet`).
        """
        self._root = root
        self._pins = dict(pins or {})
        self._refs = {key: tuple(names) for key, names in (refs or {}).items()}
        self._files: dict[_State, File] = {}
        self._large: dict[str, Path] = {}  # by sha256, since clients request large files without a repository
        self._check()

    def find(self, key: RepoKey) -> MountedRepository | None:
        """Return a mounted repository, or None if the folder does not contain it."""
        if self._root is None or not key.is_valid:
            return None
        folder = self._root / key.folder
        return MountedRepository(self, key, folder) if folder.is_dir() else None

    def large_file(self, sha256: str) -> Path | None:
        """Return the path of a large file, or None if it is in no loaded tree."""
        return self._large.get(sha256)

    def describe(self, path: Path, name: str) -> File:
        """Describe a file of a repository. A file is hashed only if it is new or has changed."""
        status = path.stat()
        state = _State(path, status.st_size, status.st_mtime_ns)
        if state not in self._files:
            if belongs_in_lfs(name, state.size):
                file = large_file(sha256_of(path), state.size)
                self._large[str(file.sha256)] = path
            else:
                file = small_file(path.read_bytes())
            self._files[state] = file
        return self._files[state]

    def pin(self, key: RepoKey) -> str | None:
        """Return the pinned sha of a repository's commit, or None."""
        return self._pins.get(key)

    def more_refs(self, key: RepoKey) -> Sequence[str]:
        """Return the refs of a repository besides main."""
        return self._refs.get(key, ())

    def _check(self) -> None:
        """Raise an error for invalid pins and refs, since they would cause unclear test failures later."""
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
    """A repository in a folder below the root."""

    private = False
    sdk = None

    def __init__(self, mounts: Mounts, key: RepoKey, folder: Path) -> None:
        """Load the current state of the folder."""
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
        """Return the refs, which all point to the only commit."""
        sha = self._only_commit().sha
        return {ref: sha for ref in (MAIN, *self._mounts.more_refs(self.key))}

    def commit(self, sha: str) -> Commit | None:
        """Return the only commit, or None for a different sha."""
        only = self._only_commit()
        return only if sha == only.sha else None

    def small_content(self, path: str, file: File) -> Path:
        """Return the path of the file in the mounted folder."""
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


PINS = {
    ("dataset", corpus.hub_id): corpus.revision
    for corpus in CORPORA.values()
    if re.fullmatch("[0-9a-f]{40}", corpus.revision)
}

REFS = {
    ("dataset", corpus.hub_id): [corpus.revision]
    for corpus in CORPORA.values()
    if ("dataset", corpus.hub_id) not in PINS
}


def list_mirrored_corpora(root: Path) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], list[str]]]:
    """Return the pins and refs of the corpora that a folder contains."""
    pins = {key: sha for key, sha in PINS.items() if (root / RepoKey(*key).folder).is_dir()}
    return pins, {key: names for key, names in REFS.items() if (root / RepoKey(*key).folder).is_dir()}
