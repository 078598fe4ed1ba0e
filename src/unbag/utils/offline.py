"""Offline mode of the Hub clients, if the user requests it or if the Hub is unreachable.

Without a network, each client call retries for 20 to 30 seconds before it uses its cache or fails. Code that reads from
the Hub therefore runs within `use_cache_if_unreachable`, which tests the connection once.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from unbag.utils.retries import import_hub_http

_TRIES: Final = 3  # a restarting server is available again within seconds
_SECONDS_BETWEEN: Final = 1.0
_TIMEOUT: Final = 3.0  # seconds for a connection
_FAILURE_TTL: Final = 60.0  # seconds for which a failure is cached, since a run may read several objects from the Hub
_last: dict[str, tuple[float, str]] = {}  # by endpoint: time of the last test and its failure, or ""
_in_force = ""  # failure for which the clients are currently offline, or ""
logger = logging.getLogger(__name__)

_SETTINGS: Final = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Module variables of the clients that are set from the environment only at import."""


def enable_offline_mode() -> None:
    """Switch Hub clients to offline mode, in this process and its children, like `HF_HUB_OFFLINE=1`."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    for module, name in _SETTINGS:
        if module in sys.modules:
            setattr(sys.modules[module], name, True)


@contextmanager
def use_cache_if_unreachable() -> Iterator[str]:
    """Switch Hub clients to offline mode until the `with` block ends, if the Hub is unreachable.

    Yields the reason why the Hub is unreachable; empty if it is reachable or if the user has set offline mode.
    """
    global _in_force
    reason = _in_force or _unreachable()
    if not reason or _in_force:
        yield reason
        return
    environment = os.environ.get("HF_HUB_OFFLINE")
    before = {(module, name): getattr(sys.modules[module], name) for module, name in _SETTINGS if module in sys.modules}
    enable_offline_mode()
    _in_force = reason
    try:
        yield reason
    finally:
        _in_force = ""
        for (module, name), value in before.items():
            setattr(sys.modules[module], name, value)
        if environment is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = environment


def _unreachable() -> str:
    """Test the connection to the Hub. Returns the reason of a failure, or an empty text for any response."""
    httpx = import_hub_http()
    from huggingface_hub import constants, get_session, is_offline_mode

    endpoint = constants.ENDPOINT
    if is_offline_mode():
        return ""
    tested, reason = _last.get(endpoint, (-_FAILURE_TTL, ""))
    if endpoint in _last and (not reason or time.monotonic() - tested < _FAILURE_TTL):
        return reason
    for left in reversed(range(_TRIES)):
        try:
            get_session().head(endpoint, timeout=_TIMEOUT)
            reason = ""
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            reason = f"{endpoint} cannot be reached: {str(error) or type(error).__name__}"
            if left:
                time.sleep(_SECONDS_BETWEEN)
                continue
            logger.warning("%s; continuing with local files", reason)
        except httpx.HTTPError:
            reason = ""  # an error after connecting: the Hub is reachable
        break
    _last[endpoint] = time.monotonic(), reason
    return reason
