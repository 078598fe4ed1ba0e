"""Atomic publishing to the Hub: one commit per repository, or none if nothing changes.

The commit names its parent, so the Hub rejects it if another commit came first; then the plan is computed again from
the new state. `HfApi.upload_folder` is not used, because it may split a large folder into several commits.
"""

import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from unbag.utils.hub import LOG_IN, HubReadError, describe_hub_failure, read_from_hub, validate_repo, validate_repo_path
from unbag.utils.redaction import extract_first_line, redact
from unbag.utils.retries import (
    TRIES,
    call_with_retries,
    compute_wait,
    find_http_cause,
    import_hub_http,
    wait_before_retry,
)

if TYPE_CHECKING:
    from huggingface_hub import Collection
    from huggingface_hub.hf_api import RepoFile


RepoType: TypeAlias = Literal["dataset", "model", "space"]
"""Type of a repository, as `repo_type` in `huggingface_hub`."""

MergeFunction: TypeAlias = Callable[[bytes | None], bytes]
"""Function from the published content of a shared file (None if there is none) to the new content."""

T = TypeVar("T")

_MAIN: Final = "main"
_CONFLICT: Final = (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED)
_MAX_CONFLICTS: Final = 20  # at each conflict, another commit succeeds


class HubError(ValueError):
    """Failed request to the Hub. The message contains the repository, the reason and a fix."""


@dataclass(frozen=True)
class HubUpload:
    """Files to publish in one Hub repository."""

    repo: str
    kind: RepoType
    files: Mapping[str, bytes | Path | MergeFunction]
    """Files by path in the repository. A `MergeFunction` is called again if another commit came first."""
    message: str  # commit message, or title of the pull request
    owned_patterns: tuple[str, ...] = ()
    """Patterns (`fnmatch`) of files to delete if they are not in `files`, such as `data/snli-test/*`."""

    def __post_init__(self) -> None:
        validate_repo(self.repo)
        for path in self.files:
            validate_repo_path(path)


@dataclass(frozen=True)
class HubUploadPlan:
    """Planned or published changes to a Hub repository. Sizes are in bytes, by path."""

    upload: HubUpload
    base: str | None  # commit on which the changes are based; None if the repository must be created
    private: bool
    pull_request: str | None  # ref of the open pull request to update, such as refs/pr/3
    contents: Mapping[str, bytes | Path]
    added: Mapping[str, int]
    changed: Mapping[str, int]
    deleted: tuple[str, ...]
    url: str  # of the repository or the pull request
    commit: str | None = None  # new commit; None if nothing is published or nothing changed


@dataclass(frozen=True)
class RemoteRepository:
    """Hub repository at one commit."""

    repo: str
    kind: RepoType
    commit: str
    private: bool
    files: "Mapping[str, RepoFile]"

    def read(self, path: str) -> bytes | None:
        """Download a small file; None if the file does not exist."""
        from huggingface_hub import HfApi

        if path not in self.files:
            return None
        download = partial(HfApi().hf_hub_download, self.repo, path, repo_type=self.kind, revision=self.commit)
        return _read(self.repo, self.kind, lambda: Path(download()).read_bytes())

    def has_content(self, path: str, content: bytes | Path) -> bool:
        """Check whether a file exists with the given content."""
        from huggingface_hub import CommitOperationAdd
        from huggingface_hub.utils.sha import git_hash

        file = self.files.get(path)
        if file is None or file.size != _get_size(content):
            return False
        if file.lfs:
            return CommitOperationAdd(path, content).upload_info.sha256.hex() == file.lfs.sha256
        return git_hash(content if isinstance(content, bytes) else content.read_bytes()) == file.blob_id


def fetch_remote_repository(repo: str, repo_type: RepoType, revision: str = _MAIN) -> RemoteRepository | None:
    """Fetch the file list of a repository at a revision; None if the repository does not exist."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    api = HfApi()
    try:
        info: Any = _read(repo, repo_type, lambda: api.repo_info(repo, repo_type=repo_type, revision=revision))
    except GatedRepoError:  # A subclass of RepositoryNotFoundError, although the repository exists.
        raise
    except RepositoryNotFoundError:
        return None
    entries: list[Any] = _read(
        repo, repo_type, lambda: list(api.list_repo_tree(repo, recursive=True, revision=info.sha, repo_type=repo_type))
    )
    files = {entry.path: entry for entry in entries if hasattr(entry, "blob_id")}  # folders have no blob id
    return RemoteRepository(repo, repo_type, info.sha, bool(info.private), files)


def publish_files(
    upload: HubUpload, *, private: bool = False, pull_request: bool = False, dry_run: bool = False
) -> HubUploadPlan:
    """Publish files in one commit, or none if nothing changes. A missing repository is created.

    An interrupted publication can be repeated at any time; finished uploads are not repeated. `private` creates a
    private repository, and rejects an existing public one. `pull_request` proposes the commit in a pull request: the
    user's open one with the same title, or a new one. `dry_run` only plans the changes.

    Raises:
        HubError: If the Hub rejects the publication, keeps failing or cannot be reached. Then nothing is changed.
    """
    from huggingface_hub import HfApi

    sdk = "gradio" if upload.kind == "space" else None
    create = partial(
        HfApi().create_repo, upload.repo, repo_type=upload.kind, private=private, exist_ok=True, space_sdk=sdk
    )
    failed = conflicts = 0
    with explain_hub_errors(upload.repo, upload.kind):
        while True:
            planned = _plan(upload, private=private, pull_request=pull_request)
            if dry_run:
                return planned
            if planned.base is None:
                call_with_retries(create)
                planned = _plan(upload, private=private, pull_request=pull_request)
            if not (planned.added or planned.changed or planned.deleted):
                # After a failed attempt, the commit succeeded and only its response was lost.
                return replace(planned, commit=planned.base if failed else None)
            try:
                return _commit(planned, pull_request=pull_request)
            except Exception as error:
                answer = find_http_cause(error)
                if answer is not None and answer.response.status_code in _CONFLICT:
                    conflicts += 1
                    # Random waits, because writers with equal waits would collide again.
                    seconds = random.uniform(0, min(0.05 * 2**conflicts, 4)) if conflicts <= _MAX_CONFLICTS else None
                else:
                    failed += 1
                    seconds = compute_wait(error, failed) if failed < TRIES else None
                if seconds is None:
                    raise
                wait_before_retry(seconds, error)


def _plan(upload: HubUpload, *, private: bool, pull_request: bool) -> HubUploadPlan:
    from huggingface_hub import constants

    kind, repo = upload.kind, upload.repo
    ref = _find_open_pull_request(upload) if pull_request else None
    remote = fetch_remote_repository(repo, kind, ref or _MAIN)
    if remote is None and pull_request:
        raise HubError(f"{kind} {repo}: expected an existing repository for a pull request, got none; check --repo-id")
    if remote is not None and private and not remote.private:
        raise HubError(
            f"{kind} {repo}: expected a private repository, got a public one; make it private in the settings, remove "
            "--private, or use another repository with --repo-id"
        )
    existing = remote.files if remote else {}
    contents: dict[str, bytes | Path] = {}
    for path, file in upload.files.items():
        contents[path] = file if isinstance(file, bytes | Path) else file(remote.read(path) if remote else None)
    changed = {
        path: _get_size(content)
        for path, content in contents.items()
        if remote is None or not remote.has_content(path, content)
    }
    return HubUploadPlan(
        upload=upload,
        base=remote.commit if remote else None,
        private=remote.private if remote else private,
        pull_request=ref,
        contents=contents,
        added={path: size for path, size in changed.items() if path not in existing},
        changed={path: size for path, size in changed.items() if path in existing},
        deleted=tuple(
            path
            for path in sorted(existing)
            if path not in contents and any(fnmatchcase(path, pattern) for pattern in upload.owned_patterns)
        ),
        url=f"{redact(constants.ENDPOINT)}/{'' if kind == 'model' else f'{kind}s/'}{repo}"
        + (f"/discussions/{ref.rpartition('/')[2]}" if ref else ""),
    )


def _get_size(content: bytes | Path) -> int:
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def _commit(planned: HubUploadPlan, *, pull_request: bool) -> HubUploadPlan:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    with warnings.catch_warnings():
        # The client warns about each Parquet file in a model repository, such as the predictions of an evaluation.
        warnings.filterwarnings("ignore", "It seems that you are about to commit a data file")
        done = HfApi().create_commit(
            planned.upload.repo,
            [
                *(CommitOperationAdd(path, planned.contents[path]) for path in (*planned.added, *planned.changed)),
                *(CommitOperationDelete(path, is_folder=False) for path in planned.deleted),
            ],
            commit_message=planned.upload.message,
            repo_type=planned.upload.kind,
            revision=planned.pull_request or _MAIN,
            create_pr=pull_request and planned.pull_request is None,
            parent_commit=planned.base,
        )
    return replace(planned, url=done.pr_url or planned.url, commit=done.oid)


def _find_open_pull_request(upload: HubUpload) -> str | None:
    """Find the ref of the user's open pull request with the same title; None if there is none."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    repo, kind = upload.repo, upload.kind
    author = _read(repo, kind, HfApi().whoami)["name"]
    discussions = partial(
        HfApi().get_repo_discussions,
        repo,
        author=author,
        discussion_type="pull_request",
        discussion_status="open",
        repo_type=kind,
    )
    try:
        found = _read(repo, kind, lambda: list(discussions()))
    except RepositoryNotFoundError:
        return None
    numbers = [each.num for each in found if each.author == author and each.title == upload.message]
    return f"refs/pr/{max(numbers)}" if numbers else None


def _read(repo: str, kind: RepoType, call: Callable[[], T]) -> T:
    # huggingface_hub does not retry these requests.
    return read_from_hub(f"{kind} {repo}", call, tries=TRIES, retry_connection_errors=True)


@contextmanager
def explain_hub_errors(repo: str, repo_type: str) -> Iterator[None]:
    """Convert exceptions of the Hub client to a one-line `HubError`, with access tokens redacted."""
    from huggingface_hub.errors import OfflineModeIsEnabled

    http_error = import_hub_http().HTTPError
    try:
        yield
    except HubError:
        raise
    except HubReadError as error:
        raise HubError(redact(str(error))) from error
    except OfflineModeIsEnabled:
        raise HubError(f"{repo}: expected access to the Hub, got offline mode; unset HF_HUB_OFFLINE") from None
    except (OSError, ValueError, RuntimeError, http_error) as error:
        raise HubError(redact(f"{repo_type} {repo}: {_describe_error(error, repo)}")) from error


def _describe_error(error: Exception, repo: str) -> str:
    from huggingface_hub import get_token

    if (reason := describe_hub_failure(error)) is not None:
        return f"{reason}; finished uploads are kept"
    answer = find_http_cause(error)
    if answer is None:
        return " ".join(str(error).split())  # for example about a card
    text = f"({answer.response.status_code}: {answer.server_message or extract_first_line(answer)})"
    organization = repo.partition("/")[0]
    match answer.response.status_code:
        case HTTPStatus.UNAUTHORIZED if get_token() is None:
            return f"expected a token, got none {text}; {LOG_IN}"
        case HTTPStatus.UNAUTHORIZED:
            token = f"with a token that may write to {organization}"
            return f"expected a valid token, got a rejected one {text}; {LOG_IN} {token}"
        case HTTPStatus.FORBIDDEN:
            return (
                f"expected a token with write access to {organization}, got one without {text}; use another token or "
                "organization, or propose a change of an existing repository with `unbag publish … --pull-request`"
            )
        case HTTPStatus.NOT_FOUND:
            return f"expected a repository that the token can access, got none {text}; check its name"
        case HTTPStatus.CONFLICT | HTTPStatus.PRECONDITION_FAILED:
            return f"conflicts with other commits at every attempt {text}; rerun the command"
    # The Hub validates eval.yaml against its list of evaluation frameworks (`hub.benchmarks`).
    omitted = "; omit eval.yaml with `unbag publish … --no-benchmark`" if "evaluation_framework" in text else ""
    return f"the Hub rejected the request {text}{omitted or '; correct the cause'}"


COLLECTION_TITLE: Final = "unbag: NLI challenge sets and metrics"
"""Title of the collection of all repositories published by `unbag publish all`: sets, metrics, results, leaderboard."""

_COLLECTION_DESCRIPTION: Final = (
    # At most 150 characters.
    "Challenge sets that test whether models use sentence structure, their metrics, and results of models."
)


def update_collection(
    namespace: str, uploads: Sequence[HubUpload], *, write: bool, private: bool = False
) -> tuple[str | None, list[HubUpload]]:
    """Add missing repositories to the collection of an organization, or only compute the change.

    The collection is created if necessary. Items added by other people are kept. Returns the URL of the collection
    (None if it does not exist yet) and the added repositories.

    Raises:
        HubError: If the Hub rejects the change or cannot be reached. Items that were already added are kept.
    """
    from huggingface_hub import HfApi

    api = HfApi()

    def find() -> "Collection | None":
        slugs = [each.slug for each in api.list_collections(owner=namespace) if each.title == COLLECTION_TITLE]
        # Listings contain only the first items of a collection.
        return api.get_collection(slugs[0]) if slugs else None

    create = partial(
        api.create_collection,
        COLLECTION_TITLE,
        namespace=namespace,
        description=_COLLECTION_DESCRIPTION,
        private=private,
        exists_ok=True,
    )
    with explain_hub_errors(namespace, "collection"):
        found = read_from_hub(f"the collections of {namespace}", find, tries=TRIES, retry_connection_errors=True)
        present = {(item.item_type, item.item_id) for item in found.items} if found else set()
        added = [upload for upload in uploads if (upload.kind, upload.repo) not in present]
        if write and found is None:
            found = call_with_retries(create)
        if write and found is not None:
            for upload in added:
                # If a response was lost, the retry finds the item.
                add = partial(api.add_collection_item, found.slug, upload.repo, upload.kind, exists_ok=True)
                call_with_retries(add)
    return redact(found.url) if found else None, added
