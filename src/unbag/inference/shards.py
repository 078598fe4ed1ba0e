"""Prediction of a data set by independent processes that share only the predictions folder.

Any number of machines take part, started at any time, each as shard i of n. A shard begins with every n-th chunk shard,
from the i-th on, so that shards that start together do not compete. Then it takes over chunk shards without a lease. So
all rows are predicted, even if some shards die or are never started.

Shards divide the work by leases. A lease is a small file, named for the unit of work, that names its owner. The owner
rewrites the file at intervals (a heartbeat). A lease without a heartbeat for `LEASE` seconds has expired, and another
process takes it over. Each process measures that time with its own clock, so clocks need not agree.

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
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from unbag.inference.function import CallablePredictor
from unbag.inference.prediction_store import PredictionStore, StoredPredictions
from unbag.inference.predictor import Predictor
from unbag.inference.runner import SAVE_EVERY, PredictionJob, Progress, RowCounter
from unbag.utils.storage import StorageFolder

LEASE: Final = 60.0
"""Seconds without a heartbeat after which a lease has expired."""

_HEARTBEATS_PER_LEASE: Final = 4
_SETTLED_AFTER: Final = 1 / 60
"""Wait between the write of a lease and the check of its owner, as a fraction of a lease: a second."""


class LeaseManager:
    """Context manager that holds and renews the leases of one process. All leases are released on exit.

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


CLAIMS: Final = "claims"
"""Folder for the leases, inside the folder of the predictions."""

_SHARDS_FILE: Final = "shares.json"
_POLLS_PER_LEASE: Final = 30

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shard:
    """One of n shards of an evaluation. Each process runs one shard.

    Attributes:
        index: Number of the shard, from 0.
        of: Planned number of shards; fewer or more may be started.
        lease: Seconds until a lease expires (default: 60); see `LEASE`.

    >>> str(Shard.parse("0/3"))
    '0/3'
    """

    index: int
    of: int
    lease: float = LEASE

    def __post_init__(self) -> None:
        """Validate the index and the number of shards.

        Raises:
            ValueError: If the index is out of range.
        """
        if not 0 <= self.index < self.of:
            raise ValueError(
                f"expected a shard as i/n with i from 0 to n - 1, such as 0/3, 1/3 and 2/3, got {self}; correct it"
            )

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse a shard from text such as `0/3`.

        Raises:
            ValueError: If the text has another form, or the index is out of range.
        """
        index, _, of = text.partition("/")
        if not (index.isdecimal() and of.isdecimal()):
            raise ValueError(f"expected a shard as i/n, such as 0/3 for the first of three, got {text!r}")
        return cls(int(index), int(of))


def build_shared_job(rows: Any, predictor: Predictor, folder: Any, **options: Any) -> PredictionJob:
    """Build a prediction job that has the same key in the prediction store for all shards of an evaluation.

    Raises:
        ValueError: As `PredictionJob.from_rows`, or if the predictor has no identity.
    """
    identity: Mapping[str, str] | None = None
    if predictor.identity is None:
        identity = predictor.source if isinstance(predictor, CallablePredictor) else None
        if identity is None:
            raise ValueError(
                "--shard: expected a model that every process can identify (a Hub model, a folder, a built-in "
                f"model, or a function module:function), got {type(predictor).__name__}; for a closure, a lambda "
                "or a "
                "method, pass a CallablePredictor with an identity"
            )
    return PredictionJob.from_rows(rows, predictor, folder, identity=identity, **options)


def predict_shard(
    job: PredictionJob,
    shard: Shard,
    *,
    wait: bool = True,
    save_every: float = SAVE_EVERY,
    progress: Progress | None = None,
) -> StoredPredictions:
    """Predict one shard of a job, then help with the unfinished chunks of other shards.

    Skips chunks that are stored, or leased by another process.

    Args:
        job: Job from `build_shared_job`.
        shard: Shard of this process.
        wait: Whether to stay until all chunks are stored, and take over from shards that die (default: yes). If not,
            return when no free chunk shard is left.
        save_every: Seconds between two writes of an unfinished chunk (default: 30).
        progress: Callback for the rows of all processes; see `runner.Progress` (default: none).

    Raises:
        ValueError: If the predictor does not return probabilities.
    """
    store = job.store
    store.write_manifest(job.key_fields)
    store.clean()
    shards = _agree_on_shards(store, job.choose_shards_per_chunk(shard.of))
    units = store.list_chunk_shards(range(store.n_chunks), shards)
    # Its own first, then those of the next shard, and so on: shards that help start at different places.
    own = set(units[shard.index :: shard.of])
    units = [unit for turn in range(shard.of) for unit in units[(shard.index + turn) % shard.of :: shard.of]]
    reused = store.rows - sum(map(job.estimate_rows, store.list_chunk_shards(store.list_missing_chunks())))
    count = RowCounter(reused, store.rows, progress)
    is_helping = False
    with LeaseManager(store.folder / CLAIMS, f"shard {shard}", shard.lease) as leases:
        leases.take(f"shard-{shard.index}of{shard.of}")  # only marks this shard as running, for `_warn_if_alone`
        while True:
            todo = store.select_missing(units)
            count.update(store.rows - sum(map(job.estimate_rows, todo)))
            if shards > 1:
                _join_finished(job, {unit.chunk for unit in todo})
            if not todo:
                break
            has_worked = False
            for unit in todo:
                if not is_helping and unit not in own:
                    is_helping = True
                    _warn_if_alone(store, shard)
                if not leases.take(str(unit)):
                    continue
                if not store.is_stored(unit):  # the former holder of the lease may have stored it in the meantime
                    with count.count_chunk_shard(job.estimate_rows(unit)) as row_callback:
                        job.predict(unit, save_every=save_every, row_callback=row_callback)
                    has_worked = True
                leases.release(str(unit))
            if has_worked:
                continue
            if not wait:
                break
            # Others hold all leases. One of them may die, so poll until everything is stored.
            time.sleep(shard.lease / _POLLS_PER_LEASE)
    return StoredPredictions(store, reused=reused)


def _agree_on_shards(store: PredictionStore, shards: int) -> int:
    """Agree on the number of shards per chunk. The first process writes the number, the others read it.

    Processes may be started with different planned numbers of shards, and so propose different numbers.
    """
    store.folder.create(_SHARDS_FILE, json.dumps({"shares": shards}).encode())
    try:
        return int(json.loads(store.folder.read(_SHARDS_FILE))["shares"])
    except (ValueError, KeyError, TypeError):  # damaged; the number affects only the division of work
        store.folder.write(_SHARDS_FILE, json.dumps({"shares": shards}).encode())
        return shards


def _join_finished(job: PredictionJob, unfinished: Container[int]) -> None:
    """Store all chunks with complete shards, in case the process of the last shard died before this step."""
    for chunk in job.store.list_missing_chunks():
        if chunk not in unfinished:
            job.join_shards(chunk)


def _warn_if_alone(store: PredictionStore, shard: Shard) -> None:
    others = [
        name
        for name in (store.folder / CLAIMS).list_names()
        if name.startswith("shard-") and name != f"shard-{shard.index}of{shard.of}.json"
    ]
    if not others and shard.of > 1:
        logger.warning(
            "shard %s has finished its own chunks and found no other running shard in %s; if other shards are "
            "running, they cannot access this folder: pass a folder that all machines can access, or a URL such "
            "as s3://… (--output-dir)",
            shard,
            store.folder,
        )
