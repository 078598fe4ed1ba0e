"""Jobs of the Hugging Face Hub (`hf jobs`), whose disk is deleted at their end.

A run there needs a place that outlives the job: a push to the Hub, an address, or a mounted volume.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLES: Final = ("JOB_ID", "ACCELERATOR", "CPU_CORES", "MEMORY")
"""Environment variables of every job (https://huggingface.co/docs/hub/jobs-configuration). Schedulers of clusters set
`JOB_ID` too, so only all four together identify a job of the Hub."""
_MOUNTS: Final = Path("/proc/self/mounts")
_VOLUME_KINDS: Final = ("fuse", "nfs")
"""Beginnings of the file system types with which buckets are mounted (https://github.com/huggingface/hf-mount)."""


def is_hf_job(environment: Mapping[str, str] = os.environ) -> bool:
    """Check whether this process runs in a job of the Hub.

    >>> is_hf_job({"JOB_ID": "699d874f1aad19adb8aaeadc", "ACCELERATOR": "none", "CPU_CORES": "2", "MEMORY": "16Gi"})
    True
    >>> is_hf_job({"JOB_ID": "7"})
    False
    """
    return all(environment.get(name) for name in VARIABLES)


def is_on_volume(path: Path, mounts: Path | None = None) -> bool:
    """Check whether a path is on a mounted volume, such as a bucket of the Hub, not on the disk of the machine.

    Args:
        path: Path of a file or folder that need not exist.
        mounts: Table of the mounts, as the kernel writes it (default: that of this process).
    """
    mounts = mounts or _MOUNTS
    if not mounts.is_file():  # not Linux
        return False
    kinds = {}
    for line in mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        _, mounted_at, kind, *_ = line.split(" ")
        kinds[Path(_unescape(mounted_at))] = kind  # the last mount at a point hides earlier ones
    resolved = path.resolve()
    nearest = next((each for each in (resolved, *resolved.parents) if each in kinds), Path("/"))
    # The root of a container can be a FUSE overlay, and is deleted with the container.
    return nearest != Path("/") and kinds[nearest].startswith(_VOLUME_KINDS)


def _unescape(text: str) -> str:
    r"""Replace the octal escapes of blanks and backslashes in the table of mounts.

    >>> print(_unescape(r"/my\040bucket"))
    /my bucket
    """
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def validate_outlives_job(option: str, place: str | Path, push: str | None, *, push_option: str | None) -> None:
    """Validate that the output of a run outlives the machine, if it is that of a job of the Hub.

    Args:
        option: Option that names the place, for the message.
        place: Folder or address of the output.
        push: Hub repository to which the output is pushed; None for no push.
        push_option: Option that names the repository; None if the command has none.

    Raises:
        ValueError: If this is a job of the Hub, without a push, and the place is a folder of the job's disk.
    """
    from unbag.utils.storage import is_address  # imports fsspec

    if push is not None or not is_hf_job() or is_address(place) or is_on_volume(Path(place)):
        return
    ways = [f"add {push_option} ORG/NAME"] if push_option else []
    ways.append(f"mount a bucket (`hf jobs run -v hf://buckets/ORG/BUCKET:/output …`) and pass {option} /output/NAME")
    raise ValueError(
        f"{option}: expected a place that outlives job {os.environ['JOB_ID']} of the Hub, got {place} on its disk, "
        f"which is deleted at the end; {', or '.join(ways)}"
    )
