"""Files of other people at an address that does not change: downloaded once, checked, and kept."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from unbag.utils.advice import all_fitting
from unbag.utils.files import atomic_write, cache_folder
from unbag.utils.hashing import file_hash
from unbag.utils.hub import READ_TRIES
from unbag.utils.retries import hub_http, with_retries
from unbag.utils.safe_io import DataError, validate_file

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


def find(pinned: PinnedFile, path: Path) -> Path:
    """Return the path of a user's copy of a file.

    Args:
        pinned: the file.
        path: the copy, or a folder that it is in, however deep, under its own name.

    Raises:
        rows.DataError: if it is not there, or there are several in the folder.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; expected a copy of {pinned.url}")
    if not path.is_dir():
        return validate_file(path)
    found = sorted(file for file in path.rglob(pinned.name) if file.is_file())
    if len(found) == 1:
        return found[0]
    if not found:
        raise DataError(
            f"{path}: no {pinned.name} in it or its folders; expected a copy of {pinned.url}; "
            + all_fitting("leave out --official-file to have it downloaded", "name other sets (--sets)", "add the file")
        )
    raise DataError(f"{path}: {pinned.name} is there {len(found)} times, name one: {', '.join(map(str, found))}")


def fetch(pinned: PinnedFile, *, local_copy: Path | None = None, cache: Path | None = None) -> Path:
    """Return a path to the file: the user's own copy, the one in the cache, or a fresh download.

    The client is the session of huggingface_hub: a dependency that is kept up, follows redirects, and takes the
    certificates and the proxy that the user has set for the Hub (`set_client_factory`). No token is sent along. The
    file appears in the cache whole and checked, or not at all.

    Args:
        pinned: the file.
        local_copy: a copy of it that the user has (`find`); then nothing is downloaded.
        cache: the folder it is kept in; by default `unbag/files` in the user's cache folder.

    Raises:
        rows.DataError: if `local_copy` is another file than the pinned one; `MissingFileError` if it cannot be
            downloaded.
    """
    if local_copy is not None:
        _check(pinned, file_hash(local_copy), str(local_copy))
        return local_copy
    # Under its hash: another version of the file never meets this one.
    path = (cache or cache_folder("files")) / pinned.sha256[:16] / pinned.name
    if path.is_file() and file_hash(path) == pinned.sha256:
        return path
    with atomic_write(path) as tmp:
        _check(pinned, _fetched(pinned, tmp), pinned.url)
    return path


def _fetched(pinned: PinnedFile, path: Path) -> str:
    """Write what the address answers, and return its sha256; what may pass is tried again."""
    httpx = hub_http()

    try:
        return with_retries(lambda: _download(pinned, path), tries=READ_TRIES, unreachable=False)
    except httpx.HTTPStatusError as error:
        raise MissingFileError(
            f"{pinned.url}: expected the file {pinned.name}, the server answered {error.response.status_code} "
            f"{error.response.reason_phrase}; {_by_hand(pinned)}"
        ) from error
    except (httpx.HTTPError, OSError) as error:
        raise MissingFileError(
            f"{pinned.url}: could not be downloaded ({type(error).__name__}: {error}); {_by_hand(pinned)}"
        ) from error


def _download(pinned: PinnedFile, path: Path) -> str:
    from huggingface_hub import get_session

    digest = hashlib.sha256()
    with get_session().stream("GET", pinned.url, timeout=60) as response, path.open("wb") as file:
        response.raise_for_status()
        for chunk in response.iter_bytes(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _check(pinned: PinnedFile, sha256: str, where: str) -> None:
    if sha256 != pinned.sha256:
        raise DataError(
            f"{where}: expected {pinned.name} with the sha256 {pinned.sha256}, found {sha256}: another version, or an "
            f"incomplete download; {_by_hand(pinned)}"
        )


def _by_hand(pinned: PinnedFile) -> str:
    return all_fitting("try again", f"get {pinned.name} elsewhere and pass its path (--official-file)")
