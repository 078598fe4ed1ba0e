"""A run's last checkpoint in a Hub repository: left there by one machine, gone on from by another."""

import logging
import os
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from unbag.data.readers import is_hub_id
from unbag.training.checkpoints import CheckpointError
from unbag.utils.hub import HubReadError, hub_read
from unbag.utils.redaction import first_line
from unbag.utils.retries import hub_http, with_retries

_IN_REPO: Final = "checkpoint"  # the folder, whose files are replaced in one commit: whole or not at all
logger = logging.getLogger(__name__)


class HubCheckpoints:
    """Uploads checkpoints while the training goes on.

    One at a time: a checkpoint that is made while another is on its way is left out, for the next will be newer. An
    upload that fails is told and costs no step: the checkpoints on the disk are the run's own.
    """

    def __init__(self, repo_id: str) -> None:
        """Make the repository, private, where there is none.

        Raises:
            ValueError: if it cannot be made or written to.
        """
        self._api, self._repo_id = HfApi(), repo_id
        self._upload: Future[Any] | None = None
        self._copy: Path | None = None
        try:
            with_retries(lambda: self._api.create_repo(repo_id, private=True, exist_ok=True))
        except (HfHubHTTPError, HFValidationError, OSError, hub_http().HTTPError) as error:
            raise ValueError(
                f"cannot push checkpoints to {repo_id}: {first_line(error)}; log in with `hf auth login`"
            ) from error

    def push(self, checkpoint: Path) -> None:
        """Begin to upload a checkpoint, unless one is on its way."""
        if self._upload is not None and not self._upload.done():
            return
        self.wait()
        # Links, not copies: the checkpoint itself may be gone before it is uploaded.
        self._copy = checkpoint.with_name(".pushed")
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(checkpoint, self._copy, copy_function=os.link)
        self._upload = self._api.upload_folder(
            repo_id=self._repo_id,
            folder_path=self._copy,
            path_in_repo=_IN_REPO,
            delete_patterns="*",
            commit_message=f"Checkpoint {checkpoint.name}",
            run_as_future=True,
        )

    def wait(self) -> None:
        """Return when nothing is on its way."""
        if self._upload is not None and (error := self._upload.exception()) is not None:
            logger.warning("a checkpoint was not pushed to %s: %s", self._repo_id, first_line(error))
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)
        self._upload = self._copy = None


def fetched(name: str) -> Path:
    """Return the folder of a checkpoint, or of several, fetching it where the name is a Hub repository.

    Raises:
        CheckpointError: if there is neither such a folder nor such a repository with a checkpoint.
    """
    if not is_hub_id(name):
        if not Path(name).is_dir():
            raise CheckpointError(f"expected a folder with a checkpoint, or a Hub repository; found no folder {name}")
        return Path(name)
    try:
        what, pattern = f"the checkpoint {name}", f"{_IN_REPO}/*"
        folder = Path(hub_read(what, lambda: snapshot_download(name, allow_patterns=[pattern]))) / _IN_REPO
    except HubReadError:
        raise
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise CheckpointError(
            f"found neither a folder {name} nor a repository of that name to read on the Hub: {first_line(error)}"
        ) from error
    if not folder.is_dir():
        raise CheckpointError(f"{name} on the Hub has no folder {_IN_REPO}: no run has pushed checkpoints there")
    return folder
