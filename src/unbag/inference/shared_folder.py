"""Whether the processes of a group see the same folder, tried before anything is computed."""

import socket
import time
from typing import Final
from uuid import uuid4

from unbag.inference.process_group import ProcessGroup
from unbag.utils.storage import Folder

_PATIENCE: Final = 10.0
"""Seconds: what another machine has just written may take a moment to show."""


def require_shared(folder: Folder, group: ProcessGroup) -> None:
    """Let each process write a file and look for those of the others; all of them call this at once.

    Raises:
        ValueError: in every process, if one of them does not see what another writes.
    """
    if group.world == 1:
        return
    token = group.broadcast(uuid4().hex)

    def name(rank: int) -> str:
        return f"seen-{token}-{rank}"

    group.run_on_all(lambda: folder.write(name(group.rank), b""))
    hosts = group.gather([socket.gethostname()])

    def look() -> None:
        deadline = time.monotonic() + _PATIENCE
        while unseen := [rank for rank in range(group.world) if not folder.has(name(rank))]:
            if time.monotonic() > deadline:
                raise ValueError(
                    f"process {group.rank} on {hosts[group.rank]} does not see what process {unseen[0]} on "
                    f"{hosts[unseen[0]]} writes to {folder}; name a folder that all processes see, or an address such "
                    "as s3://… (--out)"
                )
            time.sleep(0.2)

    try:
        group.run_on_all(look)
    finally:
        folder.remove(name(group.rank))
