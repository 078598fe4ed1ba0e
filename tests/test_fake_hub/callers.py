"""Who calls the Hub in these tests. Imported without `huggingface_hub`, which only client processes may import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def alice() -> HfApi:
    """Return a member of `org` who may write."""
    return _api(ALICE)


def alice_reading() -> HfApi:
    """Return the same member with a token that only reads."""
    return _api(ALICE_READS)


def bob() -> HfApi:
    """Return somebody who is no member."""
    return _api(BOB)


def nobody() -> HfApi:
    """Return a caller without a token."""
    return _api(False)


def _api(token: str | bool) -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(token=token)
