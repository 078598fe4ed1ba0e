"""What was found once and is not worked out again: keys and values in an SQLite file, each row with its checksum.

A row that is not what was written is none, so what it held is found anew; a file that is no database any more is set
aside and begun anew.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from unbag.utils import checksums

_AT_ONCE: Final = 500  # below SQLite's limit of variables
_PATIENCE: Final = 60.0  # seconds that a process waits for another's write
_COLUMNS: Final = "(key TEXT PRIMARY KEY, value NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID"

_NO_DAMAGE: Final = frozenset(
    (
        0,  # not SQLite's, but a mistake of ours
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
    """Values by key, for any number of threads and processes; a killed process leaves no half of a batch."""

    def __init__(self, path: Path, table: str, *, wal: bool = False) -> None:
        """Open the file, or begin one.

        Args:
            path: the file; its folder is made where absent.
            table: what is kept, in one word.
            wal: whether each value is written by itself, many a second: SQLite's log is the faster way then.

        Raises:
            OSError: if it cannot be written.
        """
        self._path, self._table, self._wal = path, table, wal
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._with_file(lambda _: None)

    def get(self, keys: Sequence[str]) -> dict[str, Value]:
        """Return what is kept by each key, those unknown left out.

        Raises:
            OSError: if the file cannot be read.
        """
        return self._with_file(lambda file: self._read(file, keys))

    def put(self, values: Iterable[tuple[str, Value]], *, replace: bool = True) -> None:
        """Keep values by key: all of them, or none if it fails.

        Args:
            values: the values, each with its key.
            replace: whether they take the place of what is there.

        Raises:
            OSError: if they cannot be written, as on a full disk.
        """
        rows = [(key, value, checksums.of_cells(key, value)) for key, value in values]
        how = "REPLACE" if replace else "IGNORE"

        def write(file: sqlite3.Connection) -> None:
            with file:
                file.executemany(f"INSERT OR {how} INTO {self._table} VALUES (?, ?, ?)", rows)

        self._with_file(write)

    def __len__(self) -> int:
        return self._with_file(lambda file: int(file.execute(f"SELECT COUNT(*) FROM {self._table}").fetchone()[0]))

    def _read(self, file: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Value]:
        known: dict[str, Value] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            rows = file.execute(f"SELECT * FROM {self._table} WHERE key IN ({marks})", some).fetchall()
            for key, value, checksum in rows:
                if isinstance(value, str | bytes) and checksum == checksums.of_cells(key, value):
                    known[key] = value
                else:
                    with file:
                        file.execute(f"DELETE FROM {self._table} WHERE key = ?", (key,))
        return known

    def _with_file(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a piece of work comes to, on a new file where this one is no database any more."""
        with self._lock:
            try:
                try:
                    return work(self._opened())
                except sqlite3.DatabaseError as error:
                    # All that SQLite says of a file with some bytes changed ("no such table", too) means damage.
                    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_DAMAGE:
                        raise
                    self._set_aside(error)
                    return work(self._opened())
            except sqlite3.Error as error:  # a full disk, no right to write, another process that holds it too long
                raise OSError(f"{self._path}: {error}") from error

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            self._file = sqlite3.connect(self._path, timeout=_PATIENCE, check_same_thread=False)
            self._file.text_factory = lambda text: text.decode("utf-8", "replace")  # the checksum tells
            if self._wal:
                self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute(f"CREATE TABLE IF NOT EXISTS {self._table} {_COLUMNS}")
        return self._file

    def _set_aside(self, error: Exception) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        checksums.set_aside(self._path, f"{self._path} is damaged ({error})")
        for ending in ("-wal", "-shm", "-journal"):  # of the old file: SQLite would play them into the new one
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
