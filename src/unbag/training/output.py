"""Files of a training run: checkpoints with their copies in a Hub repository, and the output folder.

`transformers.Trainer` writes and reads the checkpoints. A complete one also has `run.json`, the run that it belongs to,
and, written last, its checksums. The output folder has the model and the training record. The cost is in a separate
file, so that the record does not depend on time and machine.
"""

import json
import logging
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from transformers import TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from unbag.data.readers import is_hub_id
from unbag.inference.distributed import connect_process_group
from unbag.inference.hub_files import compute_folder_revision
from unbag.inference.loading import Classifier
from unbag.training.config import TrainConfig
from unbag.training.record import FILE, read_training_record
from unbag.utils import checksums, locks
from unbag.utils.files import atomic_rename, read_json_object, remove_on_failure, write_json
from unbag.utils.hashing import hash_file
from unbag.utils.hub import read_from_hub
from unbag.utils.redaction import extract_first_line
from unbag.utils.retries import call_with_retries, import_hub_http

if TYPE_CHECKING:
    from unbag.training.trainer import PairTrainer

HARDWARE_FILE: Final = "hardware.json"
LOGS: Final = "runs"
"""Folder for TensorBoard files in a model repository on the Hub."""
_RUN: Final = "run.json"
_IN_REPO: Final = "checkpoint"  # one commit replaces all files of the folder, so readers never see half a checkpoint
_PUSHED: Final = ".pushed"
Record = dict[str, Any]
logger = logging.getLogger(__name__)


class CheckpointCallback(TrainerCallback):
    """Callback that marks a checkpoint as complete, and pushes it to the Hub in the background.

    A checkpoint written during another's upload is not uploaded, since a newer one follows. A failed upload logs a
    warning and does not stop the training, which resumes from the checkpoints on disk.
    """

    identity: Mapping[str, Any]
    """JSON object of everything that determines the weights; set before the training."""

    def __init__(self, repo_id: str | None = None) -> None:
        """Create the private repository if it is missing. Without `repo_id`, no checkpoint is uploaded."""
        self._repo_id = repo_id
        self._upload: Future[Any] | None = None
        if repo_id is None:
            return
        try:
            call_with_retries(lambda: HfApi().create_repo(repo_id, private=True, exist_ok=True))
        except (HfHubHTTPError, HFValidationError, OSError, import_hub_http().HTTPError) as error:
            raise ValueError(
                f"cannot push checkpoints to {repo_id}: {extract_first_line(error)}; log in with `hf auth login`"
            ) from error

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Mark the new checkpoint as complete, and start its upload unless another one is running."""
        folder = Path(args.output_dir)
        checkpoint = folder / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
        connect_process_group().wait()  # until each process has written its random state
        if not state.is_world_process_zero:
            return
        write_json({"step": state.global_step, "identity": self.identity}, checkpoint / _RUN)
        checksums.write_folder_checksums(checkpoint)
        if self._repo_id is None or (self._upload is not None and not self._upload.done()):
            return
        self._finish_upload()
        # Hard links, not copies: the checkpoint may be deleted before its upload ends.
        shutil.rmtree(folder / _PUSHED, ignore_errors=True)
        shutil.copytree(checkpoint, folder / _PUSHED, copy_function=os.link)
        if state.best_global_step not in (None, state.global_step):  # early stopping ends with its weights
            best = f"{PREFIX_CHECKPOINT_DIR}-{state.best_global_step}"
            shutil.copytree(folder / best, folder / _PUSHED / best, copy_function=os.link)
        self._upload = HfApi().upload_folder(
            repo_id=self._repo_id,
            folder_path=folder / _PUSHED,
            path_in_repo=_IN_REPO,
            delete_patterns="*",
            commit_message=f"Checkpoint {checkpoint.name}",
            run_as_future=True,
        )

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Wait for the running upload."""
        self._finish_upload()

    def _finish_upload(self) -> None:
        if self._upload is not None and (error := self._upload.exception()) is not None:
            logger.warning("could not push a checkpoint to %s: %s", self._repo_id, extract_first_line(error))
        self._upload = None


def _list_checkpoints(folder: Path) -> list[Path]:
    """List the complete checkpoints in a folder and its subfolders, the last one first."""
    complete = [path for path in folder.glob(f"**/{PREFIX_CHECKPOINT_DIR}-*") if checksums.has_checksums(path)]
    return sorted(complete, key=lambda path: -int(path.name.rpartition("-")[2]))


def remove_incomplete_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a folder that a killed or failed run did not complete."""
    for checkpoint in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*"):
        if not checksums.has_checksums(checkpoint):
            shutil.rmtree(checkpoint, ignore_errors=True)


def find_intact_checkpoint(folder: Path) -> Path | None:
    """Find the last intact checkpoint of a run. Incomplete and corrupted ones are removed."""
    remove_incomplete_checkpoints(folder)
    for checkpoint in _list_checkpoints(folder):
        if (damage := checksums.find_corruption(checkpoint)) is None:
            return checkpoint
        checksums.remove_damaged(checkpoint, damage)
    return None


def read_checkpoint(path: Path, identity: Mapping[str, Any]) -> tuple[Path, int]:
    """Find the checkpoint to resume from, the last one in a folder, and validate that it belongs to the run.

    Returns its folder and its step.
    """
    candidates = [path] if checksums.has_checksums(path) and (path / _RUN).is_file() else _list_checkpoints(path)
    if not candidates:
        raise ValueError(f"expected a checkpoint (a folder with {_RUN}) in {path}, got none; check the path")
    found = candidates[0]
    if damage := checksums.find_corruption(found):
        raise ValueError(f"{damage}; resume from another checkpoint, or start a new run")
    record = json.loads((found / _RUN).read_text(encoding="utf-8"))
    if others := list_json_differences(record["identity"], json.loads(json.dumps(identity))):
        raise ValueError(
            f"{found} is a checkpoint of another run: {'; '.join(others)}. Use the options of that run, or remove its "
            "folder to start a new run"
        )
    return found, record["step"]


def copy_best_checkpoint(start: Path, folder: Path) -> None:
    """Copy the checkpoint of the best evaluation so far to the folder of a run that resumes from another folder.

    With early stopping, the run ends with the weights of this checkpoint, which may precede the last one.
    """
    state = read_json_object(start / TRAINER_STATE_NAME)
    if (step := state.get("best_global_step")) is None:
        return
    name = f"{PREFIX_CHECKPOINT_DIR}-{step}"
    places = (start,) if step == state["global_step"] else (start / name, start.with_name(name))
    best = next((place for place in places if checksums.has_checksums(place)), None)
    if best is None or (damage := checksums.find_corruption(best)):
        raise ValueError(
            f"{start}: expected {name} in or beside this folder, which has the best accuracy so far, got "
            f"{'none' if best is None else damage}; resume from a folder with both checkpoints"
        )
    if not (folder / name).exists():
        tmp = folder / f".{name}"
        shutil.rmtree(tmp, ignore_errors=True)  # of a killed run
        shutil.copytree(best, tmp)
        tmp.rename(folder / name)


def list_json_differences(recorded: Any, expected: Any) -> list[str]:
    """List the differences between two JSON values, such as "seed was 1, is 2"."""
    return [f"{path} was {old!r}, is {new!r}" for path, old, new in iter_json_differences(recorded, expected)]


def iter_json_differences(recorded: Any, expected: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Iterate over the differences between two JSON values: the dotted name, and the value in each."""
    if isinstance(recorded, dict) and isinstance(expected, dict):
        for key in dict.fromkeys([*expected, *recorded]):
            where = f"{path}.{key}" if path else str(key)
            yield from iter_json_differences(recorded.get(key), expected.get(key), where)
    elif recorded != expected:
        yield path, recorded, expected


def fetch_checkpoint(name: str) -> Path:
    """Find a checkpoint folder by path or Hub id. Checkpoints on the Hub are downloaded."""
    if not is_hub_id(name):
        return Path(name)
    try:
        what, pattern = f"the checkpoint {name}", f"{_IN_REPO}/*"
        folder = Path(read_from_hub(what, lambda: snapshot_download(name, allow_patterns=[pattern]))) / _IN_REPO
    except (HfHubHTTPError, LocalEntryNotFoundError) as error:
        raise ValueError(
            f"expected a checkpoint folder or a Hub repository, got {name} ({extract_first_line(error)}); check "
            "the name"
        ) from error
    if not folder.is_dir():
        raise ValueError(
            f"{name}: expected a folder {_IN_REPO} with a checkpoint, got none; push one with --push-checkpoints"
        )
    return folder


def get_work_folder(output_dir: Path) -> Path:
    """Build the path of the folder for checkpoints and logs of an unfinished run."""
    return output_dir.with_name(f"{output_dir.name}.unfinished")


@contextmanager
def lock_output_folder(output_dir: Path, activity: str) -> Iterator[None]:
    """Lock the output folder until the `with` block ends. All processes of the run share the lock.

    Raises:
        locks.LockedError: In the first process, if another run holds the lock.
        ValueError: In the other processes, in that case.
    """
    group = connect_process_group()
    with ExitStack() as held:
        lock = locks.hold_lock(output_dir, activity)
        group.run_on_all(lambda: held.enter_context(lock) if group.rank == 0 else None)
        yield


def build_cost_record(device: torch.device, processes: int, seconds: float) -> dict[str, Any]:
    """Build a JSON record of the hardware and the duration of a run."""
    module = torch.get_device_module(device)  # without a device name for the CPU and Apple's GPU
    name = module.get_device_name(device) if hasattr(module, "get_device_name") else None
    hardware = name or f"{device.type.upper()}, {platform.machine()}"
    return {"hardware": hardware, "processes": processes, "seconds": round(seconds, 1)}


def write_model_folder(
    output_dir: Path, record: Record, cost: Mapping[str, Any], trainer: "PairTrainer", classifier: Classifier
) -> None:
    """Write the model, the tokenizer and the training record to the output folder, atomically.

    The cost (`build_cost_record`) is written to the same folder, without a checksum.
    """
    accelerator = trainer.accelerator
    gathered = accelerator.get_state_dict(trainer.model_wrapped)  # collective: all processes must call it
    if accelerator.is_main_process:
        extra = tuple(f"{name}." for name in trainer.extra_modules)
        weights = {name: value for name, value in gathered.items() if not name.startswith(extra)}
        for name in classifier.network.all_tied_weights_keys:  # gathered from shards, a tied weight is a separate copy
            weights.pop(name, None)
        tmp = output_dir.with_name(f".{output_dir.name}.part")
        with remove_on_failure(tmp):
            classifier.network.save_pretrained(tmp, state_dict=weights)
            save_tokenizer(classifier.tokenizer, tmp)
            trainer.save_extra(tmp, gathered)
            (tmp / FILE).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            checksums.write_folder_checksums(tmp)
            (tmp / HARDWARE_FILE).write_text(json.dumps(cost) + "\n", encoding="utf-8")
            logs = get_work_folder(output_dir) / LOGS
            if logs.is_dir():
                shutil.copytree(logs, tmp / LOGS)
            atomic_rename(tmp, output_dir)
        shutil.rmtree(get_work_folder(output_dir), ignore_errors=True)
    accelerator.wait_for_everyone()


def validate_new_folder(output_dir: Path) -> None:
    """Validate that the output folder does not exist."""
    if output_dir.exists():
        raise ValueError(f"--output-dir: expected a new folder, got {output_dir}, which exists; pass another folder")


@contextmanager
def create_output_folder(output_dir: Path, activity: str) -> Iterator[Path]:
    """Yield the path of a temporary folder, which becomes the output folder at the end of the `with` block."""
    tmp = output_dir.with_name(f".{output_dir.name}.part")
    # A second process waits here, and then fails, since the first one has written the folder.
    with locks.hold_lock(output_dir, activity, wait=True):
        validate_new_folder(output_dir)
        with remove_on_failure(tmp):
            yield tmp
            atomic_rename(tmp, output_dir)


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Save a tokenizer without the truncation and padding settings that were used for its last batch."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:  # otherwise they would be saved as the model's own
        backend.no_truncation()
        backend.no_padding()
    tokenizer.save_pretrained(folder)


def load_finished_run(config: TrainConfig) -> Record:
    """Load the record of a finished run, after validating that it has the same options, model and files."""
    output_dir, model = config.output_dir, Path(config.model)
    if not (output_dir / FILE).is_file():
        raise ValueError(
            f"--output-dir: expected a new folder or the output of a finished run, got {output_dir}, which contains no "
            f"{FILE}; use another folder"
        )
    record: Record = read_training_record(output_dir)
    if checksums.has_checksums(output_dir) and (damage := checksums.find_corruption(output_dir)):
        raise ValueError(f"{damage}; remove {output_dir} to train again, or use another --output-dir")
    expected = config.select_cache_key_fields()
    recorded = {"recipe": record["recipe"], "config": {name: record["config"].get(name) for name in expected}}
    others = list_json_differences(recorded, {"recipe": config.recipe, "config": expected})
    if model.is_dir() and compute_folder_revision(model) != record["model"]["revision"]:
        others.append(f"the model in {model} has changed")
    parts = (*record["data"]["training"], *record["data"]["held_out"])
    read = {revision for part in parts for revision in part["revisions"]}
    read.add(record.get("embeddings", "").removeprefix("sha256:"))
    others += [f"{path} has changed" for path in config.list_files() if hash_file(path) not in read]
    if others:
        raise ValueError(
            f"--output-dir: {output_dir} contains the output of another run: {'; '.join(others)}; use another folder"
        )
    # The folder remains if the run was interrupted just before its removal.
    shutil.rmtree(get_work_folder(output_dir), ignore_errors=True)
    logger.warning("%s already contains the trained model; training is skipped", output_dir)
    return record
