"""Files of other people at an address that does not change: downloaded once, checked, and kept."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from unbag.files import atomic_write, cache_folder
from unbag.rows import DataError

_CHUNK = 1 << 20


class MissingFileError(DataError):
    """A file that is neither here nor to be had."""


@dataclass(frozen=True)
class PinnedFile:
    """A file whose every byte is known.

    Attributes:
        url: where it is; an address that names a version, a commit say.
        sha256: of its bytes, in hexadecimal.
        name: what it is called here.
    """

    url: str
    sha256: str
    name: str


def fetch(pinned: PinnedFile, *, local_copy: Path | None = None, cache: Path | None = None) -> Path:
    """Return a path to the file: the user's own copy, the one in the cache, or a fresh download.

    The client is the session of huggingface_hub: a dependency that is kept up, follows redirects, and takes the
    certificates and the proxy that the user has set for the Hub (`set_client_factory`). No token is sent along. The
    file appears in the cache whole and checked, or not at all.

    Args:
        pinned: the file.
        local_copy: a copy of it that the user has; then nothing is downloaded.
        cache: the folder it is kept in; by default `unbag/files` in the user's cache folder.

    Raises:
        rows.DataError: if `local_copy` is not there, or is another file than the pinned one; `MissingFileError` if it
            cannot be downloaded.
    """
    if local_copy is not None:
        if not local_copy.is_file():
            raise DataError(f"{local_copy}: no such file; expected a copy of {pinned.url}")
        _check(pinned, _sha256(local_copy), str(local_copy))
        return local_copy
    # Under its hash: another version of the file never meets this one.
    path = (cache or cache_folder("files")) / pinned.sha256[:16] / pinned.name
    if path.is_file() and _sha256(path) == pinned.sha256:
        return path
    with atomic_write(path) as tmp:
        _check(pinned, _download(pinned, tmp), pinned.url)
    return path


def _download(pinned: PinnedFile, path: Path) -> str:
    """Write what the address answers, and return its sha256."""
    import httpx2
    from huggingface_hub import get_session

    digest = hashlib.sha256()
    try:
        with get_session().stream("GET", pinned.url, timeout=60) as response, path.open("wb") as file:
            if response.status_code != httpx2.codes.OK:
                raise MissingFileError(
                    f"{pinned.url}: expected the file {pinned.name}, the server answered {response.status_code} "
                    f"{response.reason_phrase}; {_by_hand(pinned)}"
                )
            for chunk in response.iter_bytes(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
    except (httpx2.HTTPError, OSError) as error:
        raise MissingFileError(
            f"{pinned.url}: could not be downloaded ({type(error).__name__}: {error}); {_by_hand(pinned)}"
        ) from error
    return digest.hexdigest()


def _check(pinned: PinnedFile, sha256: str, where: str) -> None:
    if sha256 != pinned.sha256:
        raise DataError(
            f"{where}: expected {pinned.name} with the sha256 {pinned.sha256}, found {sha256}: another version, or an "
            f"incomplete download; {_by_hand(pinned)}"
        )


def _by_hand(pinned: PinnedFile) -> str:
    return f"try again, or get {pinned.name} elsewhere and pass its path (--file)"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
