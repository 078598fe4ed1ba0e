"""User accounts, identified by tokens, and error responses in the format of the Hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from starlette.responses import JSONResponse


class HubError(Exception):
    """An error response."""

    def __init__(
        self, status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Store the message for the body and, if possible, for the headers."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        # A header is one line of Latin-1 text, but YAML errors have several lines.
        first_line = message.splitlines()[0] if message else ""
        self.headers["X-Error-Message"] = first_line.encode("latin-1", "replace").decode("latin-1")
        if code:
            self.headers["X-Error-Code"] = code

    def response(self) -> JSONResponse:
        """Build the response."""
        return JSONResponse({"error": self.message}, self.status, self.headers)


def build_login_error() -> HubError:
    """Return the error for a caller without a token."""
    return HubError(401, "Invalid username or password.")


def build_permission_error(message: str) -> HubError:
    """Return the error for a caller whose token lacks a permission."""
    return HubError(403, message)


def build_repo_not_found_error(*, known_caller: bool) -> HubError:
    """Return the error for a repository that is missing or private.

    As on the Hub: 401 for a caller without a token, who might have access with one, and 404 for a caller with a token.
    """
    if known_caller:
        return HubError(404, "Repository not found", "RepoNotFound")
    return HubError(401, "Invalid username or password.", "RepoNotFound")


def build_revision_not_found_error(revision: str) -> HubError:
    """Return the error for a missing branch, tag or commit."""
    return HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")


def build_entry_not_found_error(message: str = "Entry not found", commit_sha: str | None = None) -> HubError:
    """Return the error for a missing file.

    If the headers contain the sha of the commit, clients cache that the file is missing.
    """
    return HubError(404, message, "EntryNotFound", {"X-Repo-Commit": commit_sha} if commit_sha else None)


@dataclass(frozen=True)
class Account:
    """A user with the permissions of a token."""

    name: str
    orgs: tuple[str, ...] = ()
    role: Literal["read", "write"] = "read"

    def belongs_to(self, namespace: str) -> bool:
        """Whether the user is the namespace or a member of it."""
        return namespace == self.name or namespace in self.orgs


# Three callers cover all rules: a member with a write token, the same member with a read token, and a user who is not a
# member. Clients accept any string as a token.
ALICE = "hf_write_alice"

ALICE_READS = "hf_read_alice"

BOB = "hf_write_bob"

SAMPLE_TOKENS: Mapping[str, Account] = {
    ALICE: Account("alice", orgs=("org",), role="write"),
    ALICE_READS: Account("alice", orgs=("org",), role="read"),
    BOB: Account("bob", role="write"),
}


class Accounts:
    """The accounts of a server, by token."""

    def __init__(self, by_token: Mapping[str, Account]) -> None:
        self.by_token = dict(by_token)

    def identify(self, authorization: str | None) -> Account | None:
        """Find the account of an Authorization header. Return None if the header is missing."""
        if not authorization:
            return None
        account = self.by_token.get(authorization.removeprefix("Bearer ").strip())
        if account is None:
            raise HubError(401, "Invalid credentials in Authorization header")
        return account


def write_tokens(path: Path, tokens: Mapping[str, Account]) -> None:
    """Write a table of tokens as JSON."""
    path.write_text(json.dumps({token: asdict(account) for token, account in tokens.items()}))


def read_tokens(path: Path) -> dict[str, Account]:
    """Load a table such as `{"hf_x": {"name": "alice", "orgs": ["org"], "role": "write"}}`."""
    return {
        token: Account(entry["name"], tuple(entry.get("orgs", ())), entry.get("role", "read"))
        for token, entry in json.loads(path.read_text()).items()
    }
