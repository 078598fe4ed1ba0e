"""Recognize errors that are not exceptions of Python code: a full disk, and panics of libraries written in Rust.

A panic is no `Exception`, so `except Exception` does not catch it.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from unbag.utils.redaction import first_line
from unbag.utils.retries import causes

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SAYS_SO: Final = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "disk is full",  # SQLite
    "PytorchStreamWriter failed writing file",  # torch.save, of whatever kept it from writing
)


def is_disk_full(error: BaseException) -> bool:
    """Tell whether an error means that there is no room on a disk; libraries wrap it in errors of their own."""
    return any(
        (isinstance(cause, OSError) and cause.errno in _NO_ROOM) or any(text in str(cause) for text in _SAYS_SO)
        for cause in causes(error)
    )


def disk_full(error: BaseException) -> str:
    """Return the line for such an error: what it says, and what to do."""
    return f"no room left on a disk ({first_line(error)}); make room, and give the same command again"


def is_panic(error: BaseException) -> bool:
    """Tell whether a library in Rust (tokenizers, safetensors) has given up over what it was given."""
    return type(error).__name__ == "PanicException"  # each has one of its own, which none of them names


@contextmanager
def as_errors() -> Iterator[None]:
    """Turn a panic within this block into an error like any other.

    Raises:
        RuntimeError: with what the library says.
    """
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
