"""Hugging Face jobs (`hf jobs`), whose disk is deleted when they end.

A run in a job needs persistent output: a push to the Hub, a URL, or a mounted volume.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLES: Final = ("JOB_ID", "ACCELERATOR", "CPU_CORES", "MEMORY")
"""Environment variables of all jobs (https://huggingface.co/docs/hub/jobs-configuration). Cluster schedulers also set
`JOB_ID`, so only all four variables together identify a Hugging Face job."""
_MOUNTS: Final = Path("/proc/self/mounts")
_VOLUME_KINDS: Final = ("fuse", "nfs")
"""Prefixes of the file system types of mounted buckets (https://github.com/huggingface/hf-mount)."""


def is_hf_job(environment: Mapping[str, str] = os.environ) -> bool:
    """Check whether the current process runs in a Hugging Face job.

    >>> is_hf_job({"JOB_ID": "699d874f1aad19adb8aaeadc", "ACCELERATOR": "none", "CPU_CORES": "2", "MEMORY": "16Gi"})
    True
    >>> is_hf_job({"JOB_ID": "7"})
    False
    """
    return all(environment.get(name) for name in VARIABLES)


def is_on_volume(path: Path, mounts: Path | None = None) -> bool:
    """Check whether a path is on a mounted volume, such as a Hub bucket, instead of the local disk.

    Args:
        path: Path of a file or folder that need not exist.
        mounts: Mount table in the kernel's format (default: that of the current process).
    """
    mounts = mounts or _MOUNTS
    if not mounts.is_file():  # not Linux
        return False
    kinds = {}
    for line in mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        _, mounted_at, kind, *_ = line.split(" ")
        kinds[Path(_unescape(mounted_at))] = kind  # the last mount at a mount point hides earlier ones
    resolved = path.resolve()
    nearest = next((each for each in (resolved, *resolved.parents) if each in kinds), Path("/"))
    # The root of a container can be a FUSE overlay, which is deleted with the container.
    return nearest != Path("/") and kinds[nearest].startswith(_VOLUME_KINDS)


def _unescape(text: str) -> str:
    r"""Replace the octal escapes of blanks and backslashes in a mount table.

    >>> print(_unescape(r"/my\040bucket"))
    /my bucket
    """
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def validate_persistent_output(
    option: str, output: str | Path, push_repo: str | None, *, push_option: str | None
) -> None:
    """Validate that the output of a Hugging Face job is on persistent storage. Does nothing outside of jobs.

    Args:
        option: Command-line option of the output, for error messages.
        output: Folder or URL of the output.
        push_repo: Hub repository to which the output is pushed; None if it is not pushed.
        push_option: Command-line option of the repository; None if the command has none.

    Raises:
        ValueError: If the process runs in a job without a push, and the output is on the job's disk.
    """
    from unbag.utils.storage import is_url  # imports fsspec

    if push_repo is not None or not is_hf_job() or is_url(output) or is_on_volume(Path(output)):
        return
    ways = [f"add {push_option} ORG/NAME"] if push_option else []
    ways.append(f"mount a bucket (`hf jobs run -v hf://buckets/ORG/BUCKET:/output …`) and pass {option} /output/NAME")
    raise ValueError(
        f"{option}: expected persistent output for the Hugging Face job {os.environ['JOB_ID']}, got {output} on its "
        f"disk, which is deleted when the job ends; {', or '.join(ways)}"
    )
