"""Publish to the Hub: one commit per repository, based on the present state, and none where nothing would change.

What a person sees at the default revision is the state before or the state after, never one between: large files are
uploaded first and stay invisible until the one commit names them. The commit names its parent, so the Hub rejects it if
another commit came first; then everything is read and computed again. A lost response does no harm either: the next
attempt finds the work done. Errors of the Hub and the network become one line that says what to do.
"""

import hashlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from unbag.utils.advice import all_fitting, first_fitting
from unbag.utils.hub import HubReadError, hub_failure_message, hub_read
from unbag.utils.hub_names import validate_repo, validate_repo_path
from unbag.utils.redaction import first_line, redact
from unbag.utils.retries import TRIES, http_cause, hub_http, pause, requested_wait, wait_before_next, with_retries

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError


Kind: TypeAlias = Literal["dataset", "model", "space"]
"""The kinds of repositories of the Hub, by its clients' names."""

Merge: TypeAlias = Callable[[bytes | None], bytes]
"""What a file shall be, given what it is (None where there is none): for a file that others write to as well."""


@dataclass(frozen=True)
class Publication:
    """The files of one repository.

    Attributes:
        repo: `organisation/name`.
        kind: of repository; a space is one of gradio.
        files: what to write, by the path in the repository: the content itself, the file that holds it, or how to make
            it from what is there. The last is called again whenever somebody else's commit came first.
        message: of the commit; a pull request's title.
        owns: patterns (`fnmatch`) of paths that belong to this publication alone, such as `data/snli-test/*`: what an
            earlier one left there and `files` does not name is deleted. Everything else in the repository stays.
    """

    repo: str
    kind: Kind
    files: Mapping[str, bytes | Path | Merge]
    message: str
    owns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that are none of the Hub's.

        Raises:
            ValueError: if the repository or a file has no such name.
        """
        validate_repo(self.repo)
        for path in self.files:
            validate_repo_path(path)


_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"


class HubError(ValueError):
    """The Hub did not do what was asked; the message names the repository, the reason and what to do."""


@contextmanager
def explain_hub_errors(repo: str, kind: str) -> Iterator[None]:
    """Turn what the client raises about a repository into a `HubError` of one line, with no token in it.

    Args:
        repo: `organisation/name`.
        kind: of repository.

    Raises:
        HubError: instead of what was raised.
    """
    httpx = hub_http()
    from huggingface_hub.errors import HFValidationError, OfflineModeIsEnabled

    try:
        yield
    except HubError:
        raise
    except HubReadError as error:
        raise HubError(redact(str(error))) from error
    except HFValidationError as error:
        raise HubError(f"expected a repository as organisation/name, found {repo!r}: {first_line(error)}") from None
    except OfflineModeIsEnabled:
        raise HubError(f"{repo}: the Hub cannot be asked while offline; unset HF_HUB_OFFLINE") from None
    except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        raise HubError(redact(f"{kind} {repo}: {_describe_error(error, repo)}")) from error


def _describe_error(error: Exception, repo: str) -> str:
    from huggingface_hub import constants, get_token

    answer = http_cause(error)
    if answer is None:
        if (fault := hub_failure_message(error)) is not None:
            return f"{fault}: it goes on from here"
        if isinstance(error, ValueError):
            return " ".join(str(error).split())  # the client's own complaint about a card, say
        return (
            f"{constants.ENDPOINT} cannot be reached ({type(error).__name__}: {first_line(error)}); check the network "
            "and HF_ENDPOINT, and give the command again: it goes on from here"
        )
    status = answer.response.status_code
    text = answer.server_message or first_line(answer)
    organisation = repo.partition("/")[0]
    match status:
        case HTTPStatus.UNAUTHORIZED if get_token() is None:
            return f"expected a token, found none (401: {text}); {_LOG_IN}"
        case HTTPStatus.UNAUTHORIZED:
            return (
                f"the Hub does not accept the token (401: {text}); {_LOG_IN} with one that may write to {organisation}"
            )
        case HTTPStatus.FORBIDDEN:
            ways = ["use another token", "name another organisation with --to"]
            if _is_proposal_possible(answer):
                ways.append("propose the change with --pull-request")
            return (
                f"expected a token that may write to {organisation}, found one that may not (403: {text}); "
                + all_fitting(*ways)
            )
        case HTTPStatus.NOT_FOUND:
            check = first_fitting("; check --to", "; check its name")
            return f"there is no such repository, or none that this token may see (404: {text}){check}"
        case HTTPStatus.CONFLICT | HTTPStatus.PRECONDITION_FAILED:
            return f"somebody else's commits came first each time ({status}: {text}); give the command again"
        case HTTPStatus.TOO_MANY_REQUESTS:
            seconds = requested_wait(answer)
            when = f"in {seconds:.0f} s" if seconds else "later"
            return f"too many requests (429: {text}); give the command again {when}: it goes on from here"
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return f"the Hub is out of order ({status}: {text}); give the command again later: it goes on from here"
    return f"the Hub refused ({status}: {text})"


def _is_proposal_possible(refused: "HfHubHTTPError") -> bool:
    """Check whether a pull request may do what was refused: a change of a repository that exists, and no proposal."""
    url = refused.response.request.url
    changes = any(step in url.path for step in ("/commit/", "/preupload/", "/info/lfs/"))
    return changes and "create_pr" not in url.params and "refs%2F" not in str(url) and "/refs/" not in url.path


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


def fetch_remote(repo: str, kind: Kind, revision: str = "main") -> Remote | None:
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


_MAIN: Final = "main"
_CONFLICTS: Final = 20  # somebody's commit gets through each time, so this many others would have to be at it
_MAX_BACKOFF: Final = 4.0  # seconds
_CONFLICT: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED})


@dataclass(frozen=True)
class Plan:
    """What publishing would do.

    Attributes:
        publication: what is published.
        base: the commit it is based on; None where the repository is to be made.
        private: whether the repository is, or will be, private.
        pull_request: the ref of the open pull request that is gone on with, such as `refs/pr/3`.
        contents: what the files will hold, by path.
        added: sizes in bytes of files that are new, by path.
        changed: sizes of those that will hold something else.
        deleted: paths that an earlier publication left.
    """

    publication: Publication
    base: str | None
    private: bool
    pull_request: str | None
    contents: Mapping[str, bytes | Path]
    added: Mapping[str, int]
    changed: Mapping[str, int]
    deleted: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the repository already holds all of it."""
        return not (self.added or self.changed or self.deleted)


@dataclass(frozen=True)
class Outcome:
    """What publishing did.

    Attributes:
        plan: what was to be done, on the commit that it was done on.
        url: of the repository, or of the pull request.
        commit: the new commit; None where there was nothing to change.
    """

    plan: Plan
    url: str
    commit: str | None


def plan_publication(publication: Publication, *, private: bool = False, pull_request: bool = False) -> Plan:
    """Return what `publish` would do; nothing is written.

    Raises:
        HubError: if it cannot be done, as far as that can be told from looking.
    """
    with explain_hub_errors(publication.repo, publication.kind):
        return _plan(publication, private=private, pull_request=pull_request)


def publish_files(publication: Publication, *, private: bool = False, pull_request: bool = False) -> Outcome:
    """Bring a repository to what a publication says, in one commit, and make the repository where there is none.

    Publishing the same again makes no commit. A publication that was stopped, at whatever moment, is finished by
    publishing again; what was uploaded is not uploaded again.

    Args:
        publication: the files.
        private: a new repository is seen by its organisation only; one that is public already is refused.
        pull_request: propose the commit instead; one's own open pull request of that title is gone on with.

    Raises:
        HubError: if the Hub refuses, stays out of order or cannot be reached; nothing is changed then.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    kind, repo = publication.kind, publication.repo

    def create() -> object:
        sdk = "gradio" if kind == "space" else None
        return api.create_repo(repo, repo_type=kind, private=private, exist_ok=True, space_sdk=sdk)

    with explain_hub_errors(repo, kind):
        conflicts = 0
        may_delete: frozenset[str] | None = None
        faults: Counter[str] = Counter()  # by request: one commit takes several
        while True:
            planned = _plan(publication, private=private, pull_request=pull_request)
            if planned.base is None:
                with_retries(create)
                continue
            # What others add while this goes on is theirs: of nothing more than was seen at first is the end known.
            may_delete = frozenset(planned.deleted) if may_delete is None else may_delete
            planned = replace(planned, deleted=tuple(path for path in planned.deleted if path in may_delete))
            if planned.is_empty:
                # After a failed commit this is its work: what failed was the answer.
                return Outcome(planned, _url(planned), planned.base if faults else None)
            try:
                done = _commit(planned, pull_request=pull_request)
            except Exception as error:
                answer = http_cause(error)
                if answer is not None and answer.response.status_code in _CONFLICT and conflicts < _CONFLICTS:
                    conflicts += 1
                    pause(random.uniform(0, min(0.05 * 2**conflicts, _MAX_BACKOFF)), error)
                    continue
                request = str(answer.response.request.url) if answer is not None else type(error).__name__
                faults[request] += 1
                seconds = wait_before_next(error, faults[request])
                if seconds is None or faults[request] == TRIES:
                    raise
                pause(seconds, error)
                continue
            return Outcome(planned, done.pr_url or _url(planned), done.oid)


def _plan(publication: Publication, *, private: bool, pull_request: bool) -> Plan:
    kind, repo = publication.kind, publication.repo
    ref = _open_pull_request(publication) if pull_request else None
    remote = fetch_remote(repo, kind, ref or _MAIN)
    if remote is None and pull_request:
        raise HubError(f"{kind} {repo}: expected a repository to propose a change to, found none; check --to")
    if remote is not None and private and not remote.private:
        raise HubError(
            f"{kind} {repo}: expected a private repository, found a public one; make it private in its settings, leave "
            "--private out, or name another with --to"
        )
    contents = {path: _resolve_content(file, path, remote) for path, file in publication.files.items()}
    existing = remote.files if remote else {}
    sizes = {path: len(c) if isinstance(c, bytes) else c.stat().st_size for path, c in contents.items()}
    return Plan(
        publication=publication,
        base=remote.commit if remote else None,
        private=remote.private if remote else private,
        pull_request=ref,
        contents=contents,
        added={path: size for path, size in sizes.items() if path not in existing},
        changed={path: sizes[path] for path, c in contents.items() if path in existing and not existing[path].holds(c)},
        deleted=tuple(
            path
            for path in sorted(existing)
            if path not in contents and any(fnmatchcase(path, pattern) for pattern in publication.owns)
        ),
    )


def _resolve_content(
    file: bytes | Path | Callable[[bytes | None], bytes], path: str, remote: Remote | None
) -> bytes | Path:
    if isinstance(file, bytes | Path):
        return file
    return file(remote.read(path) if remote else None)


def _commit(planned: Plan, *, pull_request: bool) -> Any:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    publication = planned.publication
    written = [*planned.added, *planned.changed]
    return HfApi().create_commit(
        publication.repo,
        [
            *(CommitOperationAdd(path, planned.contents[path]) for path in written),
            *(CommitOperationDelete(path, is_folder=False) for path in planned.deleted),
        ],
        commit_message=publication.message,
        repo_type=publication.kind,
        revision=planned.pull_request or _MAIN,
        create_pr=pull_request and planned.pull_request is None,
        parent_commit=planned.base,
    )


def _open_pull_request(publication: Publication) -> str | None:
    """Return the ref of one's own open pull request of the same title, if there is one."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    api = HfApi()
    author = hub_read("your account", api.whoami, tries=TRIES, unreachable=True)["name"]
    try:
        discussions = hub_read(
            f"{publication.kind} {publication.repo}",
            lambda: list(
                api.get_repo_discussions(
                    publication.repo,
                    author=author,
                    discussion_type="pull_request",
                    discussion_status="open",
                    repo_type=publication.kind,
                )
            ),
            tries=TRIES,
            unreachable=True,
        )
    except RepositoryNotFoundError:
        return None
    ours = [d.num for d in discussions if d.is_pull_request and d.author == author and d.title == publication.message]
    return f"refs/pr/{max(ours)}" if ours else None


def _url(planned: Plan) -> str:
    from huggingface_hub import constants

    publication = planned.publication
    folder = "" if publication.kind == "model" else f"{publication.kind}s/"
    url = f"{redact(constants.ENDPOINT)}/{folder}{publication.repo}"
    if planned.pull_request:
        return f"{url}/discussions/{planned.pull_request.rpartition('/')[2]}"
    return url
