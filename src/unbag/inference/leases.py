"""Claims: which of several processes makes what, where nothing connects them but a folder that they all see.

A claim is a small file, named for what is claimed, that says who claims it. While its process lives it is written
again and again (a beat); a claim that nobody has written for `LEASE` seconds has lapsed, and another process takes it.
How long that is, each process tells by its own clock: it need not be anyone else's.

What is guaranteed: on a disk, and in an object store that makes an object for one of several who ask at once (S3, GCS),
one process alone takes what is free. Elsewhere, and where a claim has lapsed, a process writes its claim, waits a
moment and looks whether it is still its own. A process that stood still longer than a lease, or a file system slower
than that moment, may then have something made twice; who makes it twice makes the same twice.
"""

import json
import logging
import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

from unbag.utils.storage import Folder

LEASE: Final = 60.0
"""Seconds without a beat after which a claim has lapsed."""

_BEATS_A_LEASE: Final = 4
_SETTLED_AFTER: Final = 1 / 60
"""The moment between writing a claim and looking whether it is still one's own, in leases: a second."""

logger = logging.getLogger(__name__)


class LeaseManager:
    """The claims of one process, which beat while it is within this context and are given up at its end.

    Args:
        folder: where they are.
        who: what to call the process, for people: `shard 0/3`.
        lease: seconds without a beat after which another's claim has lapsed; the same in all processes.
    """

    def __init__(self, folder: Folder, who: str, lease: float = LEASE) -> None:
        self._folder, self._lease = folder, lease
        self._said = {"owner": uuid4().hex, "who": who, "host": socket.gethostname(), "pid": os.getpid()}
        self._beat = 0
        self._held: set[str] = set()
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="claims", daemon=True)

    def __enter__(self) -> "LeaseManager":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        for name in tuple(self._held):
            with suppress(OSError):  # it lapses
                self.release(name)

    def take(self, name: str) -> bool:
        """Claim something, and tell whether it is this process's now; False while another lives that claims it."""
        if name in self._held:
            return True
        file = f"{name}.json"
        if self._folder.is_exclusive:
            if self._folder.create(file, self._content()):
                self._held.add(name)
                return True
        try:
            found = self._folder.read(file)
        except FileNotFoundError:  # released since, or free
            return not self._folder.is_exclusive and self._took_over(name)
        before, since = self._seen.get(name, (None, 0.0))
        if before != found:
            self._seen[name] = (found, time.monotonic())
            return False
        if time.monotonic() - since < self._lease:
            return False
        logger.warning(
            "%s has not been heard of for %.0f seconds; taking over %s", describe_lease(found), self._lease, name
        )
        return self._took_over(name)

    def release(self, name: str) -> None:
        """Give something up that this process claims; nothing if another has taken it over."""
        with self._lock:
            if self._is_mine(name):
                self._folder.remove(f"{name}.json")
            self._held.discard(name)

    def _took_over(self, name: str) -> bool:
        self._folder.write(f"{name}.json", self._content())
        time.sleep(self._lease * _SETTLED_AFTER)
        if not self._is_mine(name):
            return False
        self._held.add(name)
        return True

    def _is_mine(self, name: str) -> bool:
        try:
            return _parsed(self._folder.read(f"{name}.json")).get("owner") == self._said["owner"]
        except FileNotFoundError:
            return False

    def _content(self) -> bytes:
        return json.dumps({**self._said, "beat": self._beat}).encode()

    def _beat_on(self) -> None:
        while not self._ended.wait(self._lease / _BEATS_A_LEASE):
            self._beat += 1
            for name in tuple(self._held):
                try:
                    with self._lock:
                        if name in self._held and self._is_mine(name):
                            self._folder.write(f"{name}.json", self._content())
                except Exception as error:  # of any file system's own kind; the next beat may come through
                    logger.warning("the claim of %s could not be kept up (%s)", name, error)


def describe_lease(claim: bytes) -> str:
    """Return who wrote a claim, for people."""
    said = _parsed(claim)
    return f"{said['who']} (process {said['pid']} on {said['host']})" if said else "another process"


def _parsed(claim: bytes) -> dict[str, Any]:
    """Return what a claim says; nothing where it is not written out yet."""
    try:
        said = json.loads(claim)
        return {"owner": str(said["owner"]), "who": str(said["who"]), "host": str(said["host"]), "pid": said["pid"]}
    except (ValueError, KeyError, TypeError):
        return {}
