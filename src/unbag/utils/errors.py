"""Detection of system and native errors: full disks, and panics of Rust libraries.

A panic is not an `Exception`, so `except Exception` does not catch it.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from unbag.utils.redaction import extract_first_line
from unbag.utils.retries import iter_causes

_DISK_FULL_CODES: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK_FULL_MESSAGES: Final = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "disk is full",  # SQLite
    "PytorchStreamWriter failed writing file",  # torch.save, for any failed write
)


def is_disk_full(error: BaseException) -> bool:
    """Check whether an error or one of its causes means that a disk is full."""
    # Libraries wrap the OSError in other errors, some of which keep only the message.
    return any(
        (isinstance(cause, OSError) and cause.errno in _DISK_FULL_CODES)
        or any(text in str(cause) for text in _DISK_FULL_MESSAGES)
        for cause in iter_causes(error)
    )


def build_disk_full_message(error: BaseException) -> str:
    """Build the error message for a full disk."""
    return f"no space left on a disk ({extract_first_line(error)}); free disk space and rerun the command"


def is_panic(error: BaseException) -> bool:
    """Check whether an error is a panic of a Rust library (tokenizers, safetensors)."""
    return type(error).__name__ == "PanicException"  # each library has a private class with this name


@contextmanager
def convert_panics() -> Iterator[None]:
    """Convert Rust panics to `RuntimeError`, as a context manager.

    Raises:
        RuntimeError: If a library panics; contains its message.
    """
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
