"""User accounts, identified by tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tests.fake_hub.errors import HubError


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
