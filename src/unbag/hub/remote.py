"""What a repository of the Hub holds at one commit."""

import hashlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from unbag.hub.publication import Kind
from unbag.utils.hub import hub_read
from unbag.utils.retries import TRIES

_CHUNK: Final = 1 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository.

    Attributes:
        size: in bytes.
        oid: its git blob id; of a large file, that of the pointer that git holds.
        sha256: of its content; large files only.
    """

    size: int
    oid: str
    sha256: str | None

    def holds(self, content: bytes | Path) -> bool:
        """Tell whether this is the content. A file is read in pieces, and not at all where the size says no."""
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        if size != self.size:
            return False
        digest = hashlib.sha256() if self.sha256 else hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        if isinstance(content, bytes):
            digest.update(content)
        else:
            with content.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        return digest.hexdigest() == (self.sha256 or self.oid)


@dataclass(frozen=True)
class Remote:
    """A repository at one commit.

    Attributes:
        repo: `organisation/name`.
        kind: of repository.
        commit: the commit.
        private: whether only members of its organisation see it.
        files: by path.
    """

    repo: str
    kind: Kind
    commit: str
    private: bool
    files: Mapping[str, RemoteFile]

    def read(self, path: str) -> bytes | None:
        """Return the content of a small file; None where there is none.

        Raises:
            HfHubHTTPError: if the Hub does not give it.
            HubReadError: if it does not answer, or with something else.
        """
        if path not in self.files:
            return None
        expected = self.files[path]

        def fetch() -> bytes:
            # Not by way of the cache: what is merged into the next commit must be what the Hub has.
            from huggingface_hub import HfApi

            with tempfile.TemporaryDirectory(prefix="unbag-") as folder:
                file = HfApi().hf_hub_download(
                    self.repo, path, repo_type=self.kind, revision=self.commit, local_dir=folder
                )
                content = Path(file).read_bytes()
            if not expected.holds(content):
                raise ConnectionAbortedError(f"{path} arrived as something else than the Hub holds")
            return content

        return _read(self.repo, self.kind, fetch)


def look(repo: str, kind: Kind, revision: str = "main") -> Remote | None:
    """Return what a repository holds at a revision; None if there is no such repository.

    Raises:
        HfHubHTTPError: if the Hub does not say.
        HubReadError: if it does not answer, or with something else.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    api = HfApi()
    try:
        info: Any = _read(repo, kind, lambda: api.repo_info(repo, repo_type=kind, revision=revision))
    except GatedRepoError:  # a subclass of the next, though the repository exists
        raise
    except RepositoryNotFoundError:
        return None
    listed: list[Any] = _read(
        repo, kind, lambda: list(api.list_repo_tree(repo, recursive=True, revision=info.sha, repo_type=kind))
    )
    files = {
        entry.path: RemoteFile(entry.size, entry.blob_id, entry.lfs.sha256 if entry.lfs else None)
        for entry in listed
        if hasattr(entry, "blob_id")  # a file, no folder
    }
    return Remote(repo, kind, info.sha, bool(info.private), files)


def _read(repo: str, kind: Kind, call: Callable[[], T]) -> T:
    # The clients do not try these again by themselves.
    return hub_read(f"{kind} {repo}", call, tries=TRIES, unreachable=True)
