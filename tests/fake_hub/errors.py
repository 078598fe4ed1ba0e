"""Refusals, said the way the Hub says them.

Clients do not go by the status alone. `X-Error-Code` decides which exception they raise: over plain http they cannot
tell a missing repository from other 401 and 404 answers in any other way. `X-Error-Message` is the text a user sees.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import JSONResponse


class HubError(Exception):
    """An answer other than success."""

    def __init__(
        self, status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Keep the message for the body and, where a header can hold it, for the headers too."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        # A header is one line of latin-1; a YAML error, for one, has several lines.
        first_line = message.splitlines()[0] if message else ""
        self.headers["X-Error-Message"] = first_line.encode("latin-1", "replace").decode("latin-1")
        if code:
            self.headers["X-Error-Code"] = code

    def response(self) -> JSONResponse:
        """Build the answer to send."""
        return JSONResponse({"error": self.message}, self.status, self.headers)


def not_logged_in() -> HubError:
    """Refuse a caller without a token."""
    return HubError(401, "Invalid username or password.")


def forbidden(message: str) -> HubError:
    """Refuse a caller whose token is good, but not for this."""
    return HubError(403, message)


def repo_not_found(*, known_caller: bool) -> HubError:
    """Say that there is no such repository, or none that this caller may know of.

    As the Hub does: 401 to a caller without a token, who might see it with one; 404 to a caller with a token.
    """
    if known_caller:
        return HubError(404, "Repository not found", "RepoNotFound")
    return HubError(401, "Invalid username or password.", "RepoNotFound")


def revision_not_found(revision: str) -> HubError:
    """Say that there is no such branch, tag or commit."""
    return HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")


def entry_not_found(message: str = "Entry not found", commit_sha: str | None = None) -> HubError:
    """Say that there is no such file.

    With the commit's sha in the headers a client caches the absence, and asks no more for that commit.
    """
    return HubError(404, message, "EntryNotFound", {"X-Repo-Commit": commit_sha} if commit_sha else None)
