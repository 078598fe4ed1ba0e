"""User accounts, identified by tokens, and error responses in the format of the Hub."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import JSONResponse


class HubError(Exception):
    """An error response, with its message in the body and in a header."""

    def __init__(self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        # A header is one line of Latin-1 text, but YAML errors have several lines.
        first_line = message.partition("\n")[0].encode("latin-1", "replace").decode("latin-1")
        self.headers = {**(headers or {}), "X-Error-Message": first_line} | ({"X-Error-Code": code} if code else {})

    def response(self) -> JSONResponse:
        """Build the response."""
        return JSONResponse({"error": str(self)}, self.status, self.headers)


@dataclass(frozen=True)
class Account:
    """A user with the permissions of a token."""

    name: str
    orgs: tuple[str, ...] = ()
    role: str = "read"  # or "write"

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
    ALICE_READS: Account("alice", orgs=("org",)),
    BOB: Account("bob", role="write"),
}
