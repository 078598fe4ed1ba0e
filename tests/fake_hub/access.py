"""Permission checks."""

from __future__ import annotations

from tests.fake_hub.accounts import build_login_error, build_permission_error, build_repo_not_found_error
from tests.fake_hub.content import RepoKey
from tests.fake_hub.routing import Call
from tests.fake_hub.store import Repository, StoredRepository


def get_readable_repo(call: Call) -> Repository:
    """Return the repository that a call names, or raise an error if the caller may not read it."""
    repo = call.hub.repository(call.key)
    if repo is None or (repo.private and not _is_member(call, call.key.namespace)):
        raise build_repo_not_found_error(known_caller=call.account is not None)
    return repo


def get_writable_repo(call: Call) -> StoredRepository:
    """Return the repository that a call names, or raise an error if the caller may not write to it."""
    repo = get_readable_repo(call)
    if call.account is None:
        raise build_login_error()
    if call.account.role != "write" or not _is_member(call, call.key.namespace):
        raise build_permission_error("Forbidden: you must use a write token to write to this repository.")
    return require_not_mounted(repo)


def get_repo_for_proposals(call: Call) -> StoredRepository:
    """Return the repository that a call names, or raise an error if the caller has no write token."""
    repo = get_readable_repo(call)
    if call.account is None:
        raise build_login_error()
    if call.account.role != "write":
        raise build_permission_error("Forbidden: you must use a write token to open a pull request.")
    return require_not_mounted(repo)


def require_not_mounted(repo: Repository) -> StoredRepository:
    """Raise an error if the repository is mounted, since mounted repositories are read-only."""
    if not isinstance(repo, StoredRepository):
        raise build_permission_error(f"{repo.key.folder} is mounted from a folder, and that is served read-only")
    return repo


def require_namespace_permission(call: Call, key: RepoKey) -> str:
    """Return the name of the caller, or raise an error if the caller may not create repositories in the namespace."""
    if call.account is None:
        raise build_login_error()
    if call.account.role != "write" or not call.account.belongs_to(key.namespace):
        raise build_permission_error(
            f'You don\'t have the rights to create a {key.type} under the namespace "{key.namespace}"'
        )
    return call.account.name


def _is_member(call: Call, namespace: str) -> bool:
    return call.account is not None and call.account.belongs_to(namespace)
