"""Hugging Face jobs (`hf jobs`), whose disk is deleted when they end.

A run in a job needs persistent output: a push to the Hub, a URL, or a mounted volume.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLES: Final = ("JOB_ID", "ACCELERATOR", "CPU_CORES", "MEMORY")
"""Environment variables of all jobs (https://huggingface.co/docs/hub/jobs-configuration). Cluster schedulers also set
`JOB_ID`, so only all four variables together identify a Hugging Face job."""


def is_hf_job(environment: Mapping[str, str] = os.environ) -> bool:
    """Check whether the current process runs in a Hugging Face job.

    >>> is_hf_job({"JOB_ID": "699d874f1aad19adb8aaeadc", "ACCELERATOR": "none", "CPU_CORES": "2", "MEMORY": "16Gi"})
    True
    >>> is_hf_job({"JOB_ID": "7"})
    False
    """
    return all(environment.get(name) for name in VARIABLES)


def is_on_volume(path: Path) -> bool:
    """Check whether a path is below a mount point, such as that of a Hub bucket, instead of on the local disk."""
    resolved = path.resolve()
    return any(os.path.ismount(each) for each in (resolved, *resolved.parents) if each != Path(resolved.anchor))


def validate_persistent_output(
    option: str, output: str | Path, push_repo: str | None, *, push_option: str | None
) -> None:
    """Validate that the output of a Hugging Face job is on persistent storage. Does nothing outside of jobs.

    The output is persistent if it is pushed to `push_repo`, at a URL, or on a mounted volume. `option` and
    `push_option` are the command-line options that the error message suggests; a command without pushes has no
    `push_option`.
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
