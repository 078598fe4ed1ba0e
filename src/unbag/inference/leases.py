"""Leases on units of work, such as chunk shards, for processes that share only a folder.

A lease is a small file, named for the unit of work, that names its owner. The owner rewrites the file at intervals (a
heartbeat). A lease without a heartbeat for `LEASE` seconds has expired, and another process takes it over. Each process
measures that time with its own clock, so clocks need not agree.

Guarantees: on a disk, and in an object store with conditional puts (S3, GCS), exactly one process takes a free lease.
In other storage, and for an expired lease, a process writes its lease, waits a moment and checks that it is still the
owner. If a process was suspended for longer than a lease, or the file system is slower than that moment, a unit may be
computed twice. Both results are the same, so this costs time only.
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

from unbag.utils.storage import StorageFolder

LEASE: Final = 60.0
"""Seconds without a heartbeat after which a lease has expired."""

_HEARTBEATS_PER_LEASE: Final = 4
_SETTLED_AFTER: Final = 1 / 60
"""Wait between the write of a lease and the check of its owner, as a fraction of a lease: a second."""

logger = logging.getLogger(__name__)


class LeaseManager:
    """Context manager that holds and renews the leases of one process. Exiting it releases all leases.

    Args:
        folder: Folder of the leases.
        owner: Name of the process for messages: `shard 0/3`.
        lease: Seconds without a heartbeat after which a lease has expired (default: 60). The same in all processes.
    """

    def __init__(self, folder: StorageFolder, owner: str, lease: float = LEASE) -> None:
        self._folder, self._lease = folder, lease
        self._record = {"owner": uuid4().hex, "who": owner, "host": socket.gethostname(), "pid": os.getpid()}
        self._beat = 0
        self._held: set[str] = set()
        self._last_content: dict[str, tuple[bytes, float]] = {}  # of others' leases, with the time of the first sight
        self._lock = threading.Lock()  # a heartbeat must not write a lease that `release` is removing
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send_heartbeats, name="claims", daemon=True)

    def __enter__(self) -> "LeaseManager":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        for name in tuple(self._held):
            with suppress(OSError):  # the lease expires later
                self.release(name)

    def take(self, name: str) -> bool:
        """Acquire the lease of a unit of work, unless another live process holds it.

        Returns:
            Whether this process now holds the lease; False while another live process holds it.
        """
        if name in self._held:
            return True
        file = f"{name}.json"
        if self._folder.is_exclusive:
            if self._folder.create(file, self._content()):
                self._held.add(name)
                return True
        try:
            content = self._folder.read(file)
        except FileNotFoundError:  # released in the meantime, or free
            return not self._folder.is_exclusive and self._take_over(name)
        before, since = self._last_content.get(name, (None, 0.0))
        if before != content:  # a heartbeat changes the content
            self._last_content[name] = (content, time.monotonic())
            return False
        if time.monotonic() - since < self._lease:
            return False
        logger.warning(
            "%s has sent no heartbeat for %.0f seconds; taking over %s", describe_lease(content), self._lease, name
        )
        return self._take_over(name)

    def release(self, name: str) -> None:
        """Release a lease. Does nothing if another process has taken over the lease."""
        with self._lock:
            if self._is_mine(name):
                self._folder.remove(f"{name}.json")
            self._held.discard(name)

    def _take_over(self, name: str) -> bool:
        self._folder.write(f"{name}.json", self._content())
        time.sleep(self._lease * _SETTLED_AFTER)
        if not self._is_mine(name):
            return False
        self._held.add(name)
        return True

    def _is_mine(self, name: str) -> bool:
        try:
            return _parse(self._folder.read(f"{name}.json")).get("owner") == self._record["owner"]
        except FileNotFoundError:
            return False

    def _content(self) -> bytes:
        return json.dumps({**self._record, "beat": self._beat}).encode()

    def _send_heartbeats(self) -> None:
        while not self._ended.wait(self._lease / _HEARTBEATS_PER_LEASE):
            self._beat += 1
            for name in tuple(self._held):
                try:
                    with self._lock:
                        if name in self._held and self._is_mine(name):
                            self._folder.write(f"{name}.json", self._content())
                except Exception as error:  # each file system has its own error classes; the next one may succeed
                    logger.warning("could not renew the lease of %s (%s)", name, error)


def describe_lease(content: bytes) -> str:
    """Describe the process that holds a lease, for messages."""
    record = _parse(content)
    return f"{record['who']} (process {record['pid']} on {record['host']})" if record else "another process"


def _parse(claim: bytes) -> dict[str, Any]:
    """Parse a lease file. Return an empty dict if the file is incomplete."""
    try:
        record = json.loads(claim)
        return {
            "owner": str(record["owner"]),
            "who": str(record["who"]),
            "host": str(record["host"]),
            "pid": record["pid"],
        }
    except (ValueError, KeyError, TypeError):
        return {}
