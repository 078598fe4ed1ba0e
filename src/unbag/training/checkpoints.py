"""Checkpoints of a training run, on disk or in a Hub repository."""

import json
import logging
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

from accelerate import Accelerator
from accelerate.utils import DistributedType
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from unbag.data.readers import is_hub_id
from unbag.training import sharding
from unbag.utils import checksums
from unbag.utils.files import atomic_rename
from unbag.utils.hub import HubReadError, read_from_hub
from unbag.utils.redaction import extract_first_line
from unbag.utils.retries import call_with_retries, import_hub_http

_STATE: Final = "state.json"
_KEPT: Final = 2  # if the last one is damaged, `last` takes the one before


class CheckpointError(ValueError):
    """Error for a checkpoint that is missing, damaged, or from another run."""


class CheckpointManager:
    """Manager of the checkpoints in a folder. Each checkpoint is a subfolder that is named after its step.

    A subfolder whose name ends in a step is always complete: a checkpoint is written under another name and renamed.
    accelerate saves and loads weights, optimizer, schedule and gradient scaler (`save_state`), sharded where FSDP or
    DeepSpeed shard them. `state.json` beside them has the rest.
    """

    def __init__(
        self,
        folder: Path,
        accelerator: Accelerator,
        identity: Mapping[str, Any],
        *,
        resume_from: Path | None = None,
        on_saved: Callable[[Path], None] | None = None,
    ) -> None:
        """Open the folder and register accelerate's hooks.

        Args:
            folder: Folder of the checkpoints; need not exist.
            accelerator: Accelerator that prepares the model and its optimizer before the first save or load.
            identity: JSON object of everything that determines the weights; loading rejects checkpoints of another one.
            resume_from: Checkpoint of another run to start from, if the folder has none.
            on_saved: Called in the first process with the folder of each new checkpoint.
        """
        self._resume_from, self._on_saved = resume_from, on_saved
        self._folder, self._accelerator, self._identity = folder, accelerator, identity
        # One process and several must write the same weight names, so that either can resume from the other's.
        accelerator.register_save_state_pre_hook(_without_wrapper)
        accelerator.register_load_state_pre_hook(_unwrapping(accelerator))

    def save(self, step: int, state: Mapping[str, Any], *, best: int | None = None) -> None:
        """Write a checkpoint, and delete the other checkpoints except the best and the last two.

        All processes must call this method together.

        Args:
            step: Number of completed steps.
            state: JSON object to store beside the weights.
            best: Step of a checkpoint to keep.
        """
        path, tmp = self.get_path(step), self._folder / f".{step}.part"
        main = self._accelerator.is_main_process
        try:
            if main:
                _remove(tmp)
                tmp.mkdir(parents=True)
            self._accelerator.wait_for_everyone()
            self._accelerator.save_state(str(tmp))
            self._accelerator.wait_for_everyone()
            if main:
                record = {
                    "step": step,
                    "processes": self._accelerator.num_processes,
                    "sharding": sharding.describe_sharding(self._accelerator),
                    "identity": self._identity,
                    "state": state,
                }
                (tmp / _STATE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
                checksums.write_folder_checksums(tmp)
                _remove(path)
                atomic_rename(tmp, path)
        except BaseException:  # also a signal; partial files would keep a full disk full
            _remove(tmp)
            raise
        if main:
            kept = {*sorted(self._steps())[-_KEPT:], best}
            for old in self._steps() - kept:
                _remove(self.get_path(old))
            for leftover in self._folder.glob(".*.part"):  # of a process that was killed
                _remove(leftover)
            if self._on_saved is not None:
                self._on_saved(path)
        self._accelerator.wait_for_everyone()

    def get_path(self, step: int) -> Path:
        """Build the path of the checkpoint for a step."""
        return self._folder / f"step-{step:08d}"

    def find_last(self) -> Path | None:
        """Find the last undamaged checkpoint of the folder, or else `resume_from`. Return None if there is neither.

        All processes must call this method together.
        """
        if self._accelerator.is_main_process:
            for step in sorted(self._steps(), reverse=True):
                if (damage := checksums.find_corruption(self.get_path(step))) is None:
                    break
                checksums.remove_damaged(self.get_path(step), damage)
        self._accelerator.wait_for_everyone()
        steps = self._steps()
        return self.get_path(max(steps)) if steps else self._resume_from

    def load(self, path: Path) -> dict[str, Any]:
        """Restore the training state from a checkpoint. Returns the JSON object that `save` stored.

        All processes must call this method together.

        Args:
            path: Folder of a checkpoint, or of several, in which case the last one is used.

        Raises:
            CheckpointError: If there is none, or the checkpoint belongs to a run with other data, model or options.
        """
        if not (path / _STATE).is_file():
            folders = sorted(file.parent for file in path.glob(f"**/step-*/{_STATE}"))
            if not folders:
                raise CheckpointError(
                    f"expected a checkpoint (a folder with {_STATE}) in {path}, got none; check the path"
                )
            path = folders[-1]
        if damage := checksums.find_corruption(path):
            raise CheckpointError(f"{damage}; resume from another checkpoint, or start a new run")
        record = json.loads((path / _STATE).read_text(encoding="utf-8"))
        if others := list(list_json_differences(record["identity"], json.loads(json.dumps(self._identity)))):
            raise CheckpointError(
                f"{path} is a checkpoint of another run: {'; '.join(others)}. Use the options of that run, or "
                "remove its folder to start a new run"
            )
        if record["sharding"] != (kind := sharding.describe_sharding(self._accelerator)):
            raise CheckpointError(
                f"{path}: expected {record['sharding'] or 'unsharded weights'}, got {kind or 'unsharded weights'}; "
                "resume with the accelerate config of the checkpoint"
            )
        processes = self._accelerator.num_processes
        if record["processes"] != processes and self._accelerator.distributed_type is DistributedType.DEEPSPEED:
            raise CheckpointError(
                f"{path}: expected {record['processes']} processes, got {processes}; DeepSpeed shards its state by "
                f"process, so resume with {record['processes']} processes"
            )
        self._accelerator.load_state(str(path))
        state: dict[str, Any] = record["state"]
        return state

    def _steps(self) -> set[int]:
        return {int(path.name.removeprefix("step-")) for path in self._folder.glob("step-*") if path.is_dir()}


def list_json_differences(recorded: Any, expected: Any, path: str = "") -> list[str]:
    """List the differences between two JSON values, one line per difference.

    >>> list_json_differences({"seed": 1, "epochs": 3}, {"seed": 2, "epochs": 3})
    ['seed was 1, is 2']
    """
    if isinstance(recorded, dict) and isinstance(expected, dict):
        keys = [*expected, *(key for key in recorded if key not in expected)]
        return [
            line
            for key in keys
            for line in list_json_differences(recorded.get(key), expected.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if recorded == expected else [f"{path} was {recorded!r}, is {expected!r}"]


def _remove(folder: Path) -> None:
    """Remove a folder. It is renamed first, so that an incomplete folder cannot be mistaken for a checkpoint."""
    if folder.exists():
        going = folder.with_name(f".{folder.name.strip('.')}.gone.part")
        shutil.rmtree(going, ignore_errors=True)
        try:
            folder.rename(going)
            shutil.rmtree(going, ignore_errors=True)
        finally:  # a signal may have interrupted the removal
            shutil.rmtree(going, ignore_errors=True)


def _without_wrapper(models: list[Any], weights: list[dict[str, Any]], folder: str) -> None:
    for number, state in enumerate(weights):  # empty where FSDP or DeepSpeed save their own
        # Only for this type does accelerate write weights shared by two modules once; with a dict it fails.
        weights[number] = OrderedDict((name.removeprefix("module."), value) for name, value in state.items())


def _unwrapping(accelerator: Accelerator) -> Any:
    def hook(models: list[Any], folder: str) -> None:
        models[:] = [accelerator.unwrap_model(model) for model in models]

    return hook


_IN_REPO: Final = "checkpoint"  # one commit replaces all files of the folder, so readers never see half a checkpoint
logger = logging.getLogger(__name__)


class HubCheckpointUploader:
    """Uploader that pushes checkpoints to the Hub in the background, one at a time.

    A checkpoint written during another's upload is not uploaded, since a newer one follows. A failed upload logs a
    warning and does not stop the training, which resumes from the checkpoints on disk.
    """

    def __init__(self, repo_id: str) -> None:
        """Create the private repository if it is missing.

        Raises:
            ValueError: If the repository cannot be created or written to.
        """
        self._api, self._repo_id = HfApi(), repo_id
        self._upload: Future[Any] | None = None
        self._copy: Path | None = None
        try:
            call_with_retries(lambda: self._api.create_repo(repo_id, private=True, exist_ok=True))
        except (HfHubHTTPError, HFValidationError, OSError, import_hub_http().HTTPError) as error:
            raise ValueError(
                f"cannot push checkpoints to {repo_id}: {extract_first_line(error)}; log in with `hf auth login`"
            ) from error

    def push(self, checkpoint: Path) -> None:
        """Start the upload of a checkpoint, unless another upload is running."""
        if self._upload is not None and not self._upload.done():
            return
        self.wait()
        # Hard links, not copies: the checkpoint may be deleted before its upload ends.
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
        """Wait for the running upload, and log a warning if it failed."""
        if self._upload is not None and (error := self._upload.exception()) is not None:
            logger.warning("could not push a checkpoint to %s: %s", self._repo_id, extract_first_line(error))
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)
        self._upload = self._copy = None


def fetch_checkpoint(name: str) -> Path:
    """Find a checkpoint folder by path or Hub id. Checkpoints on the Hub are downloaded.

    Raises:
        CheckpointError: If there is no such folder, or no such repository with a checkpoint.
    """
    if not is_hub_id(name):
        if not Path(name).is_dir():
            raise CheckpointError(
                f"expected a checkpoint folder or a Hub repository, got {name}, which does not exist; check the name"
            )
        return Path(name)
    try:
        what, pattern = f"the checkpoint {name}", f"{_IN_REPO}/*"
        folder = Path(read_from_hub(what, lambda: snapshot_download(name, allow_patterns=[pattern]))) / _IN_REPO
    except HubReadError:
        raise
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise CheckpointError(
            f"expected a checkpoint folder or a Hub repository, got {name} ({extract_first_line(error)}); check "
            "the name"
        ) from error
    if not folder.is_dir():
        raise CheckpointError(
            f"{name}: expected a folder {_IN_REPO} with a checkpoint, got none; push one with --push-checkpoints"
        )
    return folder
