"""Disks without room: what their errors look like, whoever raises them, and the line that they become."""

import errno
from typing import Final

from unbag.retries import causes
from unbag.secrets import first_line

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
