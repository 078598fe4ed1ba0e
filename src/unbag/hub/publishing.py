"""Publish to the Hub: one commit a repository, based on what is there, and none where nothing would change.

What a person sees at the default revision is the state before or the state after, never one between: large files
travel first and are nowhere to be seen until the one commit names them. The commit says which commit it is based on, so
the Hub refuses it if somebody else's came first; then everything is read again and worked out anew. An answer that got
lost does no harm either: the next look finds the work done.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from unbag.hub.publication import Publication
from unbag.hub.refusals import HubError, explained
from unbag.hub.remote import Remote, look
from unbag.utils.hub import hub_read
from unbag.utils.redaction import blotted
from unbag.utils.retries import TRIES, http_cause, pause, wait_before_next, with_retries

_MAIN: Final = "main"
_CONFLICTS: Final = 20  # somebody's commit gets through each time, so this many others would have to be at it
_LONGEST_STAND_BACK: Final = 4.0  # seconds
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


def plan(publication: Publication, *, private: bool = False, pull_request: bool = False) -> Plan:
    """Return what `publish` would do; nothing is written.

    Raises:
        HubError: if it cannot be done, as far as that can be told from looking.
    """
    with explained(publication.repo, publication.kind):
        return _plan(publication, private=private, pull_request=pull_request)


def publish(publication: Publication, *, private: bool = False, pull_request: bool = False) -> Outcome:
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

    with explained(repo, kind):
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
                    pause(random.uniform(0, min(0.05 * 2**conflicts, _LONGEST_STAND_BACK)), error)
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
    remote = look(repo, kind, ref or _MAIN)
    if remote is None and pull_request:
        raise HubError(f"{kind} {repo}: expected a repository to propose a change to, found none; check --to")
    if remote is not None and private and not remote.private:
        raise HubError(
            f"{kind} {repo}: expected a private repository, found a public one; make it private in its settings, leave "
            "--private out, or name another with --to"
        )
    contents = {path: _content(file, path, remote) for path, file in publication.files.items()}
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


def _content(file: bytes | Path | Callable[[bytes | None], bytes], path: str, remote: Remote | None) -> bytes | Path:
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
    url = f"{blotted(constants.ENDPOINT)}/{folder}{publication.repo}"
    if planned.pull_request:
        return f"{url}/discussions/{planned.pull_request.rpartition('/')[2]}"
    return url
