"""Offline mode of the Hub's clients: on the user's request, or if the Hub is unreachable.

Without a network, each call of a client retries for 20 to 30 seconds before it uses its cache or fails. Code that reads
the Hub therefore does so within `unless_unreachable`, which tests the connection once.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from unbag.utils.retries import hub_http

_TRIES: Final = 3  # a server that restarts is back in seconds
_SECONDS_BETWEEN: Final = 1.0
_TIMEOUT: Final = 3.0  # seconds for a connection
_FAILURE_TTL: Final = 60.0  # seconds for which a failure is cached; a run may read ten things from the Hub
_last: dict[str, tuple[float, str]] = {}  # by endpoint: time of the last test, and its failure or ""
_in_force = ""  # the failure for which the clients are offline now, or ""
logger = logging.getLogger(__name__)

_SETTINGS: Final = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Module variables of the clients, which read the environment only at import."""


def go_offline() -> None:
    """Set the Hub's clients offline, as `HF_HUB_OFFLINE=1` does, in this process and its children."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    for module, name in _SETTINGS:
        if module in sys.modules:
            setattr(sys.modules[module], name, True)


@contextmanager
def unless_unreachable() -> Iterator[str]:
    """Set the Hub's clients offline within this block if the Hub is unreachable, so that they use their caches.

    Yields:
        The reason why the Hub is unreachable; empty if it is reachable, or if the user has set offline mode.
    """
    global _in_force
    reason = _in_force or _unreachable()
    if not reason or _in_force:
        yield reason
        return
    environment = os.environ.get("HF_HUB_OFFLINE")
    before = {(module, name): getattr(sys.modules[module], name) for module, name in _SETTINGS if module in sys.modules}
    go_offline()
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
    """Test the connection to the Hub; returns the reason of a failure, empty for any response of the Hub."""
    httpx = hub_http()
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
            logger.warning("%s; continuing with the files on this machine", reason)
        except httpx.HTTPError:
            reason = ""  # an error after the connection: the Hub is reachable
        break
    _last[endpoint] = time.monotonic(), reason
    return reason
