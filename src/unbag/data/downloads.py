"""Third-party files at fixed URLs: download, verification against a pinned hash, and caching."""

from dataclasses import dataclass
from pathlib import Path

from unbag.utils.files import atomic_write, get_cache_folder
from unbag.utils.hashing import hash_file
from unbag.utils.hub import READ_TRIES
from unbag.utils.retries import call_with_retries, import_hub_http
from unbag.utils.safe_io import DataError, validate_file


class MissingFileError(DataError):
    """Raised if a file is not available locally and cannot be downloaded."""


@dataclass(frozen=True)
class PinnedFile:
    """Remote file whose content is verified by a checksum."""

    url: str  # of a fixed version, for example of a commit
    sha256: str  # of the file's bytes, in hexadecimal
    name: str  # in the cache


def find_local_copy(pinned_file: PinnedFile, path: Path) -> Path:
    """Locate the user's copy of a remote file: at `path`, or under its own name at any depth in the folder `path`."""
    if not path.exists():
        raise DataError(f"{path}: expected a copy of {pinned_file.url}, got no such file or folder; check the path")
    if not path.is_dir():
        return validate_file(path)
    copies = sorted(file for file in path.rglob(pinned_file.name) if file.is_file())
    if not copies:
        raise DataError(
            f"{path}: expected {pinned_file.name}, a copy of {pinned_file.url}, in this folder or a subfolder, got "
            "none; remove --official-file to download the file, choose other sets, or add the file"
        )
    return copies[0]


def fetch_pinned_file(pinned_file: PinnedFile, *, local_copy: Path | None = None, cache: Path | None = None) -> Path:
    """Get a verified copy of a remote file: the user's, the cached one, or a download by the Hub's HTTP session.

    No token is sent. Only complete and verified files are cached.

    Raises:
        DataError: If the content of `local_copy` differs from the pinned file.
        MissingFileError: If the download fails.
    """
    if local_copy is not None:
        _check(pinned_file, hash_file(local_copy), str(local_copy))
        return local_copy
    # The folder name is the hash, so that two versions of a file have different paths.
    path = (cache or get_cache_folder("files")) / pinned_file.sha256[:16] / pinned_file.name
    if path.is_file() and hash_file(path) == pinned_file.sha256:
        return path
    with atomic_write(path) as tmp:
        _download(pinned_file, tmp)
        _check(pinned_file, hash_file(tmp), pinned_file.url)
    return path


def _download(pinned: PinnedFile, path: Path) -> None:
    """Download the file to `path`, with retries after transient errors."""
    from huggingface_hub import get_session

    httpx = import_hub_http()

    def download() -> None:
        with get_session().stream("GET", pinned.url, timeout=60) as response, path.open("wb") as file:
            response.raise_for_status()
            file.writelines(response.iter_bytes())

    try:
        call_with_retries(download, tries=READ_TRIES, retry_connection_errors=False)
    except httpx.HTTPStatusError as error:
        raise MissingFileError(
            f"{pinned.url}: expected the file {pinned.name}, got the HTTP status {error.response.status_code} "
            f"{error.response.reason_phrase}; {_by_hand(pinned)}"
        ) from error
    except (httpx.HTTPError, OSError) as error:
        raise MissingFileError(
            f"{pinned.url}: expected a download, got {type(error).__name__} ({error}); {_by_hand(pinned)}"
        ) from error


def _check(pinned: PinnedFile, sha256: str, where: str) -> None:
    if sha256 != pinned.sha256:
        raise DataError(
            f"{where}: expected {pinned.name} with sha256 {pinned.sha256}, got {sha256} (another version, or an "
            f"incomplete download); {_by_hand(pinned)}"
        )


def _by_hand(pinned: PinnedFile) -> str:
    return f"try again, or obtain {pinned.name} elsewhere and pass its path (--official-file)"
