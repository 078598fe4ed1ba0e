"""The callers in the tests of the Hub. Only client processes may import `huggingface_hub`, so it is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def connect_as_alice() -> HfApi:
    """Return a client for a member of `org` with a write token."""
    return _api(ALICE)


def connect_as_alice_read_only() -> HfApi:
    """Return a client for the same member with a read token."""
    return _api(ALICE_READS)


def connect_as_bob() -> HfApi:
    """Return a client for a user outside `org`."""
    return _api(BOB)


def connect_anonymously() -> HfApi:
    """Return a client without a token."""
    return _api(False)


def _api(token: str | bool) -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(token=token)
