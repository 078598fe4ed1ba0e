"""Checkpoints of a run: written whole or not at all, the last two and the best, on disk or in a Hub repository."""

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
from unbag.utils.hub import HubReadError, hub_read
from unbag.utils.redaction import first_line
from unbag.utils.retries import hub_http, with_retries

_STATE: Final = "state.json"
_KEPT: Final = 2  # the last one may stand on a disk that dies with the machine it was written by


class CheckpointError(ValueError):
    """A checkpoint that is not there, or is another run's."""


class Checkpoints:
    """The checkpoints in one folder, each in a folder of its own named by the step after which it was made.

    A name that ends in a step is a whole checkpoint, whenever a process was killed: it is written under another name
    and renamed. accelerate saves and loads weights, optimizer, schedule and gradient scaler (`save_state`), sharded
    where FSDP or DeepSpeed shard them; `state.json` beside them holds the rest.
    """

    def __init__(
        self,
        folder: Path,
        accelerator: Accelerator,
        identity: Mapping[str, Any],
        on_saved: Callable[[Path], None] | None = None,
    ) -> None:
        """Take the folder.

        Args:
            folder: where the checkpoints are; need not exist.
            accelerator: which has prepared the model and its optimizer by the time a checkpoint is saved or loaded.
            identity: what decides the weights, as JSON holds it: a checkpoint of another identity is refused.
            on_saved: called in the first process with the folder of each new checkpoint.
        """
        self._on_saved = on_saved
        self._folder, self._accelerator, self._identity = folder, accelerator, identity
        # Weights of several processes and of one have the same names, so that either can go on from the other's.
        accelerator.register_save_state_pre_hook(_without_wrapper)
        accelerator.register_load_state_pre_hook(_unwrapping(accelerator))

    def save(self, step: int, state: Mapping[str, Any], *, best: int | None = None) -> None:
        """Make a checkpoint, in every process, and drop those that are neither among the last two nor the best.

        Args:
            step: how many steps are taken.
            state: what is beside the weights, as JSON holds it.
            best: the step of the checkpoint to keep.
        """
        path, tmp = self.path(step), self._folder / f".{step}.part"
        main = self._accelerator.is_main_process
        if main:
            _remove(tmp)
            tmp.mkdir(parents=True)
        self._accelerator.wait_for_everyone()
        try:
            self._accelerator.save_state(str(tmp))
        except Exception:  # a full disk is fuller with what did not fit
            _remove(tmp)
            raise
        self._accelerator.wait_for_everyone()
        if main:
            record = {
                "step": step,
                "processes": self._accelerator.num_processes,
                "sharding": sharding.kind(self._accelerator),
                "identity": self._identity,
                "state": state,
            }
            (tmp / _STATE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            checksums.seal(tmp)
            _remove(path)
            atomic_rename(tmp, path)
            kept = {*sorted(self._steps())[-_KEPT:], best}
            for old in self._steps() - kept:
                _remove(self.path(old))
            for leftover in self._folder.glob(".*.part"):  # of a process that was killed
                _remove(leftover)
            if self._on_saved is not None:
                self._on_saved(path)
        self._accelerator.wait_for_everyone()

    def path(self, step: int) -> Path:
        """Return the folder of the checkpoint after some steps."""
        return self._folder / f"step-{step:08d}"

    def last(self) -> Path | None:
        """Return the folder of the last checkpoint that is as it was written, if there is one, in every process."""
        if self._accelerator.is_main_process:
            for step in sorted(self._steps(), reverse=True):
                if (damage := checksums.find_damage(self.path(step))) is None:
                    break
                checksums.set_aside(self.path(step), damage)
        self._accelerator.wait_for_everyone()
        steps = self._steps()
        return self.path(max(steps)) if steps else None

    def load(self, path: Path) -> dict[str, Any]:
        """Go back to a checkpoint, in every process, and return the state beside its weights.

        Args:
            path: the checkpoint's folder, or a folder of checkpoints, whose last is taken.

        Raises:
            CheckpointError: if there is none, or it is one of a run with other data, model or options.
        """
        if not (path / _STATE).is_file():
            found = sorted(file.parent for file in path.glob(f"**/step-*/{_STATE}"))
            folders = [folder for folder in found if not checksums.is_set_aside(folder)]
            if not folders:
                raise CheckpointError(f"expected a checkpoint (a folder with {_STATE}) in {path}, found none")
            path = folders[-1]
        if damage := checksums.find_damage(path):
            raise CheckpointError(f"{damage}; go on from another checkpoint, or begin anew")
        record = json.loads((path / _STATE).read_text(encoding="utf-8"))
        if others := list(differences(record["identity"], json.loads(json.dumps(self._identity)))):
            raise CheckpointError(
                f"{path} is a checkpoint of another run: {'; '.join(others)}. Give the options of that run, or "
                "remove its folder to begin anew"
            )
        if record["sharding"] != (kind := sharding.kind(self._accelerator)):
            raise CheckpointError(
                f"{path} was made with {record['sharding'] or 'whole weights'}, found {kind or 'whole weights'}: go on "
                "with the config of accelerate's that it was made with"
            )
        processes = self._accelerator.num_processes
        if record["processes"] != processes and self._accelerator.distributed_type is DistributedType.DEEPSPEED:
            raise CheckpointError(
                f"{path} was made by {record['processes']} processes, and DeepSpeed shards its state by process; "
                f"found {processes}, go on with {record['processes']}"
            )
        self._accelerator.load_state(str(path))
        state: dict[str, Any] = record["state"]
        return state

    def _steps(self) -> set[int]:
        return {
            int(path.name.removeprefix("step-"))
            for path in self._folder.glob("step-*")
            if path.is_dir() and not checksums.is_set_aside(path)
        }


def differences(recorded: Any, expected: Any, where: str = "") -> list[str]:
    """Return a line for each difference between two JSON values, a record's and the one expected.

    >>> differences({"seed": 1, "epochs": 3}, {"seed": 2, "epochs": 3})
    ['seed was 1, is 2']
    """
    if isinstance(recorded, dict) and isinstance(expected, dict):
        keys = [*expected, *(key for key in recorded if key not in expected)]
        return [
            line
            for key in keys
            for line in differences(recorded.get(key), expected.get(key), f"{where}.{key}" if where else key)
        ]
    return [] if recorded == expected else [f"{where} was {recorded!r}, is {expected!r}"]


def _remove(folder: Path) -> None:
    """Remove a folder so that no half of it ever bears the name of a whole one."""
    if folder.exists():
        going = folder.with_name(f".{folder.name.strip('.')}.gone.part")
        shutil.rmtree(going, ignore_errors=True)
        folder.rename(going)
        shutil.rmtree(going, ignore_errors=True)


def _without_wrapper(models: list[Any], weights: list[dict[str, Any]], folder: str) -> None:
    for number, state in enumerate(weights):  # empty where FSDP or DeepSpeed save their own
        # Of this type accelerate writes weights that a network shares between its modules once, and fails of others.
        weights[number] = OrderedDict((name.removeprefix("module."), value) for name, value in state.items())


def _unwrapping(accelerator: Accelerator) -> Any:
    def hook(models: list[Any], folder: str) -> None:
        models[:] = [accelerator.unwrap_model(model) for model in models]

    return hook


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
