"""Persistent cache of computed values by key in an SQLite file, with a checksum per row.

Corrupted rows are deleted, so that their values are computed again. A file that is no longer a database is removed,
and a new file is created.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from unbag.utils import checksums

_KEYS_PER_QUERY: Final = 500  # below SQLite's maximum number of variables in a statement
_TIMEOUT: Final = 60.0  # seconds to wait for the writes of another process
_COLUMNS: Final = "(key TEXT PRIMARY KEY, value NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID"

_NO_DAMAGE: Final = frozenset(
    (
        0,  # errors of the sqlite3 module, such as a wrong number of parameters
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    )
)

Value = str | bytes
T = TypeVar("T")


class SqliteCache:
    """Cache of values by key in an SQLite file, safe for concurrent threads and processes."""

    def __init__(self, path: Path, table: str, *, wal: bool = False) -> None:
        """Open or create the file and its folder. The name of the table is one word.

        SQLite's write-ahead log (`wal`) is faster for many small writes.
        """
        self._path, self._table, self._wal = path, table, wal
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._with_file(lambda _: None)

    def get(self, keys: Sequence[str]) -> dict[str, Value]:
        """Load the values of the given keys. Missing keys are omitted from the result."""
        return self._with_file(lambda file: self._read(file, keys))

    def put(self, values: Iterable[tuple[str, Value]]) -> None:
        """Store values by key in one transaction: all values, or none if an error occurs. Replaces existing values.

        A file that cannot be written, for example on a full disk, raises `OSError`.
        """
        rows = [(key, value, checksums.compute_cells_checksum(key, value)) for key, value in values]

        def write(file: sqlite3.Connection) -> None:
            with file:  # one transaction
                file.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?, ?)", rows)

        self._with_file(write)

    def _read(self, file: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            batch = keys[start : start + _KEYS_PER_QUERY]
            marks = ",".join("?" * len(batch))
            rows = file.execute(f"SELECT * FROM {self._table} WHERE key IN ({marks})", batch).fetchall()
            for key, value, checksum in rows:
                if isinstance(value, str | bytes) and checksum == checksums.compute_cells_checksum(key, value):
                    values[key] = value
                else:
                    with file:
                        file.execute(f"DELETE FROM {self._table} WHERE key = ?", (key,))
        return values

    def _with_file(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function on the open file. If the file is corrupted, run the function again on a new file."""
        with self._lock:
            try:
                try:
                    return work(self._connect())
                except sqlite3.DatabaseError as error:
                    # Corrupted files cause many different errors, such as "no such table". All codes that are not
                    # listed as harmless mean corruption; the lower 8 bits are the primary code.
                    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_DAMAGE:
                        raise
                    self._remove(error)
                    return work(self._connect())
            except sqlite3.Error as error:  # full disk, missing permission, or timeout for the lock of another process
                raise OSError(f"{self._path}: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        if self._file is None:
            self._file = sqlite3.connect(self._path, timeout=_TIMEOUT, check_same_thread=False)
            # Invalid UTF-8 must not raise here, since the checksum rejects the row.
            self._file.text_factory = lambda text: text.decode("utf-8", "replace")
            if self._wal:
                self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute(f"CREATE TABLE IF NOT EXISTS {self._table} {_COLUMNS}")
        return self._file

    def _remove(self, error: Exception) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        checksums.remove_damaged(self._path, f"{self._path} is corrupted ({error})")
        for suffix in ("-wal", "-shm", "-journal"):  # SQLite would replay the logs of the old file into the new one
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
