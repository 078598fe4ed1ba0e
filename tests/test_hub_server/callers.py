"""Who calls the Hub in these tests. Imported without `huggingface_hub`, which only client processes may import."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from unittest import mock

from tests.hub_server.accounts import ALICE, ALICE_READS, BOB

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def alice() -> HfApi:
    """Give a member of `org` who may write."""
    return _api(ALICE)


def alice_reading() -> HfApi:
    """Give the same member with a token that only reads."""
    return _api(ALICE_READS)


def bob() -> HfApi:
    """Give somebody who is no member."""
    return _api(BOB)


def nobody() -> HfApi:
    """Give a caller without a token."""
    return _api(False)


def _api(token: str | bool) -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(token=token)


def without_waiting() -> AbstractContextManager[Any]:
    """Let the client retry as often as it likes, but at once; it would wait for 23 seconds in all."""
    return mock.patch("huggingface_hub.utils._http.time.sleep")
