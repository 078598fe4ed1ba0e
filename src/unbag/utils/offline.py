"""Keep the Hub's clients from the network: as asked, or where there is none.

Without a network a client tries again for 20 to 30 seconds before it looks into its cache or gives up, each time it is
asked. Whoever reads the Hub does so within `unless_unreachable`.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from unbag.utils.retries import hub_http

_TRIES: Final = 3  # a server that starts anew is back in seconds
_SECONDS_BETWEEN: Final = 1.0
_TIMEOUT: Final = 3.0  # seconds for a connection
_REMEMBERED_FOR: Final = 60.0  # seconds, in which a run may want ten things
_last: dict[str, tuple[float, str]] = {}  # when each endpoint was asked, and why it was not reached
_in_force = ""  # why the clients are kept from the network now, where that is for want of one
logger = logging.getLogger(__name__)

_SETTINGS: Final = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Where the clients keep what they read of the environment when they were imported."""


def go_offline() -> None:
    """Keep the Hub's clients from the network, as `HF_HUB_OFFLINE=1` does, in this process and its children."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    for module, name in _SETTINGS:
        if module in sys.modules:
            setattr(sys.modules[module], name, True)


@contextmanager
def unless_unreachable() -> Iterator[str]:
    """Keep the clients from the network where the Hub cannot be reached: what is here is used, what is not is told.

    Yields:
        Why it cannot be reached; nothing where it can be, or where they are kept from the network anyway.
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
    """Return why no connection to the Hub is made; nothing where one is, whatever the Hub says."""
    httpx = hub_http()
    from huggingface_hub import constants, get_session, is_offline_mode

    endpoint = constants.ENDPOINT
    if is_offline_mode():
        return ""
    asked, reason = _last.get(endpoint, (-_REMEMBERED_FOR, ""))
    if endpoint in _last and (not reason or time.monotonic() - asked < _REMEMBERED_FOR):
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
            logger.warning("%s; going on with what is on this machine", reason)
        except httpx.HTTPError:
            reason = ""  # it was reached
        break
    _last[endpoint] = time.monotonic(), reason
    return reason
