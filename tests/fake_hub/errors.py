"""Error responses in the format of the Hub.

Clients do not use the status alone. `X-Error-Code` determines the exception: over plain HTTP, a missing repository has
no other distinction from other 401 and 404 responses. `X-Error-Message` is the text that users see.
"""

from __future__ import annotations

from collections.abc import Mapping

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
