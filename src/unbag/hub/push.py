"""Atomic publishing to the Hub: one commit per repository, or none if nothing changes.

Visitors see the state before or after a publication, never an intermediate state. Large files are uploaded first and
are invisible until the commit refers to them. The commit specifies its parent, so the Hub rejects it if another commit
came first; then the plan is computed again from the new state. If the response to a commit is lost, the next attempt
finds the commit and changes nothing. Errors of the Hub and the network are converted to one line with a fix.
"""

import hashlib
import random
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from unbag.utils.advice import choose_advice, join_advice
from unbag.utils.hub import HubReadError, describe_hub_failure, read_from_hub, validate_repo, validate_repo_path
from unbag.utils.redaction import extract_first_line, redact
from unbag.utils.retries import (
    TRIES,
    call_with_retries,
    compute_wait,
    find_http_cause,
    import_hub_http,
    read_requested_wait,
    wait_before_retry,
)

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError


RepoType: TypeAlias = Literal["dataset", "model", "space"]
"""Type of a repository, as `repo_type` in `huggingface_hub`."""

MergeFunction: TypeAlias = Callable[[bytes | None], bytes]
"""Function from the published content of a shared file (None if there is none) to the new content."""


@dataclass(frozen=True)
class HubUpload:
    """Files to publish in one Hub repository.

    Attributes:
        repo: Repository, `organization/name`.
        kind: Type of the repository. A new Space uses gradio.
        files: Files to write, by path in the repository: content, local file, or a `MergeFunction`, which is called
            again if another commit came first.
        message: Commit message, or title of the pull request.
        owned_patterns: Patterns (`fnmatch`) of paths that belong to this publication, such as `data/snli-test/*`. Files
            that match a pattern but are not in `files` are deleted. All other files of the repository are kept.
    """

    repo: str
    kind: RepoType
    files: Mapping[str, bytes | Path | MergeFunction]
    message: str
    owned_patterns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Validate the names of the repository and its files.

        Raises:
            ValueError: If a name is not valid on the Hub.
        """
        validate_repo(self.repo)
        for path in self.files:
            validate_repo_path(path)


_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"
_RESUMES: Final = "finished uploads are kept"


class HubError(ValueError):
    """Failed request to the Hub. The message contains the repository, the reason and a fix."""


@contextmanager
def explain_hub_errors(repo: str, repo_type: str) -> Iterator[None]:
    """Convert exceptions of the Hub client to a one-line `HubError`, with access tokens redacted.

    Args:
        repo: Repository, `organization/name`.
        repo_type: Type of the repository.

    Raises:
        HubError: Instead of the client's exception.
    """
    httpx = import_hub_http()
    from huggingface_hub.errors import HFValidationError, OfflineModeIsEnabled

    try:
        yield
    except HubError:
        raise
    except HubReadError as error:
        raise HubError(redact(str(error))) from error
    except HFValidationError as error:
        raise HubError(
            f"expected a repository as organization/name, got {repo!r}: {extract_first_line(error)}"
        ) from None
    except OfflineModeIsEnabled:
        raise HubError(f"{repo}: expected access to the Hub, got offline mode; unset HF_HUB_OFFLINE") from None
    except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        raise HubError(redact(f"{repo_type} {repo}: {_describe_error(error, repo)}")) from error


def _describe_error(error: Exception, repo: str) -> str:
    from huggingface_hub import constants, get_token

    answer = find_http_cause(error)
    if answer is None:
        if (fault := describe_hub_failure(error)) is not None:
            return f"{fault}; {_RESUMES}"
        if isinstance(error, ValueError):
            return " ".join(str(error).split())  # error message of the client, for example about a card
        return (
            f"{constants.ENDPOINT} cannot be reached ({type(error).__name__}: {extract_first_line(error)}); check the "
            f"network and HF_ENDPOINT, and rerun the command; {_RESUMES}"
        )
    status = answer.response.status_code
    text = answer.server_message or extract_first_line(answer)
    organization = repo.partition("/")[0]
    match status:
        case HTTPStatus.UNAUTHORIZED if get_token() is None:
            return f"expected a token, got none (401: {text}); {_LOG_IN}"
        case HTTPStatus.UNAUTHORIZED:
            return (
                f"expected a valid token, got a rejected one (401: {text}); {_LOG_IN} with a token that may write to "
                f"{organization}"
            )
        case HTTPStatus.FORBIDDEN:
            ways = ["use another token", "use another organization with --repo-id"]
            if _is_proposal_possible(answer):
                ways.append("propose the change with --pull-request")
            return (
                f"expected a token with write access to {organization}, got one without (403: {text}); "
                + join_advice(*ways)
            )
        case HTTPStatus.NOT_FOUND:
            check = choose_advice("; check --repo-id", "; check its name")
            return f"expected a repository that the token can access, got none (404: {text}){check}"
        case HTTPStatus.CONFLICT | HTTPStatus.PRECONDITION_FAILED:
            return f"conflicts with other commits at every attempt ({status}: {text}); rerun the command"
        case HTTPStatus.TOO_MANY_REQUESTS:
            seconds = read_requested_wait(answer)
            when = f"in {seconds:.0f} s" if seconds else "later"
            return f"too many requests (429: {text}); rerun the command {when}; {_RESUMES}"
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return f"server error of the Hub ({status}: {text}); rerun the command later; {_RESUMES}"
    # The Hub validates eval.yaml against its list of evaluation frameworks (`hub.benchmark_file`).
    omitted = choose_advice("omit eval.yaml with --no-benchmark") if "evaluation_framework" in text else ""
    return f"the Hub rejected the request ({status}: {text}); {omitted or 'correct the cause'}"


def _is_proposal_possible(refused: "HfHubHTTPError") -> bool:
    """Check whether a pull request could succeed: whether the rejected request changes an existing repository."""
    url = refused.response.request.url
    changes = any(step in url.path for step in ("/commit/", "/preupload/", "/info/lfs/"))
    return changes and "create_pr" not in url.params and "refs%2F" not in str(url) and "/refs/" not in url.path


_CHUNK: Final = 1 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteFile:
    """File in a Hub repository.

    Attributes:
        size: Size in bytes.
        oid: Git blob id; for a large file, the id of its pointer file.
        sha256: SHA-256 of the content; None for a small file.
    """

    size: int
    oid: str
    sha256: str | None

    def has_content(self, content: bytes | Path) -> bool:
        """Check whether the file has the given content. Local files with the same size are read in chunks."""
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        if size != self.size:
            return False
        # The Hub provides a SHA-256 only for large files. For others, the Git blob id is the SHA-1 of a header and the
        # content.
        digest = hashlib.sha256() if self.sha256 else hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        if isinstance(content, bytes):
            digest.update(content)
        else:
            with content.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        return digest.hexdigest() == (self.sha256 or self.oid)


@dataclass(frozen=True)
class RemoteRepository:
    """Hub repository at one commit.

    Attributes:
        repo: Repository, `organization/name`.
        kind: Type of the repository.
        commit: Id of the commit.
        private: Whether only members of its organization can access the repository.
        files: Files by path.
    """

    repo: str
    kind: RepoType
    commit: str
    private: bool
    files: Mapping[str, RemoteFile]

    def read(self, path: str) -> bytes | None:
        """Download a small file; None if the file does not exist.

        Raises:
            HfHubHTTPError: If the Hub rejects the request.
            HubReadError: If the Hub does not respond, or the content differs.
        """
        if path not in self.files:
            return None
        expected = self.files[path]

        def fetch() -> bytes:
            # A temporary folder bypasses the client's cache, because the content is merged into the next commit and
            # must be current.
            from huggingface_hub import HfApi

            with tempfile.TemporaryDirectory(prefix="unbag-") as folder:
                file = HfApi().hf_hub_download(
                    self.repo, path, repo_type=self.kind, revision=self.commit, local_dir=folder
                )
                content = Path(file).read_bytes()
            if not expected.has_content(content):
                raise ConnectionAbortedError(
                    f"{path}: the downloaded content differs from the content on the Hub; try again"
                )
            return content

        return _read(self.repo, self.kind, fetch)


def fetch_remote_repository(repo: str, repo_type: RepoType, revision: str = "main") -> RemoteRepository | None:
    """Fetch the file list of a repository at a revision; None if the repository does not exist.

    Raises:
        HfHubHTTPError: If the Hub rejects the request.
        HubReadError: If the Hub does not respond, or the response is invalid.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    api = HfApi()
    try:
        info: Any = _read(repo, repo_type, lambda: api.repo_info(repo, repo_type=repo_type, revision=revision))
    except GatedRepoError:  # A subclass of RepositoryNotFoundError, although the repository exists.
        raise
    except RepositoryNotFoundError:
        return None
    listed: list[Any] = _read(
        repo, repo_type, lambda: list(api.list_repo_tree(repo, recursive=True, revision=info.sha, repo_type=repo_type))
    )
    files = {
        entry.path: RemoteFile(entry.size, entry.blob_id, entry.lfs.sha256 if entry.lfs else None)
        for entry in listed
        if hasattr(entry, "blob_id")  # folders have no blob id
    }
    return RemoteRepository(repo, repo_type, info.sha, bool(info.private), files)


def _read(repo: str, kind: RepoType, call: Callable[[], T]) -> T:
    # huggingface_hub does not retry these requests.
    return read_from_hub(f"{kind} {repo}", call, tries=TRIES, retry_connection_errors=True)


_MAIN: Final = "main"
_MAX_CONFLICTS: Final = (
    20  # At each conflict, another commit succeeds, so this number of writers would have to compete.
)
_MAX_BACKOFF: Final = 4.0  # seconds
_CONFLICT: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED})


@dataclass(frozen=True)
class HubUploadPlan:
    """Planned changes to a Hub repository.

    Attributes:
        upload: Files to publish.
        base: Commit on which the changes are based; None if the repository must be created.
        private: Whether the repository is, or will be, private.
        pull_request: Ref of the open pull request to update, such as `refs/pr/3`; None for a new one or none.
        contents: New contents of the files, by path.
        added: Sizes in bytes of new files, by path.
        changed: Sizes in bytes of files whose content changes, by path.
        deleted: Paths of files of an earlier publication that will be deleted.
    """

    upload: HubUpload
    base: str | None
    private: bool
    pull_request: str | None
    contents: Mapping[str, bytes | Path]
    added: Mapping[str, int]
    changed: Mapping[str, int]
    deleted: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the repository is already up to date."""
        return not (self.added or self.changed or self.deleted)


@dataclass(frozen=True)
class HubUploadResult:
    """Result of publishing files to a Hub repository.

    Attributes:
        plan: Executed plan.
        url: URL of the repository or of the pull request.
        commit: Id of the new commit; None if nothing changed.
    """

    plan: HubUploadPlan
    url: str
    commit: str | None


def plan_hub_upload(upload: HubUpload, *, private: bool = False, pull_request: bool = False) -> HubUploadPlan:
    """Plan the changes that `publish_files` would make, without writing anything.

    Raises:
        HubError: If the publication would certainly fail, or the Hub cannot be read.
    """
    with explain_hub_errors(upload.repo, upload.kind):
        return _plan(upload, private=private, pull_request=pull_request)


def publish_files(upload: HubUpload, *, private: bool = False, pull_request: bool = False) -> HubUploadResult:
    """Publish files in one commit. A missing repository is created.

    Publishing the same files again creates no commit. An interrupted publication can be repeated at any time; finished
    uploads are not repeated.

    Args:
        upload: Files to publish.
        private: Whether to create a private repository. An existing public repository raises an error.
        pull_request: Whether to propose the commit in a pull request. The user's open pull request with the same title
            is updated.

    Raises:
        HubError: If the Hub rejects the publication, keeps failing or cannot be reached. Then nothing is changed.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    kind, repo = upload.kind, upload.repo

    def create() -> object:
        sdk = "gradio" if kind == "space" else None
        return api.create_repo(repo, repo_type=kind, private=private, exist_ok=True, space_sdk=sdk)

    with explain_hub_errors(repo, kind):
        conflicts = created = 0
        may_delete: frozenset[str] | None = None
        faults: Counter[str] = Counter()  # Failures by URL, because a commit needs several requests, each with retries.
        while True:
            planned = _plan(upload, private=private, pull_request=pull_request)
            if planned.base is None:
                if created == TRIES:
                    raise HubError(
                        f"{kind} {repo}: expected the new repository, got 404 after {created} attempts to create it; "
                        "check that the token can read it, then rerun the command"
                    )
                if created:
                    time.sleep(min(2.0 ** (created - 1), _MAX_BACKOFF))  # a new repository may take a moment
                call_with_retries(create)
                created += 1
                continue
            # Only files in the first plan are deleted. Files that appear later belong to another writer, even if they
            # match a pattern in `owns`.
            may_delete = frozenset(planned.deleted) if may_delete is None else may_delete
            planned = replace(planned, deleted=tuple(path for path in planned.deleted if path in may_delete))
            if planned.is_empty:
                # After a failed attempt, an up-to-date repository means that the commit succeeded and only its response
                # was lost.
                return HubUploadResult(planned, _url(planned), planned.base if faults else None)
            try:
                done = _commit(planned, pull_request=pull_request)
            except Exception as error:
                answer = find_http_cause(error)
                if answer is not None and answer.response.status_code in _CONFLICT and conflicts < _MAX_CONFLICTS:
                    conflicts += 1
                    # Random wait, because writers with equal waits would collide again.
                    wait_before_retry(random.uniform(0, min(0.05 * 2**conflicts, _MAX_BACKOFF)), error)
                    continue
                request = str(answer.response.request.url) if answer is not None else type(error).__name__
                faults[request] += 1
                seconds = compute_wait(error, faults[request])
                if seconds is None or faults[request] == TRIES:
                    raise
                wait_before_retry(seconds, error)
                continue
            return HubUploadResult(planned, done.pr_url or _url(planned), done.oid)


def _plan(upload: HubUpload, *, private: bool, pull_request: bool) -> HubUploadPlan:
    kind, repo = upload.kind, upload.repo
    ref = _open_pull_request(upload) if pull_request else None
    remote = fetch_remote_repository(repo, kind, ref or _MAIN)
    if remote is None and pull_request:
        raise HubError(f"{kind} {repo}: expected an existing repository for a pull request, got none; check --repo-id")
    if remote is not None and private and not remote.private:
        raise HubError(
            f"{kind} {repo}: expected a private repository, got a public one; make it private in the settings, remove "
            "--private, or use another repository with --repo-id"
        )
    contents = {path: _resolve_content(file, path, remote) for path, file in upload.files.items()}
    existing = remote.files if remote else {}
    sizes = {path: len(c) if isinstance(c, bytes) else c.stat().st_size for path, c in contents.items()}
    return HubUploadPlan(
        upload=upload,
        base=remote.commit if remote else None,
        private=remote.private if remote else private,
        pull_request=ref,
        contents=contents,
        added={path: size for path, size in sizes.items() if path not in existing},
        changed={
            path: sizes[path] for path, c in contents.items() if path in existing and not existing[path].has_content(c)
        },
        deleted=tuple(
            path
            for path in sorted(existing)
            if path not in contents and any(fnmatchcase(path, pattern) for pattern in upload.owned_patterns)
        ),
    )


def _resolve_content(
    file: bytes | Path | Callable[[bytes | None], bytes], path: str, remote: RemoteRepository | None
) -> bytes | Path:
    if isinstance(file, bytes | Path):
        return file
    return file(remote.read(path) if remote else None)


def _commit(planned: HubUploadPlan, *, pull_request: bool) -> Any:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    upload = planned.upload
    written = [*planned.added, *planned.changed]
    with warnings.catch_warnings():
        # The client warns about each Parquet file in a model repository, such as the predictions of an evaluation.
        warnings.filterwarnings("ignore", "It seems that you are about to commit a data file")
        return HfApi().create_commit(
            upload.repo,
            [
                *(CommitOperationAdd(path, planned.contents[path]) for path in written),
                *(CommitOperationDelete(path, is_folder=False) for path in planned.deleted),
            ],
            commit_message=upload.message,
            repo_type=upload.kind,
            revision=planned.pull_request or _MAIN,
            create_pr=pull_request and planned.pull_request is None,
            parent_commit=planned.base,
        )


def _open_pull_request(upload: HubUpload) -> str | None:
    """Find the ref of the user's open pull request with the same title; None if there is none."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    api = HfApi()
    author = read_from_hub("your account", api.whoami, tries=TRIES, retry_connection_errors=True)["name"]
    try:
        discussions = read_from_hub(
            f"{upload.kind} {upload.repo}",
            lambda: list(
                api.get_repo_discussions(
                    upload.repo,
                    author=author,
                    discussion_type="pull_request",
                    discussion_status="open",
                    repo_type=upload.kind,
                )
            ),
            tries=TRIES,
            retry_connection_errors=True,
        )
    except RepositoryNotFoundError:
        return None
    ours = [d.num for d in discussions if d.is_pull_request and d.author == author and d.title == upload.message]
    return f"refs/pr/{max(ours)}" if ours else None


def _url(planned: HubUploadPlan) -> str:
    from huggingface_hub import constants

    upload = planned.upload
    folder = "" if upload.kind == "model" else f"{upload.kind}s/"
    url = f"{redact(constants.ENDPOINT)}/{folder}{upload.repo}"
    if planned.pull_request:
        return f"{url}/discussions/{planned.pull_request.rpartition('/')[2]}"
    return url
