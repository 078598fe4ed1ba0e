"""Who is calling: a table of tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tests.fake_hub.errors import HubError


@dataclass(frozen=True)
class Account:
    """The user behind a token, and what the token allows."""

    name: str
    orgs: tuple[str, ...] = ()
    role: Literal["read", "write"] = "read"

    def belongs_to(self, namespace: str) -> bool:
        """Whether the user owns the namespace or is a member of it."""
        return namespace == self.name or namespace in self.orgs


# Three callers are enough to tell all rules apart: a member who writes, the same member with a token that only reads,
# and a stranger. The clients take any text for a token; only the Hub knows what it stands for.
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
        """Find the account of an Authorization header; None for a caller who sent none."""
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
    """Read a table like `{"hf_x": {"name": "alice", "orgs": ["org"], "role": "write"}}`."""
    return {
        token: Account(entry["name"], tuple(entry.get("orgs", ())), entry.get("role", "read"))
        for token, entry in json.loads(path.read_text()).items()
    }
